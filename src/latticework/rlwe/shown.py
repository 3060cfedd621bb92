"""How the objects of the expert modules show themselves: one line, sizes and places, nothing that is secret."""

from __future__ import annotations

from math import log2


def shown(kind: str, scheme: str, ring_degree: int, *facts: str) -> str:
    """`Kind(scheme, N=2^14, fact, fact)`; empty facts are left out."""
    return f"{kind}({', '.join([scheme, f'N=2^{ring_degree.bit_length() - 1}', *filter(None, facts)])})"


def scale_text(scale: float) -> str:
    """A scale as a power of two."""
    return f"scale 2^{log2(scale):.1f}"


def bytes_text(count: int) -> str:
    """A size in memory."""
    return f"{count / 1e6:.1f} MB"


def count_text(count: int, noun: str) -> str:
    """`1 key`, `2 keys`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
