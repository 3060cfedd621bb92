"""Whether arguments of functions are likely to leave the intervals that polynomials are close to them on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod

from latticework.accuracy.uses import Fitted
from latticework.errors import ApproximationWarning
from latticework.plan.schema import Plan
from latticework.words.figures import one_in

OFTEN = 0.1  # of inputs: said when a program is compiled; less is in reports


def warn_of_leaving(plan: Plan, fitted: Sequence[Fitted], runs: int, stacklevel: int) -> None:
    """An ApproximationWarning where many inputs like those of calibration, so many runs, are estimated to do so."""
    shares = [a.leaving or 0.0 for a in plan.approximations]
    share = 1.0 - prod(1.0 - each for each in shares)
    if share < OFTEN:
        return
    worst = max(range(len(shares)), key=lambda number: shares[number])
    warnings.warn(
        f"{plan.client.name}: about {one_in(share)} inputs like those of calibration, or fewer, take an argument of a "
        "function out of the interval that its polynomial is for; results may be wrong then, and nothing tells. Most "
        f"often {fitted[worst].function} at {fitted[worst].loc} ({one_in(shares[worst])}). Calibrate on more runs than "
        f"these {runs}, or give range=",
        ApproximationWarning,
        stacklevel=stacklevel + 1,
    )
