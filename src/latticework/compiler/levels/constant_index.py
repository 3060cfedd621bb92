"""Parts by a number that has become known, as in copies of a loop's body: whole vectors taken, joined, or a constant.

In/out: vec IR, same meaning. Cost: O(1) an operation.
"""

from __future__ import annotations

from latticework.ir import Builder, Op, Value
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.packing.packed_constants import Sources, is_everywhere, row_of


def copy_known(op: Op, builder: Builder, mapping: dict[Value, Value], sources: Sources) -> None:
    """Insert a copy of an operation; where the number that it takes is known by now, of what that makes of it.

    sources  arrays of the module; a row that is one number in every slot becomes that number
    """
    number = known_index(mapping[op.operands[-1]]) if op.name in _BY_NUMBER else None
    if number is None:
        builder.copy(op, mapping)
        return
    result = _BY_NUMBER[op.name](op, builder, [mapping[v] for v in op.operands[:-1]], number, sources)
    if op.result.origin is not None and result.origin is None:
        result.origin = op.result.origin
    mapping[op.result] = result


def known_index(value: Value) -> int | None:
    """A public integer that follows from constants alone."""
    op = value.owner
    if not isinstance(op, Op) or not op.name.startswith("loop.index_"):
        return None
    if op.name == "loop.index_constant":
        constant: int = op.attrs["value"]
        return constant
    numbers = [number for v in op.operands if (number := known_index(v)) is not None]
    if len(numbers) < len(op.operands):
        return None
    match op.name, numbers:
        case "loop.index_add", [a, b]:
            return a + b
        case "loop.index_sub", [a, b]:
            return a - b
        case "loop.index_mul", [a, b]:
            return a * b
        case "loop.index_min", [a, b]:
            return min(a, b)
        case "loop.index_div", [a]:
            return int(a // op.attrs["by"])
    return None


def _count(value: Value) -> int:
    assert isinstance(value.type, VecType)
    return value.type.count


def _take(op: Op, builder: Builder, operands: list[Value], number: int, _sources: Sources) -> Value:
    (array,), size = operands, op.attrs["count"]
    return builder.build("vec.take", [array], vectors=tuple(range(number * size, (number + 1) * size)))


def _put(_op: Op, builder: Builder, operands: list[Value], number: int, _sources: Sources) -> Value:
    array, part = operands
    first, end = number * _count(part), (number + 1) * _count(part)
    around = [
        builder.build("vec.take", [array], vectors=vectors) if vectors else None
        for vectors in (tuple(range(first)), tuple(range(end, _count(array))))
    ]
    parts = [v for v in (around[0], part, around[1]) if v is not None]
    return builder.build("vec.concat", parts) if len(parts) > 1 else part


def _row(op: Op, builder: Builder, _operands: list[Value], number: int, sources: Sources) -> Value:
    row = row_of(op.attrs["value"], number)
    if is_everywhere(row) and all(name in sources for name in row.sources):
        return builder.build("vec.splat", [], value=float(row.evaluate(sources).flat[0].real), slots=row.slots)
    return builder.build("vec.constant", [], value=row)


_BY_NUMBER = {"vec.take_at": _take, "vec.put_at": _put, "vec.row": _row}
