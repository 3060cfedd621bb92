"""Tokens of MLIR text, and a cursor over them."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NoReturn

from latticework.errors import UserError

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*)+)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<value>%[\w$.-]+(?:\#\d+)?)|(?P<block>\^[\w$.-]+)"""
    r"""|(?P<symbol>@(?:[\w$.-]+|"(?:[^"\\]|\\.)*"))|(?P<type>![A-Za-z_][\w$.]*)|(?P<attribute>\#[A-Za-z_][\w$.]*)"""
    r"""|(?P<number>-?(?:0x[0-9A-Fa-f]+(?!\w)|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?))|(?P<word>[A-Za-z_][\w$.]*)"""
    r"""|(?P<punctuation>->|::|[-+*<>(){}\[\],:=?/])"""
)
OPENING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSING = set(OPENING.values())


class Tokens:
    """A cursor over the tokens of a file.

    kinds, texts  of all tokens, ended by ("end", "")
    at            the number of the next one
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self._starts: list[int] = []
        self._lines = [0, *(m.end() for m in re.finditer("\n", text))]
        position, match = 0, _TOKEN.match
        while position < len(text):
            found = match(text, position)
            if found is None:
                line = bisect_right(self._lines, position)
                raise UserError(f"{name}:{line}: {text[position]!r} is no MLIR text; give what heir-opt prints")
            if found.lastgroup != "space":
                self.kinds.append(str(found.lastgroup))
                self.texts.append(found.group())
                self._starts.append(position)
            position = found.end()
        self.kinds.append("end")
        self.texts.append("")
        self._starts.append(len(text))
        self.at = 0

    @property
    def kind(self) -> str:
        """The kind of the next token."""
        return self.kinds[self.at]

    @property
    def text(self) -> str:
        """The text of the next token; "" at the end."""
        return self.texts[self.at]

    @property
    def line(self) -> int:
        """The line of the next token, from 1."""
        return bisect_right(self._lines, self._starts[self.at])

    @property
    def start(self) -> int:
        """The start of the next token, in characters."""
        return self._starts[self.at]

    @property
    def done(self) -> int:
        """The end of the last token that was taken, in characters."""
        return self._starts[self.at - 1] + len(self.texts[self.at - 1])

    def fail(self, wanted: str) -> NoReturn:
        """UserError that says where what is missing."""
        raise UserError(
            f"{self.name}:{self.line}: expected {wanted}, found {self.text or 'the end'!r}; give what heir-opt prints"
        )

    def take(self) -> str:
        """The next token's text."""
        if self.kind == "end":
            self.fail("more")
        self.at += 1
        return self.texts[self.at - 1]

    def take_kind(self, kind: str) -> str:
        """The next token, which has to be of a kind."""
        if self.kind != kind:
            self.fail(f"a {kind}")
        return self.take()

    def accept(self, text: str) -> bool:
        """Whether the next token is this; it is taken then."""
        if self.texts[self.at] != text or self.kinds[self.at] == "string":
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> None:
        """Take a token that has to be there."""
        if not self.accept(text):
            self.fail(repr(text))

    def group(self) -> str:
        """A bracket with all that it holds, as text without spaces."""
        start, open_ = self.at, []
        while True:
            text = self.take()
            if self.kinds[self.at - 1] != "punctuation":
                continue
            if text in OPENING:
                open_.append(OPENING[text])
            elif text in _CLOSING and (not open_ or open_.pop() != text):
                self.at -= 1
                self.fail(f"brackets that match, opened in line {self.line}")
            if not open_:
                return "".join(self.texts[start : self.at])
