"""np.convolve and np.correlate of a secret by a public sequence, as convolutions of one row."""

from __future__ import annotations

from typing import Any

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import reshape
from latticework.tensor.ops import slice as slicing
from latticework.tensor.ops.base import Tracer, shape_of
from latticework.tensor.ops.conv2d import CONV2D


def convolve(tracer: Tracer, a: object, v: object, mode: str = "full") -> Value:
    """np.convolve(a, v, mode) of a secret and a public sequence, in either order."""
    left, right = _sequences(tracer, "convolve", a, v)
    signal, kernel = (left, right) if left.is_secret else (right, left)
    return _slide_kernel(tracer, "convolve", signal, slicing.trace_flip(tracer, kernel), mode)


def correlate(tracer: Tracer, a: object, v: object, mode: str = "valid") -> Value:
    """np.correlate(a, v, mode) of a secret a and a public v."""
    signal, kernel = _sequences(tracer, "correlate", a, v)
    if not signal.is_secret:
        raise UnsupportedError("correlate: the first sequence must be the secret one; write np.convolve(x, v[::-1])")
    return _slide_kernel(tracer, "correlate", signal, kernel, mode)


def _sequences(tracer: Tracer, name: str, a: object, v: object) -> tuple[Value, Value]:
    left, right = tracer.lift(a), tracer.lift(v)
    if len(shape_of(left)) != 1 or len(shape_of(right)) != 1:
        raise ShapeError(
            f"{name}: shapes {shape_of(left)} and {shape_of(right)}; both must have one axis: use lw.conv2d"
        )
    if left.is_secret and right.is_secret:
        raise UnsupportedError(f"{name}: both sequences are secret; one must be public")
    return left, right


def _slide_kernel(tracer: Tracer, name: str, signal: Value, kernel: Value, mode: Any) -> Value:
    """The kernel, not reversed, along the signal."""
    (n,), (k,) = shape_of(signal), shape_of(kernel)
    if mode not in ("full", "same", "valid"):
        raise UnsupportedError(f"{name}: mode={mode!r} is none of 'full', 'same', 'valid'")
    if k > n and mode != "full":
        raise ShapeError(
            f"{name}: with mode={mode!r} the public sequence ({k}) must not be longer than the secret one ({n}); use "
            "mode='full' and a slice"
        )
    around = {"full": (k - 1, k - 1), "same": (k - 1 - (k - 1) // 2, (k - 1) // 2), "valid": (0, 0)}[mode]
    row, kernels = reshape.trace(tracer, signal, (1, 1, n)), reshape.trace(tracer, kernel, (1, 1, 1, k))
    attrs = {"stride": (1, 1), "padding": ((0, 0), around), "dilation": (1, 1), "groups": 1}
    return reshape.trace(tracer, tracer.emit(CONV2D, row, kernels, **attrs), (-1,))
