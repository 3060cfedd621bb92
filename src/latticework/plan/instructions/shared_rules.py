"""Rules that several records share: what instructions consist of, what they count as, and which rows they need.

parts     operations on one ciphertext that cost tables price
counts    operations by the names that users are told (`analysis.estimate.OperationCounts`)
keys      products with each operand that is a key, by its place
scratch   rows on top of those of operands and results, of the backend that needs the most
reuse     buffers of the operands that become the result's
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.value_shapes import vectors_made
from latticework.plan.instructions.work_units import Part, Shape
from latticework.values.packing.key_manifest import KeySpec

Buffers = tuple[Any, ...]  # one item for each ciphertext of an array


def one_part(operation: str, shape: Callable[[Use], Shape]) -> Callable[[Use], Sequence[Part]]:
    """Return a rule for one operation on each ciphertext that is made."""

    def parts(use: Use) -> Sequence[Part]:
        return (Part(operation, shape(use), vectors_made(use)),)

    return parts


def of_scheme(operation: str, use: Use) -> str:
    """Return the name in cost tables of an operation that is another one in BFV."""
    return f"bfv.{operation}" if use.chain.scheme == "bfv" else operation


def no_parts(_use: Use) -> Sequence[Part]:
    """Return no parts, for what takes no time."""
    return ()


def count_each(**numbers: int) -> Callable[[Use], Mapping[str, int]]:
    """Return a rule that counts these numbers for each ciphertext that is made."""

    def counts(use: Use) -> Mapping[str, int]:
        vectors = vectors_made(use)
        return {name: vectors * number for name, number in numbers.items()}

    return counts


def each_key(use: Use) -> Mapping[int, int]:
    """Every key once for each ciphertext that is made."""
    vectors = vectors_made(use)
    return {place: vectors for place, kind in enumerate(use.operands) if isinstance(kind, KeySpec)}


def no_keys(_use: Use) -> Mapping[int, int]:
    """Return no key products, for what has no key."""
    return {}


def no_scratch(_use: Use, _stored: bool) -> int:
    """Return no scratch rows, for what is done row by row."""
    return 0


def own_rows(_use: Use, _lent: bool, *_operands: Buffers) -> None:
    """Return no operand: the result is written to new buffers."""


def first_rows(_use: Use, _lent: bool, a: Buffers, *_others: Buffers) -> Buffers:
    """The result is the first operand, read in another way."""
    return a


def in_place(use: Use, lent: bool, a: Buffers, *_others: Buffers) -> Buffers | None:
    """The result is written over the first operand, if that is not read again and of the same size."""
    source, result = use.operands[0], use.stated
    assert isinstance(source, CipherKind)
    return a if lent and (source.degree, source.count) == (result.degree, result.count) else None
