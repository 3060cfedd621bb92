"""Runs: operations in a straight line that wait for their bootstraps, a module of their own for so long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from latticework.compiler.levels.bootstrap_calls import ciphertexts
from latticework.compiler.levels.depth import Env, is_trivial
from latticework.compiler.levels.loops.writing import LoopWriter, ValueCopies, ValueFacts, arguments_of, captured_by
from latticework.ir import INDEX, Block, Loc, Module, Op, Value
from latticework.ir.live import erase_dead
from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True)
class PlacedRun:
    """A run with its bootstraps, and what it takes."""

    module: Module
    seconds: float

    @property
    def bootstraps(self) -> int:
        """Ciphertexts that are bootstrapped; a complex one counts once."""
        calls = (op for op in self.module.body.ops if op.name == "vec.bootstrap")
        return sum(each.number for op in calls for each in ciphertexts(op))


# (run, level of every input, level that every output has to have at least, exponents of values) -> with bootstraps
Place = Callable[[Module, Sequence[int | None], Sequence[int], Mapping[Value, int]], PlacedRun]


class WaitingRun:
    """Straight-line operations that read values from outside, which are its inputs.

    levels  of values outside
    """

    def __init__(self, levels: Env, facts: ValueFacts, sources: Module) -> None:
        self.module = sources.empty_like(Block())
        self.module.input_names, self.module.outputs = [], []
        self.writer = LoopWriter(self.module.body, None, facts)
        self.levels = levels
        self.outside: list[Value] = []
        self.copies = ValueCopies(facts)

    def holds(self, value: Value) -> bool:
        """Whether a value is one of the run."""
        owner = value.owner
        return (owner.block if isinstance(owner, Op) else owner) is self.module.body

    def of(self, value: Value) -> Value:
        """The value that stands for another in the run; public vectors are made anew."""
        if self.holds(value):
            return value
        if value not in self.copies:
            owner = value.owner
            if isinstance(owner, Op) and (is_trivial(value) or (value.type is not INDEX and not value.is_secret)):
                for operand in owner.operands:
                    self.of(operand)
                self.writer.builder.copy(owner, self.copies)
            else:
                self.outside.append(value)
                self.module.input_names.append(f"v{len(self.outside)}")
                self.copies[value] = self.module.body.add_arg(value.type, value.origin)
        return self.copies[value]

    @property
    def starts(self) -> list[int | None]:
        """Level of every input."""
        return [None if v.type is INDEX else self.levels[v] for v in self.outside]

    def end(self, outputs: Sequence[Value], loc: Loc | None) -> Module:
        """The module of what these outputs need of the run; more may be appended to the run itself."""
        clone, copies = LoopWriter(Block(), loc, self.writer.facts), ValueCopies(self.writer.facts)
        for value in self.module.inputs:
            copies[value] = clone.builder.block.add_arg(value.type, value.origin)
        for op in self.module.body.ops:
            clone.builder.copy(op, copies)
        clone.builder.create("loop.yield", [copies[v] for v in outputs])
        result = self.module.empty_like(clone.builder.block)
        result.outputs = [f"r{i}" for i in range(len(outputs))]
        erase_dead(result)
        return result


@dataclass(frozen=True)
class IterationLine:
    """Iterations of a loop in a straight line.

    carried  what the last one yields
    indices  what stands for the number of each outside, if the body reads it
    """

    run: WaitingRun
    carried: Sequence[Value]
    indices: tuple[Value, ...]

    @property
    def module(self) -> Module:
        """The line as a module."""
        return self.run.end(self.carried, None)


def iterations_of(
    loop: Op, number: int, levels: Env, facts: ValueFacts, sources: Module, begin: Sequence[Value] | None = None
) -> IterationLine:
    """A line of `number` iterations of a loop, of which no operation is written elsewhere.

    levels  of what the loop carries and reads from outside
    begin   what the first starts with; what the loop carries if not given
    """
    run = WaitingRun(levels, facts, sources)
    indices = tuple(Block().add_arg(INDEX) for _ in range(number if loop.regions[0].block.args[0].uses else 0))
    run.levels.update(dict.fromkeys(indices, None))
    carried = [run.of(v) for v in begin or arguments_of(loop)]
    outside = {v: run.of(v) for v in captured_by(loop)}
    for iteration in range(number):
        carried = run.writer.iteration(loop, run.of(indices[iteration]) if indices else 0, carried, outside)
    return IterationLine(run, carried, indices)
