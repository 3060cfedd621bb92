"""Inspect a model without data: its operators, where each runs, the levels that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from math import ceil, log2
from typing import Any

from latticework.errors import UserError
from latticework.frontend.functions.window_comparisons import is_pool
from latticework.frontend.programs.array_program import Program, trace
from latticework.frontend.recording.tracing import Traced
from latticework.ir.core import Block, Op, Value
from latticework.ir.module import Module
from latticework.lazy_dataclass import dataclass
from latticework.models.average_pooling import PRICE
from latticework.models.imported_program import ImportedProgram
from latticework.models.model_graph import ModelGraph, ModelNode
from latticework.models.model_refusals import Refusal

BEFORE, SERVER, AFTER = "owner, before", "server", "owner, after"
NOT_POSSIBLE = "nowhere"
_PRODUCTS = ("tensor.mul", "tensor.matmul", "tensor.conv2d", "tensor.sum_pool2d")
FUNCTIONS = ("tensor.apply", "tensor.softmax")


@dataclass(frozen=True, slots=True)
class Depth:
    """The cost of the longest path.

    levels     without functions, each linear map one: at most, since neighbouring maps become one
    functions  of one number, whose levels follow from the data that they are calibrated with
    """

    levels: int = 0
    functions: int = 0

    def words(self) -> str:
        """The depth as text for a table."""
        functions = {0: "", 1: "function"}.get(self.functions, f"{self.functions} functions")
        return " + ".join(filter(None, [str(self.levels) if self.levels or not functions else "", functions]))


@dataclass
class OperatorUse:
    """All uses of an operator at one side.

    where    BEFORE, SERVER, AFTER or NOT_POSSIBLE
    depth    of one use, the deepest
    problem  why it cannot be computed, and what to do
    """

    operator: str
    where: str
    count: int = 0
    depth: Depth | None = None
    problem: str = ""


@dataclass(frozen=True)
class Inspected:
    """A model, looked at.

    depth  of the server's part, from inputs to outputs; None where it cannot be computed
    notes  what importing changed
    """

    name: str
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    uses: tuple[OperatorUse, ...]
    depth: Depth | None
    notes: tuple[str, ...] = ()

    @property
    def is_supported(self) -> bool:
        """Whether all of it can be computed."""
        return not any(use.problem for use in self.uses)


@dataclass
class _Tally:
    uses: dict[tuple[str, str], OperatorUse] = field(default_factory=dict)

    def add(self, operator: str, where: str, depth: Depth | None = None, problem: str = "") -> None:
        use = self.uses.setdefault((operator, where), OperatorUse(operator, where))
        use.count += 1
        use.problem = use.problem or problem
        if depth is not None:
            before = use.depth or Depth()
            use.depth = Depth(max(before.levels, depth.levels), max(before.functions, depth.functions))


def inspect_program(program: Program) -> Inspected:
    """Inspect a program that can be computed."""
    tally = _Tally()
    inputs = tuple((p.name, getattr(p.kind, "shape", None) or ()) for p in program.inputs)
    if not isinstance(program, ImportedProgram):
        module = trace(program)
        depths = _depths(module)
        for op in module.walk():
            if op.name.startswith("tensor.") and op.operands and any(value.is_secret for value in op.operands):
                tally.add(op.name.removeprefix("tensor."), SERVER, _own(op))
        return Inspected(program.name, inputs, tuple(tally.uses.values()), _deepest(module, depths))
    before, after = _at_owner(program)
    for operator in before:
        tally.add(operator, BEFORE)
    uses: list[tuple[ModelNode, list[Value], list[Value]]] = []
    module = _trace_with_values(program, uses)
    depths = _depths(module)
    for node, operands, results in uses:
        read = [depths.get(value, Depth()) for value in operands]
        made = [depths.get(value, Depth()) for value in results]
        if not made:
            continue  # of shapes alone
        tally.add(node.operator, SERVER, Depth(
            max(0, max(d.levels for d in made) - max((d.levels for d in read), default=0)),
            max(0, max(d.functions for d in made) - max((d.functions for d in read), default=0)),
        ))  # fmt: skip
    for operator in after:
        tally.add(operator, AFTER)
    given = inputs
    if program.owner is not None:
        shapes = {each.name: each.shape for each in program.owner.given}
        own = dict(inputs)
        given = tuple((name, shapes.get(name, own.get(name, ()))) for name in program.owner.given_for(own))
    found = tuple(tally.uses.values())
    pools = sorted(
        {use.operator.removeprefix("aten.") for use in found if use.where == SERVER and is_pool(use.operator)}
    )
    notes = (*program.notes, *(f"{operator}: {PRICE}" for operator in pools))
    return Inspected(program.graph.name, given, found, _deepest(module, depths), notes)


def _at_owner(program: ImportedProgram) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Operators of the model that are its owner's; or the steps, where those are of no operator."""
    stages = program.owner
    if stages is None or program.at_owner_before or program.at_owner_after:
        return program.at_owner_before, program.at_owner_after
    chains = [(*piece.steps, *stage.steps) for stage in stages.before for piece in stage.pieces]
    before = tuple(step.NAME for chain in chains for step in chain)
    return before, tuple(step.NAME for result in stages.after for step in result.steps)


