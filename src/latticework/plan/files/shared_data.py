"""Plain data in which what occurs several times is written once: how plan files hold what they say.

Plans repeat themselves: gathers that differ in an offset, types of one scale, lines of one file. `share_repeats` gives
a table of what repeats, items before what reads them, and the data with byte strings, which plain data has none of, for
numbers in the table. What a file says this way cannot be longer than a limit, however short the file.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from latticework.errors import FormatError
from latticework.values.extension import _core

SHORT = 3  # encoded bytes, of what is not worth a number
MAX_ITEMS = 1 << 24  # of lists and maps, with everything that repeats written out
MAX_DEPTH = 64  # of lists and maps in each other

Key = tuple[Any, ...]


def share_repeats(data: Any) -> list[Any]:
    """[table, data] of plain data: None, bool, int, float, str, lists and maps of them."""
    keys: dict[Key, int] = {}
    nodes: list[Any] = []
    times: Counter[int] = Counter()

    def number(item: Any) -> int:
        """Equal items have the same number; what is in one is counted once."""
        if isinstance(item, list):
            parts: Any = [number(part) for part in item]
            key: Key = (list, *parts)
        elif isinstance(item, dict):
            parts = {name: number(part) for name, part in item.items()}
            key = (dict, *parts.items())
        else:
            parts, key = item, (type(item), repr(item))  # which tells -0.0 from 0.0
        place = keys.setdefault(key, len(nodes))
        if place == len(nodes):
            nodes.append(parts)
            times.update(parts if isinstance(item, list) else parts.values() if isinstance(item, dict) else ())
        return place

    root = number(data)
    table: list[Any] = []
    written: list[Any] = []
    for found, parts in enumerate(nodes):
        item: Any = parts
        if isinstance(parts, list):
            item = [written[part] for part in parts]
        elif isinstance(parts, dict):
            item = {name: written[part] for name, part in parts.items()}
        if times[found] > 1 and len(_core.cbor_encode(item)) > SHORT:
            table.append(item)
            item = _reference(len(table) - 1)
        written.append(item)
    return [table, written[root]]


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


def _reference(place: int) -> bytes:
    return place.to_bytes((place.bit_length() + 7) // 8 or 1, "little")
