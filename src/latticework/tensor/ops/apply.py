"""tensor.apply: a function of one number, still exact; approximation turns it into tensor.polynomial."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from latticework.errors import RangeError
from latticework.functions.approximation.channel_samples import ChannelSamples
from latticework.functions.approximation.degree_limits import MAX_DEGREE
from latticework.functions.approximation.extreme_value import Tails
from latticework.functions.approximation.real_functions import FUNCTIONS, Function, checked_range, function_of
from latticework.functions.approximation.sign import check_gap
from latticework.functions.table import BY_NAME, RECORDS
from latticework.ir.core import Value
from latticework.tensor.ops import add, row_rules, sub
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, tensor_op
from latticework.tensor.ops.cases import random_shape

Interval = tuple[float, float]


def shape(
    a: Shape, *, function: object, degree: int | None, interval: Interval | None, samples: tuple[float, ...] | None,
    channels: ChannelSamples | None, tails: tuple[Tails, Tails | None] | tuple[()] | None,
) -> Shape:  # fmt: skip
    """Shape of the operand.

    function  a Function, or the name of one that is known
    degree    of the polynomial that will approximate the function; None: as the precision asked for needs
    interval  where it will; None until calibration or the user says
    samples   values the operand takes, for a fit weighted by them; None if not calibrated
    channels  the same along an axis of it, where ranges differ much; None if they do not, or are not known
    tails     how far runs of calibration went, of the whole operand and by channel; None if not calibrated, () if not
              although the interval is from calibration
    """
    check_degree(function_of(function), degree)  # type: ignore[arg-type]
    return a


def trace(
    tracer: Tracer, x: object, function: Function | str, degree: int | None = None, interval: Interval | None = None
) -> Value:
    """A function of x."""
    known = function_of(function)
    bounds = None if interval is None else checked_range(known, interval)
    if known.gap:
        check_gap(known.gap, inf if bounds is None else max(abs(bounds[0]), abs(bounds[1])))
    return tracer.emit(
        APPLY, tracer.lift(x), function=known, degree=degree, interval=bounds, samples=None, channels=None, tails=None
    )


def check_degree(function: Function, degree: object) -> None:
    """RangeError unless the degree is a whole number from 1 to 1023, or None."""
    if degree is not None and (
        isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= MAX_DEGREE
    ):
        raise RangeError(
            f"{function.name}: degree={degree!r} must be a whole number from 1 to {MAX_DEGREE}; without it the degree "
            "follows from precision_bits"
        )


def tracing(function: Function | str) -> Callable[..., Value]:
    """Return the tracing of a NumPy function of one number."""

    def trace_function(tracer: Tracer, x: object) -> Value:
        return trace(tracer, x, function)

    return trace_function


def trace_maximum(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.maximum(x1, x2): relu where one of the two is 0, otherwise x2 + relu(x1 - x2)."""
    for operand, other in ((x1, x2), (x2, x1)):
        bound = tracer.plain(other)
        if bound is not None and not np.any(bound) and bound.ndim == 0:
            return trace(tracer, operand, "relu")
    return add.trace(tracer, x2, trace(tracer, sub.trace(tracer, x1, x2), "relu"))


def trace_minimum(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.minimum(x1, x2) as x2 - relu(x2 - x1)."""
    return sub.trace(tracer, x2, trace(tracer, sub.trace(tracer, x2, x1), "relu"))


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """One of the functions that NumPy has too, or relu."""
    expressions: dict[str, Any] = {name: function for function, name in OF_NUMPY.items()}
    expressions["relu"] = lambda x: np.maximum(x, 0.0)
    name = str(rng.choice(sorted(expressions)))
    array = rng.uniform(*BY_NAME[name].arguments, size=random_shape(rng, slots))
    attrs = {"degree": None, "interval": None, "samples": None, "channels": None, "tails": None}
    return Case((array,), expressions[name], {"function": FUNCTIONS[name], **attrs})


def _apply(a: FloatArray, function: Function | str, **_: Any) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):  # what is not finite is refused with its sample and line
        return function_of(function).reference(a)


OF_NUMPY: dict[Callable[..., Any], str] = {getattr(np, record.numpy): record.name for record in RECORDS if record.numpy}

APPLY = tensor_op(
    "apply",
    shape=shape,
    semantics=_apply,
    attributes=dict.fromkeys(("function", "degree", "interval", "samples", "channels", "tails"), object),
    random_case=random_case,
    rows=row_rules.elementwise,
    numpy={
        **{function: tracing(name) for function, name in OF_NUMPY.items()},
        np.maximum: trace_maximum,
        np.minimum: trace_minimum,
    },
)
