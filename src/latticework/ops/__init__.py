"""The tensor operations, one file each: shape rule, NumPy meaning, the NumPy calls that trace to it."""

from latticework.ops.add import ADD
from latticework.ops.apply import APPLY
from latticework.ops.base import Case, TensorOp, Tracer
from latticework.ops.broadcast_to import BROADCAST_TO
from latticework.ops.constant import CONSTANT
from latticework.ops.convert_layout import CONVERT_LAYOUT
from latticework.ops.matmul import MATMUL
from latticework.ops.mul import MUL
from latticework.ops.neg import NEG
from latticework.ops.polynomial import POLYNOMIAL
from latticework.ops.reshape import RESHAPE
from latticework.ops.slice import SLICE
from latticework.ops.sub import SUB
from latticework.ops.sum import SUM
from latticework.ops.transpose import TRANSPOSE
from latticework.ops.trivial import TRIVIAL

ALL_OPS: tuple[TensorOp, ...] = (
    CONSTANT,
    ADD,
    SUB,
    NEG,
    MUL,
    MATMUL,
    SUM,
    RESHAPE,
    TRANSPOSE,
    SLICE,
    BROADCAST_TO,
    POLYNOMIAL,
    APPLY,
    TRIVIAL,
    CONVERT_LAYOUT,
)

__all__ = ["ALL_OPS", "Case", "TensorOp", "Tracer"]
