"""place-bootstraps: bootstraps stand where they, and all that follows from them, take the least time.

In/out: vec IR, same cleartext meaning. Every value may be bootstrapped behind what makes it, to a target of its own;
what reads it reads it refreshed, but for what was made before its partner in one complex bootstrap, or needs no level.
Operations keep their order where bootstraps allow. Loops and conditions are steps that read on one level.
Source: own, `levels/placement/`; DaCapo's and Orion's ways are other placers. Cost: seconds at a hundred operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from latticework.ir import Block, Builder, Loc, Module, Op, Pass, Value
from latticework.levels.placement import OUTPUT, BootstrapPlacement, Problem, place, schedule
from latticework.levels.placement.vec_problem import VecPrices, VecProblem, values_read

Placer = Callable[[Problem], BootstrapPlacement]


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
    placement = placer(problem)
    body = Block()
    mapping = {value: body.add_arg(value.type, value.origin) for value in module.inputs}
    _PlacedWriter(code, problem, placement, iterations, Builder(body), mapping).write()
    return module.empty_like(body)


class _PlacedWriter:
    """Writes a block anew, with bootstraps.

    made       what stands for each value as it was made
    refreshed  what stands for it behind its bootstrap
    """

    def __init__(
        self, code: VecProblem, problem: Problem, placement: BootstrapPlacement, iterations: int, builder: Builder,
        made: dict[Value, Value],
    ) -> None:  # fmt: skip
        self.code, self.problem, self.placement, self.iterations = code, problem, placement, iterations
        self.builder, self.made = builder, made
        self.refreshed: dict[Value, Value] = {}

    def write(self) -> None:
        """All operations, and the end of the block."""
        bypassing = {v: refresh.bypassing for v, refresh in self.placement.refreshes.items()}
        steps = schedule(self.problem, bypassing, self.placement.pairs)
        assert steps is not None, "a placement has no order"
        for step in steps:
            if isinstance(step, tuple):
                self.bootstrap(step)
            else:
                self.copy(self.code.ops[step], step)
        self.copy(self.code.block.terminator, OUTPUT)

    def copy(self, op: Op, number: int) -> None:
        """An operation, which reads values as they were made or refreshed."""
        reads = values_read(op)
        for value in reads:
            self.need(value)
        mapping = {v: self.refreshed[v] if self.is_refreshed(v, number) else self.made.get(v, v) for v in reads}
        self.builder.copy(op, mapping)
        self.made.update((v, mapping[v]) for v in op.results)

    def need(self, value: Value) -> None:
        """Public operations stand before what reads them."""
        owner = value.owner
        if value not in self.made and isinstance(owner, Op) and owner.block is self.code.block:
            for operand in values_read(owner):
                self.need(operand)
            self.builder.copy(owner, self.made)

    def is_refreshed(self, value: Value, reader: int) -> bool:
        """Whether a reader reads a value behind its bootstrap."""
        number = self.code.number(value)
        refresh = None if number is None else self.placement.refreshes.get(number)
        return refresh is not None and reader not in refresh.bypassing

    def bootstrap(self, numbers: Sequence[int]) -> None:
        """One value, or two that share complex bootstraps, that with larger elements first."""
        known = self.code.exponents
        made = [self.code.values[n] for n in numbers]
        values = sorted(made, key=lambda v: -(known.get(v) or 0))
        exponents = [known.get(v) or 0 for v in values]
        attrs: dict[str, Any] = {
            "target": max(self.placement.refreshes[n].target for n in numbers),
            "exponent": exponents[0],
            "iterations": self.iterations,
        }
        if exponents[-1] < exponents[0]:
            attrs["second_exponent"] = exponents[-1]
        loc = _line_of(made[-1])
        op = self.builder.create("vec.bootstrap", [self.made.get(v, v) for v in values], attrs, loc=loc)
        self.refreshed.update(zip(values, op.results, strict=True))


def _line_of(value: Value) -> Loc | None:
    """Where a value is made; an input where it is first read."""
    if isinstance(value.owner, Op):
        return value.owner.loc
    return next((reader.loc for reader, _ in value.uses), None)


def placing(
    residual: int, prices: VecPrices, exponents: Callable[[Module], Mapping[Value, int | None]], placer: Placer = place
) -> Pass[object]:
    """The pass, for a chain whose bootstraps leave so many levels.

    exponents  finds those of the values of a module
    """
    return Pass(
        "place-bootstraps",
        lambda module, _cost: place_bootstraps(module, residual, prices, exponents(module), placer=placer),
        reads=("vec", "loop"), writes=("vec.bootstrap",),
    )  # fmt: skip
