"""The tensor operations, one file each: shape rule, NumPy semantics, the NumPy calls that trace to it."""

from latticework.tensor.ops.add import ADD
from latticework.tensor.ops.apply import APPLY
from latticework.tensor.ops.base import Case, TensorOp, Tracer
from latticework.tensor.ops.broadcast_to import BROADCAST_TO
from latticework.tensor.ops.composed import COMPOSED
from latticework.tensor.ops.constant import CONSTANT
from latticework.tensor.ops.conv2d import CONV2D
from latticework.tensor.ops.conv_transpose2d import CONV_TRANSPOSE2D
from latticework.tensor.ops.convert_layout import CONVERT_LAYOUT
from latticework.tensor.ops.cumsum import CUMSUM
from latticework.tensor.ops.indexed import INDEXED_OPS
from latticework.tensor.ops.matmul import MATMUL
from latticework.tensor.ops.mul import MUL
from latticework.tensor.ops.neg import NEG
from latticework.tensor.ops.pad import PAD
from latticework.tensor.ops.polynomial import POLYNOMIAL
from latticework.tensor.ops.prod import PROD
from latticework.tensor.ops.reshape import RESHAPE
from latticework.tensor.ops.roll import ROLL
from latticework.tensor.ops.slice import SLICE
from latticework.tensor.ops.softmax import SOFTMAX
from latticework.tensor.ops.sub import SUB
from latticework.tensor.ops.sum import SUM
from latticework.tensor.ops.sum_pool2d import SUM_POOL2D
from latticework.tensor.ops.take import TAKE
from latticework.tensor.ops.transpose import TRANSPOSE
from latticework.tensor.ops.trivial import TRIVIAL

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
