"""Functions for programs: exact on NumPy arrays, approximated by polynomials when compiled.

The degree of a polynomial follows from the precision that is asked of the compiled program, unless `degree=` gives it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Chebyshev
from numpy.polynomial import Polynomial as PowerSeries

from latticework.errors import RangeError, UserError
from latticework.errors.shown import describe
from latticework.frontend.recording.annotations import Result
from latticework.frontend.recording.circuit_values import holds_numbers
from latticework.frontend.recording.plain import plain_array
from latticework.frontend.recording.tracing import Traced, user_line
from latticework.functions.approximation.chebyshev import check_interval, to_power
from latticework.functions.approximation.real_functions import (
    FUNCTIONS,
    Function,
    checked_range,
    elementwise,
    function_of,
)
from latticework.functions.table import record_of_numpy
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops import apply as applying
from latticework.tensor.ops import polynomial as polynomials
from latticework.tensor.ops import softmax as softmaxes
from latticework.tensor.ops.base import normal_axis
from latticework.values.packing.packed_constants import IntervalPolynomial

Interval = tuple[float, float]


def relu(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """max(x, 0), elementwise.

    degree  of the polynomial used when compiled; without it, as low as `precision_bits` allows. One that is given may
            lose more than that: compiling then says how much, in a warning and in the report
    range   (lo, hi) of the values of x; without it, from calibration data
    """
    return _apply("relu", x, degree, range)


def abs(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """The magnitude; `degree` and `range` as for relu."""
    return _apply("absolute", x, degree, range)


def gelu(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """x times the normal distribution function of x; `degree` and `range` as for relu."""
    return _apply("gelu", x, degree, range)


def sigmoid(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """1 / (1 + exp(-x)); `degree` and `range` as for relu."""
    return _apply("sigmoid", x, degree, range)


def tanh(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """Hyperbolic tangent; `degree` and `range` as for relu."""
    return _apply("tanh", x, degree, range)


def exp(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """Exponential function; `degree` and `range` as for relu."""
    return _apply("exp", x, degree, range)


def log(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """Natural logarithm of numbers above 0; `degree` and `range` as for relu."""
    return _apply("log", x, degree, range)


def sqrt(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """Square root of numbers from 0 on; `degree` and `range` as for relu.

    The closer to 0 the range begins, the higher the degree that it takes.
    """
    return _apply("sqrt", x, degree, range)


def rsqrt(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """1 / sqrt(x) for numbers above 0; `degree` and `range` as for relu.

    It takes a degree of about the square root of the ratio of the range's ends, for each bit of precision.
    """
    return _apply("rsqrt", x, degree, range)


def reciprocal(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """1 / x for numbers that are all above 0, or all below; `degree` and `range` as for relu.

    It takes a degree of about the square root of the ratio of the range's ends, for each bit of precision.
    """
    return _apply("reciprocal", x, degree, range)


def divide(a: Any, b: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
    """a / b, elementwise: a * lw.reciprocal(b, degree=degree, range=range) where b is encrypted; exact where not.

    range   of the values of b, all above 0 or all below
    """
    if isinstance(b, Traced):
        return a * reciprocal(b, degree=degree, range=range)
    return np.divide(a, b)


def softmax(
    x: Any, axis: int = -1, *, where: Any = None, degree: int | None = None, range: Interval | None = None
) -> Result:
    """exp(x) / sum(exp(x)) along an axis.

    where   a public mask, broadcast to x: elements where it is false are left out of the sum, and their results are 0
    degree  of each of its polynomials;  range  of the values of x; as for relu
    It spends about 12 levels where x spans 10, and 7 more for each time that it spans twice as much.
    """
    with user_line():
        if isinstance(x, Traced):
            return x._tracer.call(softmaxes.trace, x, axis, degree, range, where)
        array = plain_array(x)
        along = normal_axis("softmax", axis, array.ndim)
        if where is None:
            return softmaxes.softmax(array, axis=along)
        kept = plain_array(where)
        softmaxes.check_mask(kept, array.shape, along)
        return softmaxes.softmax(array, kept, along)


def approximate(
    function: Callable[..., Any],
    *,
    degree: int | None = None,
    range: Interval | None = None,
    lipschitz: float | None = None,
) -> Any:
    """Any function of one number, for programs: exact on NumPy arrays, a polynomial when compiled.

    function  of a number or of an array, real and finite on the range; the more smoothly it runs, the lower the degree
              that it takes
    degree, range  as for relu; they may be given where it is called too
    lipschitz  a bound on its slope: |f(a) - f(b)| <= lipschitz * |a - b| everywhere on the range. Then the distance of
               the polynomial is bounded between the points at which they are compared, so that results can be proved;
               without it, it is known at those points alone, and results are not `is_proved`. Functions that
               latticework knows, such as np.sin, need none
    returns   a function of an array: ``softplus = lw.approximate(lambda x: np.log1p(np.exp(x)))``, and in the program
              ``softplus(x)``
    raises    UserError for what cannot be called; RangeError, when compiled, where it has no finite value, or is
              steeper than was said
    """
    with user_line():
        if not callable(function):
            raise UserError(f"approximate: {function!r} is no function; give one of one number")
        known = record_of_numpy(function)
        if known is not None:
            made = FUNCTIONS[known.name]
        else:
            made = Function(_name(function), elementwise(function), unknown=True, lipschitz=_slope(lipschitz))
        if degree is not None:
            applying.check_degree(made, degree)
        if range is not None:
            checked_range(made, range)
        return Approximated(made, degree, range)


@dataclass(frozen=True, slots=True)
class Approximated:
    """A function to be approximated, as `lw.approximate` returns it."""

    function: Function
    degree: int | None
    range: Interval | None

    def __call__(self, x: Any, *, degree: int | None = None, range: Interval | None = None) -> Result:
        """The function of an array, elementwise."""
        chosen = self.degree if degree is None else degree, self.range if range is None else range
        return _apply(self.function, x, *chosen)

    def __repr__(self) -> str:
        given = [f"{n}={getattr(self, n)}" for n in ("degree", "range") if getattr(self, n) is not None]
        given += [f"lipschitz={self.function.lipschitz:g}"] if self.function.lipschitz else []
        return describe("lw.approximate", self.function.name, *given)


def polynomial(
    x: Any,
    coefficients: npt.ArrayLike | Chebyshev | PowerSeries,
    *,
    basis: str = "power",
    range: Interval | None = None,
) -> Result:
    """A public polynomial of x, elementwise and without approximation.

    coefficients  lowest degree first; or a Chebyshev or Polynomial object of `numpy.polynomial`, which knows its basis
    basis         "power": coefficients[0] + coefficients[1] * x + ...;
                  "chebyshev": coefficients[0] + coefficients[1] * T_1(t) + ..., where t is x moved from the range to
                  [-1, 1]
    range         (lo, hi) that Chebyshev coefficients refer to, (-1, 1) if not given, and that x may not leave
    raises        RangeError for what are no coefficients, and for calibration data that leave the range
    """
    with user_line():
        chosen = _polynomial(coefficients, basis, range)
        if isinstance(x, Traced):
            return x._tracer.call(polynomials.trace, x, chosen)
        if holds_numbers(x):
            if chosen.basis == "chebyshev":
                chosen = to_power(chosen)
            return sum(c * x**k for k, c in enumerate(chosen.coefficients))
        return chosen(plain_array(x))


def square(x: Any) -> Result:
    """x * x."""
    return np.square(x)


def _apply(given: Function | str, x: Any, degree: int | None, interval: Interval | None) -> Any:
    with user_line():
        function = function_of(given)
        if isinstance(x, Traced):
            return x._tracer.call(applying.trace, x, function, degree, interval)
        applying.check_degree(function, degree)
        if interval is not None:
            checked_range(function, interval)
        return function.reference(plain_array(x))


def _polynomial(coefficients: Any, basis: str, interval: Interval | None) -> IntervalPolynomial:
    if isinstance(coefficients, Chebyshev | PowerSeries):
        if interval is not None:
            raise RangeError(
                "polynomial: range= is given, and the coefficients have a domain of their own; leave it out"
            )
        if isinstance(coefficients, PowerSeries):
            coefficients, basis = coefficients.convert().coef, "power"
        else:
            series = coefficients.convert(domain=coefficients.domain, kind=Chebyshev, window=(-1, 1))
            coefficients, basis, interval = series.coef, "chebyshev", tuple(coefficients.domain)
    if basis not in ("power", "chebyshev"):
        raise UserError(f'polynomial: basis={basis!r}; give "power" or "chebyshev"')
    if basis == "power" and interval is not None:
        raise UserError('polynomial: range= belongs to basis="chebyshev"; powers are those of x itself: leave it out')
    numbers = plain_array(coefficients)
    if numbers.ndim != 1 or not numbers.size:
        raise RangeError(
            f"polynomial: coefficients have shape {numbers.shape}; give a list of numbers, lowest power first"
        )
    kept = np.trim_zeros(numbers, "b") if numbers.any() else numbers[:1]
    bounds = (-1.0, 1.0) if interval is None else check_interval(interval)
    return IntervalPolynomial(tuple(float(c) for c in kept), bounds, basis)


def _slope(lipschitz: Any) -> float:
    """The bound, 0 without one; RangeError for what is none."""
    if lipschitz is None:
        return 0.0
    is_number = isinstance(lipschitz, int | float | np.integer | np.floating) and not isinstance(lipschitz, bool)
    if not is_number or not 0.0 < lipschitz < np.inf:
        raise RangeError(
            f"approximate: lipschitz={lipschitz!r}; give a finite number above 0 that the slope never exceeds"
        )
    return float(lipschitz)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "function" if name == "<lambda>" else str(name)
