"""Sums of products of secret vectors: their factors, and what vectors of these are before they are moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from latticework.ir import Op, Value
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.packing.loop_nests.diagonals import bounded_diagonals
from latticework.values.packing.packed_constants import LinearMap, LoopNest

MOST_WRITTEN = 1 << 12  # diagonals of a map that are written down


class TracedVector(NamedTuple):
    """Vector `number` of an array, rotated left by `steps`."""

    array: Value
    number: int
    steps: int


def count_of(value: Value) -> int:
    """The number of vectors of an array."""
    assert isinstance(value.type, VecType)
    return value.type.count


def factors_of(op: Op) -> tuple[Value, Value] | None:
    """The two secret arrays whose products a sum adds up, as they are or in another order; None if there are no two."""
    product = op.operands[0].owner
    while isinstance(product, Op) and product.name == "vec.take":
        product = product.operands[0].owner
    if not isinstance(product, Op) or product.name != "vec.mul" or product.block is not op.block:
        return None
    a, b = product.operands
    return (a, b) if a is not b and all(v.is_secret and count_of(v) > 1 for v in (a, b)) else None


def trace(value: Value, number: int) -> TracedVector:
    """Vector `number` of an array, before it was taken, joined to others and rotated."""
    steps = 0
    while isinstance(op := value.owner, Op):
        match op.name:
            case "vec.take":
                value, number = op.operands[0], op.attrs["vectors"][number]
            case "vec.rotate":
                value, steps = op.operands[0], steps + op.attrs["steps"]
            case "vec.concat":
                parts = iter(op.operands)
                while number >= count_of(value := next(parts)):
                    number -= count_of(value)
            case _:
                break
    return TracedVector(value, number, steps % value.type.slots)  # type: ignore[attr-defined]


def turn(build: Callable[..., Value], wanted: Sequence[TracedVector]) -> Value:
    """Vectors of arrays, rotated, as one array in this order: each is rotated once, an array by a step at once.

    build  makes an operation: of its name, operands and attributes
    """
    turned: dict[tuple[Value, int], dict[int, None]] = {}
    for each in wanted:
        turned.setdefault((each.array, each.steps), {})[each.number] = None
    parts: list[Value] = []
    places: dict[TracedVector, int] = {}
    for (array, steps), numbers in turned.items():
        part = take(build, array, tuple(numbers))
        parts.append(build("vec.rotate", part, steps=steps) if steps else part)
        places |= {TracedVector(array, number, steps): len(places) + n for n, number in enumerate(numbers)}
    whole = parts[0] if len(parts) == 1 else build("vec.concat", *parts)
    vectors = tuple(places[each] for each in wanted)
    return whole if vectors == tuple(range(len(places))) else build("vec.take", whole, vectors=vectors)


def take(build: Callable[..., Value], array: Value, vectors: Sequence[int]) -> Value:
    """Some vectors of an array; the array itself where they are all in order."""
    if list(vectors) == list(range(count_of(array))):
        return array
    return build("vec.take", array, vectors=tuple(vectors))


def is_map(op: object) -> bool:
    """Whether an operation is a linear map of a secret array."""
    return isinstance(op, Op) and op.name == "vec.linear_transform" and op.operands[0].is_secret


def is_large(linear_map: LinearMap) -> bool:
    """Whether a map has too many diagonals for each to be written down."""
    nests = [part.gather for part in linear_map.all_parts if isinstance(part.gather, LoopNest)]
    return len(linear_map.explicit) + sum(bounded_diagonals(nest, MOST_WRITTEN) for nest in nests) > MOST_WRITTEN
