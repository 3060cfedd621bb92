"""Amounts of memory and of time, as users write them."""

from __future__ import annotations

import re
from math import inf

from latticework.errors import UserError
from latticework.errors.whole_numbers import whole_number

MAX_RUNS = 1 << 20
_MAX_BYTES = 1 << 62
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def parse_bytes(amount: str | int, option: str = "memory") -> int:
    """A number of bytes from 4000000000, "4GB" or "512MiB"; `option` is what messages call it."""
    number: float = -1
    if isinstance(amount, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", amount)
        unit = _UNITS.get(match[2].upper()) if match is not None else None
        if match is not None and unit is not None:
            number = float(match[1]) * unit
    elif (count := whole_number(amount)) is not None:
        number = count
    if not 0 <= number < inf:
        raise UserError(
            f"{option}={amount!r} is not an amount of memory; write it as '4GB', '512MiB' or a number of bytes"
        )
    return min(int(number), _MAX_BYTES)


def parse_seconds(amount: str) -> float:
    """Seconds from "1 s", "200 ms", "2 min" or "1 h"; UserError for anything else, and for none at all."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h)\s*", amount)
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0 < seconds < inf:
        raise UserError(f"{amount!r} is not an amount of time; write it as '1 s', '200 ms', '2 min' or '1 h'")
    return seconds


def checked_runs(runs: int, memory: str | int | None) -> int:
    """A number of runs that a budget is to have room for at the same time."""
    count = whole_number(runs)
    if count is None or not 1 <= count <= MAX_RUNS:
        raise UserError(f"runs={runs!r}; give a whole number from 1 to {MAX_RUNS}")
    if count > 1 and memory is None:
        raise UserError(
            f"runs={runs} says how many runs memory= has room for at the same time; without a budget any number may go "
            "at once: leave it out, or give memory='4GB' or as much as there is to spare"
        )
    return count
