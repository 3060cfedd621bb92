"""interleave-rows: rows of a batch in one run, slot i of row b at slot i B + b of vectors that are B times as long.

In/out: vec IR; row by row the same cleartext meaning. Rotations and the places of linear maps are B times as far,
public vectors repeat each slot B times, and everything else acts slot by slot: the same operations, levels and keys.
Bootstraps are not read: they take vectors as they are. Cost: O(ops).
"""

from __future__ import annotations

from typing import Any

from latticework.ir import Module, Op, Pass, Type, Value
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.packing.channel_square import ChannelSquare
from latticework.values.packing.interleaved_rows import constant_of_rows, map_of_rows, repeat_rows
from latticework.values.packing.packed_constants import ChannelPolynomial, ConstRef, LinearMap


def interleaving(rows: int) -> Pass[object]:
    """The pass, for so many rows."""
    return Pass(
        "interleave-rows", lambda module, _cost: _interleave(module, rows), reads=("vec", "loop"),
        writes=("vec.rotate", "vec.splat", "vec.constant", "vec.row", "vec.linear_transform", "vec.polynomial"),
    )  # fmt: skip


def _interleave(module: Module, rows: int) -> Module:
    wide = module.clone()
    ops = list(wide.walk())
    blocks = [wide.body, *(region.block for op in ops for region in op.regions)]
    values: list[Value] = [*(arg for block in blocks for arg in block.args), *(v for op in ops for v in op.results)]
    for value in values:
        value.type = _type(value.type, rows)
    for op in ops:
        op.attrs = {name: _attribute(op, name, held, rows) for name, held in op.attrs.items()}
    return wide


def _type(kind: Type, rows: int) -> Type:
    return kind.replace(slots=kind.slots * rows) if isinstance(kind, VecType) else kind


def _attribute(op: Op, name: str, held: Any, rows: int) -> Any:
    if isinstance(held, ConstRef):
        return constant_of_rows(held, rows)
    if isinstance(held, LinearMap):
        return map_of_rows(held, rows)
    if isinstance(held, ChannelPolynomial | ChannelSquare):
        assert held.pack is not None
        return held.lying(repeat_rows(held.pack, rows))
    counts_slots = name == "slots" or (name, op.name) == ("steps", "vec.rotate")
    return held * rows if counts_slots else held
