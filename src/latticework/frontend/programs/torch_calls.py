"""Functions and layers of PyTorch on secrets: those that have a counterpart are traced as it, the others refused.

PyTorch asks ``__torch_function__`` of whatever object it meets; it is not imported here, and its functions are known by
their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError, UserError
from latticework.frontend.functions import array_functions, images
from latticework.frontend.recording.foreign import TORCH, library_call
from latticework.frontend.recording.tracing import Traced
from latticework.functions.approximation.real_functions import FUNCTIONS
from latticework.functions.table import RECORDS
from latticework.ir.lines import user_frames, user_loc
from latticework.tensor.ops.base import normal_axis
from latticework.values.inputs.foreign_arrays import in_numpy


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    product = x @ np.transpose(weight)
    return product if bias is None else product + bias


def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate != "none":
        raise TypeError
    return array_functions.gelu(x)


def _dropout(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if training:
        raise TypeError
    return x


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The axes from start_dim to end_dim as one."""
    axes = len(x.shape)
    start, end = normal_axis("flatten", start_dim, axes), normal_axis("flatten", end_dim, axes)
    return np.reshape(x, (*x.shape[:start], prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


def _softmax(x: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    if dim is None:
        raise TypeError
    return array_functions.softmax(x, dim)


def _avg_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    if ceil_mode or not count_include_pad or divisor_override is not None:
        raise TypeError
    return images.avg_pool2d(x, kernel_size, stride, padding)


def _elementwise(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x, inplace=False: function(x)


_TRACED: dict[str, Callable[..., Any]] = {
    **{name: _elementwise(array_functions.Approximated(FUNCTIONS[record.name], None, None))
       for record in RECORDS for name in record.aten_names},
    "add": np.add, "sub": np.subtract, "subtract": np.subtract, "mul": np.multiply, "multiply": np.multiply,
    "matmul": np.matmul, "mm": np.matmul, "mv": np.matmul, "div": np.divide, "divide": np.divide, "truediv": np.divide,
    "true_divide": np.divide, "neg": np.negative, "negative": np.negative, "square": np.square, "pow": np.power,
    "radd": lambda a, b: np.add(b, a), "rsub": lambda a, b: np.subtract(b, a), "rmul": lambda a, b: np.multiply(b, a),
    "rmatmul": lambda a, b: np.matmul(b, a), "linear": _linear, "conv2d": images.conv2d,
    "gelu": _gelu, "dropout": _dropout,
    "flatten": flatten, "softmax": _softmax, "avg_pool2d": _avg_pool2d,
}  # fmt: skip


def call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a function of PyTorch of which an argument is traced; tensors among them are public numbers.

    raises  UnsupportedError for those that have no counterpart, or options that it has not
    """
    name = str(getattr(function, "__name__", function))
    traced = _TRACED.get(name.strip("_"))
    if traced is not None:
        try:
            return traced(*map(_operand, args), **{key: _operand(value) for key, value in kwargs.items()})
        except UserError:
            raise
        except TypeError:
            name += " with these options"
    raise UnsupportedError(f"{name} of PyTorch has no counterpart for secrets: {TORCH}", at=user_loc())


def wants_tensors(error: BaseException) -> bool:
    """Whether a user's function stopped since PyTorch takes tensors only, where an array was given."""
    asked = library_call(user_frames(error.__traceback__)[1][1:])
    return "must be Tensor, not numpy" in str(error) or (asked is not None and asked[0] == "torch")


def _operand(given: Any) -> Any:
    return given if isinstance(given, Traced) else in_numpy(given)
