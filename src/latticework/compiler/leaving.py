"""Whether arguments of functions are likely to leave the intervals that polynomials are close to them on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import floor, prod

from latticework.accuracy.uses import Fitted
from latticework.approx.few_runs import FEW, LIKELY, SURE, share_leaving
from latticework.errors import ApproximationWarning
from latticework.plan.schema import Plan

OFTEN = 0.1  # of inputs: said when a program is compiled; less is in reports


def warn_of_leaving(plan: Plan, fitted: Sequence[Fitted], margin: float, stacklevel: int) -> None:
    """An ApproximationWarning where many inputs like those of calibration are estimated to do so, or may as far as so
    few tell; of ranges that are wider by this margin."""
    able = [each for each, made in zip(fitted, plan.approximations, strict=True) if made.may_leave]
    if _share(able, LIKELY) < OFTEN:
        return
    share = _share(able, SURE)
    worst = max(able, key=_own_share)
    warnings.warn(
        f"{plan.client.name}: about {_often(share)} inputs like those of calibration, or fewer, take an argument of a "
        "function out of the interval that its polynomial is for; results may be wrong then, and nothing tells. Most "
        f"often {worst.function} at {worst.loc} ({_often(_own_share(worst))}).{_reason(able, margin)} Calibrate on "
        "more rows, give range= there, or compile with a larger margin=",
        ApproximationWarning,
        stacklevel=stacklevel + 1,
    )


def _share(able: Sequence[Fitted], confidence: float) -> float:
    """Of inputs, that leave the interval of any of these functions."""
    by_runs = share_leaving([each.room for each in able if each.room is not None], confidence)
    by_tails = [each.leaving or 0.0 for each in able]
    if _runs(able) < FEW:  # each is at least what so few runs say, and what they say of all together is less than a sum
        return max(by_runs, *by_tails)
    return max(by_runs, 1.0 - prod(1.0 - each for each in by_tails))


def _own_share(fitted: Fitted) -> float:
    return max(fitted.leaving or 0.0, 0.0 if fitted.room is None else share_leaving([fitted.room], SURE))


def _runs(able: Sequence[Fitted]) -> int:
    return min((each.room.runs for each in able if each.room is not None), default=FEW)


def _reason(able: Sequence[Fitted], margin: float) -> str:
    """What few rows tell of it."""
    runs, functions = _runs(able), len({each.loc for each in able})
    if runs >= FEW:
        return ""
    rows = f"{runs} row{'s' if runs > 1 else ''}"
    arguments = "one argument" if functions == 1 else f"{functions} arguments"
    return (
        f" Calibration has {rows}: of so few, about {2 * functions} in {runs + 1} others go beyond what all of them "
        f"reach in {arguments}, and margin={margin:g} of the range on each side is for some of these."
    )


def _often(share: float) -> str:
    """As many or more: 1 in 3.5."""
    return f"1 in {floor(10.0 / share) / 10.0:g}"
