"""Tables in .csv and .parquet files, with cells as the steps of a program's owner read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from latticework.errors import UserError
from latticework.plan.client_steps.stages import OwnerStages
from latticework.values.inputs.cell_tables import NUMBER, SUFFIXES, CellTable, read_table
from latticework.values.inputs.frames_by_column import places_of_column
from latticework.values.inputs.reading_budget import ReadingLimits, open_regular


def is_table(path: Path) -> bool:
    """Whether a file is a table by its name."""
    return path.suffix.lower() in SUFFIXES


def read_table_file(path: Path, limits: ReadingLimits) -> CellTable:
    """Read a table; its cells are texts where the file has no types.

    raises  FormatError with the place of what is no table; MissingPackageError without the package that reads .parquet
    """
    with open_regular(path) as file:
        return read_table(file, str(path), limits)


def type_cells(read: Any, stages: OwnerStages | None, name: str, columns: tuple[str, ...] = ()) -> Any:
    """Turn cells of a table into what the owner's steps take of the input `name`; other values stay as they are.

    Where each input is a column, a table of several columns is of all inputs.
    columns  names of the input's columns, where they are known
    raises   FormatError for a cell that is no number where one is wanted, with its place
    """
    if not isinstance(read, CellTable):
        return read
    each = {} if stages is None else stages.column_each
    by_column: list[tuple[str, str, frozenset[str]]] = []
    try:
        if stages is not None and len(each) > 1 and len(read.columns) > 1:
            by_column = list(_kinds_of_columns(read, stages, each))
        kinds = None if stages is None else stages.cell_kinds(name)
    except ValueError as error:
        raise UserError(f"{read.name}: {error}; give an array, in which cells have types") from None
    if by_column:
        return read.with_types(by_column)
    names = columns or read.columns
    if kinds is None:
        return read.with_types([(column, NUMBER, frozenset()) for column in read.columns])
    return read.with_types([(names[i], *kind) for i, kind in kinds.items() if i < len(names)])


def _kinds_of_columns(
    read: CellTable, stages: OwnerStages, each: Mapping[str, str]
) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield the columns of a table that inputs are, and what their cells are read as."""
    for name, column in each.items():
        kind = (stages.cell_kinds(name) or {}).get(0, (NUMBER, frozenset()))
        for place in places_of_column(column, read.columns):
            yield (read.columns[place], *kind)
