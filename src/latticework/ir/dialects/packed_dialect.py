"""The packed dialect: between tensors and slot vectors, where a program itself says how its values are packed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.errors import IrError
from latticework.ir import Array, Attrs, Context, Op, Region, Type, Value, attribute, define
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.packing.pack import PackMap


def _infer_pack(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    pack = attribute("packed.pack", attrs, "pack", PackMap)
    if len(operands) != 1 or not isinstance(operands[0].type, TensorType) or operands[0].type.shape != pack.shape:
        raise IrError(f"packed.pack: takes a tensor of shape {pack.shape}")
    return [VecType(pack.count, pack.slots, "real", operands[0].type.secret)]


def _infer_unpack(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    pack = attribute("packed.unpack", attrs, "pack", PackMap)
    kind = operands[0].type if len(operands) == 1 else None
    if not isinstance(kind, VecType) or (kind.count, kind.slots) != (pack.count, pack.slots):
        raise IrError(f"packed.unpack: takes {pack.count} vectors of {pack.slots} slots")
    return [TensorType(pack.shape, "float64", kind.secret)]


def _pack(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    pack: PackMap = op.attrs["pack"]
    return [pack.pack(inputs[0])]


def _unpack(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    pack: PackMap = op.attrs["pack"]
    return [pack.unpack(np.asarray(inputs[0]))]


PACK = define("packed.pack", infer=_infer_pack, semantics=_pack)
UNPACK = define("packed.unpack", infer=_infer_unpack, semantics=_unpack)
