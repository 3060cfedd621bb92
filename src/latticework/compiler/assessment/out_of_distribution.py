"""Rows out of the distribution of calibration data: which, and in what; none is left out or counted in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.assessment.given_rows import DataRows, OneRun
from latticework.errors import RangeError
from latticework.errors.rounded_numbers import write_value
from latticework.frontend.calibration.calibration_data import Sample
from latticework.report.accuracy_data import UnlikeData
from latticework.runtime.client.client import Client

Array = npt.NDArray[Any]
Columns = tuple[Array, Array]  # the smallest and the largest element of each column

LEAST_ROWS = 8  # of which it is said that a column is the same in all
LISTED = 8


def find_refused(given: DataRows, client: Client) -> dict[int, str]:
    """The rows that the client refuses to encrypt, and why.

    raises  ShapeError or DtypeError for data that are no rows of the program
    """
    refused: dict[int, str] = {}

    def look(rows: Sequence[int]) -> None:
        try:
            given.runs(rows, client)
        except RangeError as error:
            if len(rows) == 1:
                refused[rows[0]] = error.message
            else:
                half = len(rows) // 2
                look(rows[:half])
                look(rows[half:])

    look(range(given.count))
    return refused


def refusals(refused: Mapping[int, str]) -> list[UnlikeData]:
    """Rows that the client refuses, each in its words."""
    return [UnlikeData("refused", (row,), f"refused by clients: {_of_alone(refused[row])}") for row in sorted(refused)]


def _of_alone(message: str) -> str:
    """A message about data with one row, which names that as row 0."""
    return message.replace(", row 0,", ",").replace(", run 0,", ",")


def columns_of(arrays: Sequence[Array]) -> Columns:
    """Ranges of the columns of one input in all samples: columns are the elements of the last axis."""
    stacked = np.concatenate([np.reshape(a, (-1, np.shape(a)[-1] if np.ndim(a) else 1)) for a in arrays])
    return stacked.min(axis=0), stacked.max(axis=0)


def calibrated_columns(samples: Sequence[Sample]) -> dict[str, Columns]:
    """Ranges of the columns of every array input, by name."""
    return {name: columns_of([s[name] for s in samples]) for name, value in samples[0].items() if np.ndim(value)}


def unlike_columns(runs: Sequence[OneRun], calibrated: Mapping[str, Columns], rows: Sequence[int]) -> list[UnlikeData]:
    """Columns that hold one value in these rows and not in calibration, and those that do in calibration only."""
    result = []
    for name, (low, high) in calibrated.items() if len(rows) >= LEAST_ROWS else ():
        least, most = columns_of([run.inputs[name] for run in runs])
        still = (least == most) & (low < high)
        if still.any():
            columns = np.flatnonzero(still)
            one = f" ({write_value(float(least[columns[0]]))} in column {columns[0]})"
            result.append(
                UnlikeData(
                    "constant", tuple(rows),
                    f"input {name}: {_list_columns(columns, len(low))} the same number in every row{one}, and "
                    f"not in calibration; were they filled in?",
                )
            )  # fmt: skip
        moving = (low == high) & ((least != low) | (most != high))
        if moving.any():
            columns = np.flatnonzero(moving)
            other = tuple(
                row
                for run in runs
                for row in run.rows
                if _differs(run, name, columns, low[columns], run.rows.index(row))
            )
            result.append(
                UnlikeData(
                    "varies", other,
                    f"input {name}: {_list_columns(columns, len(low))} other numbers than the one of all of "
                    "calibration",
                )
            )  # fmt: skip
    return result


def _differs(run: OneRun, name: str, columns: Array, value: Array, place: int) -> bool:
    array = np.asarray(run.inputs[name])
    rows = array.reshape(-1, array.shape[-1])
    own = rows[place :: len(run.rows)][:1] if len(run.rows) > 1 and len(rows) >= len(run.rows) else rows
    return bool(np.any(own[:, columns] != value))


def _list_columns(numbers: Sequence[int] | Array, count: int) -> str:
    """`column 3 of 16 holds`, `columns 1, 2 and 5 of 16 hold`."""
    if len(numbers) == 1:
        return f"column {numbers[0]} of {count} holds"
    shown = ", ".join(str(n) for n in numbers[:LISTED])
    more = f" and {len(numbers) - LISTED} more" if len(numbers) > LISTED else ""
    return f"columns {shown}{more} of {count} hold"
