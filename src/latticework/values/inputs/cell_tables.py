"""Tables in files that somebody else made: cells of CSV files as texts, of Parquet files as they are typed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, FormatError, MissingPackageError
from latticework.values.inputs.reading_budget import MOST_SECRET, ReadingLimits

TEXT, NUMBER = "text", "number"
SUFFIXES = (".csv", ".parquet")
MAX_CELL, MAX_COLUMNS = 1 << 20, 1 << 16  # characters of a cell; columns
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_TRUTHS = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}
# What readers of CSV files of other packages take for missing, and this one does not.
_ABSENT = frozenset(["NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"])


class CellTable:
    """A table of a file, whose columns have names.

    columns  their names;  lines  of each row in the file, for messages; () where rows have none
    """

    def __init__(self, name: str, columns: Sequence[str], cells: npt.NDArray[Any], lines: Sequence[int] = ()) -> None:
        self.name, self.columns, self._cells, self.lines = name, list(columns), cells, tuple(lines)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self._cells.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._cells, dtype=dtype)

    def __len__(self) -> int:
        return len(self._cells)

    def select(self, columns: Sequence[str]) -> CellTable:
        """Return the table with some of its columns, by name."""
        places = [self.columns.index(name) for name in columns]
        return CellTable(self.name, columns, self._cells[:, places], self.lines)

    def with_types(self, kinds: Sequence[tuple[str, str, frozenset[str]]]) -> CellTable:
        """Return the table with cells as a program takes them: numbers as such, empty cells as NaN.

        kinds    of columns that are read: its name, "text" or "number", and texts that are known there
        raises   FormatError for a cell that is no number, or that others take for missing, with its place
        """
        if not self.lines:  # a file with types
            return self
        cells = self._cells.copy()
        for name, kind, known in kinds:
            if self.columns.count(name) != 1:
                continue  # columns are compared later
            column = self.columns.index(name)
            for row, cell in enumerate(cells[:, column]):
                cells[row, column] = self._value(cell, kind, known, row, name)
        if len(kinds) == len(self.columns) and all(kind == NUMBER for _, kind, _ in kinds):
            cells = cells.astype(np.float64)
        return CellTable(self.name, self.columns, cells, self.lines)

    def _value(self, cell: str, kind: str, known: frozenset[str], row: int, column: str) -> Any:
        if not cell.strip():
            return float("nan")
        place = f"{self.name}:{self.lines[row]}, row {row}, column {column}"
        if cell.strip() in _ABSENT and cell not in known:
            raise FormatError(f"{place}: some programs take this text for a missing value: leave it empty if it is")
        if kind == TEXT:
            return cell
        text = cell.strip()
        if text in _TRUTHS:
            return _TRUTHS[text]
        if not _DECIMAL.fullmatch(text):
            raise FormatError(
                f"{place}: it is no number; write numbers as 1234.5 or 1.2e3, with a decimal point, and no separators "
                "of thousands"
            )
        return int(text) if text.lstrip("+-").isdecimal() and len(text) < 16 else float(text)


def read_table(file: IO[bytes], name: str, limits: ReadingLimits) -> CellTable:
    """Read the table of a .csv or .parquet file.

    file    open for reading;  name  of it, whose ending says which it is
    raises  FormatError with the place of what is no table, or more than the limits allow; MissingPackageError
            without the package that reads .parquet
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if size > limits.file_bytes:
        raise FormatError(
            f"{name} has {size} bytes, more than the limit file_bytes={limits.file_bytes}; give it in parts"
        )
    if name.lower().endswith(".parquet"):
        return _read_parquet(file, name, limits, size)
    return _read_csv(file, name, limits, size)


