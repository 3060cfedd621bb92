"""Record of a layout search, step by step, as a plan keeps it."""

from __future__ import annotations

from latticework.ir import Loc, Module, Op, Value
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.plan.schema.placement_record import INPUT, ConversionRecord, LayoutRecord, TensorLayout
from latticework.tensor.layout.layout import Layout
from latticework.tensor.layout.search import Decisions
from latticework.tensor.ops.base import shape_of
from latticework.values.packing.pack import PackMap


def explain(module: Module, decisions: Decisions, bits_a_second: float) -> tuple[LayoutRecord, tuple[Loc, ...]]:
    """The decisions in program order, and the lines that their locations number."""
    steps: list[TensorLayout] = []
    lines: dict[Loc, int] = {}

    def number(loc: Loc) -> int:
        return lines.setdefault(loc, len(lines))

    for value in module.inputs:
        if isinstance(value.type, TensorType):
            loc = Loc.unknown() if value.origin is None else value.origin.loc
            took, where = decisions.taken.get(value), _pack(value, decisions.inputs[value])
            steps.append(
                TensorLayout(_name(value), INPUT, number(loc), where, "", took.seconds if took else 0.0, 0, (), "", 0.0)
            )
    for op in module.walk():
        placement = decisions.chosen.get(op)
        if placement is None:
            continue
        took, other = decisions.taken[op], decisions.others.get(op)
        moves = tuple(
            ConversionRecord(
                _name(move.operand),
                (str(move.old), *(str(step.target) for step in way)),
                tuple(step.name for step in way),
                move.seconds,
            )
            for move in took.moves
            for way in (decisions.find_conversions(move.operand, move.old, move.new),)
        )
        kind = op.name.removeprefix("tensor.")
        steps.append(
            TensorLayout(
                _name(op.result), kind, number(op.loc), _pack(op.result, placement.result),
                "" if placement.box is None else str(placement.box), took.seconds, took.levels, moves,
                "" if other is None else str(other.layout), 0.0 if other is None else other.behind,
            )
        )  # fmt: skip
    return LayoutRecord(decisions.explored, bits_a_second, tuple(steps), decisions.pareto), tuple(lines)


def _pack(value: Value, layout: Layout) -> PackMap:
    return layout.pack_map(shape_of(value))


def _name(value: Value) -> str:
    """The user's name, or the operation."""
    if value.origin is not None and value.origin.name:
        return value.origin.name
    return value.owner.name.removeprefix("tensor.") if isinstance(value.owner, Op) else ""
