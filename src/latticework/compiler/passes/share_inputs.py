"""share-inputs: linear maps of one value become one block map.

In/out: vec IR, same cleartext meaning. The decomposition of the value and its baby steps are then shared, as by the
queries, keys and values of attention; each map's result is taken out of the array of all. Maps are joined where that
is cheaper by typical prices, so what nothing reads must be gone before. Their lines share the block map by the price of
each alone.
Cost: O(ops), and the choice of baby steps for each map and for those joined.
"""

from __future__ import annotations

from dataclasses import replace

from latticework.ir import Block, Builder, Loc, Module, Op, Pass, Value, rebuild
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.packing.loop_nests.baby_giant import TYPICAL, choose, places
from latticework.values.packing.loop_nests.joined import stack
from latticework.values.packing.packed_constants import LinearMap

PRICES = replace(TYPICAL, hoist=1.5, product=0.25)  # of a decomposition and a product, in baby steps


def run(module: Module, _cost: object = None) -> Module:
    """Join the maps of every value."""
    groups = _groups(module)
    place = {op: (group, number) for group in groups for number, op in enumerate(group)}
    shared: dict[int, Value] = {}

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op not in place:
            return False
        group, number = place[op]
        if number == 0:
            joined = stack([other.attrs["map"] for other in group])
            builder.loc = Loc.fuse([(other.loc, price(other.attrs["map"])) for other in group], op.loc)
            shared[id(group)] = builder.build(op.spec, [mapping[op.operands[0]]], map=joined)
        builder.loc = op.loc
        first = sum(other.attrs["map"].count_out for other in group[:number])
        vectors = tuple(range(first, first + op.attrs["map"].count_out))
        mapping[op.result] = builder.build("vec.take", [shared[id(group)]], vectors=vectors)
        return True

    return rebuild(module, visit) if groups else module


def _groups(module: Module) -> list[list[Op]]:
    """Maps that read one value in one block, in order, where joining them is cheaper."""
    packs: dict[tuple[Value, Block | None], list[Op]] = {}
    for op in module.walk():
        if op.name == "vec.linear_transform" and op.result.uses and op.operands[0].is_secret and is_block(op):
            packs.setdefault((op.operands[0], op.block), []).append(op)
    groups = []
    for ops in packs.values():
        group = ops[:1]
        for op in ops[1:]:
            if _is_cheaper([other.attrs["map"] for other in (*group, op)], len(group)):
                group.append(op)
        groups += [group] if len(group) > 1 else []
    return groups


def is_block(op: Op) -> bool:
    """Whether a map takes its operand as one array: a map of one vector to one acts on each of several."""
    type_ = op.operands[0].type
    return isinstance(type_, VecType) and bool(type_.count == op.attrs["map"].count_in)


def _is_cheaper(maps: list[LinearMap], joined: int) -> bool:
    """Whether the last of some maps should join the others, which are one already."""
    apart = price(stack(maps[:joined])) + price(maps[-1])
    return price(stack(maps)) < apart


def price(linear_map: LinearMap) -> float:
    """The cost of a map by typical prices."""
    return choose(places(linear_map), PRICES).counts.price(PRICES)


PASS = Pass(
    "share-inputs",
    run,
    roots=("vec.linear_transform",),
    reads=("vec", "loop"),
    writes=("vec.linear_transform", "vec.take"),
)
