"""Keys of a file by name: which operation needs them."""

from __future__ import annotations

from math import log
from typing import Any

_NAMES = {0: "relinearisation", 2: "to the sparse secret", 3: "from the sparse secret"}
_GALOIS = 1


def stored_key_names(stored: object) -> list[dict[str, Any]]:
    """Name and level of each key that the header of a file lists; nothing where it is no such list.

    A file does not say its ring degree N. Galois elements 5^k mod 2N below 2N are k steps to the left where they are
    powers of 5 themselves; a key that conjugates is 2N - 1 and gives N away, by which the others have their steps.
    """
    if not isinstance(stored, list) or not all(_is_key(key) for key in stored):
        return []
    ends = [key[1] + 1 for key in stored if key[0] == _GALOIS and key[1] % 4 == 3 and key[1] & key[1] + 1 == 0]
    two_n = max(ends, default=0)
    steps = {pow(5, k, two_n): k for k in range(two_n // 4)} if 0 < two_n <= 1 << 18 else {}
    return [{"name": _name(key[0], key[1], steps, two_n), "level": key[3]} for key in stored]


def _is_key(key: object) -> bool:
    """[kind, Galois element, track, level, ...]"""
    return (
        isinstance(key, list) and len(key) >= 4 and all(type(part) is int and part >= 0 for part in key[:4])
        and (key[0] in _NAMES or key[0] == _GALOIS)
    )  # fmt: skip


def _name(kind: int, element: int, steps: dict[int, int], two_n: int) -> str:
    if kind != _GALOIS:
        return _NAMES[kind]
    if element == two_n - 1:
        return "conjugation"
    if element in steps:
        turn = steps[element]
        return f"rotation {turn if turn <= two_n // 8 else turn - two_n // 4:+d}"
    power = round(log(element, 5)) if element > 0 else 0
    if power > 0 and 5**power == element:
        return f"rotation +{power}"
    return f"rotation (Galois element {element})"
