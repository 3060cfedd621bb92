"""Clearing of slots that no element of a tensor fills: they are known to hold zeros, or made so.

Operations read only places of elements, or clear what they add up, so anything may lie elsewhere: partial sums in gaps,
values of functions at nothing in padding. Not so functions that are bounded on a tensor's values alone (a polynomial):
one slot with something large spoils the whole vector. A number known to lie there, of those that the function takes, is
as good as zeros: what a function makes of zeros, as between the stages of a composition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from latticework.ir.core import Op, Value
from latticework.tensor.ops.lowering import Operand, Target, access
from latticework.values.packing.pack import REPEAT, PackMap
from latticework.values.packing.packed_constants import Approximant, ChannelPolynomial, ConstRef, LoopNest

MOST_LOOKED_AT = 256  # operations before a vector
BoolArray = npt.NDArray[np.bool_]


@lru_cache(maxsize=256)
def filled_slots(pack: PackMap) -> bytes:
    """Return a bit for each slot of the vectors: whether it holds an element."""
    return np.packbits(pack.element_of_slot() >= 0).tobytes()


def is_full(pack: PackMap) -> bool:
    """Whether every slot holds an element."""
    return bool((pack.element_of_slot() >= 0).all())


def is_clear(value: Value, pack: PackMap, inputs: Mapping[Value, PackMap]) -> bool:
    """Whether a vector is known to hold zeros where this packing puts no element."""
    return number_between(value, pack, inputs) == 0.0


def number_between(value: Value, pack: PackMap, inputs: Mapping[Value, PackMap]) -> float | None:
    """The number that a vector is known to hold in all slots where this packing puts no element; None if none is known.

    inputs  how the client packs the inputs of the module: with zeros
    What takes more than `MOST_LOOKED_AT` operations to know is not known.
    """
    known: dict[Value, float | None] = {}
    waiting = [value]
    while waiting:
        at = waiting[-1]
        if at not in known:
            decided, readings = _held_between(at, pack, inputs)
            unknown = [v for v in readings if v not in known]
            if unknown and len(known) + len(waiting) < MOST_LOOKED_AT:
                waiting += unknown
                continue
            known[at] = decided([known.get(v) for v in readings])
        waiting.pop()
    return known[value]


def is_after_polynomial(value: Value) -> bool:
    """Whether a polynomial is among what made a vector, since its last linear map, which would take a mask in."""
    seen, waiting = {value}, [value]
    while waiting and len(seen) < MOST_LOOKED_AT:
        op = waiting.pop().owner
        if isinstance(op, Op) and op.name == "vec.polynomial":
            return True
        if isinstance(op, Op) and op.name != "vec.linear_transform":
            waiting += [v for v in op.operands if v.is_secret and v not in seen]
            seen.update(op.operands)
    return False


Numbers = Sequence[float | None]


def _held_between(
    value: Value, pack: PackMap, inputs: Mapping[Value, PackMap]
) -> tuple[Callable[[Numbers], float | None], Sequence[Value]]:
    """The values that the number between a vector's elements follows from, and how it does."""
    op = value.owner
    number = None
    if value in inputs:
        number = _zero_if(filled_slots(inputs[value]) == filled_slots(pack))
    elif isinstance(op, Op):
        match op.name:
            case "vec.linear_transform":
                gather = op.attrs["map"].gather
                number = _zero_if(isinstance(gather, LoopNest) and filled_slots(gather.out_pack) == filled_slots(pack))
            case "vec.constant":
                gather = op.attrs["value"].gather
                number = _zero_if(isinstance(gather, LoopNest) and filled_slots(gather.out_pack) == filled_slots(pack))
            case "vec.splat" if isinstance(op.attrs["value"], float):
                number = op.attrs["value"]
            case "vec.rotate" if op.attrs["steps"] % _period(pack) == 0:
                return _of_all(lambda x: x), op.operands
            case "vec.add":
                return _of_all(lambda x, y: x + y), op.operands
            case "vec.sub":
                return _of_all(lambda x, y: x - y), op.operands
            case "vec.neg":
                return _of_all(lambda x: -x), op.operands
            case "vec.mul":
                product = _of_all(lambda x, y: x * y)
                return lambda held: 0.0 if 0.0 in held else product(held), op.operands
            case "vec.polynomial":
                polynomial: Approximant = op.attrs["polynomial"]
                if isinstance(polynomial, ChannelPolynomial):
                    lies = polynomial.pack
                    number = _zero_if(lies is not None and filled_slots(lies) == filled_slots(pack))
                    return lambda _: number, ()
                return _of_all(lambda x: float(polynomial(x))), op.operands
    return lambda _: number, ()


