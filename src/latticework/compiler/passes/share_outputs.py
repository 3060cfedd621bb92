"""share-outputs: linear maps that are only added up become one block map of all their operands.

In/out: vec IR, same cleartext meaning. A x + B y is one map of the array (x, y), so that giant steps and the last
division are done once. Sums of more maps follow, since they are met from the inside. The array of operands lies at the
level of the lowest of them, where the sum would be too. Their lines share it by the price of each map
alone. Cost: O(ops), and the choice of baby steps for each map.
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.passes.share_inputs import is_block, price
from latticework.ir import Builder, Loc, Module, Op, Pass, Value, rebuild
from latticework.values.packing.loop_nests.joined import side_by_side
from latticework.values.packing.packed_constants import LinearMap
from latticework.values.sums import add_up


def run(module: Module, _cost: object = None) -> Module:
    """Join the maps of every sum."""

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.name not in ("vec.add", "vec.sub") or op.operands[0] is op.operands[1]:
            return False
        if any(len(value.uses) != 1 for value in op.operands):
            return False
        terms = [_map_of(mapping[value], builder) for value in op.operands]
        if terms[0] is None or terms[1] is None or terms[0].attrs["map"].slots != terms[1].attrs["map"].slots:
            return False
        maps = [term.attrs["map"] for term in terms if term is not None]
        if maps[0].count_out != maps[1].count_out:
            return False
        if op.name == "vec.sub":
            maps[1] = maps[1].scale_by(-1.0)
        operands, joined = _join([t for t in terms if t is not None], maps)
        prices = [price(one) for one in maps]
        if price(joined) >= add_up(prices):
            return False
        alone = [(term.loc, each) for term, each in zip(filter(None, terms), prices, strict=True)]
        builder.loc = Loc.fuse(alone, op.loc)
        array = operands[0] if len(operands) == 1 else builder.build("vec.concat", operands)
        mapping[op.result] = builder.build("vec.linear_transform", [array], map=joined)
        return True

    return rebuild(module, visit)


def _map_of(value: Value, builder: Builder) -> Op | None:
    """The map in the same block that makes a value of the rebuilt module."""
    op = value.owner
    if not isinstance(op, Op) or op.name != "vec.linear_transform" or op.block is not builder.block:
        return None
    return op if op.operands[0].is_secret and is_block(op) else None


def _join(terms: Sequence[Op], maps: Sequence[LinearMap]) -> tuple[list[Value], LinearMap]:
    """The arrays to be joined, each once, and the one map of them."""
    starts: dict[Value, int] = {}
    count = 0
    places: list[int] = []
    for term in terms:
        arrays = _arrays(term.operands[0])
        if len(arrays) > 1 and any(array in starts for array in arrays):
            arrays = [term.operands[0]]  # they would not lie side by side
        for array in arrays:
            if array not in starts:
                starts[array] = count
                count += array.type.count  # type: ignore[attr-defined]
        places.append(starts[arrays[0]])
    return list(starts), side_by_side(maps, places, count)


def _arrays(value: Value) -> list[Value]:
    """The parts that an array is joined from."""
    op = value.owner
    if isinstance(op, Op) and op.name == "vec.concat" and len(set(op.operands)) == len(op.operands):
        return list(op.operands)
    return [value]


PASS = Pass(
    "share-outputs",
    run,
    roots=("vec.linear_transform",),
    reads=("vec", "loop"),
    writes=("vec.concat", "vec.linear_transform"),
)
