"""Check of inputs before a client encrypts them, and ways to go on: clipped, or with the rows kept that fit."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

import numpy as np

from latticework.errors import RangeError
from latticework.errors.escaping import plain_text
from latticework.errors.shown import count_noun, describe
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.conditions import UNLIKE
from latticework.plan.schema.schema import ClientSpec
from latticework.runtime.client.input_inspection import Looked
from latticework.runtime.exchange.clipped import ClippedRows
from latticework.runtime.exchange.input_errors import Finding, refusal
from latticework.runtime.exchange.row_batches import Extent, has_rows, in_runs

_SHOWN = 8


@dataclass(frozen=True)
class Inputs:
    """Checked inputs by name, those that differ from run to run as stacks (runs, *shape). They show no values.

    interface  of the compilation that they are for
    rows       which of the rows or runs that were given these are, where some were left out
    clipped    which were clipped, if any may have been
    """

    values: dict[str, Any]
    extent: Extent | None
    interface: bytes
    rows: tuple[int, ...] | None = None
    clipped: ClippedRows | None = None

    def __repr__(self) -> str:
        changed = "" if self.clipped is None else repr(self.clipped)
        return describe("Inputs", *self.values, "" if self.extent is None else str(self.extent), changed)


class InputCheck:
    """Inputs that were looked at, and not encrypted: where something is outside, and how to go on.

    `client.encrypt` takes it where nothing is, and what `clipped` and `kept` return. It shows places, counts and
    accepted ranges; no value.

    rows      numbers of the rows (or runs of a stack) in which something is not taken
    count     of the rows, or runs, that were given
    columns   how often in each column, by its name, or number where it has none
    """

    def __init__(self, spec: ClientSpec, looked: Looked, interface: bytes) -> None:
        self._spec, self._looked, self._interface = spec, looked, interface
        extent = looked.extent
        batch = 1 if spec.batch is None or not looked.has_rows else spec.batch.rows
        self.count = batch if extent is None else extent.runs if extent.rows is None else extent.rows
        self.rows = tuple(range(self.count)) if looked.rows is None else tuple(sorted(looked.rows))

    @property
    def fits(self) -> bool:
        """Whether all of it is taken as it is."""
        return not self._looked.misfits

    @property
    def num_outside(self) -> int:
        """The number of values, or conditions, that are not taken."""
        return sum(misfits.count for misfits in self._looked.misfits)

    @property
    def columns(self) -> dict[str | int, int]:
        """The number of rows with something that is not taken in each column, by name or number."""
        counted: Counter[str | int] = Counter()
        for misfits in self._looked.misfits:
            for column in misfits.of_columns():
                name = misfits.columns[column] if misfits.columns else int(column)
                counted[name] += int(np.count_nonzero(misfits.where[..., column]))
        return dict(counted)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Every one, with its row, column and accepted range."""
        return tuple(finding for misfits in self._looked.misfits for finding in misfits.findings())

    def inputs(self) -> Inputs:
        """The inputs as they were given; raises as `Client.encrypt` where something is not taken."""
        if self._looked.misfits:
            raise refusal(self._spec, self._looked.misfits)
        return Inputs(*in_runs(self._spec, self._looked.values), self._interface)

    def clipped(self) -> Inputs:
        """All rows, with values outside brought to the ends of their ranges, for `client.encrypt`.

        Results of rows that were changed are marked when they are decrypted: `is_certain` is False there.
        raises  RangeError for what no range tells how to change, such as NaN
        """
        stuck = [misfits for misfits in self._looked.misfits if not misfits.can_clip]
        if stuck:
            error = refusal(self._spec, stuck)
            raise RangeError(f"{error.message}. It cannot be clipped: kept() leaves such rows out")
        values, extent = in_runs(self._spec, self._looked.values)
        return Inputs(values, extent, self._interface, clipped=ClippedRows.of(self.count, self._looked.rows))

    def kept(self) -> Inputs:
        """The rows (or runs) in which everything is taken, for `client.encrypt`; `rows` of it says which these are.

        raises  RangeError where none is left
        """
        out = set(self.rows)
        places = [row for row in range(self.count) if row not in out]
        if not places or (out and not self._looked.has_rows):
            raise RangeError(f"{refusal(self._spec, self._looked.misfits).message}. No row is left to keep")
        values = dict(self._looked.values)
        for i in self._spec.secret_inputs if out else ():
            if i.name in values and has_rows(self._spec, i, values[i.name]):
                values[i.name] = values[i.name][places]
        return Inputs(*in_runs(self._spec, values), self._interface, rows=tuple(places))

    def _describe(self) -> tuple[str, ...]:
        noun = "run" if self._looked.extent is not None and self._looked.extent.rows is None else "row"
        of = f"{count_noun(self.count, noun)} of program {self._spec.name}"
        if self.fits:
            unlike = any(UNLIKE in conditions for _, conditions in self._spec.result_conditions())
            return (of, "all taken", f"bounds of results are for {UNLIKE}") if unlike else (of, "all taken")
        listed = ", ".join(map(str, self.rows[:_SHOWN])) + (" ..." if len(self.rows) > _SHOWN else "")
        return (
            of,
            f"{len(self.rows)} not taken as they are ({listed})",
            f"{count_noun(self.num_outside, 'value')} in them",
        )

    def __repr__(self) -> str:
        return describe("InputCheck", *self._describe())

    def __str__(self) -> str:
        """A line for each finding, the first few of many."""
        more = len(self.findings) - 4 * _SHOWN
        lines = [", ".join(self._describe()), *(f"  {finding}" for finding in self.findings[: 4 * _SHOWN])]
        return "\n".join(map(plain_text, [*lines, f"  and {more} more"] if more > 0 else lines))
