"""Linear regions: operations of a block that are linear in its secrets, joined where one reads another, in layers.

What a product with a public vector, a linear map or a rotation makes lies a layer below what it reads; sums, and moves
of whole vectors, stay in the layer of their operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from latticework.compiler.levels.depth import spent_by
from latticework.compiler.passes.linear_forms import FloatArray, Form, total
from latticework.ir import Block, Op, Value
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.loop_nests.diagonals import bounded_diagonals
from latticework.values.packing.packed_constants import ConstRef, LoopNest

MOST_DIAGONALS = 256  # of a map that is looked into
MOST_NUMBERS = 1 << 20  # in the diagonals of a map
MOST_FORMED = 1 << 22  # numbers in a form: of a pool, reshaped, and a dense layer of 128 diagonals after it

Sources = Mapping[str, npt.NDArray[np.float64]]
A = TypeVar("A")
B = TypeVar("B")
MAP = "vec.linear_transform"
_MOVES = ("vec.take", "vec.concat", "vec.sum", "vec.neg", "vec.rotate")


@dataclass
class LinearRegion:
    """Operations that are linear, in order.

    layers  of every value that they make or read; 0 of those that they do not make
    """

    ops: list[Op] = field(default_factory=list)
    layers: dict[Value, int] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """The number of layers."""
        return max(self.layers[op.result] for op in self.ops)


def regions(block: Block) -> list[LinearRegion]:
    """The regions of a block with more than one layer."""
    owner: dict[Value, LinearRegion] = {}
    for op in block.ops:
        if not is_linear(op):
            continue
        read = [v for v in op.operands if v.is_secret]
        numbers = list(dict.fromkeys(id(owner[v]) for v in read if v in owner))
        joined = [next(owner[v] for v in read if v in owner and id(owner[v]) == number) for number in numbers]
        region = max(joined, key=lambda r: len(r.ops), default=LinearRegion())
        for other in joined:
            if other is not region:
                region.ops += other.ops
                region.layers.update(other.layers)
                owner.update({o.result: region for o in other.ops})
        layer = max(region.layers.setdefault(v, 0) for v in read)
        region.ops.append(op)
        region.layers[op.result] = layer + spends_layer(op)
        owner[op.result] = region
    place = {op: i for i, op in enumerate(block.ops)}
    unique = {id(region): region for region in owner.values()}
    for region in unique.values():
        region.ops.sort(key=place.__getitem__)
    return [region for region in unique.values() if region.depth > 1]


def is_linear(op: Op) -> bool:
    """Whether an operation is linear in its secret operands, real, and small enough to be looked into."""
    if len(op.results) != 1 or not isinstance(op.result.type, VecType) or not op.result.is_secret:
        return False
    if any(not isinstance(v.type, VecType) or v.type.elem != "real" for v in (*op.operands, op.result)):
        return False
    secret = [v for v in op.operands if v.is_secret]
    if op.name == MAP:
        return is_small(op)
    if op.name == "vec.mul":
        return len(secret) == 1 and _is_known(op)
    if op.name in ("vec.add", "vec.sub"):
        return len(secret) == 2 or (len(secret) == 1 and _is_known(op))
    return op.name in _MOVES and len(secret) == len(op.operands)


def is_small(op: Op) -> bool:
    """Whether the diagonals of a map are few."""
    linear_map = op.attrs["map"]
    if not linear_map.is_real or any(d.conj for d in linear_map.explicit):
        return False
    count = len(linear_map.explicit)
    for part in linear_map.all_parts:
        if not isinstance(part.gather, LoopNest):
            return False
        count += bounded_diagonals(part.gather, MOST_DIAGONALS)
    return count <= MOST_DIAGONALS and count * linear_map.slots <= MOST_NUMBERS


def spends_layer(op: Op) -> bool:
    """Whether results lie a layer below operands."""
    return op.name == "vec.rotate" or spent_by(op) > 0


def make_forms(op: Op, forms: Mapping[Value, list[Form]], sources: Sources) -> list[Form] | None:
    """The forms of a result's vectors from those of the operands; None if they would be too large."""
    read = [forms.get(v, []) for v in op.operands]
    match op.name:
        case "vec.add" | "vec.sub" if all(v.is_secret for v in op.operands):
            a, b = _alike(read[0], read[1])
            results = [total([x, y if op.name == "vec.add" else y.times(-1.0)]) for x, y in zip(a, b, strict=True)]
        case "vec.add" | "vec.sub":
            side = 0 if op.operands[0].is_secret else 1
            sign = -1.0 if op.name == "vec.sub" else 1.0
            x, known = _alike(read[side], _vectors(op, sources))
            if side == 0:
                results = [form.plus(sign * vector) for form, vector in zip(x, known, strict=True)]
            else:
                results = [form.times(sign).plus(vector) for form, vector in zip(x, known, strict=True)]
        case "vec.mul":
            x, known = _alike(next(r for r in read if r), _vectors(op, sources))
            results = [total([form.times(vector)]) for form, vector in zip(x, known, strict=True)]
        case "vec.neg":
            results = [form.times(-1.0) for form in read[0]]
        case "vec.rotate":
            results = [form.rotate(op.attrs["steps"]) for form in read[0]]
        case "vec.take":
            results = [read[0][number] for number in op.attrs["vectors"]]
        case "vec.concat":
            results = [form for array in read for form in array]
        case "vec.sum":
            size = len(read[0]) // op.attrs["groups"]
            results = [total(read[0][g * size : (g + 1) * size]) for g in range(op.attrs["groups"])]
        case _:
            return _map_forms(op, read[0], sources)
    return results if sum(form.size for form in results) <= MOST_FORMED else None


def _map_forms(op: Op, read: list[Form], sources: Sources) -> list[Form] | None:
    linear_map = op.attrs["map"]
    diagonals = linear_map.diagonals
    if sum(read[d.in_].size if len(read) > d.in_ else 0 for d in diagonals) > 4 * MOST_FORMED:
        return None
    is_block = (linear_map.count_in, linear_map.count_out) != (1, 1)
    arrays = [read] if is_block else [[form] for form in read]
    terms: list[list[Form]] = [[] for _ in range(linear_map.count_out * len(arrays))]
    for d in diagonals:
        values = np.real(d.values.evaluate(sources))
        for number, array in enumerate(arrays):
            terms[d.out + number].append(array[d.in_].rotate(d.steps).times(values))
    nothing = read[0].times(0.0)
    results = [total(of or [nothing]) for of in terms]
    return results if sum(form.size for form in results) <= MOST_FORMED else None


def _alike(a: Sequence[A], b: Sequence[B]) -> tuple[Sequence[A], Sequence[B]]:
    """Two arrays of as many vectors: one vector meets each of an array."""
    return (list(a) * len(b) if len(a) == 1 else a), (list(b) * len(a) if len(b) == 1 else b)


def _vectors(op: Op, sources: Sources) -> list[FloatArray]:
    """The public operand's vectors."""
    known = _public(op)
    if isinstance(known, ConstRef):
        return list(np.real(known.evaluate(sources)).reshape(-1, known.slots))
    assert isinstance(op.result.type, VecType)
    return [np.full(op.result.type.slots, known)]


def _is_known(op: Op) -> bool:
    owner = next(v.owner for v in op.operands if not v.is_secret)
    return isinstance(owner, Op) and owner.name in ("vec.constant", "vec.splat")


def _public(op: Op) -> ConstRef | float:
    owner = next(v.owner for v in op.operands if not v.is_secret)
    assert isinstance(owner, Op)
    known: ConstRef | float = owner.attrs["value"]
    return known
