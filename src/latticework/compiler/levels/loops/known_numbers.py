"""Copies of operations on public numbers: the first iteration of a loop that starts from some computes with them.

What is made of numbers alone is a number, and a product with two numbers, one after the other, is one with theirs.
"""

from __future__ import annotations

from latticework.compiler.levels.depth import is_trivial, public_value
from latticework.ir import Builder, Op, Value
from latticework.ir.dialects.vec_dialect import VecType

LEAST = 2.0**-12  # a smaller factor than both that it stands for would be rounded too roughly
ALIKE = ("vec.rotate", "vec.conjugate")  # leave a number in every slot as it is


def copy_known(builder: Builder, op: Op, mapping: dict[Value, Value]) -> bool:
    """Write what stands for an operation on numbers; False if it is an operation like any other."""
    if op.name not in ("vec.mul", "vec.add", "vec.sub", "vec.neg", *ALIKE) or not op.result.is_secret:
        return False
    kind = op.result.type
    assert isinstance(kind, VecType)
    operands = [mapping.get(v, v) for v in op.operands]
    numbers = [_number(v) for v in operands]
    builder.loc = op.loc
    if kind.count == 1 and (number := _evaluate(op.name, numbers)) is not None:
        splat = builder.build("vec.splat", [], value=number, slots=kind.slots)
        mapping[op.result] = builder.build("vec.trivial", [splat])
        return True
    if op.name != "vec.mul":
        return False
    for factor, value in ((numbers[0], operands[1]), (numbers[1], operands[0])):
        if factor is not None and (before := _factor(value)) is not None:
            inner, other = before
            if abs(factor * inner) >= min(abs(factor), abs(inner), LEAST):
                both = builder.build("vec.splat", [], value=factor * inner, slots=kind.slots)
                mapping[op.result] = builder.build("vec.mul", [other, both])
                return True
    return False


def _evaluate(name: str, numbers: list[float | None]) -> float | None:
    """The number that an operation on numbers makes; None if one is not known."""
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    if len(known) == 1:
        return -known[0] if name == "vec.neg" else known[0]
    a, b = known
    return {"vec.mul": a * b, "vec.add": a + b, "vec.sub": a - b}[name]


def _number(value: Value) -> float | None:
    known = public_value(value)
    return known if isinstance(known, float) and (is_trivial(value) or not value.is_secret) else None


def _factor(value: Value) -> tuple[float, Value] | None:
    """The number and the value of a product with a number."""
    op = value.owner
    if not isinstance(op, Op) or op.name != "vec.mul":
        return None
    for factor, other in (op.operands, reversed(op.operands)):
        if (number := _number(factor)) is not None and other.is_secret and _number(other) is None:
            return number, other
    return None
