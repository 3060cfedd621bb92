"""Losses of precision by line: the effect of every function's polynomial by itself, and the error of each value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.assessment.degree_steps import DegreeSteps
from latticework.compiler.assessment.function_arguments import Arguments
from latticework.compiler.assessment.given_rows import OneRun
from latticework.compiler.assessment.mode_results import Compared, allowed_errors, differences, line_of
from latticework.compiler.assessment.reference_run import LocatedFunction, ReferenceRun, Values
from latticework.ir import Value
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.schema.schema import Plan, SourceLocation
from latticework.report.accuracy_data import AccuracyLine, FunctionAccuracy
from latticework.report.source_places import where_text
from latticework.values.packing.packed_constants import PiecewiseLinearComposition

Array = npt.NDArray[Any]
EFFECT_RUNS = 32  # in which functions are made polynomials one at a time


@dataclass
class SeenRanges:
    """Ranges of the elements of values, by position."""

    by_position: dict[int, tuple[float, float]] = field(default_factory=dict)

    def note(self, values: Values) -> None:
        """Take note of a run."""
        for position, arrays in values.items():
            low, high = self.by_position.get(position, (inf, -inf))
            for array in arrays:
                low, high = min(low, float(np.min(array, initial=inf))), max(high, float(np.max(array, initial=-inf)))
            self.by_position[position] = low, high


def relative(plan: Plan, moved: Array) -> float:
    """The largest of these errors of outputs, each to the largest output in calibration."""
    allowed = allowed_errors(plan)
    part: float = 2.0**-plan.client.precision_bits
    return part * float(np.max(np.where(np.isfinite(allowed), moved / allowed, 0.0)))


def effects_of(mirror: ReferenceRun, plan: Plan, runs: Sequence[OneRun], on_done: Callable[[int], None]) -> list[float]:
    """Measure how far results of these runs are moved by the polynomial of one function at a time, all others exact."""
    most = [0.0] * len(mirror.functions)
    for done, run in enumerate(runs):
        exact, _ = mirror.run(run.inputs)
        for number in range(len(most)):
            outputs, _ = mirror.run(run.inputs, exact=[n for n in range(len(most)) if n != number])
            most[number] = max(most[number], relative(plan, differences(outputs, exact)))
        on_done(done + 1)
    return most


def lines_of(
    mirror: ReferenceRun,
    plan: Plan,
    ranges: SeenRanges,
    arguments: Arguments,
    columns: Sequence[Compared | None],
    effects: Sequence[float],
    noise: float,
    steps: DegreeSteps,
) -> tuple[AccuracyLine, ...]:
    """All values that can be looked at, in program order; functions whose value cannot stand where they are computed.

    columns  approximated, simulated and encrypted
    """
    whole = sum(effects) + noise
    functions = {
        each.ops[-1].result: _function(each, number, plan, mirror, arguments, effects[number], whole, steps)
        for number, each in enumerate(mirror.functions)
    }
    result = []
    seen: set[Value] = set()
    for value in mirror.order():
        position = mirror.positions.get(value)
        if value in seen or (position is None and value not in functions):
            continue
        seen.add(value)
        function = functions.get(value)
        if position is None:
            assert function is not None
            number = next(n for n, each in enumerate(mirror.functions) if each.ops[-1].result is value)
            loc = mirror.functions[number].stand_in.use.op.loc
            place, name = SourceLocation(loc.file, loc.line, loc.text), function.function
        else:
            place, name = line_of(plan, plan.tensors[position].location), plan.tensors[position].name
        low, high = (inf, -inf) if position is None else ranges.by_position.get(position, (inf, -inf))
        origin = value.origin
        result.append(
            AccuracyLine(
                where_text(place), place.text.strip(), name, low, high, None if origin is None else origin.max_abs,
                _errors(columns, position), function,
            )
        )  # fmt: skip
    return tuple(result)


def _errors(
    columns: Sequence[Compared | None], position: int | None
) -> tuple[float | None, float | None, float | None]:
    one, two, three = (None if c is None or position is None else c.by_value.get(position) for c in columns)
    return one, two, three


def _function(
    each: LocatedFunction, number: int, plan: Plan, mirror: ReferenceRun, arguments: Arguments, effect: float,
    whole: float, steps: DegreeSteps,
) -> FunctionAccuracy:  # fmt: skip
    use, seen, placed = each.stand_in.use, arguments.seen[number], plan.approximations[each.number]
    level, vectors = _place_of(plan, mirror, each)
    return FunctionAccuracy(
        use.function.name, seen.low, seen.high, use.interval, tuple(int(n) for n in seen.counts), len(seen.outside),
        placed.may_leave, placed.leaving, _degrees(each), use.given_degree is not None,
        float(each.stand_in.stages[-1].error or 0.0), seen.off, effect, effect / whole if whole > 0.0 else 0.0,
        steps.of(each.stand_in, level, vectors),
    )  # fmt: skip


def _degrees(each: LocatedFunction) -> tuple[int, ...]:
    """Degrees of all polynomials that are evaluated one after the other, those of a composed sign among them."""
    parts = (s.stages if isinstance(s, PiecewiseLinearComposition) else (s,) for s in each.stand_in.stages)
    return tuple(part.degree for some in parts for part in some)


def _place_of(plan: Plan, mirror: ReferenceRun, each: LocatedFunction) -> tuple[int, int]:
    """The level of a function's result, and how many vectors it is."""
    position = mirror.positions.get(each.ops[-1].result)
    for register, watched in plan.watch.items() if position is not None else ():
        kind = plan.kind(register)
        if watched == position and isinstance(kind, CipherKind):
            return kind.level, plan.tensors[watched].pack.count
    return plan.chain.floor, 1
