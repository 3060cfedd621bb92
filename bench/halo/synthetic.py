"""Loops of so many carried values and so many levels an iteration: HALO's counts in closed form, and what is planned.

Source: HALO (ASPLOS'25), sections 4 and 6: one bootstrap of every carried value at the head of an iteration; one for
all where masks pack them, for two of the levels; every p-th iteration where p of them fit the levels. An iteration
before the loop (peeled) makes public values encrypted and takes none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.halo.planning import COMPILERS, PRICES
from bench.placement.published import RESIDUAL
from bench.rows import Row
from bench.vectors import SLOTS, Vectors
from latticework.compiler.levels import decide_levels
from latticework.compiler.levels.bootstrap_calls import ciphertexts
from latticework.compiler.levels.loops.executed import bootstraps_run
from latticework.compiler.levels.loops.halo_baseline import HALO, PACKING, PACKING_UNROLLING, TYPE_MATCHED
from latticework.compiler.levels.loops.plan_loops import OURS, plan_loops
from latticework.ir import Module, Value
from latticework.ir.dialects.vec_dialect import VecType

MEAN = np.full((SLOTS, SLOTS), 1 / SLOTS)
ITERATIONS = 40
# values carried, levels of an iteration: what an exact search found to be possible, two real values to a bootstrap
BODIES = {(2, 2): 4, (2, 4): 9, (3, 2): 10, (3, 3): 14, (1, 4): 9, (1, 12): 39, (2, 7): None, (5, 5): None}
NESTS = ((2, 2), (2, 8), (4, 2), (4, 8))


def synthetic(carried: int, depth: int, trips: int | None, *, plain: bool = True, at_most: int | None = None) -> Module:
    """A loop of values that are one number in all slots; each spends so many levels in an iteration.

    trips  None: the second input
    plain  start from public numbers, else from the input
    """
    v = Vectors(1, trips=trips is None)
    if plain:
        inits = [v.op("trivial", v.splat(0.1 * (i + 1))) for i in range(carried)]
    else:
        inits = [v.matrix(v.op("rotate", v.x[0], steps=i), MEAN) for i in range(carried)]

    def body(_index: Value, *values: Value) -> list[Value]:
        """Each plus a mean of itself times powers of the input."""
        found = []
        for value in values:
            term = value
            for _ in range(depth - 1):
                term = v.op("mul", term, v.x[0])
            found.append(v.op("add", value, v.matrix(term, MEAN)))
        return found

    number = v.n if trips is None else trips
    assert number is not None, "a run-time count is an input"
    return v.done(*v.loop(body, inits, number, at_most))


def nested(outer: int, inner: int, depth: int, more: int) -> Module:
    """A step before a loop of steps; in each an inner loop that takes one bootstrap an iteration, and `more` levels."""
    v = Vectors(1)

    def spend(value: Value, levels: int) -> Value:
        for _ in range(levels):
            value = v.op("mul", value, value)
        return value

    def step(value: Value) -> Value:
        (found,) = v.loop(lambda _j, c: [spend(c, depth)], [spend(value, more)], inner)
        return spend(found, more)

    def outside(value: Value) -> Value:
        """As an iteration, which starts with a bootstrap."""
        attrs = {"target": RESIDUAL, "exponent": 0, "iterations": 1}
        (fresh,) = v.builder.create("vec.bootstrap", [value], attrs).results
        return step(fresh)

    (result,) = v.loop(lambda _i, b: [step(b)], [outside(v.x[0])], outer)
    return v.done(result)


def closed_form(mode: str, carried: int, depth: int, iterations: int, *, plain: bool = True) -> int:
    """Bootstraps of HALO's rules in so many iterations of a synthetic loop."""
    heads = max(iterations - plain, 0)
    if mode == TYPE_MATCHED:
        return carried * heads
    packed, spent = (1, depth + 2) if 1 < carried <= SLOTS else (carried, depth)
    factor = max((RESIDUAL - (spent - depth)) // spent, 1) if mode in (PACKING_UNROLLING, HALO) else 1
    return packed * -(-heads // factor)


def exponents_of(module: Module) -> dict[Value, int | None]:
    """0 for every secret vector."""
    values = [*module.inputs]
    for op in module.walk():
        values += [*op.results, *(v for region in op.regions for v in region.block.args)]
    return {v: 0 for v in values if isinstance(v.type, VecType) and v.is_secret}


def synthetic_rows() -> Iterator[Row]:
    """Bootstraps of every compiler but DaCapo's, whose counts are in `latticework bench placement`."""
    modes = [mode for mode in COMPILERS if mode != "dacapo"]
    for (carried, depth), goal in BODIES.items():
        module = synthetic(carried, depth, ITERATIONS)
        case = f"{carried} carried, depth {depth}, {ITERATIONS} iterations"
        for mode in modes:
            if mode == OURS:
                least = min(closed_form(other, carried, depth, ITERATIONS) for other in (HALO, PACKING, TYPE_MATCHED))
                yield _row(case, mode, module, least, "least of HALO's", goal or least)
            else:
                wanted = closed_form(mode, carried, depth, ITERATIONS)
                yield _row(case, mode, module, wanted, "closed form", wanted)
    for outer, inner in NESTS:
        module = nested(outer, inner, 10, 8)
        for mode in modes:
            wanted = (outer + 1) * (inner + 2)
            source = "(outer + 1) (inner + 2)"
            yield _row(f"PCA's shape, {outer}x{inner}", mode, module, wanted, source, wanted)


def _row(case: str, mode: str, module: Module, reference: int, source: str, target: int) -> Row:
    made = plan_loops(module, RESIDUAL, PRICES, exponents_of(module), mode=mode)
    decide_levels(made, residual=RESIDUAL)  # LevelError where a value lies below the floor
    kinds: dict[str, int] = {}
    for op in made.walk():
        if op.name == "vec.bootstrap":
            to = str(op.attrs["target"])
            kinds[to] = kinds.get(to, 0) + sum(group.number for group in ciphertexts(op))
    return Row(
        case, f"{mode}: bootstraps", "", bootstraps_run(made), reference, source, target, checked=True,
        details={"in the code, by target level": kinds},
    )  # fmt: skip
