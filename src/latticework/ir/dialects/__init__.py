"""Dialects: one file each, their types and operations. Importing any of them registers all."""

from latticework.ir.dialects import bootstrap, ckks, key, loop, procedure, rlwe, scalar, tensor, vec

__all__ = ["bootstrap", "ckks", "key", "loop", "procedure", "rlwe", "scalar", "tensor", "vec"]
