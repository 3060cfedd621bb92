"""Rows of the tables that tell, line by line, where a program loses; text and HTML show the same."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from latticework.errors.shown import count_noun
from latticework.report.accuracy_data import AccuracyContents, AccuracyLine, FunctionAccuracy
from latticework.report.quantities import LEAVING, count, duration, leaving_text, real, small

FUNCTION_HEAD = ("function", "where", "arguments reach", "interval", "degree", "max error", "reached", "moves")
LEAVING_HEAD = ("function", "where", "interval", f"{LEAVING}, here", "estimated")
STEP_HEAD = ("function", "where", "degree", "max error", "levels", "products", "time of a run", "ring")
VALUE_HEAD = ("value", "where", "reaches", "calibrated", "approximated", "simulated", "encrypted")
MOST_VALUES = 24
NOISE = "noise"


def functions_of(report: AccuracyContents) -> list[tuple[AccuracyLine, FunctionAccuracy]]:
    """The lines with functions, those that cause most first."""
    found = [(line, line.function) for line in report.lines if line.function is not None]
    return sorted(found, key=lambda pair: -pair[1].share)


def function_row(line: AccuracyLine, function: FunctionAccuracy) -> list[str]:
    """The table row that tells what a function's polynomial does to the results."""
    return [
        function.function, line.where, span_text(function.low, function.high), span_text(*function.interval),
        "+".join(map(str, function.degree)) + (", given" if function.given else ""), small(function.max_error),
        small(function.reached_error), small(function.effect),
    ]  # fmt: skip


def leaving_row(line: AccuracyLine, function: FunctionAccuracy) -> list[str]:
    """The table row that tells how often arguments leave the interval of a function."""
    here = count_noun(function.outside, "row") if function.outside else "none"
    estimated = leaving_text(function.may_leave, function.leaving)
    return [function.function, line.where, span_text(*function.interval), here, estimated]


def noise_row(report: AccuracyContents) -> list[str]:
    """The same of encryption."""
    return [NOISE, *[""] * 6, small(report.noise_effect)]


def step_row(line: AccuracyLine, function: FunctionAccuracy) -> list[str]:
    """The table row that tells what a higher degree costs and gives; nothing where there is none."""
    step = function.step
    if step is None:
        return []
    ring = "" if step.larger_ring is None else "a larger one" if step.larger_ring else "the same"
    return [
        function.function, line.where, f"{'+'.join(map(str, function.degree))} → {step.degree}",
        f"{small(function.max_error)} → {small(step.max_error)}", _more(step.levels), _more(step.products),
        f"+{duration(step.seconds)}" if step.seconds >= 0 else f"-{duration(-step.seconds)}", ring,
    ]  # fmt: skip


def values_shown(report: AccuracyContents) -> list[AccuracyLine]:
    """All values, or of very many those that are off most, in program order."""
    if len(report.lines) <= MOST_VALUES:
        return list(report.lines)
    worst = sorted(range(len(report.lines)), key=lambda n: -worst_error(report.lines[n]))[:MOST_VALUES]
    return [report.lines[n] for n in sorted(worst)]


def worst_error(line: AccuracyLine) -> float:
    """The largest error of a value in any column."""
    return max((e for e in line.errors if e is not None), default=0.0)


def value_row(line: AccuracyLine) -> list[str]:
    """The table row that tells how far a value is off."""
    calibrated = "" if line.calibrated is None else f"± {real(line.calibrated)}"
    errors = ["" if e is None else small(e) for e in line.errors]
    return [line.name, line.where, span_text(line.low, line.high), calibrated, *errors]


def what_tables_mean(report: AccuracyContents) -> Sequence[str]:
    """Sentences that explain the heads of the tables."""
    return (
        "max error: largest distance of the polynomial from the function on its interval; reached: of the arguments in "
        f"these data; moves: how far it alone moves a result, to the largest of calibration, in {report.effect_runs} "
        "runs; share: of what all functions and the noise do, each by itself",
        f"{LEAVING}: rows that take an argument out of the interval, or of its channel's part of that if channels have "
        "polynomials of their own, where results may be wrong; estimated: of new inputs like those of calibration",
        "a step more: the highest degree for as many levels as now, or if it has that, for one more; its time is an "
        "estimate by the cost table",
    )


def part_text(part: float) -> str:
    """A share of the error."""
    return "< 0.1 %" if 0 < part < 0.0005 else f"{100 * part:.1f} %"


def span_text(low: float, high: float) -> str:
    """The interval as text, "low to high"; nothing where an end is infinite."""
    return f"{_short(low)} to {_short(high)}" if isfinite(low) and isfinite(high) else ""


def _short(value: float) -> str:
    return real(float(f"{value:.3g}"))


def _more(number: int) -> str:
    return f"+{count(number)}" if number > 0 else count(number) if number < 0 else "0"
