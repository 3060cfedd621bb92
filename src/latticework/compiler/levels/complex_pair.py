"""Abstract values around bootstraps: two real vectors, one in the imaginary parts, and what is made of them.

Everywhere else in a managed module vectors are real, and imaginary parts are noise that nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from latticework.compiler.levels.abstract_value import Held, add, exactly, negate, scale
from latticework.plan.parameters.bootstrap_noise import BootstrapStep


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Real and imaginary parts of an array of vectors.

    conjugate_of  the value that this is the conjugate of, but for noise
    """

    real: Held
    imaginary: Held
    conjugate_of: Parts | None = None

    def largest(self, deviations: float) -> float:
        """Largest magnitude of a slot, with its noise."""
        return float(np.max(np.hypot(*(part.size + part.reach(deviations) for part in (self.real, self.imaginary)))))


def parts_of(a: Held | Parts) -> Parts:
    """A real vector has no imaginary parts."""
    if isinstance(a, Parts):
        return a
    nothing = np.zeros((len(a.low), 1))
    return Parts(a, exactly(np.broadcast_to(nothing, a.low.shape), np.broadcast_to(nothing, a.low.shape)))


def add_parts(x: Held | Parts, y: Held | Parts) -> Held | Parts:
    """A sum; of a value and its conjugate it is real."""
    if isinstance(y, Parts) and y.conjugate_of is x:
        return _add_to_conjugate(parts_of(x).real, y.real)
    return each((x, y), lambda ab: add(*ab))


def sub_parts(x: Held | Parts, y: Held | Parts) -> Held | Parts:
    """A difference; of a value and its conjugate it is imaginary."""
    if isinstance(y, Parts) and y.conjugate_of is x:
        made = _add_to_conjugate(parts_of(x).imaginary, negate(y.imaginary))
        return Parts(parts_of(made).imaginary, made)
    return each((x, y), lambda ab: add(ab[0], negate(ab[1])))


def turn_parts(a: Held | Parts, quarters: int) -> Held | Parts:
    """Times a power of i; a vector again where nothing is left in the imaginary parts."""
    real, imaginary = parts_of(a).real, parts_of(a).imaginary
    for _ in range(quarters % 4):
        real, imaginary = negate(imaginary), real
    return real if _is_nothing(imaginary) else Parts(real, imaginary)


def bound_bootstrap(a: Held, size: float, step: BootstrapStep, deviations: float) -> Held:
    """Parts after a bootstrap, without the source of its noise; size: of the largest slot."""
    deviation, bias = step.error(a.size + a.reach(deviations), size, deviations)
    return Held(a.low, a.high, a.variance + deviation**2, a.bias + bias, a.lineage)


def each(x: Sequence[Held | Parts], make: Callable[[Sequence[Held]], Held]) -> Held | Parts:
    """Apply `make` to real and imaginary parts alike; real if all are."""
    if all(isinstance(a, Held) for a in x):
        return make(x)  # type: ignore[arg-type]
    parts = [parts_of(a) for a in x]
    return Parts(make([a.real for a in parts]), make([a.imaginary for a in parts]))


def _is_nothing(a: Held) -> bool:
    return not (a.low.any() or a.high.any() or a.variance.any() or a.bias.any())


def _add_to_conjugate(a: Held, b: Held) -> Held:
    """Twice a part: the same interval in both, and in b the noise of a conjugation besides."""
    twice = scale(a, 2.0)
    more = np.maximum(b.variance - a.variance, 0.0)
    return Held(twice.low, twice.high, twice.variance + more, twice.bias, b.lineage)