def _read_csv(file: IO[bytes], name: str, limits: ReadingLimits, size: int) -> CellTable:
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    before = csv.field_size_limit(MAX_CELL)
    try:
        reader = csv.reader(text, strict=True)
        rows = _rows(reader, name)
        _, header = next(rows, (0, []))
        _check_header(header, name)
        most = min(MOST_SECRET, (limits.memory_bytes + 2 * size) // 64) // len(header)
        cells, lines, blank = list[list[str]](), list[int](), 0
        for line, row in rows:
            if not row:
                blank = blank or line
                continue
            if blank:
                raise FormatError(f"{name}:{blank}: an empty line between rows; take it out")
            if len(row) != len(header):
                raise FormatError(
                    f"{name}:{line}, row {len(cells)}: {len(row)} cells, and the header names {len(header)} columns"
                )
            if len(cells) >= most:
                raise FormatError(
                    f"{name}:{line}: more than {most} rows of {len(header)} columns take more than the limit "
                    "memory_bytes"
                )
            cells.append(row)
            lines.append(line)
    finally:
        csv.field_size_limit(before)
        text.detach()
    if not cells:
        raise FormatError(f"{name}: there is no row below the header")
    made = np.empty((len(cells), len(header)), dtype=object)
    made[:] = cells
    return CellTable(name, header, made, lines)


def _rows(reader: Any, name: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line that each ends on."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{name}: near line {reader.line_num + 1}: byte {error.object[error.start]:#04x} is no text in UTF-8; "
                "save the file in UTF-8"
            ) from None
        except csv.Error as error:
            raise FormatError(
                f"{name}:{reader.line_num}: {error}; cells have at most {MAX_CELL} characters, and a quoted one ends "
                "in a quote before the next comma"
            ) from None
        if any("\0" in cell for cell in row):
            raise FormatError(f"{name}:{reader.line_num}: a zero byte, which no text has")
        yield reader.line_num, row


def _check_header(header: list[str], name: str) -> None:
    """FormatError unless the first line has names of columns, each once."""
    if not header or len(header) > MAX_COLUMNS:
        raise FormatError(f"{name}:1: {len(header)} names of columns; the first line names them, separated by commas")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise FormatError(f"{name}:1: one column {header[0][:80]!r}; separate cells by commas")
    empty = next((i for i, each in enumerate(header) if not each.strip()), None)
    if empty is not None:
        raise FormatError(f"{name}:1: column {empty} has no name")
    twice = (
        next((each for i, each in enumerate(header) if each in header[:i]), None)
        if len(set(header)) < len(header)
        else None
    )
    if twice is not None:
        raise FormatError(f"{name}:1: column {twice[:80]!r} stands twice")


def _read_parquet(file: IO[bytes], name: str, limits: ReadingLimits, size: int) -> CellTable:
    if find_spec("pyarrow") is None:
        raise MissingPackageError(f"{name}: .parquet files are read by pyarrow; pip install 'latticework[tables]'")
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        read = parquet.ParquetFile(file)
        told = read.metadata
        groups = [told.row_group(i) for i in range(told.num_row_groups)]
        unpacked = sum(group.column(c).total_uncompressed_size for group in groups for c in range(group.num_columns))
        names = list(read.schema_arrow.names)
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise FormatError(f"{name} is no Parquet file: {str(error).splitlines()[0][:200]}") from None
    allowed = limits.memory_bytes + 2 * size
    if unpacked > allowed or told.num_rows * max(len(names), 1) > min(MOST_SECRET, allowed // 64):
        raise FormatError(
            f"{name}: {told.num_rows} rows of {len(names)} columns unpack to {unpacked} bytes, more than the limit "
            "memory_bytes"
        )
    _check_header(names, name)
    try:
        table = read.read()
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise FormatError(f"{name} is damaged: {str(error).splitlines()[0][:200]}") from None
    if not table.num_rows:
        raise FormatError(f"{name}: there is no row")
    cells = np.empty((table.num_rows, len(names)), dtype=object)
    for number, column in enumerate(table.columns):
        cells[:, number] = _typed_column(arrow, column, name, names[number])
    return CellTable(name, names, cells)


def _typed_column(arrow: Any, column: Any, name: str, label: str) -> list[Any]:
    types, kind = arrow.types, column.type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    known = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_string,
        types.is_large_string,
        types.is_null,
    )
    if not any(test(kind) for test in known) and str(kind) != "string_view":
        raise DtypeError(f"{name}, column {label}: cells of type {kind}; store numbers or texts")
    return [float("nan") if cell is None else cell for cell in column.to_pylist()]
