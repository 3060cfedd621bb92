"""How many levels values cost, and what that makes of loops.

Levels are counted downwards from 0 at the inputs: a value at -3 has had three
rescales. A loop whose carried values settle keeps being a loop; one that
spends levels in every iteration becomes copies, because no type could be
carried round it without a bootstrap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2

from latticework.errors import LevelError
from latticework.ir import Block, Module, Op, Value

Env = dict[Value, int | None]  # level of each value; None = public

MAX_FREE_FACTOR = 1 << 16


def program_depth(module: Module, starts: Sequence[int] | None = None) -> int:
    """Levels that a `vec` module spends on its longest path.

    starts  level of each input, 0 for all if not given
    raises  LevelError for a run-time loop that spends levels without `at_most`
    """
    arguments = module.body.args
    env: Env = dict(zip(arguments, starts or [0] * len(arguments), strict=True))
    outputs = block_levels(module.body, env)
    return -min((level for level in outputs + list(env.values()) if level is not None), default=0)


def input_levels(module: Module) -> list[int]:
    """The lowest level at which each input can start without making the program deeper: fewer limbs to send.

    An input that first meets others further down starts there.
    """
    depth = program_depth(module)
    if not any(op.regions for op in module.body.ops):
        return _least_levels(module, depth)
    starts = [0] * len(module.body.args)
    for i in range(len(starts)):
        lowest, highest = -depth, 0  # deeper starts only make programs deeper, so halving finds the last that does not
        while lowest < highest:
            middle = (lowest + highest) // 2
            starts[i] = middle
            if program_depth(module, starts) == depth:
                highest = middle
            else:
                lowest = middle + 1
        starts[i] = highest
    return starts


def _least_levels(module: Module, depth: int) -> list[int]:
    """The same of a module without loops: what reads a value says how low it may be, from the outputs backwards."""
    env: Env = dict.fromkeys(module.body.args, 0)
    block_levels(module.body, env)
    least: dict[Value, int] = {}
    for op in reversed(module.body.ops[:-1]):
        if is_public(op) and all(env[v] is None for v in op.results):
            continue
        needed = max(least.get(v, -depth) for v in op.results) + _cost(op, env)
        for value in op.operands:
            if env[value] is not None:
                least[value] = max(least.get(value, -depth), needed)
    return [least.get(value, -depth) for value in module.body.args]


def block_levels(block: Block, env: Env) -> list[int | None]:
    """Fill `env` with the level of every value of a block; returns the levels of what it yields."""
    for op in block.ops:
        if op.name == "loop.yield":
            return [env[v] for v in op.operands]
        for result, level in zip(op.results, levels_of(op, env), strict=True):
            env[result] = level
    raise AssertionError("block without loop.yield")


def is_free_factor(factor: complex) -> bool:
    """Whether multiplying by this constant costs no level: small integers."""
    return complex(factor).imag == 0 and float(complex(factor).real).is_integer() and abs(factor) <= MAX_FREE_FACTOR


def polynomial_depth(degree: int) -> int:
    """Levels of a polynomial on [-1, 1] at optimal depth."""
    return ceil(log2(degree + 1))


@dataclass(frozen=True)
class LoopPlan:
    """What becomes of one loop.

    carried  level of each carried value at the loop head (None never occurs)
    results  level of each result
    copies   None: stays a loop; else this many copies of the body follow one another
    guarded  copies run only while their number is below the trip count
    """

    carried: tuple[int, ...]
    results: tuple[int, ...]
    copies: int | None = None
    guarded: bool = False


def plan_loop(op: Op, env: Mapping[Value, int | None]) -> LoopPlan:
    """Decide between loop and copies, from the levels of the initial values.

    raises  LevelError if a run-time trip count meets a body that spends levels and there is no `at_most`
    """
    static_trip, at_most = op.attrs.get("static_trip"), op.attrs.get("at_most")
    inits = op.operands if static_trip is not None else op.operands[1:]
    start = tuple(0 if env[v] is None else env[v] or 0 for v in inits)
    carried = start
    for _ in range(len(carried) + 1):
        after = _body_levels(op, env, carried)
        lowered = tuple(min(a, b) for a, b in zip(carried, after, strict=True))
        if lowered == carried:
            return LoopPlan(carried, carried)
        carried = lowered
    copies = static_trip if static_trip is not None else at_most
    if copies is None:
        spent = max(a - b for a, b in zip(carried, _body_levels(op, env, carried), strict=True))
        raise LevelError(
            f"for_loop: the trip count is known only at run time and each iteration spends {spent} "
            f"level{'s' if spent != 1 else ''}, so no chain of fixed length fits; pass at_most=K (K copies are "
            "compiled, each run only if needed), or give the trip count as a plain int",
            at=op.loc,
        )
    levels = start
    for _ in range(copies):
        after = _body_levels(op, env, levels)
        # A skipped copy must leave the same types as one that ran.
        levels = tuple(min(a, b) for a, b in zip(levels, after, strict=True)) if static_trip is None else after
    return LoopPlan(start, levels, copies, guarded=static_trip is None)


def _body_levels(op: Op, env: Mapping[Value, int | None], carried: tuple[int, ...]) -> tuple[int, ...]:
    block = op.regions[0].block
    inner: Env = dict(env)
    inner[block.args[0]] = None
    for arg, level in zip(block.args[1:], carried, strict=True):
        inner[arg] = level
    yielded = block_levels(block, inner)
    return tuple(before if after is None else after for before, after in zip(carried, yielded, strict=True))


def levels_of(op: Op, env: Env) -> list[int | None]:
    """Levels of an operation's results, from those of its operands and, in nested regions, of all around."""
    if op.name == "loop.for":
        return list(plan_loop(op, env).results)
    if op.name == "loop.if":
        return _branch_levels(op, env)
    levels = [level for v in op.operands if (level := env[v]) is not None]
    if not levels and is_public(op):
        return [None] * len(op.results)
    return [min(levels, default=0) - _cost(op, env)]


def _branch_levels(op: Op, env: Env) -> list[int | None]:
    """The lower of what both sides of a condition yield; public values are encrypted at the top."""
    carried = [env[v] or 0 for v in op.operands[1:]]
    sides = []
    for region in op.regions:
        inner: Env = {**env, **dict(zip(region.block.args, carried, strict=True))}
        sides.append([level or 0 for level in block_levels(region.block, inner)])
    return [min(both) for both in zip(*sides, strict=True)]


def _cost(op: Op, env: Env) -> int:
    if op.name == "vec.linear_transform":
        return 1
    if op.name == "vec.polynomial":
        return polynomial_depth(op.attrs["polynomial"].degree)
    if op.name == "vec.mul":
        factors = [v.owner.attrs["value"] for v in op.operands if isinstance(v.owner, Op) and is_splat(v)]
        return 0 if factors and is_free_factor(factors[0]) else 1
    return 0


def is_public(op: Op) -> bool:
    """Whether an op without encrypted operands needs no ciphertext; `vec.trivial` is encrypted where it is used."""
    return op.name == "vec.trivial" or not any(v.is_secret for v in op.results)


def is_splat(value: Value) -> bool:
    """Whether a value is one public number in every slot."""
    return isinstance(value.owner, Op) and value.owner.name == "vec.splat"
