"""Words of command lines that say what a value is of, as `zone=3`: inputs, run-time integers, shapes, limits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any

from latticework.commands.command_output import UsageError
from latticework.errors.near_names import hint_near
from latticework.values.inputs.reading_budget import ReadingLimits


def split_name(word: str, known: Collection[str], what: str) -> tuple[str, str]:
    """Name and value of a word such as zone=3; "" and the word itself where it is a file's, or has no name.

    known   the names that there are;  what  they name, such as "input"
    raises  UsageError for another name, where no file has the word as its name
    """
    name, equals, value = word.partition("=")
    if equals and name in known:
        return name, value
    if equals and name and "/" not in name and not Path(word).exists():
        raise UsageError(
            f"{word}: {name} is no {what} of the program{hint_near(name, known)}; there "
            f"{'is' if len(known) == 1 else 'are'} {', '.join(known) or 'none'} (and no file {word})"
        )
    return "", word


def read_limits(words: list[str] | None) -> ReadingLimits:
    """Limits from words such as work=10000000.

    raises  UsageError for others
    """
    names = [each.name for each in fields(ReadingLimits)]
    values: dict[str, int] = {}
    for word in words or ():
        name, _, text = word.partition("=")
        if name not in names or not text.isdecimal() or len(text) > 18:
            raise UsageError(f"--limit {word}: give NAME=NUMBER{hint_near(name, names)}; names are {', '.join(names)}")
        values[name] = int(text)
    return ReadingLimits(**values)


def read_shapes(words: list[str] | None) -> dict[str, Any]:
    """Shapes by name from words such as x=1,4 and N=1.

    raises  UsageError for others
    """
    found: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        try:
            extents = tuple(int(part) for part in text.split(","))
        except ValueError:
            extents = ()
        if not name or not equals or not extents:
            raise UsageError(f"--shape {word}: give NAME=EXTENTS, such as x=1,3,224,224, or N=1 for a free dimension")
        found[name] = extents[0] if len(extents) == 1 else extents
    return found
