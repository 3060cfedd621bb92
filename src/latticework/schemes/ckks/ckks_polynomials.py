"""Polynomials of every slot, and Chebyshev approximations of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.errors import DtypeError, RangeError, UserError
from latticework.functions.approximation.chebyshev import interpolate, max_error, to_chebyshev
from latticework.ir import Module, Value
from latticework.ir.dialects.rlwe_dialect import Level
from latticework.schemes.ckks.ckks_checks import MAX_COEFFICIENT, scale_text
from latticework.schemes.ckks.planned import PlannedOperation
from latticework.schemes.rlwe.checks import as_list, fail, real, whole
from latticework.values.inputs.foreign_arrays import as_array, find_loss
from latticework.values.packing import packed_constants

MAX_DEGREE = 4095
MAX_FREE_FACTOR = 1 << 16


class Polynomial(PlannedOperation):
    """A polynomial with real coefficients in every slot, by Paterson-Stockmeyer in the Chebyshev basis.

    coefficients  lowest first: of powers of x, or with `basis="chebyshev"` of the Chebyshev polynomials of `interval`
    interval      where the slots lie. It costs no level where (hi - lo) / 2 is 1/1, 1/2, 1/3, ...; else one, to bring
                  the slots to [-1, 1]
    Depth: ceil(log2(degree + 1)), and that one level where it is needed. Outside the interval it grows like |x|^degree.
    """

    name = "polynomial"

    def __init__(
        self,
        coefficients: Sequence[float] | npt.NDArray[np.floating[Any]],
        *,
        basis: str = "power",
        interval: tuple[float, float] = (-1.0, 1.0),
    ) -> None:
        super().__init__()
        lost = find_loss(coefficients)
        if lost:
            fail(DtypeError, f"Polynomial: got {lost}")
        values = as_array(coefficients)
        if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "fiu":
            fail(DtypeError, f"Polynomial: shape {values.shape}, dtype {values.dtype}; give a list of real numbers")
        if not np.isfinite(values).all() or values.size > MAX_DEGREE + 1:
            fail(RangeError, f"Polynomial: degree {values.size - 1}; give at most {MAX_DEGREE + 1} finite coefficients")
        lo, hi = _bounds("Polynomial: interval", interval)
        if basis not in ("power", "chebyshev"):
            fail(UserError, f"Polynomial: basis={basis!r}; choose 'power' or 'chebyshev'")
        given = packed_constants.IntervalPolynomial(tuple(float(c) for c in values), (lo, hi), basis)
        self.series = to_chebyshev(given) if basis == "power" else given
        self.max_error = 0.0

    @property
    def degree(self) -> int:
        """Degree, zero coefficients at the top left out."""
        nonzero = np.flatnonzero(self.series.coefficients)
        return int(nonzero[-1]) if nonzero.size else 0

    @property
    def interval(self) -> tuple[float, float]:
        """The interval in which the slots lie."""
        return self.series.interval

    @property
    def depth(self) -> int:
        """Levels that it spends."""
        return self.degree.bit_length() + (self._shrink != round(self._shrink))

    @property
    def _shrink(self) -> float:
        """The factor by which slots are multiplied to fill [-1, 1]."""
        lo, hi = self.interval
        factor = 2.0 / (hi - lo)
        return float(round(factor)) if abs(factor - round(factor)) < 2.0**-50 and factor <= MAX_FREE_FACTOR else factor

    def __call__(self, x: npt.ArrayLike) -> npt.NDArray[Any]:
        """The polynomial of numbers in the clear."""
        return self.series(x)

    def _build(self, p: Primitives, x: Value, module: Module) -> Value:
        """Slots to [-1, 1], then one symbolic polynomial."""
        lo, hi = self.interval
        factor, kind = self._shrink, cipher(x)
        scales = p.chain.main.scales
        if factor != round(factor):
            level = kind.level.index - 1
            product = scales[level] * p.group(level + 1)
            x = p.mod_down(p.mul_int(x, round(factor * product / kind.scale), product), level, scales[level])
        elif factor != 1.0:
            x = p.mul_int(x, round(factor), kind.scale)
        middle = round(-(hi + lo) / (hi - lo) * cipher(x).scale)
        if abs(middle) >= MAX_COEFFICIENT:
            fail(
                RangeError,
                f"polynomial: the interval ({lo:g}, {hi:g}) lies too far from 0 for its width at scale "
                f"{scale_text(cipher(x).scale)}; subtract its middle from the slots first",
            )
        if middle:
            x = p.builder.build("rlwe.add_int", [x], addend=middle)
        unit = packed_constants.IntervalPolynomial(
            self.series.coefficients[: self.degree + 1], (-1.0, 1.0), "chebyshev"
        )
        level = cipher(x).level.index - self.degree.bit_length()
        target = Level(0, level)
        return p.builder.build("ckks.polynomial", [x], polynomial=unit, level=target, scale=scales[level])

    def __repr__(self) -> str:
        lo, hi = self.interval
        return f"Polynomial(degree {self.degree} on [{lo:g}, {hi:g}], {self.depth} levels)"


def _bounds(name: str, interval: Any) -> tuple[float, float]:
    """The ends of an interval; an error unless they are two finite numbers in order."""
    ends = as_list(name, interval, "give two numbers, as (-1, 1)")
    if len(ends) != 2:
        fail(RangeError, f"{name} has {len(ends)} numbers; give two, as (-1, 1)")
    lo, hi = (real(name, end) for end in ends)
    if not lo < hi:
        fail(RangeError, f"{name} ({lo:g}, {hi:g}); give finite numbers (lo, hi) with lo < hi")
    return lo, hi


def chebyshev(
    function: Callable[[npt.NDArray[np.float64]], npt.ArrayLike], interval: tuple[float, float], degree: int
) -> Polynomial:
    """The polynomial that interpolates a NumPy function at the Chebyshev points of an interval.

    returns  a Polynomial whose `max_error` is its largest distance from the function on a grid of the interval
    """

    def evaluate(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        with np.errstate(all="ignore"):  # poles are reported below
            values = np.asarray(function(x), dtype=np.float64)
        if values.shape != x.shape or not np.isfinite(values).all():
            lo, hi = interval
            fail(
                RangeError,
                f"chebyshev: the function is not a finite number everywhere on ({lo:g}, {hi:g}); choose "
                "an interval without its poles",
            )
        return values

    if not callable(function):
        fail(UserError, f"chebyshev: takes a NumPy function of an array first, got {type(function).__name__}")
    interval = _bounds("chebyshev: interval", interval)
    if not 1 <= whole("chebyshev: degree", degree) <= MAX_DEGREE:
        fail(RangeError, f"chebyshev: degree={degree}; give 1 to {MAX_DEGREE}")
    try:
        series = interpolate(evaluate, interval, degree)
    except UserError as error:
        fail(type(error), error.message)
    found = Polynomial(series.coefficients, basis="chebyshev", interval=series.interval)
    found.max_error = max_error(series, evaluate)
    return found