def inspect_refused(error: UserError) -> Inspected | None:
    """Inspect a model that cannot be imported, by the error; None where that is about no model's operators."""
    refused: tuple[ModelGraph, Sequence[Refusal]] | None = error.refused
    if refused is None:
        return None
    graph, refusals = refused
    tally, problems = _Tally(), {(refusal.loc, refusal.operator): refusal for refusal in refusals}
    for node in graph.nodes:
        refusal = problems.pop((node.loc, node.operator), None)
        tally.add(node.operator, NOT_POSSIBLE if refusal else SERVER, None, _problem(refusal))
    for refusal in problems.values():
        tally.add(refusal.operator, NOT_POSSIBLE, None, _problem(refusal))
    inputs = tuple((given.name, given.shape) for given in graph.inputs)
    return Inspected(graph.name, inputs, tuple(tally.uses.values()), None)


def _problem(refusal: Refusal | None) -> str:
    return "" if refusal is None else refusal.why + (f"; {refusal.instead}" if refusal.instead else "")


def _trace_with_values(program: ImportedProgram, uses: list[tuple[ModelNode, list[Value], list[Value]]]) -> Module:
    """The program traced once more, with what every node reads and makes."""

    def note(node: ModelNode, values: Mapping[str, Any]) -> None:
        read, made = (list(_secrets(values, names)) for names in (node.reads(), node.results))
        uses.append((node, read, made))

    return program.traced(note)


def _secrets(values: Mapping[str, Any], names: Any) -> Iterator[Value]:
    for name in names:
        value = values.get(name)
        for part in value if isinstance(value, tuple | list) else (value,):
            if isinstance(part, Traced):
                yield part._value


def _depths(module: Module) -> dict[Value, Depth]:
    """The depth of every value, from the inputs on; bodies of loops are followed once."""
    found: dict[Value, Depth] = {}

    def follow(block: Block) -> list[Depth]:
        for op in block.ops:
            read = [found.get(value, Depth()) for value in op.operands]
            before = Depth(max((d.levels for d in read), default=0), max((d.functions for d in read), default=0))
            if op.spec.terminator:
                return read
            for region in op.regions:
                found.update(dict.fromkeys(region.block.args, before))
                ends = [before, *follow(region.block)]
                before = Depth(max(d.levels for d in ends), max(d.functions for d in ends))
            own = _own(op)
            made = Depth(before.levels + own.levels, before.functions + own.functions)
            found.update(dict.fromkeys(op.results, made))
        return []

    follow(module.body)
    return found


def _own(op: Op) -> Depth:
    """The depth of one operation."""
    if op.name in FUNCTIONS:
        return Depth(0, 1)
    if op.name == "tensor.polynomial":
        return Depth(int(op.attrs["polynomial"].depth))
    if op.name == "tensor.prod":
        count = max(2, getattr(op.operands[0].type, "size", 2))
        return Depth(ceil(log2(count)))
    return Depth(int(op.name in _PRODUCTS and any(value.is_secret for value in op.operands)))


def _deepest(module: Module, depths: Mapping[Value, Depth]) -> Depth:
    ends = [depths.get(value, Depth()) for value in module.body.terminator.operands]
    return Depth(max((d.levels for d in ends), default=0), max((d.functions for d in ends), default=0))
