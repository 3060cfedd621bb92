"""Dialects: one file each, their types and operations. Importing any of them registers all."""

from latticework.dialects import ckks, key, loop, rlwe, scalar, tensor, vec

__all__ = ["ckks", "key", "loop", "rlwe", "scalar", "tensor", "vec"]
