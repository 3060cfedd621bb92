"""lower-to-vectors: tensors with layouts become vectors of slots.

In:  tensor + loop IR, every secret tensor with a layout.
Out: vec + loop IR; linear maps stay symbolic. Every vector that holds a tensor
     of the user's program carries its number in the returned table.
Meaning kept: packing the inputs, running, and unpacking gives the same tensors.
"""

from __future__ import annotations

from collections.abc import Collection

from latticework.ir import Builder, Loc, Module, Op, Origin, Type, Value, rebuild
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops import BY_NAME
from latticework.tensor.ops.lowering import Operand, Target
from latticework.values.packing.pack import PackMap


@dataclass(frozen=True)
class PlacedTensor:
    """One tensor of the user's program: its name or operation, its line, its place in slots."""

    name: str
    loc: Loc
    pack: PackMap


def lower_to_vectors(
    module: Module, spread: bool = True, feedback: Collection[int] = ()
) -> tuple[Module, list[PlacedTensor], dict[Value, int]]:
    """The vec form of a module with layouts, the table of its tensors, and which position each value has in it.

    spread  whether copies of a result may share sums out
    feedback  numbers of inputs that may be results of another run, which hold anything in other slots
    """
    tensors: list[PlacedTensor] = []
    positions: dict[Value, int] = {}
    public: dict[Value, str] = {}
    own = [v for number, v in enumerate(module.inputs) if number not in feedback]
    sent = {v: v.type.layout.pack_map(v.type.shape) for v in own if isinstance(v.type, TensorType)}

    def number_tensor(old: Value, new: Value, name: str, loc: Loc) -> None:
        if new.origin is not None and new.origin.position is not None:
            return  # the same vector already is another tensor
        kind = old.type
        assert isinstance(kind, TensorType)
        if not kind.layout.fits:
            return  # a converted operand, whose vectors are taken many times
        position = positions[old] = len(tensors)
        tensors.append(PlacedTensor(name, loc, kind.layout.pack_map(kind.shape)))
        max_abs = old.origin.max_abs if old.origin is not None else None
        new.origin = Origin(name, loc, max_abs, (position,))

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if not op.name.startswith("tensor."):
            return False
        if op.name == "tensor.constant":
            public[op.result] = op.attrs["source"]
            return True
        operands = [
            Operand(v.type.shape, mapping.get(v), v.type.layout, public.get(v))
            if isinstance(v.type, TensorType)
            else mapping[v]
            for v in op.operands
        ]
        kind = op.result.type
        assert isinstance(kind, TensorType)
        packs = {mapping[v]: pack for v, pack in sent.items()}
        descriptor = BY_NAME[op.name]
        assert descriptor.lower is not None, f"{op.name} is gone before lowering"
        new = descriptor.lower(
            Target(kind.shape, kind.layout, builder, module.sources, op.attrs.get("box"), spread, packs),
            *operands,
            **descriptor.own(op.attrs),
        )
        name = op.result.origin.name if op.result.origin is not None and op.result.origin.name else descriptor.name
        number_tensor(op.result, new, name, op.loc)
        mapping[op.result] = new
        return True

    lowered = rebuild(module, visit, input_types=[vector_type(v) for v in module.inputs])
    for old, new in zip(module.inputs, lowered.inputs, strict=True):
        if isinstance(old.type, TensorType) and old.origin is not None:
            new.origin = None
            number_tensor(old, new, old.origin.name, old.origin.loc)
    return lowered, tensors, positions


def vector_type(value: Value) -> Type:
    """The vector type of a tensor with a layout; other types unchanged."""
    if not isinstance(value.type, TensorType):
        return value.type
    return VecType(value.type.layout.count, value.type.layout.slots, "real", True)
