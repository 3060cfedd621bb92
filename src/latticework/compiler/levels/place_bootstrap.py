"""place-bootstraps: bootstraps stand where they, and all that follows from them, take the least time.

In/out: vec IR, same cleartext meaning. Every value may be bootstrapped behind what makes it, to a target of its own;
what reads it reads it refreshed, but for what was made before its partner in one complex bootstrap, or needs no level.
Operations keep their order where bootstraps allow, and some are computed again from bootstrapped values. Loops and
conditions are steps that read on one level.
Source: own, `placement/`; DaCapo's and Orion's strategies are other placers. Cost: seconds at a hundred operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from latticework.compiler.levels.placement import (
    OUTPUT,
    BootstrapPlacement,
    Problem,
    place,
    place_by_layers,
    place_by_points,
    schedule,
)
from latticework.compiler.levels.placement.recompute import Recomputed, recompute, without_copies
from latticework.compiler.levels.placement.vec_problem import VecPrices, VecProblem, values_read
from latticework.ir import Block, Builder, Loc, Module, Op, Pass, Value

Placer = Callable[[Problem], BootstrapPlacement]
BASELINES: tuple[Placer, ...] = (place_by_layers, place_by_points)


def place_bootstraps(
    module: Module,
    residual: int,
    prices: VecPrices,
    exponents: Mapping[Value, int | None],
    *,
    starts: Sequence[int] | None = None,
    wanted: Sequence[int] | None = None,
    iterations: int = 1,
    placer: Placer = place,
) -> Module:
    """The module with bootstraps, on a chain where they leave `residual` levels above its floor.

    exponents   k where elements of a value lie within [-2^k, 2^k]; a value without one is not bootstrapped
    starts      levels above the floor of inputs; the highest if not given
    wanted      levels above the floor of outputs; the floor if not given
    iterations  of every bootstrap: 2 where the error of the first is bootstrapped too
    raises      LevelError with the line of an operation that spends too many levels
    """
    given = dict(zip(module.inputs, starts, strict=True)) if starts is not None else {}
    code = VecProblem(module.body, residual, prices, exponents, given)
    problem = code.problem(wanted)
    recomputed = (
        without_copies(problem, placer(problem)) if placer in BASELINES else recompute(problem, placer(problem))
    )
    body = Block()
    mapping = {value: body.add_arg(value.type, value.origin) for value in module.inputs}
    _PlacedWriter(code, problem, recomputed, iterations, Builder(body), mapping).write()
    return module.empty_like(body)


class _PlacedWriter:
    """Writes a block anew, with bootstraps, and with copies of what is computed again.

    mapping    what stands for each value as it was computed, but for numbered ones
    numbered   what stands for values of the problem as they were made, by number
    refreshed  what stands for them behind their bootstraps
    """

    def __init__(
        self, code: VecProblem, original: Problem, recomputed: Recomputed, iterations: int, builder: Builder,
        mapping: dict[Value, Value],
    ) -> None:  # fmt: skip
        self.code, self.original, self.recomputed, self.iterations = code, original, recomputed, iterations
        self.builder, self.mapping = builder, mapping
        self.numbered: dict[int, Value] = {}
        self.refreshed: dict[int, Value] = {}

    def write(self) -> None:
        """All operations, and the end of the block."""
        placement = self.recomputed.placement
        bypassing = {v: refresh.bypassing for v, refresh in placement.refreshes.items()}
        steps = schedule(self.recomputed.problem, bypassing, placement.pairs)
        assert steps is not None, "a placement has no order"
        for step in steps:
            if isinstance(step, tuple):
                self.bootstrap(step)
            else:
                self.copy(step)
        self.end()

    def copy(self, number: int) -> None:
        """An operation, which reads values as they were made or refreshed."""
        op, planned = self.code.ops[self.recomputed.ops[number]], self.recomputed.problem.ops[number]
        original = self.original.ops[self.recomputed.ops[number]]
        mapping = self.reading(op, dict(zip(original.operands, planned.operands, strict=True)), number)
        self.builder.copy(op, mapping)
        for value in op.results:
            self.mapping[value] = mapping[value]
        for old, new in zip(original.results, planned.results, strict=True):
            self.numbered[new] = mapping[self.code.values[old]]

    def end(self) -> None:
        """Write the terminator of the block, with what it yields."""
        copies = {self.recomputed.values[v]: v for v in self.recomputed.problem.wanted}
        terminator = self.code.block.terminator
        self.builder.copy(terminator, self.reading(terminator, copies, OUTPUT))

    def reading(self, op: Op, renumbered: Mapping[int, int], reader: int) -> dict[Value, Value]:
        """The values that stand for each value that an operation reads.

        renumbered  numbers of values in the problem that was stated -> of those that it reads instead
        """
        reads = values_read(op)
        for value in reads:
            self.need(value)
        mapping = {}
        for value in reads:
            stated = self.code.number(value)
            if stated is None:
                mapping[value] = self.mapping.get(value, value)
            else:
                mapping[value] = self.read(renumbered.get(stated, stated), reader)
        return mapping

    def read(self, number: int, reader: int) -> Value:
        """The value that a reader reads for a numbered one: behind its bootstrap, or as it was made."""
        refresh = self.recomputed.placement.refreshes.get(number)
        if refresh is not None and reader not in refresh.bypassing:
            return self.refreshed[number]
        return self.as_made(number)

    def as_made(self, number: int) -> Value:
        """A value before any bootstrap of it."""
        value = self.code.values[self.recomputed.values[number]]
        return self.numbered.get(number, self.mapping.get(value, value))

    def need(self, value: Value) -> None:
        """Public operations stand before what reads them."""
        owner = value.owner
        if value not in self.mapping and isinstance(owner, Op) and owner.block is self.code.block:
            for operand in values_read(owner):
                self.need(operand)
            self.builder.copy(owner, self.mapping)

    def bootstrap(self, numbers: Sequence[int]) -> None:
        """One value, or two that share complex bootstraps, that with larger elements first."""
        known = self.code.exponents
        values = {n: self.code.values[self.recomputed.values[n]] for n in numbers}
        ordered = sorted(values, key=lambda n: -(known.get(values[n]) or 0))
        exponents = [known.get(values[n]) or 0 for n in ordered]
        attrs: dict[str, Any] = {
            "target": max(self.recomputed.placement.refreshes[n].target for n in numbers),
            "exponent": exponents[0],
            "iterations": self.iterations,
        }
        if exponents[-1] < exponents[0]:
            attrs["second_exponent"] = exponents[-1]
        op = self.builder.create(
            "vec.bootstrap", [self.as_made(n) for n in ordered], attrs, loc=_line_of(values[numbers[-1]])
        )
        self.refreshed.update(zip(ordered, op.results, strict=True))


def _line_of(value: Value) -> Loc | None:
    """The line on which a value is made; of an input, where it is first read."""
    if isinstance(value.owner, Op):
        return value.owner.loc
    return next((reader.loc for reader, _ in value.uses), None)


def bootstrap_pass(
    residual: int, prices: VecPrices, exponents: Callable[[Module], Mapping[Value, int | None]], placer: Placer = place
) -> Pass[object]:
    """The pass, for a chain whose bootstraps leave `residual` levels.

    exponents  finds those of the values of a module
    """
    return Pass(
        "place-bootstraps",
        lambda module, _cost: place_bootstraps(module, residual, prices, exponents(module), placer=placer),
        reads=("vec", "loop"), writes=("vec.bootstrap",),
    )  # fmt: skip
