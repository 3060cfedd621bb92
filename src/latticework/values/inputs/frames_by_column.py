"""Frames given to programs that take a column each, by name, as their inputs: of files that begin with raw tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from latticework.errors import ColumnsError, DtypeError
from latticework.values.inputs.column_names import frame_labels, list_names, take_places
from latticework.values.inputs.foreign_arrays import as_array, as_cells


def split_by_column(data: Any, columns: Mapping[str, str], label: str) -> dict[str, Any] | None:
    """The columns of a frame, or of a dictionary of columns, by the input that each is for; None of anything else.

    columns  names of the columns, by input; columns that are for none are left out
    label    what the frame is called in messages
    raises   ColumnsError for a frame that lacks a column, or has two of its name
    """
    if len(columns) < 2:
        return None
    labels = list(data) if isinstance(data, Mapping) else frame_labels(data)
    if labels is None:
        return None
    places = {name: places_of_column(column, [str(each) for each in labels]) for name, column in columns.items()}
    for word, lacking in (("missing", [columns[n] for n, found in places.items() if not found]),
                          ("given twice", [columns[n] for n, found in places.items() if len(found) > 1])):  # fmt: skip
        if lacking:
            raise ColumnsError(
                f"{label} has other columns than the program takes, which are {list_names(tuple(columns.values()))}; "
                f"{word}: {list_names(tuple(lacking))}"
            )
    if isinstance(data, Mapping):
        values = list(data.values())
        return {name: values[place] for name, (place,) in places.items()}
    return {name: _without_name(take_places(data, found)) for name, found in places.items()}


def _without_name(frame: Any) -> Any:
    """A frame of one column as an array, of numbers or of cells."""
    try:
        array = as_array(frame)
    except DtypeError:
        return as_cells(frame)
    return as_cells(frame) if array.dtype.kind in "USO" else array


def places_of_column(column: str, texts: Sequence[str]) -> list[int]:
    """Return the places of a column among names: by its name, or else by letters and digits, which files keep."""
    found = [place for place, text in enumerate(texts) if text == column]
    return found or [place for place, text in enumerate(texts) if _plain(text) == _plain(column)]


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)
