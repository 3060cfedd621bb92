"""Arguments of a program's functions: how far they reach over their intervals, how often, in which rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.assessment.given_rows import OneRun
from latticework.compiler.assessment.reference_run import OnArgument, ReferenceRun
from latticework.frontend.programs.batching import row_axes
from latticework.ir import Value
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.schema import ClientSpec, SourceLocation
from latticework.report.accuracy_data import UnlikeData
from latticework.report.source_places import where_text

Array = npt.NDArray[Any]
BINS = 40
BEYOND = 1e-6  # of an interval, that rounding may take arguments out of it


@dataclass
class ArgumentsSeen:
    """Statistics of the arguments of one function.

    low, high  the smallest and the largest argument in the program itself
    counts     of these by equal parts of the interval, those outside in the first and the last
    off        largest |polynomial - function| of them
    outside    row -> by how much an argument is farthest outside of its interval, of the program itself or of
               polynomials, and that argument
    in_gap     rows in which one is so close to 0 that its sign is not said
    """

    low: float = inf
    high: float = -inf
    counts: Array = field(default_factory=lambda: np.zeros(BINS, dtype=np.int64))
    off: float = 0.0
    outside: dict[int, tuple[float, float]] = field(default_factory=dict)
    in_gap: set[int] = field(default_factory=set)


class Arguments:
    """Statistics of the arguments of all functions of a program, gathered run by run."""

    def __init__(self, mirror: ReferenceRun, spec: ClientSpec) -> None:
        self.functions = mirror.functions
        self.seen = [ArgumentsSeen() for _ in self.functions]
        names = () if spec.batch is None else spec.batch.inputs
        axes: Mapping[Value, int] = row_axes(mirror.module, names) if names else {}
        self.axes = [axes.get(each.ops[0].operands[0]) for each in self.functions]

    def of(self, run: OneRun, *, exact: bool) -> OnArgument:
        """A callback that records the arguments of a run.

        exact  functions are: then ranges are noted, and how often an argument lies where
        """

        def note(number: int, array: Array) -> None:
            seen, axis, each = self.seen[number], self.axes[number], self.functions[number]

            def rows_of(values: Array) -> Array:
                """(rows, numbers) of an array of the argument's shape."""
                if axis is None or len(run.rows) < 2:
                    return values.reshape(1, -1)
                return np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)

            rows = rows_of(array)[: len(run.rows)]
            far = rows_of(np.broadcast_to(each.distance_outside(array), array.shape))
            for row, own, outside in zip(run.rows, rows, far, strict=False):
                self._note_row(number, row, own, outside)
            if not exact or not array.size:
                return
            low, high = each.stand_in.use.interval
            seen.low, seen.high = min(seen.low, float(rows.min())), max(seen.high, float(rows.max()))
            seen.counts += np.histogram(np.clip(rows, low, high), BINS, (low, high))[0]
            with np.errstate(all="ignore"):
                off = rows_of(np.abs(each.approximate(array) - each.exact(array)))[: len(rows)]
            gap = each.stand_in.use.function.gap
            seen.off = max(seen.off, float(np.max(off[np.abs(rows) >= gap], initial=0.0)))

        return note

    def _note_row(self, number: int, row: int, own: Array, far: Array) -> None:
        """far: how far each of a row's own arguments is outside of its interval."""
        use, seen = self.functions[number].stand_in.use, self.seen[number]
        if not own.size:
            return
        place = int(np.argmax(far))
        slack = BEYOND * (use.interval[1] - use.interval[0])
        if far[place] > max(slack, seen.outside.get(row, (0.0, 0.0))[0]):
            seen.outside[row] = float(far[place]), float(own[place])
        if use.function.gap and float(np.min(np.abs(own))) < use.function.gap:
            seen.in_gap.add(row)

    def unlike(self) -> list[UnlikeData]:
        """Rows in which an argument is where its polynomial says nothing about the function."""
        result = []
        for each, seen in zip(self.functions, self.seen, strict=True):
            use = each.stand_in.use
            where = where_text(SourceLocation(use.op.loc.file, use.op.loc.line, ""))
            if seen.outside:
                rows = tuple(sorted(seen.outside))
                row = max(rows, key=lambda row: seen.outside[row])
                part = "" if each.channels is None else f" in one of {each.channels} channels, each with a part of it"
                result.append(
                    UnlikeData(
                        "argument", rows,
                        f"{use}{part} at {where}: its argument leaves that interval, {seen.outside[row][1]:.4g} in row "
                        f"{row} at most; the polynomial is no approximation there: calibrate on such data, or give "
                        "range=",
                    )
                )  # fmt: skip
            if seen.in_gap:
                result.append(
                    UnlikeData(
                        "argument", tuple(sorted(seen.in_gap)),
                        f"{use} at {where}: its argument is within gap={use.function.gap:g} of 0, where any "
                        "number between -1 and 1 may come out",
                    )
                )  # fmt: skip
        return result
