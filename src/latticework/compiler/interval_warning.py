"""Warning where arguments of functions are likely to leave the intervals of their polynomials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import floor, prod

from latticework.compiler.accuracy.function_uses import Fitted
from latticework.compiler.bound_conditions import line_of, lines_read
from latticework.compiler.stage_results import TracedProgram
from latticework.errors import ApproximationWarning
from latticework.functions.approximation.exceedance import FEW, LIKELY, SURE, share_leaving
from latticework.ir.lines import warn
from latticework.plan.schema.conditions import Condition, merge_conditions
from latticework.plan.schema.schema import Output, Plan

OFTEN = 0.1  # of inputs: said when a program is compiled; less is in reports


def warn_of_leaving(plan: Plan, traced: TracedProgram, margin: float) -> Plan:
    """An ApproximationWarning where many inputs like those of calibration are estimated to do so, or may as far as so
    few tell; of ranges that are wider by this margin.

    returns  the plan; where it warned, with a condition on every output that is computed of such a function and not
             proved, so that none of its decisions is called certain
    """
    able = [
        each for each, approximation in zip(traced.fitted, plan.approximations, strict=True) if approximation.may_leave
    ]
    if _share(able, LIKELY) < OFTEN:
        return plan
    share = _share(able, SURE)
    worst = max(able, key=_own_share)
    warn(
        f"{plan.client.name}: about {_often(share)} inputs like those of calibration, or fewer, take an argument of a "
        "function out of the interval that its polynomial is for; results may be wrong then, and nothing tells. Most "
        f"often {worst.function} at {worst.loc} ({_often(_own_share(worst))}).{_reason(able, margin)} Calibrate on "
        "more rows, give range= there, or compile with a larger margin=",
        ApproximationWarning,
    )
    return replace(plan, client=replace(plan.client, outputs=tuple(_add_conditions(plan, traced, able))))


def _add_conditions(plan: Plan, traced: TracedProgram, able: Sequence[Fitted]) -> Iterator[Output]:
    """The outputs, with a condition for each of these functions that one of them is computed of."""
    computed_of = lines_read(traced.module, {each.loc for each in able})
    for output, lines in zip(plan.client.outputs, computed_of, strict=True):
        if output.reach is not None:
            yield output
            continue
        leaving = [Condition(each.function, line_of(each.loc), leaves=True) for each in able if each.loc in lines]
        yield replace(output, conditions=merge_conditions([output.conditions, leaving]))


def _share(able: Sequence[Fitted], confidence: float) -> float:
    """Share of the inputs that leave the interval of any of these functions."""
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
    """Explain how often inputs leave ranges that few rows were calibrated on; "" for many rows."""
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
    """Write a share as one number in so many, rounded to the larger share: 1 in 3.5."""
    return f"1 in {floor(10.0 / share) / 10.0:g}"
