"""Abstract values around bootstraps and packed products: two real vectors, one in the imaginary parts.

Everywhere else in a managed module vectors are real, and imaginary parts are noise that nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from latticework.compiler.levels.abstract_value import AbstractValue, add, exactly, multiply, negate, scale
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters.bootstrap_noise import BootstrapStep


@dataclass(frozen=True, slots=True, eq=False)
class ComplexPair:
    """Real and imaginary parts of an array of vectors.

    conjugate_of  the value that this is the conjugate of, but for noise
    """

    real: AbstractValue
    imaginary: AbstractValue
    conjugate_of: ComplexPair | None = None

    def largest(self, deviations: float) -> float:
        """Largest magnitude of a slot, with its noise."""
        return float(
            np.max(np.hypot(*(part.size + part.largest_error(deviations) for part in (self.real, self.imaginary))))
        )


def as_complex_pair(a: AbstractValue | ComplexPair) -> ComplexPair:
    """A real vector has no imaginary parts."""
    if isinstance(a, ComplexPair):
        return a
    nothing = np.zeros((len(a.low), 1))
    return ComplexPair(a, exactly(np.broadcast_to(nothing, a.low.shape), np.broadcast_to(nothing, a.low.shape)))


def add_pairs(x: AbstractValue | ComplexPair, y: AbstractValue | ComplexPair) -> AbstractValue | ComplexPair:
    """A sum; of a value and its conjugate it is real."""
    if isinstance(y, ComplexPair) and y.conjugate_of is x:
        return _add_to_conjugate(as_complex_pair(x).real, y.real)
    return each((x, y), lambda ab: add(*ab))


def subtract_pairs(x: AbstractValue | ComplexPair, y: AbstractValue | ComplexPair) -> AbstractValue | ComplexPair:
    """A difference; of a value and its conjugate it is imaginary."""
    if isinstance(y, ComplexPair) and y.conjugate_of is x:
        difference = _add_to_conjugate(as_complex_pair(x).imaginary, negate(y.imaginary))
        return ComplexPair(as_complex_pair(difference).imaginary, difference)
    return each((x, y), lambda ab: add(ab[0], negate(ab[1])))


def multiply_by_i_power(a: AbstractValue | ComplexPair, quarters: int) -> AbstractValue | ComplexPair:
    """Times a power of i; a vector again where nothing is left in the imaginary parts."""
    real, imaginary = as_complex_pair(a).real, as_complex_pair(a).imaginary
    for _ in range(quarters % 4):
        real, imaginary = negate(imaginary), real
    return real if _is_nothing(imaginary) else ComplexPair(real, imaginary)


def multiply_pairs(
    x: AbstractValue | ComplexPair, y: AbstractValue | ComplexPair, deviations: float
) -> AbstractValue | ComplexPair:
    """A product of complex vectors, of which neither is made of the other."""
    a, b = as_complex_pair(x), as_complex_pair(y)
    real = add(multiply(a.real, b.real, deviations), negate(multiply(a.imaginary, b.imaginary, deviations)))
    return ComplexPair(real, add(multiply(a.real, b.imaginary, deviations), multiply(a.imaginary, b.real, deviations)))


def bound_bootstrap(a: AbstractValue, size: float, step: BootstrapStep, deviations: float) -> AbstractValue:
    """ComplexPair after a bootstrap, without the source of its noise; size: of the largest slot."""
    deviation, bias = step.error(a.size + a.largest_error(deviations), size, deviations)
    return AbstractValue(a.low, a.high, a.variance + deviation**2, a.bias + bias, a.lineage)


def each(
    x: Sequence[AbstractValue | ComplexPair], make: Callable[[Sequence[AbstractValue]], AbstractValue]
) -> AbstractValue | ComplexPair:
    """Apply `make` to real and imaginary parts alike; real if all are."""
    if all(isinstance(a, AbstractValue) for a in x):
        return make(x)  # type: ignore[arg-type]
    parts = [as_complex_pair(a) for a in x]
    return ComplexPair(make([a.real for a in parts]), make([a.imaginary for a in parts]))


def _is_nothing(a: AbstractValue) -> bool:
    return not (a.low.any() or a.high.any() or a.variance.any() or a.bias.any())


def _add_to_conjugate(a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Twice a part: the same interval in both, and in b the noise of a conjugation besides."""
    twice = scale(a, 2.0)
    more = np.maximum(b.variance - a.variance, 0.0)
    return AbstractValue(twice.low, twice.high, twice.variance + more, twice.bias, b.lineage)
