"""Attributes: numbers, arrays of numbers, strings, dictionaries; what is none of these is kept as text."""

from __future__ import annotations

import struct
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import UserError
from latticework.frontend.heir.reading_cost import hold, room_for, take
from latticework.frontend.heir.syntax import HeirType, integer_bits
from latticework.frontend.heir.tokens import OPENING, Tokens

MOST_CHARACTERS = 20_000  # of a type, aliases expanded
CHARACTERS_OF_WORK = 1000  # of types that are expanded, in a unit


def _in_range(number: int, kind: HeirType | None) -> int:
    """An integer of a type, from -2^(bits - 1); ValueError if it does not fit."""
    if kind is None or not kind.is_integer:
        return number
    bits = integer_bits(kind.element)
    if not -(1 << bits - 1) <= number < 1 << bits:
        raise ValueError(f"{number} does not fit in {kind.element}")
    if bits == 1:
        return number & 1
    return number - (1 << bits) if number >= 1 << bits - 1 else number


class Reader:
    """Reads types and attributes; aliases: name -> what it stands for, as read."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.type_aliases: dict[str, str] = {}
        self.aliases: dict[str, Any] = {}

    def type_text(self) -> str:
        """A type without spaces, aliases expanded; a function's type too."""
        tokens = self.tokens
        if tokens.text == "(":
            inner = ",".join(self.types())
            tokens.expect("->")
            return f"({inner})->({','.join(self.types())})"
        if tokens.kind == "type":
            name = tokens.take()
            if name in self.type_aliases and tokens.text != "<":
                return self.expand_aliases(self.type_aliases[name])
            return name + (tokens.group() if tokens.text == "<" else "")
        text = tokens.take_kind("word")
        if tokens.text != "<":
            return text
        start = tokens.at
        tokens.group()
        inside = tokens.texts[start : tokens.at]
        return self.expand_aliases(text + "".join(self.type_aliases.get(part, part) for part in inside))

    def expand_aliases(self, text: str) -> str:
        """A type in which aliases were expanded. UserError where it, or all of them, become too long."""
        tokens = self.tokens
        if len(text) > MOST_CHARACTERS:
            raise UserError(f"{tokens.name}:{tokens.line}: a type of {len(text)} characters; at most {MOST_CHARACTERS}")
        take(len(text) // CHARACTERS_OF_WORK, f"{tokens.name}:{tokens.line}")
        return text

    def type(self) -> HeirType:
        """A type."""
        return HeirType.of(self.type_text())

    def types(self) -> list[str]:
        """One type, or several in parentheses."""
        tokens = self.tokens
        if not tokens.accept("("):
            return [self.type_text()]
        found: list[str] = []
        while not tokens.accept(")"):
            found.append(self.type_text())
            tokens.accept(",")
        return found

    def function_type(self) -> tuple[list[HeirType], list[HeirType]]:
        """`(inputs) -> results`."""
        inputs = self.types()
        self.tokens.expect("->")
        return [HeirType.of(t) for t in inputs], [HeirType.of(t) for t in self.types()]

    def dictionary(self, closing: str = "}") -> dict[str, Any]:
        """Read what stands in braces after the opening one."""
        tokens, found = self.tokens, {}
        while not tokens.accept(closing):
            key = tokens.take().strip('"')
            found[key] = self.value() if tokens.accept("=") else True
            tokens.accept(",")
        return found

    def value(self) -> Any:
        """An attribute's value."""
        tokens = self.tokens
        kind, text = tokens.kind, tokens.text
        if kind == "string":
            return tokens.take()[1:-1]
        if kind == "number":
            return self._number()
        if kind == "symbol":
            return tokens.take()[1:].strip('"')
        if kind == "attribute":
            name = tokens.take()
            if name in self.aliases:
                return self.aliases[name]
            return name + (tokens.group() if tokens.text == "<" else "")
        if text in ("true", "false"):
            return tokens.take() == "true"
        if text == "loc" and tokens.texts[tokens.at + 1] == "(":
            tokens.take()
            return tokens.group()
        if text in ("dense", "array") and tokens.texts[tokens.at + 1] == "<":
            tokens.take()
            return self._dense() if text == "dense" else self._array()
        if tokens.accept("["):
            found = []
            while not tokens.accept("]"):
                found.append(self.value())
                tokens.accept(",")
            return found
        if tokens.accept("{"):
            return self.dictionary()
        return self.type_text()

    def _number(self) -> int | float:
        text = self.tokens.take()
        kind = self.type() if self.tokens.accept(":") else None
        return self._as_number(text, kind)

    def _as_number(self, text: str, kind: HeirType | None) -> int | float:
        if text.lstrip("-").startswith("0x"):
            bits = int(text, 16)
            if kind is not None and kind.element in ("f32", "f64"):
                size, form = {"f32": (4, "<f"), "f64": (8, "<d")}[kind.element]
                return float(struct.unpack(form, bits.to_bytes(size, "little"))[0])
            return _in_range(bits, kind)
        if kind is not None and kind.is_integer:
            if not text.lstrip("-").isdecimal():
                raise ValueError(f"{text} is no {kind.element}")
            return _in_range(int(text), kind)
        if kind is not None:
            return float(text)
        return float(text) if any(c in text for c in ".eE") else int(text)

    def _array(self) -> list[Any]:
        """`array<i64: 1, 2>`."""
        tokens, found = self.tokens, []
        tokens.expect("<")
        kind = self.type()
        if tokens.accept(":"):
            while tokens.text != ">":
                text = tokens.take()
                found.append(text == "true" if text in ("true", "false") else self._as_number(text, kind))
                tokens.accept(",")
        tokens.expect(">")
        return found

    def _dense(self) -> npt.NDArray[Any]:
        """`dense<...> : type`, as float64 or int64."""
        tokens, line = self.tokens, self.tokens.line
        tokens.expect("<")
        start = tokens.at
        if tokens.kind == "string":
            raw: bytes | None = bytes.fromhex(tokens.take()[3:-1])
        else:
            raw = None
            while tokens.text != ">":
                _ = tokens.group() if tokens.text in OPENING else tokens.take()
        texts, kinds = tokens.texts[start : tokens.at], tokens.kinds[start : tokens.at]
        tokens.expect(">")
        tokens.expect(":")
        kind = self.type()
        size = prod(kind.shape)
        if not kind.is_number or min(kind.shape, default=1) < 0:
            raise UserError(f"{tokens.name}:{line}: a constant of {kind.element} of shape {kind.shape} is not read")
        room_for(size, kind.shape)
        if raw is not None:
            width = "i8" if kind.element == "index" else f"{kind.element[0]}{int(kind.element.strip('fiusb')) // 8}"
            numbers = np.frombuffer(raw, dtype=f"<{width}")
        else:
            numbers = np.array(
                [text == "true" if k == "word" else self._as_number(text, kind)
                 for text, k in zip(texts, kinds, strict=True) if k in ("number", "word")]
            )  # fmt: skip
        if len(numbers) not in (1, size):
            raise UserError(f"{tokens.name}:{line}: {len(numbers)} numbers for a constant of shape {kind.shape}")
        made: npt.NDArray[Any] = hold(np.empty(kind.shape, dtype=np.int64 if kind.is_integer else np.float64))
        made[...] = numbers if len(numbers) == 1 and size != 1 else numbers.reshape(kind.shape)
        made.flags.writeable = False
        return made
