"""Names of columns: what frames call them, and values put into the order that a program knows them in.

A frame is whatever names its columns: frames of pandas, polars and their like, tables of Arrow, arrays of NumPy with
named fields. A series of pandas is one row, whose index has the names, and so is a named tuple. None of these packages
is imported. Columns that are numbered 0, 1, 2, ... have no names: an array that was made a frame has these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from latticework.errors import ColumnsError, DtypeError
from latticework.values.inputs.foreign_arrays import with_dense_rows

Names = tuple[str, ...]
_SHOWN = 8  # names in a message
_UNNAMED = (str, bytes, int, float, complex, np.generic, dict)  # that have no columns
_ARRAYS = (np.ndarray, list, tuple, *_UNNAMED)


def names_of(data: Any, label: str) -> Names:
    """Return the column names of a frame, or of the first of a list of frames or named rows; () if there are none.

    label   what it is called in messages
    raises  ColumnsError for columns that are numbered from 0 in another order, which are neither named nor in order
    """
    if isinstance(data, list | tuple) and not _tuple_fields(data):
        candidates = (names_of(part, label) if frame_labels(part) is not None else _row_names(part) for part in data)
        return next((names for names in candidates if names), ())
    labels = frame_labels(data)
    if labels is None or _is_numbered(labels):
        return ()
    _refuse_shuffled(labels, label)
    return tuple(map(str, labels))


def in_order(data: Any, names: Names, label: str, *, is_part: bool = False) -> Any:
    """A value whose last axis has named columns, with them in this order; what has no names is taken by position.

    names   of all columns; (): they are not known, and what has names is taken by position too
    is_part frames, and dictionaries, may have other columns too, which are left out
    returns sparse rows as an array
    raises  ColumnsError for missing, unknown and repeated names; BudgetError for more rows than there is memory for
    """
    data = with_dense_rows(data, label)
    if isinstance(data, list | tuple) and not _tuple_fields(data):
        if any(_is_named(part) for part in data):
            return [in_order(part, names, label, is_part=is_part) for part in data]
        if names and data and all(isinstance(row, dict) for row in data):
            return _of_dictionaries(data, names, label, is_part=is_part)
        return data
    if isinstance(data, dict) and names and set(names) <= set(map(str, data)):
        raise ColumnsError(f"{label} is one row as a dictionary; give a list of rows, [row]")
    labels = frame_labels(data)
    is_frame = labels is not None
    if labels is None and names:
        labels = _row_labels(data)
    if labels is None:
        return data
    if names and field_names(data) is not None:
        data = _of_records(data)
    texts = tuple(map(str, labels))
    if not names:
        _refuse_shuffled(labels, label)
        return data
    if texts == names:
        return data
    if set(texts) == set(names) and len(set(names)) == len(names) == len(texts):
        place = {text: number for number, text in enumerate(texts)}
        return _take_columns(data, [place[name] for name in names], is_frame)
    if _is_numbered(labels):
        return data
    if is_part and all(texts.count(name) == 1 for name in names):
        return _take_columns(data, [texts.index(name) for name in names], is_frame)
    raise ColumnsError(f"{label} {_told_difference(texts, names, is_part=is_part)}")


def _of_dictionaries(rows: list[Any] | tuple[Any, ...], names: Names, label: str, *, is_part: bool) -> Any:
    """Rows that are dictionaries by column, as an array of numbers, or of cells."""
    for number, row in enumerate(rows):
        texts = tuple(map(str, row))
        if not set(names) <= set(texts) or not (is_part or len(texts) == len(names)):
            raise ColumnsError(f"{label}, row {number}, {_told_difference(texts, names, is_part=is_part)}")
    cells = np.empty((len(rows), len(names)), dtype=object)
    for number, row in enumerate(rows):
        by_name = {str(name): cell for name, cell in row.items()}
        cells[number] = [by_name[name] for name in names]
    is_numeric = all(isinstance(cell, int | float | np.number | np.bool_) for cell in cells.flat)
    return np.array(cells.tolist()) if is_numeric else cells


def take_columns(
    known: Mapping[str, Names],
    order: Sequence[str],
    data: Any,
    label: str,
    *,
    is_one_run: bool = False,
    partial: Collection[str] = (),
) -> tuple[Any, dict[str, Names]]:
    """Data for the inputs of a program with their columns in order, and the names of all columns by input.

    known   names that are known already, by input;  order  of inputs that are given as a tuple
    data    of the only input, a tuple, or a dictionary by input; None: nothing
    is_one_run  the data are of one run, so that a named row alone has the names of columns, too
    partial     inputs whose frames may have other columns, too
    raises  ColumnsError for frames with other columns than those known
    """
    columns = dict(known)

    def take(name: str, value: Any) -> Any:
        where = f"{label}: {name}"
        if name in order and not columns.get(name):
            columns[name] = names_of(value, where) or (_row_names(value) if is_one_run else ())
        return in_order(value, columns.get(name, ()), where, is_part=name in partial)

    if data is None:
        result: Any = None
    elif isinstance(data, Mapping):
        result = {name: take(name, value) for name, value in data.items()}
    elif isinstance(data, tuple):
        pairs = zip(order, data, strict=False)
        result = tuple(take(name, value) for name, value in pairs) + data[len(order) :]
    else:
        result = take(order[0], data) if order else data
    return result, {name: names for name, names in columns.items() if names}


def field_names(data: Any) -> Names | None:
    """The fields of an array of records; None of any other value."""
    names = getattr(getattr(data, "dtype", None), "names", None)
    return names if isinstance(names, tuple) and isinstance(data, np.ndarray | np.void) else None


def _tuple_fields(data: Any) -> Names:
    """The fields of a named tuple; () of any other value."""
    fields = getattr(data, "_fields", ())
    return fields if isinstance(data, tuple) and isinstance(fields, tuple) else ()


def _is_named(data: Any) -> bool:
    if isinstance(data, _UNNAMED) and not isinstance(data, np.void):
        return False
    if isinstance(data, list | tuple) and not _tuple_fields(data):
        return any(map(_is_named, data))
    return frame_labels(data) is not None or _row_labels(data) is not None


def frame_labels(data: Any) -> list[Any] | None:
    """Return the labels of a frame's columns; None if it is no frame."""
    fields = field_names(data)
    if fields is not None:
        return list(fields)
    if isinstance(data, _ARRAYS):
        return None
    for name in ("column_names", "columns"):  # of tables of Arrow, whose columns are arrays, and of other frames
        labels = getattr(data, name, None)
        if labels is not None and not callable(labels) and hasattr(labels, "__iter__"):
            return list(labels)
    return None


