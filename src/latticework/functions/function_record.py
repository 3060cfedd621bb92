"""The record of a function of one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from math import inf, isfinite

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
RealFunction = Callable[[FloatArray], FloatArray]
Interval = tuple[float, float]

EVERYWHERE: tuple[Interval, ...] = ((-inf, inf),)


class Moved(Enum):
    """The ends of a model at which its operator is left to the owner of the data, who computes it in the clear."""

    NOWHERE = 0
    AFTER = 1
    BEFORE_AND_AFTER = 2


@dataclass(frozen=True, slots=True)
class FunctionRecord:
    """A function of one number, without parameters: its names in all importers, and what is known of its values.

    name       in plans, reports and client files
    meaning    its value in NumPy, an array of float64 of the argument's shape
    arguments  between which tests draw arguments, inside the domain
    numpy      its name in NumPy; "" where NumPy has none, as for the names that follow
    aten       its names in PyTorch's ATen, the usual one first: torch.special.expm1 is special_expm1
    onnx, onnx_since  its operator of ONNX, and the first version of it that is read
    sklearn    what networks of scikit-learn call it
    scipy      its name in scipy.special, of a function that is the same to its last bits
    lw         how users write it, as `lw.` and this name
    domains    the open intervals on which it is defined, of which an argument must stay in one
    closed     whether their finite ends belong to them
    smooth     analytic around every interval of its domain; if not, polynomials are fitted to where data are
    bend       its slopes below and above 0, where it is linear on both sides
    slope      a bound of its derivative; infinite where there is none
    values     between which its values lie, where readers of models ask: not of arctan and others, which would change
               plans of quantised models
    monotone   1 where it never falls, -1 where it never rises, 0 for others
    least_at   of a function that falls up to there and rises from there
    inverse    of a monotone one: the argument, of values
    moved      where models leave it to the owner: not where that would change the plans of models
    in_clear   another formula of the owner's, where `meaning` loses digits that results need
    """

    name: str
    meaning: RealFunction
    arguments: Interval = (-2.0, 2.0)
    numpy: str = ""
    aten: str = ""
    onnx: str = ""
    onnx_since: int = 0
    sklearn: str = ""
    scipy: str = ""
    lw: str = ""
    domains: tuple[Interval, ...] = EVERYWHERE
    closed: bool = False
    smooth: bool = True
    bend: tuple[float, float] | None = None
    slope: float = inf
    values: Interval = EVERYWHERE[0]
    monotone: int = 0
    least_at: float | None = None
    inverse: RealFunction | None = None
    moved: Moved = Moved.NOWHERE
    in_clear: RealFunction | None = None

    @property
    def aten_names(self) -> tuple[str, ...]:
        """Its names in ATen, without "aten." and the overload."""
        return tuple(self.aten.split())

    @property
    def owner_computes(self) -> bool:
        """Whether it is a step of the owner's: what is decrypted has bounds, and they have to be carried through it."""
        return len(self.domains) == 1 and (self.monotone != 0 or self.least_at is not None)

    def contains(self, x: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether each of the numbers is in its domain."""
        inside = np.zeros(np.shape(x), dtype=bool)
        for low, high in self.domains:
            inside |= (low <= x) & (x <= high) if self.closed else (low < x) & (x < high)
        return inside


def domain_words(domains: Sequence[Interval], closed: bool) -> str:
    """Domains, after "numbers": "above 0", "of at least 0", "from -1 to 1"."""
    return " or ".join(_write_interval(low, high, closed) for low, high in domains)


def _write_interval(low: float, high: float, closed: bool) -> str:
    if isfinite(low) and isfinite(high):
        return f"from {low:g} to {high:g}" if closed else f"between {low:g} and {high:g}"
    if isfinite(low):
        return f"of at least {low:g}" if closed else f"above {low:g}"
    return f"of at most {high:g}" if closed else f"below {high:g}"
