"""What slots hold that no element of a tensor fills: known to be zeros, or made so.

Operations read only places of elements, or clear what they add up, so anything may lie elsewhere: partial sums in gaps,
values of functions at nothing in padding. Not so functions that are bounded on a tensor's values alone (a polynomial):
one slot with something large spoils the whole vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod

import numpy as np

from latticework.ir.core import Op, Value
from latticework.ops.lowering import Operand, Target, access
from latticework.plan.constants import ConstRef, Gather
from latticework.plan.pack import REPEAT, PackMap


@lru_cache(maxsize=256)
def filled_slots(pack: PackMap) -> bytes:
    """Which slots of the vectors hold an element, a bit each."""
    return np.packbits(pack.element_of_slot() >= 0).tobytes()


def is_full(pack: PackMap) -> bool:
    """Whether every slot holds an element."""
    return bool((pack.element_of_slot() >= 0).all())


def is_clear(value: Value, pack: PackMap, inputs: Mapping[Value, PackMap]) -> bool:
    """Whether a vector is known to hold zeros where this packing puts no element.

    inputs  how the client packs the inputs of the module: with zeros
    """
    if value in inputs:
        return filled_slots(inputs[value]) == filled_slots(pack)
    op = value.owner
    if not isinstance(op, Op):
        return False
    match op.name:
        case "vec.linear_transform":
            gather = op.attrs["map"].gather
            return isinstance(gather, Gather) and filled_slots(gather.out_pack) == filled_slots(pack)
        case "vec.constant":
            constant = op.attrs["value"]
            return isinstance(constant.gather, Gather) and filled_slots(constant.gather.out_pack) == filled_slots(pack)
        case "vec.splat":
            return bool(op.attrs["value"] == 0.0)
        case "vec.rotate":
            return op.attrs["steps"] % _period(pack) == 0 and is_clear(op.operands[0], pack, inputs)
        case "vec.add" | "vec.sub" | "vec.neg":
            return all(is_clear(v, pack, inputs) for v in op.operands)
        case "vec.mul":
            return any(is_clear(v, pack, inputs) for v in op.operands)
    return False


def cleared(target: Target, x: Operand) -> Value:
    """The vector with zeros where no element lies: as it is, or times a mask, which takes a level."""
    assert x.vector is not None
    if is_clear(x.vector, x.pack, target.inputs):
        return x.vector
    return target.build("vec.mul", x.vector, everywhere(target, x, 1.0))


def everywhere(target: Target, x: Operand, number: float) -> Value:
    """A number wherever an element of the operand lies, zeros elsewhere."""
    rank = len(x.shape)
    gather = Gather(x.shape, x.pack, access(x.shape, range(rank), rank), None, None)
    return target.build("vec.constant", value=ConstRef(gather, factor=number))


def _period(pack: PackMap) -> int:
    """Slots after which vectors repeat."""
    if not pack.dims or pack.dims[0].axis != REPEAT or any(j == len(pack.vector_dims) for _, j in pack.rolls):
        return pack.slots
    return prod(d.extent for d in pack.dims[1:])
