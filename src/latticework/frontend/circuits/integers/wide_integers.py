"""Integers of many bits in circuits (`compile(integers=64)`): between what they lie, and operations they have not.

They are residues modulo several primes, none of which holds the number: sums and products alone can be computed so.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor
from typing import Any, NoReturn

from latticework.errors import RangeError, TraceError
from latticework.frontend.recording.annotations import Parameter
from latticework.ir.lines import user_loc
from latticework.ir.location import Loc

MOST_PUBLIC = 1 << 64
TOO_LARGE = "write it as a product of smaller numbers, or give it as an input, lw.scalar()"


def whole_ends(circuit: str, parameter: Parameter, bits: int, at: Loc) -> tuple[int, int]:
    """The least and the largest number of an input: those declared, else all signed integers of so many bits.

    raises  RangeError for a range with no whole number, or with some of more bits; TraceError for lw.bits
    """
    kind, where = parameter.kind, f"circuit {circuit}, input {parameter.name}"
    if kind.bits:
        raise TraceError(
            f"{where}: lw.bits({kind.bits}) are for comparisons and bit operations, which integers={bits} has not: "
            "declare lw.scalar(), or leave integers= out",
            at=at,
        )
    least, most = -(1 << (bits - 1)), (1 << bits) - 1
    if kind.low is None or kind.high is None:
        return least, -least - 1
    low, high = ceil(kind.low), floor(kind.high)
    if not least <= low <= high <= most:
        raise RangeError(
            f"{where}: low={kind.low!r}, high={kind.high!r}; integers={bits} takes whole numbers within {least} and "
            f"{most}: declare a narrower range"
            + (", or give integers=64" if bits < 64 else ", or split numbers into several inputs"),
            at=at,
        )
    return low, high


class SumsAndProductsAlone:
    """The operations of integers that are computed modulo several primes beyond sums and products: none."""

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def _refuse(self, what: str) -> NoReturn:
        raise TraceError(
            f"{what} of encrypted numbers: integers={self._bits} computes sums and products alone, modulo several "
            "primes; decide after decryption, or leave integers= out and declare low= and high= of small numbers",
            at=user_loc(),
        )

    def apply(self, symbol: str, a: Any, b: Any) -> Any:
        """Refused."""
        self._refuse(f"{symbol}")

    def contains(self, values: list[Any], x: Any) -> Any:
        """Refused."""
        self._refuse("lw.isin")

    def table(self, what: str, x: Any, function: Callable[[int], int]) -> Any:
        """Refused."""
        self._refuse("lw.table")

    def invert(self, a: Any) -> Any:
        """Refused."""
        self._refuse("~")

    def bit_count(self, a: Any) -> Any:
        """Refused."""
        self._refuse("bit_count()")

    def absolute(self, a: Any) -> Any:
        """Refused."""
        self._refuse("abs()")
