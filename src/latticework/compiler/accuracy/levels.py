"""A lower bound on the levels of a traced program, before layouts are known."""

from __future__ import annotations

from collections.abc import Mapping

from latticework.ir import Block, Module, Op, Value
from latticework.lazy_dataclass import dataclass

MOST_TURNS = 256  # of a loop that are followed; each further one adds what the last did

Spent = dict[Value, int]


@dataclass(frozen=True)
class LevelLimits:
    """Levels that a program may spend.

    most     one after another; None: bootstraps give more
    plain    without bootstraps, in the largest ring
    between  two bootstraps, at most
    """

    most: int | None
    plain: int
    between: int = 0


def least_levels(module: Module, degrees: Mapping[Op, int]) -> int:
    """Levels on the longest path: those of functions of these degrees, and one for each product of two secrets.

    A product with public numbers may cost one too, which is not counted; nor is a loop without a known limit.
    """
    spent: Spent = dict.fromkeys(module.inputs, 0)
    return max(_block(module.body, spent, degrees), default=0)


def spends_endlessly(module: Module) -> bool:
    """Whether a loop without a known limit spends levels in every iteration, as far as `least_levels` sees them."""
    for op in module.walk():
        if op.name == "loop.for" and op.attrs.get("static_trip") is None and op.attrs.get("at_most") is None:
            carried = [0] * len(op.results)
            for _ in range(len(carried) + 1):
                before, carried = carried, list(map(max, carried, _enter(op.regions[0].block, [0, *carried], {}, {})))
            if carried != before:
                return True
    return False


def _block(block: Block, spent: Spent, degrees: Mapping[Op, int]) -> list[int]:
    """Levels of what a block yields."""
    for op in block.ops:
        before = [spent.get(value, 0) for value in op.operands]
        if op.spec.terminator:
            return before
        if op.regions:
            results = _regions(op, before, spent, degrees)
        else:
            results = [max(before, default=0) + _cost(op, degrees)] * len(op.results)
        spent.update(zip(op.results, results, strict=True))
    return []


def _regions(op: Op, before: list[int], spent: Spent, degrees: Mapping[Op, int]) -> list[int]:
    """Return the levels spent by the results of a loop, or of a choice between two blocks."""
    if op.name != "loop.for":
        sides = [_enter(region.block, before[1:], spent, degrees) for region in op.regions]
        return [max(both) for both in zip(*sides, strict=True)]
    static = op.attrs.get("static_trip")
    trip_count = static if static is not None else op.attrs.get("at_most") or 1
    carried = before if static is not None else before[1:]
    followed = min(trip_count, MOST_TURNS)
    last = carried
    for _ in range(followed):
        last, carried = carried, _enter(op.regions[0].block, [0, *carried], spent, degrees)
    return [now + (trip_count - followed) * (now - earlier) for earlier, now in zip(last, carried, strict=True)]


def _enter(block: Block, arguments: list[int], spent: Spent, degrees: Mapping[Op, int]) -> list[int]:
    spent.update(zip(block.args, arguments, strict=True))
    return _block(block, spent, degrees)


def _cost(op: Op, degrees: Mapping[Op, int]) -> int:
    if op in degrees:
        return degrees[op].bit_length()
    if op.name == "tensor.polynomial":
        return int(op.attrs["polynomial"].depth)
    is_product = op.name in ("tensor.mul", "tensor.matmul")
    return int(is_product and sum(value.is_secret for value in op.operands) > 1)
