"""Dataclasses to plain data and back, checked field by field: what a plan's metadata is stored as.

Only the listed shapes of types are understood: int, float, bool, str, bytes, complex,
X | None, tuple[X, ...], tuple[X, Y], dataclasses of these, unions of
dataclasses that differ in their number of fields, and families of dataclasses, each
stored with its name (`kinds`, `NAME`). Every mismatch names its place.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from latticework.errors import FormatError

MAX_ITEMS = 1 << 22
_FLOATS = (float, float | None)


def to_data(value: Any) -> Any:
    """Plain data (None, bool, int, float, str, bytes, list) of a value."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, tuple):
        return [to_data(item) for item in value]
    assert dataclasses.is_dataclass(value) and not isinstance(value, type), type(value)
    kind: type = type(value)
    # A whole number in a field of floats is stored as it will be read, so that equal values give equal bytes.
    stored = list(_fields(kind).items())
    while stored and _is_left_out(value, stored[-1][0]):
        stored.pop()
    items = ((hint, getattr(value, name)) for name, hint in stored)
    fields = [to_data(float(item) if item is not None and hint in _FLOATS else item) for hint, item in items]
    name = getattr(kind, "NAME", None)  # in a family
    return fields if name is None else [name, *fields]


def _is_left_out(value: Any, name: str) -> bool:
    """Whether a last field is one that is not stored where it has its default."""
    field = value.__dataclass_fields__[name]
    return "unstored_default" in field.metadata and bool(getattr(value, name) == field.default)


def from_data(kind: Any, data: Any, path: str) -> Any:
    """A value of a type from plain data.

    raises  FormatError naming the place that does not fit
    """
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _union(args, data, path)
    if origin is tuple:
        return _tuple(args, data, path)
    if kind is float:
        if isinstance(data, bool) or not isinstance(data, int | float) or not math.isfinite(data):
            raise _mismatch(path, "a finite number", data)
        return float(data)
    if kind is complex:
        pair = _tuple((float, float), data, path) if isinstance(data, list) else (from_data(float, data, path), 0.0)
        return complex(*pair) if pair[1] else pair[0]
    if kind in (int, bool, str, bytes):
        if type(data) is not kind:
            raise _mismatch(path, kind.__name__, data)
        return data
    if hasattr(kind, "kinds"):
        return _member(kind.kinds(), data, path)
    return _dataclass(kind, data, path)


def _member(kinds: Mapping[str, type], data: Any, path: str) -> Any:
    """Read one of a family, by the name that comes first."""
    name = data[0] if isinstance(data, list) and data else None
    if not isinstance(name, str) or name not in kinds:
        raise _mismatch(path, f"one of {', '.join(sorted(kinds))}", name if isinstance(name, str) else data)
    return _dataclass(kinds[name], data[1:], f"{path}.{name}")


def _union(args: tuple[Any, ...], data: Any, path: str) -> Any:
    if data is None and type(None) in args:
        return None
    kinds = [a for a in args if a is not type(None)]
    if len(kinds) == 1:
        return from_data(kinds[0], data, path)
    for fits in (_is_whole, _is_left_short):  # classes of one union differ in their number of fields
        for kind in kinds:
            if isinstance(data, list) and fits(kind, len(data)):
                return from_data(kind, data, path)
    raise _mismatch(path, " or ".join(k.__name__ for k in kinds), data)


def _is_whole(kind: type, count: int) -> bool:
    """Whether `count` items are all fields of a class."""
    return len(_fields(kind)) == count


def _is_left_short(kind: type, count: int) -> bool:
    """Whether they are all but those last ones that are not stored where they have their defaults."""
    last = [f for f in dataclasses.fields(kind) if "unstored_default" in f.metadata]
    return len(_fields(kind)) - len(last) <= count < len(_fields(kind))


def _tuple(args: tuple[Any, ...], data: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(data, list) or len(data) > MAX_ITEMS:
        raise _mismatch(path, "a list", data)
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(from_data(args[0], item, f"{path}[{i}]") for i, item in enumerate(data))
    if len(args) != len(data):
        raise _mismatch(path, f"{len(args)} items", data)
    return tuple(from_data(a, item, f"{path}[{i}]") for i, (a, item) in enumerate(zip(args, data, strict=True)))


def _dataclass(kind: type, data: Any, path: str) -> Any:
    fields = _fields(kind)
    needed = sum(f.default is dataclasses.MISSING for f in dataclasses.fields(kind))
    if not isinstance(data, list) or not needed <= len(data) <= len(fields):
        raise _mismatch(path, f"{len(fields)} fields of {kind.__name__}", data)
    # Files from before a field was added to the end of a class lack it: it has its default there.
    values = [from_data(hint, item, f"{path}.{name}") for (name, hint), item in zip(fields.items(), data, strict=False)]
    try:
        return kind(*values)
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from None


@lru_cache(maxsize=64)
def _fields(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}


def _mismatch(path: str, expected: str, actual: Any) -> FormatError:
    shown = (
        f"{type(actual).__name__} of {len(actual)}" if isinstance(actual, list | str | bytes | dict) else repr(actual)
    )
    return FormatError(f"{path}: expected {expected}, found {shown}; the file was altered or is of another version")
