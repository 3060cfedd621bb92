"""Scanner of IR text: tokens, attributes and types; a comment, from `//` to the end of its line, is white space.

Reads on demand with compiled patterns; the text of a type is remembered, since
a program has few types and names them often.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, TypeVar

from latticework.errors import IrError, UserError
from latticework.errors.escaping import plain_text
from latticework.ir.attributes import attribute_class
from latticework.ir.types import INDEX, Type, type_class

N = TypeVar("N", int, float)

_SPACE = re.compile(r"(?:\s++|//[^\n]*+)*+")
_NAME = re.compile(r"[A-Za-z_][\w.]*+")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"')
_FLOAT = re.compile(
    r"-?0x[01](?:\.[0-9a-f]++)?p[+-]\d++|-?inf\b|nan\b|-?\d++(?:\.\d++(?:e[+-]?\d++)?|e[+-]?\d++)"
)  # hexadecimal or decimal
_INT = re.compile(r"-?\d++")
_QUOTED = r'"(?:[^"\\\n]|\\.)*+"'
_TYPE = re.compile(rf'!([A-Za-z_][\w.]*+)<(?:[^<>"]++|{_QUOTED}|<(?:[^<>"]++|{_QUOTED})*+>)*+>')
_WORDS = {"true": True, "false": False, "none": None, "index": INDEX}


class TextPlace(NamedTuple):
    """A place in a text that is read, counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{plain_text(self.file)}:{self.line}:{self.column}"


class Scanner:
    """A position in a text, which the methods move on; they raise IrError with the line and column."""

    def __init__(self, text: str, name: str = "IR text") -> None:
        self.text = text
        self.file = name
        self.position = 0
        self._known_types: dict[str, Type] = {}

    def fail(self, expected: str) -> NoReturn:
        """Raise the error that something else was expected here."""
        actual = self.text[self.position : self.position + 20].split("\n")[0] or "the end of the line"
        self.error(f"expected {expected}, found {actual!r}")

    def error(self, message: str) -> NoReturn:
        """Raise an error about this place."""
        raise IrError(message, at=self.place())

    def place(self, position: int | None = None) -> TextPlace:
        """The line and column of a position, that of the scanner if none is given."""
        at = self.position if position is None else position
        line = bisect_left(self._breaks, at)
        return TextPlace(self.file, line + 1, at - (self._breaks[line - 1] if line else -1))

    @cached_property
    def _breaks(self) -> list[int]:
        """The positions at which lines end."""
        return [match.start() for match in re.finditer("\n", self.text)]

    def take(self, token: str) -> bool:
        """Skip white space, then `token` if it comes next."""
        self._skip_space()
        if self.text.startswith(token, self.position):
            self.position += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        """Skip white space and `token`, which must come."""
        if not self.take(token):
            self.fail(repr(token))

    def match(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        """Skip white space and what matches `pattern`, which must come."""
        self._skip_space()
        result = pattern.match(self.text, self.position)
        if result is None:
            self.fail(expected)
        self.position = result.end()
        return result

    def name(self) -> str:
        """An identifier, which may have dots."""
        return self.match(_NAME, "a name").group()

    def string(self) -> str:
        """A JSON string."""
        try:
            return str(json.loads(self.match(_STRING, "a string").group()))
        except json.JSONDecodeError as error:
            self.error(f"bad string: {error.msg}")

    def integer(self) -> int:
        """A decimal integer."""
        return self._number(int, self.match(_INT, "an integer").group())

    def attribute(self) -> Any:
        """Any attribute value."""
        self._skip_space()
        first = self.text[self.position : self.position + 1]
        if first == '"':
            return self.string()
        if first == "[":
            return self._tuple()
        if first == "#":
            return self.instance()
        if first == "!":
            return self.type()
        if match := _FLOAT.match(self.text, self.position):
            self.position = match.end()
            return self._number(read_float, match.group())
        if match := _INT.match(self.text, self.position):
            self.position = match.end()
            return self._number(int, match.group())
        match = _NAME.match(self.text, self.position)
        if match is None or match.group() not in _WORDS:
            self.fail("an attribute")
        self.position = match.end()
        return _WORDS[match.group()]

    def type(self) -> Type:
        """A type."""
        self._skip_space()
        if self.take("index"):
            return INDEX
        whole = _TYPE.match(self.text, self.position)
        if whole is not None and (known := self._known_types.get(whole.group())):
            self.position = whole.end()
            return known
        self.expect("!")
        cls = type_class(self._known_name(type_class))
        result: Type = self._make(cls, self._fields())
        if whole is not None:
            self._known_types[whole.group()] = result
        return result

    def dictionary(self, end: str) -> dict[str, Any]:
        """``name = attribute, ...`` up to and including `end`."""
        fields: dict[str, Any] = {}
        while not self.take(end):
            if fields:
                self.expect(",")
            key = self.name()
            if key in fields:
                self.error(f"{key} is given twice")
            self.expect("=")
            fields[key] = self.attribute()
        return fields

    def _number(self, convert: Callable[[str], N], text: str) -> N:
        try:
            return convert(text)
        except (ValueError, OverflowError) as error:
            self.error(f"bad number: {error}")

    def _fields(self) -> dict[str, Any]:
        self.expect("<")
        return self.dictionary(">")

    def _tuple(self) -> tuple[Any, ...]:
        self.expect("[")
        items: list[Any] = []
        while not self.take("]"):
            if items:
                self.expect(",")
            items.append(self.attribute())
        return tuple(items)

    def instance(self) -> Any:
        """An attribute that starts with #."""
        self.expect("#")
        if self.take("complex<"):
            real = self._number(read_float, self.match(_FLOAT, "a float").group())
            self.expect(",")
            imag = self._number(read_float, self.match(_FLOAT, "a float").group())
            self.expect(">")
            return complex(real, imag)
        cls = attribute_class(self._known_name(attribute_class))
        return self._make(cls, self._fields())

    def _known_name(self, lookup: Any) -> str:
        name = self.name()
        try:
            lookup(name)
        except IrError as error:
            self.error(error.message)
        return name

    def _make(self, cls: Any, fields: dict[str, Any]) -> Any:
        try:
            return cls(**fields)
        except (UserError, TypeError, ValueError) as error:
            self.error(f"{cls.__name__}: {getattr(error, 'message', error)}")

    def _skip_space(self) -> None:
        first = self.text[self.position : self.position + 1]
        if first.isspace() or first == "/":
            match = _SPACE.match(self.text, self.position)
            assert match is not None
            self.position = match.end()


def read_float(text: str) -> float:
    """The number of a text in hexadecimal or decimal."""
    return float.fromhex(text) if "0x" in text else float(text)
