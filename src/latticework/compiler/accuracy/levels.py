"""A lower bound on the levels of a traced program, before layouts are known: no plan without bootstraps spends fewer.

What is counted no pass takes away: polynomials, products of two secrets, and products with public matrices that are no
scaled whole numbers. Matrices that follow one another count once, since they may become one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from latticework.ir import Block, Module, Op, Value
from latticework.lazy_dataclass import dataclass

MOST_TURNS = 256  # of a loop that are followed; each further one adds what the last did
LARGEST_WHOLE, SAME = 1 << 16, 1e-12  # ratios of whole numbers up to this, and how close others come to one
LOOKED_AT = 64  # columns of a matrix

Trail = tuple[Any, ...]  # what was before, an operation, its levels; () at an input
Reached = tuple[int, bool, Trail]  # levels spent, whether a matrix was last, the way
Spent = dict[Value, Reached]  # of what is secret
Costs = Callable[[Op, Sequence[Value]], tuple[int, bool]]  # own levels, whether it is a matrix; given secret operands


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


@dataclass(frozen=True)
class LevelPath:
    """The longest path of a program.

    levels  that it spends;  ops  that spend them, from the last to the first, each with how many
    """

    levels: int
    ops: tuple[tuple[Op, int], ...]


def least_levels(module: Module, degrees: Mapping[Op, int]) -> int:
    """Levels on the longest path at least, functions as polynomials of these degrees."""
    return find_longest_path(module, partial(least_costs, module, degrees)).levels


def find_longest_path(module: Module, costs: Costs) -> LevelPath:
    """Follow what operations spend; a loop without a known limit is gone round once."""
    spent: Spent = {value: (0, False, ()) for value in module.inputs if value.is_secret}
    ends = [each for each in _block(module.body, spent, costs) if each is not None]
    levels, _, trail = max(ends, key=lambda each: each[0], default=(0, False, ()))
    ops = []
    while trail:
        trail, op, paid = trail
        ops.append((op, paid))
    return LevelPath(levels, tuple(ops))


def spends_endlessly(module: Module) -> bool:
    """Whether a loop without a known limit spends levels in every iteration, as far as `least_levels` sees them."""
    costs = partial(least_costs, module, {})
    for op in module.walk():
        if op.name == "loop.for" and op.attrs.get("static_trip") is None and op.attrs.get("at_most") is None:
            carried: list[Reached | None] = [(0, False, ())] * len(op.results)
            for _ in range(len(carried) + 1):
                before = carried
                after = _enter(op.regions[0].block, [None, *carried], {}, costs)
                carried = [_longest(both) for both in zip(carried, after, strict=True)]
            if [each and each[0] for each in carried] != [each and each[0] for each in before]:
                return True
    return False


def _block(block: Block, spent: Spent, costs: Costs) -> list[Reached | None]:
    """Follow a block to what it yields; None of what is public."""
    for op in block.ops:
        before = [spent.get(value) for value in op.operands]
        if op.spec.terminator:
            return before
        results = _regions(op, before, spent, costs) if op.regions else [_step(op, before, costs)] * len(op.results)
        for value, reached in zip(op.results, results, strict=True):
            if reached is not None:
                spent[value] = reached
            else:
                spent.pop(value, None)  # as it was in the iteration before
    return []


def _step(op: Op, before: Sequence[Reached | None], costs: Costs) -> Reached | None:
    """The result of an operation."""
    reached = _longest(before)
    if reached is None:
        return None
    levels, is_mapped, trail = reached
    own, is_map = costs(op, [value for value, each in zip(op.operands, before, strict=True) if each is not None])
    paid = 0 if is_map and is_mapped else own
    return levels + paid, is_map or (is_mapped and not own), (trail, op, paid) if paid else trail


def _longest(candidates: Sequence[Reached | None]) -> Reached | None:
    """The one behind which most levels are spent."""
    return max((each for each in candidates if each is not None), key=lambda each: (each[0], not each[1]), default=None)


def _regions(op: Op, before: list[Reached | None], spent: Spent, costs: Costs) -> list[Reached | None]:
    """The results of a loop, or of a choice between two blocks."""
    if op.name != "loop.for":
        sides = [_enter(region.block, before[1:], spent, costs) for region in op.regions]
        return [_longest(both) for both in zip_longest(*sides)]
    static = op.attrs.get("static_trip")
    trip_count = static if static is not None else op.attrs.get("at_most") or 1
    carried = before if static is not None else before[1:]
    followed = min(trip_count, MOST_TURNS)
    last = carried
    for _ in range(followed):
        last, carried = carried, _enter(op.regions[0].block, [None, *carried], spent, costs)
    results = []
    for earlier, now in zip(last, carried, strict=True):
        more = 0 if now is None or earlier is None else (trip_count - followed) * max(0, now[0] - earlier[0])
        results.append((now[0] + more, now[1], (now[2], op, more)) if now is not None and more else now)
    return results


def _enter(block: Block, arguments: list[Reached | None], spent: Spent, costs: Costs) -> list[Reached | None]:
    for value, reached in zip(block.args, arguments, strict=True):
        if reached is not None:
            spent[value] = reached
        else:
            spent.pop(value, None)
    return _block(block, spent, costs)


def least_costs(module: Module, degrees: Mapping[Op, int], op: Op, secret: Sequence[Value]) -> tuple[int, bool]:
    """Levels that an operation spends in any plan, and whether it is a product with a matrix."""
    if op in degrees:
        return degrees[op].bit_length(), False
    if op.name == "tensor.polynomial":
        return _depth(op.attrs["polynomial"]), False
    if op.name in ("tensor.mul", "tensor.matmul") and len(secret) > 1:
        return int(not any(_is_newton(module, value) for value in secret)), False
    is_map = len(secret) == 1 and _mixes(module, op)
    return int(is_map), is_map


def _depth(polynomial: Any) -> int:
    """Levels of a polynomial, without the highest coefficients that are 0."""
    depth = int(polynomial.depth)
    coefficients = getattr(polynomial, "coefficients", None)
    return depth if coefficients is None else min(depth, int(max(np.flatnonzero(coefficients), default=0)).bit_length())


def _is_newton(module: Module, value: Value) -> bool:
    """Whether a factor is 2 less something: `inverse-products` makes steps to an inverse side by side."""
    op = value.owner
    if not isinstance(op, Op) or op.name not in ("tensor.sub", "tensor.add"):
        return False
    return any(
        known is not None and bool(np.all(known == 2.0)) for known in map(partial(_constant, module), op.operands)
    )


def _constant(module: Module, value: Value) -> Any:
    """The array that a value is; None if it is not public, or made of others."""
    op = value.owner
    return module.sources.get(op.attrs["source"]) if isinstance(op, Op) and op.name == "tensor.constant" else None


def _mixes(module: Module, op: Op) -> bool:
    """Whether an operation multiplies by a public matrix that rotations, signs and factors do not make up for."""
    if op.name not in ("tensor.matmul", "tensor.conv2d") or op.attrs.get("groups", 1) != 1:
        return False
    weights = next((w for w in map(partial(_constant, module), op.operands) if w is not None), None)
    if weights is None or weights.ndim != (4 if op.name == "tensor.conv2d" else 2) or len(weights) < 2:
        return False
    first, second = weights.reshape(len(weights), -1)[:2, :LOOKED_AT]
    return _are_apart(first, second)


def _are_apart(first: Any, second: Any) -> bool:
    """Whether two rows are none of whole numbers, each row and each column times a factor of its own."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = first / second
        ratios = ratios[np.isfinite(ratios) & (ratios != 0.0)]
    whole = (
        float(Fraction(ratio).limit_denominator(LARGEST_WHOLE)) / ratio for ratio in (ratios[1:] / ratios[:1]).tolist()
    )
    return any(abs(each - 1.0) > SAME for each in whole)
