"""Labels and formats of figures, said once: on the field of the record that holds it.

    @dataclass(frozen=True, slots=True)
    class KeyRow:
        level: Annotated[int, Column("level")]
        stored_bytes: Annotated[int, Column("stored", size, total=True)]

The name of the field is its key in JSON (or what `field(metadata={"key": ...})` says). Text, page and JSON all walk the
fields, so that none can leave one out, and a field that says nothing of itself is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, get_type_hints

from latticework.lazy_dataclass import dataclass
from latticework.report.blocks import Cell, Head, Table

TOTAL = "total"


@dataclass(frozen=True, slots=True)
class Column:
    """The display of a field: a column of a table, or a row where the table tells one record.

    show    writes the field's value;  row  writes the whole record instead, where the cell tells other fields too
    number  numbers stand to the right;  total  a table may end with the sum
    """

    label: str
    show: Callable[[Any], Cell | str] = str
    row: Callable[[Any], Cell | str] | None = None
    number: bool = False
    total: bool = False

    def cell(self, record: object, name: str) -> Cell | str:
        """The cell that shows the field `name` of `record`."""
        return self.show(getattr(record, name)) if self.row is None else self.row(record)


@dataclass(frozen=True, slots=True)
class Within:
    """A field that is told in the cell of another one, or elsewhere in its section, such as in a drawing."""

    shown_in: str


def number(label: str, show: Callable[[Any], Cell | str] = str, *, total: bool = False) -> Column:
    """A column of numbers."""
    return Column(label, show, number=True, total=total)


@lru_cache(maxsize=64)
def columns_of(kind: type) -> dict[str, Column]:
    """The columns of a record, by the names of its fields.

    raises  TypeError for a field that says neither its column nor where else it is told
    """
    names, said = vars(sys.modules[kind.__module__]), dict[str, Column | Within]()
    hints = get_type_hints(kind, names, names, include_extras=True)
    for field in fields(kind):
        for each in getattr(hints[field.name], "__metadata__", ()):
            if isinstance(each, Column | Within):
                said[field.name] = each
    return describe(kind, **said)


def describe(kind: type, /, **said: Column | Within) -> dict[str, Column]:
    """The columns of a record that says nothing of them itself, as those of other rooms.

    raises  TypeError unless there is a Column, or a Within, for each field
    """
    for field in fields(kind):
        if field.name not in said:
            raise TypeError(
                f"{kind.__name__}.{field.name} is in the report's JSON and in no column of its text and page: "
                "annotate it with a Column, or with Within and the place that tells it"
            )
    return {name: each for name, each in said.items() if isinstance(each, Column)}


def table(
    key: str,
    kind: type,
    records: Sequence[Any],
    *,
    columns: Mapping[str, Column] | None = None,
    summed: Sequence[Any] = (),
    replaced: Mapping[str, Column | None] | None = None,
    after: Mapping[str, Column] | None = None,
    first: Sequence[str] = (),
    data: Any = None,
    **more: Any,
) -> Table:
    """A row for each record.

    key       of the records in JSON, as in "levels.moduli";  data  what JSON has instead of them
    columns   what `describe` gave for records without annotations
    summed    records whose sums the table ends with, in columns that have some
    replaced  columns that depend on the rest of the report; None: left out
    after     columns that are made of others, by the field that they stand behind
    first     fields whose columns stand before the others
    more      fields of `Table`
    """
    shown: list[tuple[str, Column]] = []
    known: dict[str, Column | None] = {**(columns_of(kind) if columns is None else columns), **(replaced or {})}
    for name, column in ({name: known[name] for name in first} | known).items():
        shown += [] if column is None else [(name, column)]
        shown += [("", (after or {})[name])] if name in (after or {}) else []
    foot: list[Cell | str] = []
    if summed:
        sums = {name: sum(getattr(r, name) for r in summed) for name, column in shown if name and column.total}
        foot = [column.cell(SimpleNamespace(**sums), name) if column.total else "" for name, column in shown]
        foot[0] = TOTAL
    return Table(
        tuple(Head(column.label, column.number) for _, column in shown),
        tuple(tuple(column.cell(record, name) for name, column in shown) for record in records),
        tuple(foot),
        data={key: list(records) if data is None else data} if key else {},
        **more,
    )


def pairs(key: str, record: Any, heads: tuple[str, str], columns: Mapping[str, Column] | None = None) -> Table:
    """A row for each figure of one record: its name, and how much.

    columns  of a record that has no annotations
    """
    kind: type = type(record)
    shown = columns_of(kind) if columns is None else columns
    rows = tuple((column.label, column.cell(record, name)) for name, column in shown.items())
    return Table((Head(heads[0]), Head(heads[1], is_number=True)), rows, data={key: record})