def _zero_if(is_so: bool) -> float | None:
    return 0.0 if is_so else None


def _of_all(function: Callable[..., float]) -> Callable[[Numbers], float | None]:
    """A function of numbers that are all known."""
    return lambda held: None if None in held else function(*held)


def holds_zeros(value: Value, where: BoolArray) -> bool:
    """Whether an array of vectors is known to hold zeros at places (count, slots), whatever inputs hold there.

    What takes more than `MOST_LOOKED_AT` operations to know is not known.
    """
    return _zeros(value, where, [MOST_LOOKED_AT])


def _zeros(value: Value, where: BoolArray, left: list[int]) -> bool:
    op = value.owner
    left[0] -= 1
    if not isinstance(op, Op) or left[0] < 0:
        return False
    match op.name:
        case "vec.linear_transform":
            gather, count = op.attrs["map"].gather, op.attrs["map"].count_out
            if not isinstance(gather, LoopNest) or op.attrs["map"].parts or op.attrs["map"].explicit:
                return False
            return gather.count_out == count == len(where) and not (_find_held(gather.out_pack) & where).any()
        case "vec.constant":
            gather = op.attrs["value"].gather
            return isinstance(gather, LoopNest) and not (_find_held(gather.out_pack) & where).any()
        case "vec.splat":
            return bool(op.attrs["value"] == 0.0)
        case "vec.rotate":
            return _zeros(op.operands[0], np.roll(where, op.attrs["steps"], axis=1), left)
        case "vec.take":
            taken = np.zeros((_count(op.operands[0]), where.shape[1]), dtype=bool)
            np.logical_or.at(taken, list(op.attrs["vectors"]), where)
            return _zeros(op.operands[0], taken, left)
        case "vec.add" | "vec.sub" | "vec.neg":
            return all(_zeros(v, _meet(v, where), left) for v in op.operands)
        case "vec.mul":
            return any(_zeros(v, _meet(v, where), left) for v in op.operands)
    return False


def _meet(operand: Value, where: BoolArray) -> BoolArray:
    """Places of an operand whose one vector may meet each of several."""
    return where if _count(operand) == len(where) else np.logical_or.reduce(where, axis=0, keepdims=True)


def _find_held(pack: PackMap) -> BoolArray:
    held: BoolArray = (pack.element_of_slot() >= 0).reshape(pack.count, pack.slots)
    return held


def _count(value: Value) -> int:
    count: int = value.type.count  # type: ignore[attr-defined]
    return count


def clear(target: Target, x: Operand) -> Value:
    """The vector with zeros where no element lies: as it is, or times a mask, which takes a level."""
    assert x.vector is not None
    if is_clear(x.vector, x.pack, target.inputs):
        return x.vector
    return target.build("vec.mul", x.vector, everywhere(target, x, 1.0))


def everywhere(target: Target, x: Operand, number: float) -> Value:
    """A number wherever an element of the operand lies, zeros elsewhere."""
    rank = len(x.shape)
    gather = LoopNest(x.shape, x.pack, access(x.shape, range(rank), rank), None, None)
    return target.build("vec.constant", value=ConstRef(gather, factor=number))


def _period(pack: PackMap) -> int:
    """Slots after which vectors repeat."""
    if not pack.dims or pack.dims[0].axis != REPEAT or any(j == len(pack.vector_dims) for _, j in pack.rolls):
        return pack.slots
    return prod(d.extent for d in pack.dims[1:])
