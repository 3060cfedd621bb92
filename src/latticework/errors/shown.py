"""Texts by which objects show themselves: `Kind(fact, fact)`, one line of sizes and places, nothing secret."""

from __future__ import annotations

from latticework.errors.escaping import plain_text

_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def describe(kind: str, *facts: str) -> str:
    """`Kind(fact, fact)`; empty facts are left out, and text of others made printable."""
    return plain_text(f"{kind}({', '.join(filter(None, facts))})")


def of_program(scheme: str, ring_degree: int, name: str) -> tuple[str, str, str]:
    """Return the facts that objects of a compiled program show first: `ckks, N=2^14, program score`."""
    return scheme, f"N=2^{ring_degree.bit_length() - 1}", f"program {name}"


def count_noun(number: int, noun: str) -> str:
    """`1 key`, `2 keys`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(value: float) -> str:
    """Bytes in powers of 1000: 1.23 MB."""
    unit = 0
    while round(value, 3 if unit else 0) >= 999.5 and unit < len(_BYTE_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} B" if unit == 0 else f"{three_digits(value)} {_BYTE_UNITS[unit]}"


def three_digits(value: float) -> str:
    """1.23, 12.3 or 123."""
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
