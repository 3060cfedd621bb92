"""The tensor operations, one file each: shape rule, NumPy meaning, the NumPy calls that trace to it."""

from latticework.ops.add import ADD
from latticework.ops.apply import APPLY
from latticework.ops.base import Case, TensorOp, Tracer
from latticework.ops.broadcast_to import BROADCAST_TO
from latticework.ops.composed import COMPOSED
from latticework.ops.constant import CONSTANT
from latticework.ops.conv2d import CONV2D
from latticework.ops.conv_transpose2d import CONV_TRANSPOSE2D
from latticework.ops.convert_layout import CONVERT_LAYOUT
from latticework.ops.cumsum import CUMSUM
from latticework.ops.indexed import INDEXED_OPS
from latticework.ops.matmul import MATMUL
from latticework.ops.mul import MUL
from latticework.ops.neg import NEG
from latticework.ops.pad import PAD
from latticework.ops.polynomial import POLYNOMIAL
from latticework.ops.prod import PROD
from latticework.ops.reshape import RESHAPE
from latticework.ops.roll import ROLL
from latticework.ops.slice import SLICE
from latticework.ops.softmax import SOFTMAX
from latticework.ops.sub import SUB
from latticework.ops.sum import SUM
from latticework.ops.sum_pool2d import SUM_POOL2D
from latticework.ops.take import TAKE
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
    PAD,
    TAKE,
    ROLL,
    CUMSUM,
    PROD,
    CONV2D,
    CONV_TRANSPOSE2D,
    SUM_POOL2D,
    POLYNOMIAL,
    APPLY,
    SOFTMAX,
    TRIVIAL,
    CONVERT_LAYOUT,
)

BY_NAME: dict[str, TensorOp] = {op.spec.name: op for op in (*ALL_OPS, *INDEXED_OPS)}

__all__ = ["ALL_OPS", "BY_NAME", "COMPOSED", "INDEXED_OPS", "Case", "TensorOp", "Tracer"]
