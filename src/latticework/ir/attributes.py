"""Attribute values: the constants an op carries, and their text form.

An attribute is an int, float, bool, complex, str, None, a tuple of attributes,
a type, or an instance of a class registered here: a frozen, hashable dataclass.
Arrays are never attributes; they live in ``Module.sources`` under their hash.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Hashable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

from latticework.errors import IrError

C = TypeVar("C", bound=type)

_classes: dict[str, type] = {}
_names: dict[type, str] = {}
_fields: dict[type, tuple[tuple[str, Any], ...]] = {}  # names and defaults
_SCALARS = (int, float, bool, complex, str, type(None))


def register_attribute(name: str) -> Callable[[C], C]:
    """Class decorator: make a frozen dataclass an attribute printed ``#name<field = value, ...>``.

    Fields that have their default are not printed.
    """

    def register(cls: C) -> C:
        assert is_dataclass(cls) and cls.__hash__ is not None, f"{cls.__name__} is not a hashable dataclass"
        assert _classes.get(name, cls) is cls, f"attribute #{name} is already {_classes[name].__name__}"
        _classes[name] = cls
        _names[cls] = name
        _fields[cls] = tuple((field.name, field.default) for field in fields(cls) if field.init)
        return cls

    return register


def attribute_class(name: str) -> type:
    """The class registered as ``#name``; IrError if there is none."""
    try:
        return _classes[name]
    except KeyError:
        raise IrError(f"no attribute is called #{name}; import the dialect that registers it") from None


def is_attribute(value: Any) -> bool:
    """Whether `value` may stand in the attributes of an op."""
    kind = type(value)
    if kind in _SCALARS or kind in _names or hasattr(kind, "attribute_text"):
        return True
    return kind is tuple and all(is_attribute(item) for item in value)


def attribute_key(value: Any) -> Hashable:
    """A hash key equal for two attributes only if they mean the same constant.

    Python has 1 == 1.0 == True and 0.0 == -0.0; as constants those differ.
    """
    if type(value) is float:
        return (float, struct.pack("<d", value))
    if type(value) is tuple:
        return tuple(attribute_key(item) for item in value)
    return (type(value), value)


def _same(a: Any, b: Any) -> bool:
    """Whether two attributes mean the same constant."""
    return a is b or attribute_key(a) == attribute_key(b)


def print_attribute(
    value: Any, shorten: Callable[[str, str], str] | None = None, write: Callable[[float], str] = float.hex
) -> str:
    """The text of an attribute, exact: floats in hexadecimal, strings as JSON.

    shorten  given the name of a class and the text of an instance: what to write in its place
    write    how floats are written, if not in hexadecimal
    """
    if value is None:
        return "none"
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is float:
        return str(write(value))
    if kind is str:
        return json.dumps(value)
    if kind is complex:
        return f"#complex<{write(value.real)}, {write(value.imag)}>"
    if kind is tuple:
        return "[" + ", ".join([print_attribute(item, shorten, write) for item in value]) + "]"
    if kind in _names:
        held = [(name, getattr(value, name), default) for name, default in _fields[kind]]
        shown = [(name, item) for name, item, default in held if default is MISSING or not _same(item, default)]
        body = ", ".join(f"{name} = {print_attribute(item, shorten, write)}" for name, item in shown)
        text = f"#{_names[kind]}<{body}>"
        return text if shorten is None else shorten(_names[kind], text)
    if hasattr(kind, "attribute_text"):
        return str(value.attribute_text())
    raise IrError(f"a {kind.__name__} cannot be an attribute; register its class, or keep arrays in Module.sources")
