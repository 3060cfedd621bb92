"""tensor.apply: an activation known by name, still exact; approximation turns it into tensor.polynomial."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.approx.chebyshev import check_interval
from latticework.approx.functions import ACTIVATIONS
from latticework.errors import RangeError, UnsupportedError
from latticework.ir.core import Value
from latticework.ops.base import Case, FloatArray, Shape, Tracer, tensor_op
from latticework.ops.cases import random_shape

Interval = tuple[float, float]


def shape(
    a: Shape, *, function: str, degree: int, interval: Interval | None, samples: tuple[float, ...] | None
) -> Shape:
    """Shape of the operand.

    degree    of the polynomial that will approximate the function
    interval  where it will; None until calibration or the user says
    samples   values the operand takes, for a fit weighted by them; None if not calibrated
    """
    check_degree(function, degree)
    return a


def trace(
    tracer: Tracer, x: object, function: str, degree: int | None = None, interval: Interval | None = None
) -> Value:
    """The activation `function` of x; the default degree is the function's own."""
    degree = ACTIVATIONS[function].degree if degree is None else degree
    bounds = None if interval is None else check_interval(interval)
    return tracer.emit(APPLY, tracer.lift(x), function=function, degree=degree, interval=bounds, samples=None)


def check_degree(function: str, degree: int) -> None:
    """RangeError unless the degree is a whole number from 1 to 1023, and the function is known."""
    if function not in ACTIVATIONS:
        raise UnsupportedError(f"apply: no function is called {function!r}; there are {', '.join(ACTIVATIONS)}")
    if not isinstance(degree, int) or not 1 <= degree <= 1023:
        raise RangeError(f"{function}: degree={degree!r} must be a whole number from 1 to 1023; 15 suits most networks")


def trace_tanh(tracer: Tracer, x: object) -> Value:
    """np.tanh(x)."""
    return trace(tracer, x, "tanh")


def trace_exp(tracer: Tracer, x: object) -> Value:
    """np.exp(x)."""
    return trace(tracer, x, "exp")


def trace_maximum(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.maximum(x, 0) is relu; any other maximum has no counterpart."""
    for operand, other in ((x1, x2), (x2, x1)):
        bound = tracer.plain(other)
        if bound is not None and not np.any(bound) and bound.ndim == 0:
            return trace(tracer, operand, "relu")
    raise UnsupportedError("np.maximum: only the maximum with 0 exists here; write max(a, b) as b + lw.relu(a - b)")


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """One of the functions NumPy has too."""
    array = rng.normal(size=random_shape(rng, slots))
    expressions: dict[str, Any] = {"tanh": np.tanh, "exp": np.exp, "relu": lambda x: np.maximum(x, 0.0)}
    function = str(rng.choice(sorted(expressions)))
    degree = ACTIVATIONS[function].degree
    attrs = {"function": function, "degree": degree, "interval": None, "samples": None}
    return Case((array,), expressions[function], attrs)


def _apply(a: FloatArray, function: str, **_: Any) -> FloatArray:
    return ACTIVATIONS[function].reference(a)


APPLY = tensor_op(
    "apply",
    shape=shape,
    meaning=_apply,
    attributes={"function": str, "degree": int, "interval": object, "samples": object},
    random_case=random_case,
    numpy={np.tanh: trace_tanh, np.exp: trace_exp, np.maximum: trace_maximum},
)
