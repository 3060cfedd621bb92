"""Dialects: one file each, their types and operations. Importing any of them registers all."""

from latticework.ir.dialects import (
    bootstrap_dialect,
    ckks_dialect,
    key_dialect,
    loop_dialect,
    procedure_dialect,
    rlwe_dialect,
    scalar_dialect,
    tensor_dialect,
    vec_dialect,
)

__all__ = [
    "bootstrap_dialect",
    "ckks_dialect",
    "key_dialect",
    "loop_dialect",
    "procedure_dialect",
    "rlwe_dialect",
    "scalar_dialect",
    "tensor_dialect",
    "vec_dialect",
]
