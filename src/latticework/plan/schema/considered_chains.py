"""The chains with bootstraps that were weighed for a program, as its plan keeps them for reports."""

from __future__ import annotations

from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WeighedChain:
    """A strategy to bootstrap a program.

    name        of the set;  iterations  of each bootstrap
    levels      that a bootstrap leaves
    seconds     predicted of a run: with its bootstraps placed if `is_placed`, else a rough estimate
    reached     bits, where it was simulated and is not precise enough
    """

    name: str
    iterations: int
    ring_degree: int
    levels: int
    seconds: float
    is_placed: bool
    reached: float | None = None
    chosen: bool = False