def _row_labels(data: Any) -> list[Any] | None:
    """Return the labels of a row: a series' index or a named tuple's fields; None if it is neither."""
    if fields := _tuple_fields(data):
        return list(fields)
    if isinstance(data, _ARRAYS) or not hasattr(data, "iloc"):
        return None
    index = getattr(data, "index", None)
    return None if index is None or callable(index) or not hasattr(index, "__iter__") else list(index)


def _row_names(data: Any) -> Names:
    """Return the names of a named row's elements, if all are texts: else they may number rows."""
    labels = _row_labels(data) or []
    return tuple(labels) if all(isinstance(label, str) for label in labels) else ()


def _whole(labels: Sequence[Any]) -> bool:
    return all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in labels)


def _is_numbered(labels: Sequence[Any]) -> bool:
    return _whole(labels) and list(labels) == list(range(len(labels)))


def _refuse_shuffled(labels: Sequence[Any], label: str) -> None:
    """ColumnsError for the numbers from 0 in another order: they could be places, and they could be names."""
    if _whole(labels) and not _is_numbered(labels) and sorted(labels) == list(range(len(labels))):
        raise ColumnsError(
            f"{label} has columns that are numbered {list_names(tuple(map(str, labels)))}: neither names nor in order"
            "; give frame.to_numpy() to take them as they stand, or name them"
        )


def _take_columns(data: Any, places: list[int], is_frame: bool) -> Any:
    """The columns at these places, as a value of the same kind where that has a way to take them."""
    if hasattr(data, "iloc"):
        return data.iloc[:, places] if is_frame else data.iloc[places]
    if callable(getattr(data, "select", None)):  # by number of tables of Arrow, by name of polars
        labels = frame_labels(data)
        assert labels is not None
        return data.select([labels[place] for place in places])
    return np.asarray(data)[..., places]


def _of_records(data: Any) -> np.ndarray[Any, Any]:
    """An array with named fields as one whose last axis they are: of numbers, or of objects where there are texts."""
    fields = [np.asarray(data[name]) for name in data.dtype.names]
    if any(field.dtype.kind not in "biufUSO" or field.shape != data.shape for field in fields):
        message = ", ".join(f"{name} ({data.dtype[name]})" for name in data.dtype.names)
        raise DtypeError(f"an array of records has fields that are no columns of numbers or texts: {message}")
    is_numeric = all(field.dtype.kind in "biuf" for field in fields)
    return np.stack(fields if is_numeric else [field.astype(object) for field in fields], axis=-1)


def _told_difference(texts: Names, names: Names, *, is_part: bool = False) -> str:
    """Describe how columns differ from those that are taken, and what to do."""
    twice = tuple(name for name, count in Counter(texts).items() if count > 1 and Counter(names)[name] < count)
    missing = tuple(name for name in names if name not in texts)
    unknown = () if is_part else tuple(dict.fromkeys(name for name in texts if name not in names))
    parts = ((missing, "missing"), (unknown, "unknown"), (twice, "given twice"))
    message = "; ".join(f"{word}: {list_names(listed)}" for listed, word in parts if listed)
    if not message:  # names that stand for several columns, in another order
        message = f"{list_names(texts)}, of which some have the same name"
    return (
        f"has other columns than the program takes, which are {list_names(names)}; {message}; select these columns by "
        "name, or give an array, whose columns are taken by position"
    )


def take_places(data: Any, places: list[int]) -> Any:
    """The columns of a frame at these places, as a frame or an array."""
    return _take_columns(_of_records(data) if field_names(data) is not None else data, places, True)


def list_names(names: Names) -> str:
    """Return the first few names, and how many there are more."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
