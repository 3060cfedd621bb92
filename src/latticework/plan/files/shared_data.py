"""Plain data in which what occurs several times is written once: what sections of plan files of format 2 hold.

A table of what repeats, items before what reads them, and the data with byte strings, which plain data has none of, for
numbers in the table. What a file says this way cannot be longer than a limit, however short the file.
"""

from __future__ import annotations

from typing import Any

from latticework.errors import FormatError

MAX_ITEMS = 1 << 24  # of lists and maps, with everything that repeats written out
MAX_DEPTH = 64  # of lists and maps in each other


def expand_repeats(data: Any, path: str) -> Any:
    """The plain data that was shared.

    raises  FormatError where it is none, or longer than any plan
    """
    if not isinstance(data, list) or len(data) != 2 or not isinstance(data[0], list):
        raise FormatError(f"{path}: expected a table and what reads it; the file was altered")
    table: list[tuple[Any, int, int]] = []

    def whole(item: Any) -> tuple[Any, int, int]:
        """An item, how many there are in it, and how deep."""
        if isinstance(item, bytes):
            place = int.from_bytes(item, "little")
            if place >= len(table):
                raise FormatError(f"{path}: item {place} of {len(table)}; the file was altered")
            return table[place]
        if not isinstance(item, list | dict):
            return item, 1, 0
        parts = [whole(part) for part in (item.values() if isinstance(item, dict) else item)]
        size, depth = 1 + sum(part[1] for part in parts), 1 + max((part[2] for part in parts), default=0)
        if size > MAX_ITEMS or depth > MAX_DEPTH:
            raise FormatError(
                f"{path}: more than {MAX_ITEMS} items, or {MAX_DEPTH} in each other; the file was altered"
            )
        values = [part[0] for part in parts]
        return (dict(zip(item, values, strict=True)) if isinstance(item, dict) else values), size, depth

    for item in data[0]:
        table.append(whole(item))
    return whole(data[1])[0]
