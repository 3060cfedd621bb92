"""Conditions of proved error bounds: comparisons that keep their gap, functions that were only sampled.

A sign is right where its argument is at least its gap from 0, and nothing keeps an accepted input there unless the
intervals of `levels.value_bounds` do. Where they do not, they are followed once more with the sign off by 1 within its
gap: an output whose bound that does not move does not depend on it, or not on the slots where that may happen. Where
intervals say nothing, the comparisons that an output is computed of decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from latticework.compiler.accuracy import Fitted
from latticework.compiler.levels.abstract_value import AbstractValue
from latticework.compiler.levels.value_bounds import Comparison, ValueBounds
from latticework.errors import ApproximationWarning
from latticework.functions.approximation.sign import part_of_half
from latticework.ir import Block, Loc, Module, Op, Value
from latticework.ir.lines import warn
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.conditions import Condition, list_conditions, merge_conditions
from latticework.plan.schema.schema import Plan

FAR = 1.0 + 2.0**-6  # times the bound: less is what masks leave of slots that hold no element
MOST_ALONE = 8  # comparisons that are followed one by one; of more, all that an output is computed of are named

Lines = frozenset[Loc]
Comparisons = frozenset[Comparison]
NO_LINES: Lines = frozenset()
NONE: Comparisons = frozenset()


@dataclass(frozen=True)
class Proofs:
    """Proofs about the outputs of a program whose values were followed.

    module    tensor IR, its functions polynomials;  fitted  what they stand for
    bound_of  the largest error of an output, by its number, where it is held so
    """

    module: Module
    fitted: Sequence[Fitted]
    bounds: ValueBounds
    bound_of: Callable[[AbstractValue, int], float]

    def conditions(self, number: int) -> tuple[Condition, ...]:
        """Those of an output; none: its bound is proved for every accepted input, if it is at all."""
        lines, reached = self._computed_of[number], self._comparisons_in_gap(number)
        named = [f for f in self.fitted if (comparison_of(f) in reached if f.gap else f.is_sampled and f.loc in lines)]
        return tuple(dict.fromkeys(condition_of(f, leaves=comparison_of(f) in self.bounds.beyond) for f in named))

    def bound(self, number: int) -> float:
        """Return how far signs within their gaps may move an output that has no condition; 0 where none may be."""
        held = self._with_all[number] if self._open and self._with_all else None
        return 0.0 if held is None or self._comparisons_in_gap(number) else self.bound_of(held, number)

    @cached_property
    def _computed_of(self) -> list[Lines]:
        """Find for every output the lines of functions with conditions that it is computed of."""
        return lines_read(self.module, {f.loc for f in self.fitted if f.gap or f.is_sampled})

    @cached_property
    def _open(self) -> Comparisons:
        """Those whose argument may be within the gap, in any slot."""
        return frozenset(comparison_of(f) for f in self.fitted if f.gap) & self.bounds.open

    @cached_property
    def _with_all(self) -> Sequence[AbstractValue | None]:
        """The outputs where all of these are off there; none where that cannot be told."""
        return () if self.bounds.opened is None else self.bounds.opened(self._open)

    @cached_property
    def _with_one(self) -> Mapping[Comparison, Sequence[AbstractValue | None]]:
        """The same of each by itself, if they are few."""
        if self.bounds.opened is None or len(self._open) > MOST_ALONE:
            return {}
        return {each: self.bounds.opened([each]) for each in self._open}

    def _comparisons_in_gap(self, number: int) -> Comparisons:
        """Those that accepted inputs may take into their gap, with an effect on an output."""
        possible = frozenset(each for each in self._open if each.loc in self._computed_of[number])
        if not possible or not self._with_all:
            return possible
        if not self._is_moved(number, self._with_all):
            return NONE
        if len(self._open) == 1:
            return possible
        one_by_one = {each for each, outputs in self._with_one.items() if self._is_moved(number, outputs)}
        return (possible & one_by_one) or possible

    def _is_moved(self, number: int, outputs: Sequence[AbstractValue | None]) -> bool:
        """Whether an output may be off by more than is proved without that."""
        held, off = self.bounds.proved[number], outputs[number]
        if held is None or off is None:
            return True
        return self.bound_of(off, number) > FAR * self.bound_of(held, number)


def comparison_of(fitted: Fitted) -> Comparison:
    """The composed sign that stands for a comparison."""
    return Comparison(fitted.loc, part_of_half(fitted.gap, max(map(abs, fitted.interval))))


def condition_of(fitted: Fitted, *, leaves: bool) -> Condition:
    """Return the condition on the argument of a function.

    leaves  it may leave its range: a sign may seem to be decided there and be the wrong one, so that no output tells
    """
    return Condition(fitted.function, line_of(fitted.loc), fitted.gap, fitted.told and not leaves)


def line_of(loc: Loc) -> str:
    """A line as clients may know it: the folder left out."""
    return f"{Path(loc.file).name}:{loc.line}" if loc.file else "an unknown line"


def lines_read(module: Module, lines: Collection[Loc]) -> list[Lines]:
    """Find for every output of a module those of `lines` whose polynomials it is computed of."""
    return _Reads(frozenset(lines)).block(module.body, [NO_LINES] * len(module.inputs))


class _Reads:
    """One walk over a module: what every value is computed of."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.known: dict[Value, Lines] = {}

    def block(self, block: Block, arguments: Sequence[Lines]) -> list[Lines]:
        """Lines that each value at the end of a block is computed of."""
        self.known.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            operands = [self.known.get(value, NO_LINES) for value in op.operands]
            if op.spec.terminator:
                return operands
            self.known.update(zip(op.results, self.results(op, operands), strict=True))
        raise AssertionError("a block does not end in a terminator")

    def results(self, op: Op, operands: list[Lines]) -> list[Lines]:
        """Lines that each result of an operation is computed of."""
        if op.name == "loop.for":
            chosen = NO_LINES.union(*operands[: len(operands) - len(op.results)])
            carried = [chosen | each for each in operands[len(operands) - len(op.results) :]]
            while True:
                after_iteration = self.block(op.regions[0].block, [NO_LINES, *carried])
                joint = [a | b for a, b in zip(carried, after_iteration, strict=True)]
                if joint == carried:
                    return carried
                carried = joint
        if op.name == "loop.if":
            branches = [self.block(region.block, operands[1:]) for region in op.regions]
            return [operands[0].union(*each) for each in zip(*branches, strict=True)]
        assert not op.regions, f"{op.name} has blocks of which nothing is known here"
        own = self.lines & {loc for loc, _ in op.loc.shares} if "polynomial" in op.attrs else NO_LINES
        return [own.union(*operands)] * len(op.results)


def warn_of_gaps(plan: Plan) -> None:
    """An ApproximationWarning where comparisons decide about results that accepted inputs may take into their gap.

    Of trees that are imported without marks, the notes of the import say which rows are right.
    """
    conditions_left = merge_conditions(conditions for _, conditions in plan.client.result_conditions())
    left = [each for each in conditions_left if each.gap and not each.told]
    if not left:
        return
    warn(
        f"{plan.client.name}: nothing keeps accepted inputs from taking the argument of a comparison closer to 0 than "
        "its gap, where any number between both outcomes may come out, or out of its range, and nothing tells: "
        f"{list_conditions(left)}. Results that depend on it are not proved, and none is certain. "
        "Give a smaller gap= where "
        "data come closer and a range= that holds them, calibrate on inputs that all lie on one side of the threshold, "
        "or compare at the client, after decryption",
        ApproximationWarning,
    )
