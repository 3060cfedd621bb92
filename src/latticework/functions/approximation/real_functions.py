"""Real functions of one number: exact NumPy reference, where they are defined, how they are approximated."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf, isfinite, log

import numpy as np

from latticework.errors import RangeError, UnsupportedError
from latticework.errors.rounded_numbers import apart
from latticework.functions.approximation.chebyshev import FloatArray, Interval, RealFunction, check_interval, fit
from latticework.functions.approximation.minimax import minimax
from latticework.functions.approximation.piecewise_linear import PiecewiseLinear, relu_from
from latticework.functions.function_record import EVERYWHERE, FunctionRecord, domain_words
from latticework.functions.table import BY_NAME, RECORDS
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import IntervalPolynomial


@dataclass(frozen=True, slots=True)
class Function:
    """A real function applied elementwise.

    name       in messages and reports
    reference  its exact value in NumPy, an array of float64 of the argument's shape
    smooth     analytic around the interval; if not, a polynomial of a degree that is given is fitted to where the data
               are, rather than to have the least largest error
    domains    the open intervals on which it is defined, of which an argument must stay in one
    closed     whether their finite ends belong to them
    gap        of a step at 0: the distance from there from which on it is approximated; 0 for other functions
    pieces     of a piecewise linear function; None for other functions
    told       of a step: another output tells how far it is decided (`importers.trees.doubts`)
    unknown    nothing is known of it but its values, as of a user's: between points that were looked at it may be any
    lipschitz  a bound on its slope that the user gave: |f(a) - f(b)| <= lipschitz * |a - b|; 0: none was given
    As an attribute of an operation it is written as its name, and read back by it where it is one of `FUNCTIONS`.
    """

    name: str
    reference: RealFunction
    smooth: bool = True
    domains: tuple[Interval, ...] = EVERYWHERE
    closed: bool = False
    gap: float = 0.0
    pieces: PiecewiseLinear | None = None
    told: bool = False
    unknown: bool = False
    lipschitz: float = 0.0

    @property
    def is_sampled(self) -> bool:
        """Whether the distance of a polynomial from it is known at points alone, and proved nowhere between."""
        return self.unknown and not self.lipschitz

    def attribute_text(self) -> str:
        """Return the text of the attribute in the IR."""
        return json.dumps(self.name)

    def example_call(self) -> str:
        """Return a call by which users give the function a range."""
        if self.gap:
            return f"lw.{self.name}(x, gap={self.gap:g}, range=(-8, 8))"
        known = BY_NAME.get(self.name)
        call = f"lw.{known.lw}(x" if known is not None and known.lw else f"lw.approximate({self.name})(x"
        low = self.domains[-1][0]
        example = (0.1, 10) if low == 0.0 else (-8, 8) if low == -inf else (-0.5, 0.5)
        return f"{call}, range={example})"

    def approximate(self, interval: Interval, degree: int, samples: FloatArray | None = None) -> IntervalPolynomial:
        """A polynomial of that degree close to the function on the interval.

        raises  RangeError where the function has no finite value
        """
        if self.smooth:
            return minimax(self.finite, interval, degree)
        return fit(self.finite, interval, degree, samples)

    def finite(self, x: FloatArray) -> FloatArray:
        """The function, RangeError where its value is infinite or NaN."""
        with np.errstate(all="ignore"):
            values = np.asarray(self.reference(x))
        if np.iscomplexobj(values) or not np.isfinite(values).all():
            wrong = ~np.isfinite(values) if not np.iscomplexobj(values) else values.imag != 0.0
            point = float(np.asarray(x)[wrong][0]) if wrong.any() else float(np.asarray(x).flat[0])
            raise RangeError(
                f"{self.name}: at {point:g} its value is no finite real number; give a range= on which it has one, or "
                "write the function so that it does"
            )
        return values.astype(np.float64, copy=False)

    def check_domain(self, lo: float, hi: float, whose: str) -> Interval:
        """The open interval of the domain that holds all of [lo, hi].

        whose   what reaches from lo to hi, for the message
        raises  RangeError if there is none
        """
        for low, high in self.domains:
            if (low < lo or (self.closed and low == lo)) and (hi < high or (self.closed and hi == high)):
                return low, high
        inside = domain_words(self.domains, self.closed)
        first, last = apart((lo, hi), [end for domain in self.domains for end in domain if isfinite(end)])
        raise RangeError(
            f"{self.name}: {whose} from {first} to {last}, and it is defined for numbers {inside}; keep the argument "
            "there, for example by adding a constant"
        )

    def widen(self, lo: float, hi: float, margin: float) -> Interval:
        """[lo, hi] widened on each side by `margin` times its length, inside the domain.

        Towards a finite end of the domain the distance from it shrinks or grows by the same power instead, so that
        numbers between 0.001 and 1000 stay positive.
        """
        low, high = self.check_domain(lo, hi, "arguments reach")
        span = (hi - lo) or max(abs(hi), 1.0)
        if isfinite(low) == isfinite(high):
            wide = lo - margin * span, hi + margin * span
            return max(wide[0], low + (lo - low) / 2), min(wide[1], high - (high - hi) / 2)
        end, sign = (low, 1.0) if isfinite(low) else (high, -1.0)
        near, far = sorted((sign * (lo - end), sign * (hi - end)))
        if near == 0.0:
            ends = 0.0, far + margin * span
        else:
            ratio = max((far / near) ** margin, 1.0 + margin)
            ends = near / ratio, far * ratio
        first, second = (end + sign * x for x in ends)
        return min(first, second), max(first, second)

    def scale(self, lo: float, hi: float) -> Callable[[float], float]:
        """Return the scale on which [lo, hi] is widened evenly: linear, or logarithmic towards a finite end."""
        low, high = self.check_domain(lo, hi, "arguments reach")
        if isfinite(low) == isfinite(high) or lo == low or hi == high:
            return float
        end, sign = (low, 1.0) if isfinite(low) else (high, -1.0)
        return lambda x: sign * log(sign * (x - end)) if sign * (x - end) > 0.0 else -sign * inf


def _of_record(record: FunctionRecord) -> Function:
    """The function of a record of the table."""
    pieces = None if record.bend is None else relu_from(0.0, *record.bend)
    return Function(record.name, record.meaning, record.smooth, record.domains, record.closed, pieces=pieces)


FUNCTIONS: dict[str, Function] = {record.name: _of_record(record) for record in RECORDS}


def sign_from(gap: float, *, told: bool = False) -> Function:
    """The sign of numbers that are at least this far from 0."""
    return Function("sign", np.sign, smooth=False, gap=gap, told=told)


def function_of(function: Function | str) -> Function:
    """A function, or the one of that name.

    raises  UnsupportedError if there is none
    """
    if isinstance(function, Function):
        return function
    if function not in FUNCTIONS:
        raise UnsupportedError(f"apply: no function is called {function!r}; there are {', '.join(FUNCTIONS)}")
    return FUNCTIONS[function]


def elementwise(function: Callable[..., object]) -> RealFunction:
    """A function of one number, or of an array, as one of arrays."""
    one_by_one = np.vectorize(function)

    def reference(x: FloatArray) -> FloatArray:
        array = np.asarray(x, dtype=np.float64)
        try:
            values = np.asarray(function(array.copy()))  # which may change it in place
        except (TypeError, ValueError):  # it branches on the number, or calls functions of `math`
            values = np.asarray(None)
        if values.shape != array.shape or values.dtype == object:
            values = np.asarray(one_by_one(array))
        return values

    return reference


def checked_range(function: Function, interval: Interval) -> Interval:
    """A range that a user gives for a function.

    raises  RangeError if it is no interval, or not one on which the function is defined
    """
    lo, hi = check_interval(interval)
    function.check_domain(lo, hi, "range= reaches")
    return lo, hi
