"""Arrays of vectors before they are encrypted: how counts meet, and take, concat and sum, which act on whole vectors.

Those of ciphertexts are plan instructions (`primitives`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from latticework.errors import IrError, ShapeError
from latticework.ir import Array, Attrs, Context, Op, OpSpec, Region, Type, Value, attribute, define
from latticework.values.packing.slot_arrays import as_value, as_vectors, concat_vectors, sum_vectors, take_vectors

# The fields in which arrays to be joined must agree, and the type of the joined array but for its count.
Joined = Callable[[str, list[Any]], Any]


def joint_count(name: str, types: Iterable[Any]) -> int:
    """The count of an operation vector by vector: one vector meets each of an array.

    raises  ShapeError if two counts differ and neither is 1
    """
    counts: list[int] = [t.count for t in types]
    if len(set(counts) - {1}) > 1:
        raise ShapeError(f"{name}: arrays of {' and '.join(map(str, counts))} vectors; counts must be equal or 1")
    return max(counts)


def summed_type(name: str, array: Any, attrs: Attrs) -> Any:
    """The type of an array whose neighbours were added up in attribute `groups` groups."""
    groups = attribute(name, attrs, "groups", int)
    if groups < 1 or array.count % groups:
        raise ShapeError(f"{name}: {array.count} vectors cannot be added up in {groups} groups of equal size")
    return array.replace(count=groups)


def define_moves(dialect: str, kind: type[Type], joined: Joined) -> tuple[OpSpec, OpSpec, OpSpec]:
    """Define take, concat and sum of a dialect for arrays of this type."""

    def arrays(name: str, operands: Sequence[Value], number: int | None) -> list[Any]:
        types = [value.type for value in operands]
        if not types or number not in (None, len(types)) or any(type(t) is not kind for t in types):
            need = "arrays" if number is None else f"{number} array"
            raise IrError(f"{name}: takes {need} of type !{kind.name}, got ({', '.join(map(str, types))})")
        return types

    def infer_take(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
        name = f"{dialect}.take"
        (type_,) = arrays(name, operands, 1)
        numbers = attribute(name, attrs, "vectors", tuple)
        if not numbers or any(type(n) is not int or not 0 <= n < type_.count for n in numbers):
            raise ShapeError(f"{name}: vectors {numbers} of an array of {type_.count}")
        return [type_.replace(count=len(numbers))]

    def infer_concat(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
        name = f"{dialect}.concat"
        types = arrays(name, operands, None)
        result: Type = joined(name, types).replace(count=sum(t.count for t in types))
        return [result]

    def infer_sum(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
        name = f"{dialect}.sum"
        return [summed_type(name, arrays(name, operands, 1)[0], attrs)]

    def semantics(function: Callable[[Op, list[Array]], Array]) -> Callable[[Op, list[Array], Context], list[Array]]:
        return lambda op, inputs, _context: [as_value(function(op, [as_vectors(x) for x in inputs]))]

    take = define(
        f"{dialect}.take", infer=infer_take, semantics=semantics(lambda op, x: take_vectors(x[0], op.attrs["vectors"]))
    )
    concat = define(f"{dialect}.concat", infer=infer_concat, semantics=semantics(lambda _op, x: concat_vectors(x)))
    total = define(
        f"{dialect}.sum", infer=infer_sum, semantics=semantics(lambda op, x: sum_vectors(x[0], op.attrs["groups"]))
    )
    return take, concat, total
