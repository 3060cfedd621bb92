"""Results of one mode: all its runs compared with the program itself, value by value, and the worst run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy import VANISHING
from latticework.compiler.assessment.execution_modes import ModeRun
from latticework.compiler.assessment.reference_run import ReferenceRun, Values
from latticework.ir import Op, Value
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.schema import Plan, SourceLocation
from latticework.report.accuracy_data import LineOff
from latticework.report.source_places import where_text

Array = npt.NDArray[Any]


def allowed_errors(plan: Plan) -> npt.NDArray[np.float64]:
    """Return the error that the precision allows every output; infinity for outputs that are next to nothing."""
    magnitudes = np.array([o.magnitude for o in plan.client.outputs])
    allowed = 2.0**-plan.client.precision_bits * magnitudes
    return np.where(magnitudes > VANISHING * np.max(magnitudes), allowed, np.inf)


@dataclass
class Compared:
    """Runs of one mode, compared with exact ones as they come.

    errors      largest difference of every output
    by_value    largest difference of every value, by position
    worst       the run whose outputs are off most, for what is allowed, with the exact outputs; and by how much
    """

    plan: Plan
    runs: list[ModeRun] = field(default_factory=list)
    errors: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    by_value: dict[int, float] = field(default_factory=dict)
    worst: tuple[ModeRun, list[Array]] | None = None
    most: float = 0.0

    def add(self, run: ModeRun, outputs: Sequence[Array], values: Values) -> None:
        """Take note of a run; its values are kept if it is the worst so far.

        outputs, values  of the program itself
        """
        off = differences(run.outputs, outputs)
        self.errors = np.maximum(self.errors, off) if self.errors.size else off
        for position, arrays in run.values.items():
            pairs = zip(arrays, values.get(position, ()), strict=False)
            error = max((largest_difference(a, b) for a, b in pairs), default=0.0)
            self.by_value[position] = max(self.by_value.get(position, 0.0), error)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = float(np.max(np.nan_to_num(off / allowed_errors(self.plan), nan=0.0)))
        self.runs.append(ModeRun(run.run, run.outputs, {}))
        if self.worst is None or ratio > self.most:
            self.most, self.worst = ratio, (run, list(outputs))


def first_off(compared: Compared, mirror: ReferenceRun) -> LineOff | None:
    """The first line after which results of the worst run are off by more than is allowed, all that follows exact.

    None if the results of all runs are as precise as was asked.
    Cost: a run of the program on cleartext for each value before that line.
    """
    if compared.worst is None or compared.most <= 1.0:
        return None
    plan, (run, exact) = compared.plan, compared.worst
    allowed = allowed_errors(plan)
    _, values = mirror.run(run.run.inputs)
    for value, position in mirror.positions.items():
        held = run.values.get(position)
        if held is None or len(held) < len(values.get(position, ())):
            continue
        outputs, _ = mirror.run(run.run.inputs, held={value: held})
        moved = differences(outputs, exact)
        if (over := ~(moved <= allowed)).any():
            number = int(np.argmax(over))
            error = max(largest_difference(a, b) for a, b in zip(held, values[position], strict=False))
            place = line_of(plan, plan.tensors[position].location)
            name, row = plan.tensors[position].name, run.run.rows[0]
            return LineOff(
                where_text(place), place.text.strip(), name, error, float(moved[number]), float(allowed[number]), row
            )
    off = differences(run.outputs, exact)
    number = int(np.argmax(~(off <= allowed)))
    place = _origin_of(mirror.module.body.terminator.operands[number])
    name = plan.client.outputs[number].name
    return LineOff(
        where_text(place), place.text.strip(), name, float(off[number]), float(off[number]), float(allowed[number]),
        run.run.rows[0],
    )  # fmt: skip


def line_of(plan: Plan, location: int) -> SourceLocation:
    """The line of a location; of several that cause it together the one that causes most."""
    return plan.locations[max(plan.shares(location), key=lambda share: share[1])[0]]


def _origin_of(value: Value) -> SourceLocation:
    loc = value.owner.loc if isinstance(value.owner, Op) else value.origin.loc if value.origin else None
    return SourceLocation("", 0, "") if loc is None else SourceLocation(loc.file, loc.line, loc.text)


def differences(a: Sequence[Array], b: Sequence[Array]) -> npt.NDArray[np.float64]:
    """Largest difference of every output."""
    return np.array([largest_difference(x, y) for x, y in zip(a, b, strict=True)])


def largest_difference(a: Array, b: Array) -> float:
    """Largest difference of two arrays; infinite where one holds what is no number."""
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(np.asarray(a) - np.asarray(b))
    return float(np.max(np.nan_to_num(off, nan=np.inf), initial=0.0))
