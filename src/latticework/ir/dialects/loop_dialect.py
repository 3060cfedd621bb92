"""The loop dialect: loops and branches as nested regions, and arithmetic on public integers.

A loop carries values from iteration to iteration; the types of a carried value
at the start, inside, at the end of the body and as a result are one and the same.
Conditions and trip counts are public; nothing branches on a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from latticework.errors import IrError, RangeError
from latticework.ir import INDEX, Array, Attrs, Context, JointContext, Op, Region, Type, Value, attribute, define
from latticework.ir.core import RegionRule
from latticework.ir.dialects.primitives import OpFacts, name_instruction


def _no_results(_operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    return []


YIELD = define("loop.yield", infer=_no_results, pure=False, terminator=True)


def _count(attrs: Attrs, key: str) -> int | None:
    """A trip count in the attributes, None if absent or None; IrError if it is not an integer >= 0."""
    if attrs.get(key) is None:
        return None
    count = attribute("loop.for", attrs, key, int)
    if count < 0:
        raise IrError(f"loop.for: {key} is {count}; it must be >= 0")
    return count


def _find_carried(operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    """The initial values (or their types) among operands."""
    return operands if attrs.get("static_trip") is not None else operands[1:]


def _find_yielded(name: str, regions: Sequence[Region], number: int) -> list[Type]:
    if len(regions) <= number:
        raise IrError(f"{name}: has {len(regions)} regions, needs region {number}")
    return [value.type for value in regions[number].block.terminator.operands]


def _expect(name: str, what: str, have: Sequence[Type], want: Sequence[Type]) -> None:
    """IrError unless the two lists of types are the same."""
    if len(have) != len(want):
        raise IrError(f"{name}: {what} {len(have)} values where {len(want)} are needed")
    for number, (a, b) in enumerate(zip(have, want, strict=True)):
        if a is not b:
            raise IrError(f"{name}: {what} {a} as value {number}, but it must be {b}")


def _for_region_types(operands: Sequence[Type], attrs: Attrs) -> list[Type]:
    return [INDEX, *_find_carried(operands, attrs)]


def _infer_for(operands: Sequence[Value], attrs: Attrs, regions: Sequence[Region]) -> list[Type]:
    static, at_most = _count(attrs, "static_trip"), _count(attrs, "at_most")
    if static is None and (not operands or operands[0].type is not INDEX):
        have = operands[0].type if operands else "nothing"
        raise IrError(f"loop.for: the first operand must be the trip count, an index; it is {have}")
    if static is not None and at_most is not None and static > at_most:
        raise IrError(f"loop.for: {static} iterations, but at_most is {at_most}")
    types = [value.type for value in _find_carried(operands, attrs)]
    yielded = _find_yielded("loop.for", regions, 0)
    _expect("loop.for", "the body takes", [arg.type for arg in regions[0].block.args], [INDEX, *types])
    _expect("loop.for", "the body yields", yielded, types)
    return types


def _trip_count(op: Op, inputs: list[Array]) -> int:
    static, at_most = op.attrs.get("static_trip"), op.attrs.get("at_most")
    trip_count = int(inputs[0]) if static is None else int(static)
    if trip_count < 0 or (at_most is not None and trip_count > at_most):
        limit = "" if at_most is None else f" and at most {at_most}"
        raise RangeError(f"loop.for: the trip count is {trip_count}; it must be >= 0{limit}")
    return trip_count


def _run_for(op: Op, inputs: list[Array], context: Context) -> list[Array]:
    carried = list(_find_carried(inputs, op.attrs))
    for i in range(_trip_count(op, inputs)):
        carried = context.run(op.regions[0].block, [INDEX.accept(i), *carried])
    return carried


def _run_for_together(op: Op, runs: list[list[Array]], context: JointContext) -> list[list[Array]]:
    """Run all loops turn by turn: their trip counts follow from the same integers."""
    carried = [list(_find_carried(inputs, op.attrs)) for inputs in runs]
    for i in range(_trip_count(op, runs[0])):
        carried = context.run(op.regions[0].block, [[INDEX.accept(i), *each] for each in carried])
    return carried


FOR = define(
    "loop.for",
    infer=_infer_for,
    semantics=_run_for,
    regions=RegionRule(1, _for_region_types),
    together=_run_for_together,
)


def _if_region_types(operands: Sequence[Type], _attrs: Attrs) -> list[Type]:
    return list(operands[1:])


def _infer_if(operands: Sequence[Value], _attrs: Attrs, regions: Sequence[Region]) -> list[Type]:
    if not operands or operands[0].type is not INDEX:
        have = operands[0].type if operands else "nothing"
        raise IrError(f"loop.if: the first operand must be the condition, an index; it is {have}")
    then = _find_yielded("loop.if", regions, 0)
    _expect("loop.if", "the else branch yields", _find_yielded("loop.if", regions, 1), then)
    for region in regions:
        arguments = [arg.type for arg in region.block.args]
        _expect("loop.if", "a branch takes", arguments, [value.type for value in operands[1:]])
    return then


def _run_if(op: Op, inputs: list[Array], context: Context) -> list[Array]:
    return context.run(op.regions[0 if inputs[0] else 1].block, inputs[1:])


IF = define("loop.if", infer=_infer_if, semantics=_run_if, regions=RegionRule(2, _if_region_types))


def _infer_constant(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    if operands:
        raise IrError(f"loop.index_constant: takes no operands, got {len(operands)}")
    attribute("loop.index_constant", attrs, "value", int)
    return [INDEX]


INDEX_CONSTANT = define(
    "loop.index_constant",
    infer=_infer_constant,
    semantics=lambda op, _inputs, _context: [INDEX.accept(op.attrs["value"])],
)


def _arithmetic(name: str, function: Callable[[int, int], int]) -> Any:
    """Define an op of two indices; RangeError where the result leaves 64 bits."""

    def infer(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
        if len(operands) != 2 or any(value.type is not INDEX for value in operands):
            raise IrError(f"{name}: takes two indices, got ({', '.join(str(value.type) for value in operands)})")
        return [INDEX]

    def semantics(_op: Op, inputs: list[Array], _context: Context) -> list[Array]:
        left, right = inputs
        return [INDEX.accept(function(int(left), int(right)))]

    return define(name, infer=infer, semantics=semantics)


INDEX_ADD = _arithmetic("loop.index_add", lambda a, b: a + b)
INDEX_SUB = _arithmetic("loop.index_sub", lambda a, b: a - b)
INDEX_MUL = _arithmetic("loop.index_mul", lambda a, b: a * b)
INDEX_MIN = _arithmetic("loop.index_min", min)
INDEX_LESS = _arithmetic("loop.index_less", lambda a, b: int(a < b))


def _infer_quotient(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    if len(operands) != 1 or operands[0].type is not INDEX:
        raise IrError(f"loop.index_div: takes an index, got ({', '.join(str(value.type) for value in operands)})")
    if attribute("loop.index_div", attrs, "by", int) < 1:
        raise IrError(f"loop.index_div: cannot divide by {attrs['by']}")
    return [INDEX]


# An index over a constant of at least 1, rounded down: how many groups of so many iterations there are.
INDEX_DIV = define(
    "loop.index_div",
    infer=_infer_quotient,
    semantics=lambda op, inputs, _context: [INDEX.accept(int(inputs[0]) // op.attrs["by"])],
)

name_instruction("loop.yield")
name_instruction("loop.index_constant", lambda _name, attrs, _types: OpFacts((attrs["value"],)), opcode="iconst")
name_instruction("loop.index_add", opcode="iadd")
name_instruction("loop.index_sub", opcode="isub")
name_instruction("loop.index_mul", opcode="imul")
name_instruction("loop.index_min", opcode="imin")
name_instruction("loop.index_less", opcode="ilt")
name_instruction("loop.index_div", lambda _name, attrs, _types: OpFacts((attrs["by"],)), opcode="idiv")
