"""pack-carried: what a loop carries lies in one ciphertext when it is bootstrapped.

In/out: vec IR, same cleartext meaning. Each value repeats after a number of slots, e; of the i-th the slots from i e to
(i+1) e are kept, by a mask, and the sum of all is carried. After the bootstrap a mask takes each out again, and
log2(slots / e) rotations repeat it. That takes two levels, one at either end of an iteration, and one bootstrap for all
values. Values that do not repeat often enough, arrays, complex vectors and what is public in every iteration are
carried as before.
Source: HALO (ASPLOS'25), section 5. Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.loops.iteration_levels import spends, stays_plain
from latticework.compiler.levels.loops.type_match import bootstrap_to
from latticework.compiler.levels.loops.writing import (
    LoopWriter,
    TripCount,
    ValueFacts,
    arguments_of,
    inits_of,
    rewrite_loops,
)
from latticework.ir import Module, Op, Pass, Value
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, LoopNest

MASK_AND_MASK = 2  # levels of packing and unpacking


def pack_carried(module: Module, residual: int, facts: ValueFacts, *, refresh: bool = True) -> Module:
    """The module with packed loops, on a chain whose bootstraps leave `residual` levels.

    refresh  bootstrap what is carried at the head of each iteration; else that is left to others
    """
    packer = _Packer(residual, facts, refresh)
    return rewrite_loops(module, facts, packer.rewrite)


def packed_values(loop: Op, residual: int, facts: ValueFacts) -> list[int]:
    """Numbers of the carried values that share a ciphertext: several that fit, or none."""
    if not spends(loop, residual):
        return []
    arguments, plain = arguments_of(loop), stays_plain(loop, residual)
    numbers = [i for i, value in enumerate(arguments) if not plain[i] and _fits(value)]
    slots = {_kind(arguments[i]).slots for i in numbers}
    if len(numbers) < 2 or len(slots) > 1:
        return []
    width = max(_period(arguments[i], facts) for i in numbers)
    return numbers if _power_of_two(len(numbers) * width) <= slots.pop() else []


def _fits(value: Value) -> bool:
    kind = _kind(value)
    return kind.count == 1 and kind.elem == "real" and _power_of_two(kind.slots) == kind.slots


def _kind(value: Value) -> VecType:
    assert isinstance(value.type, VecType)
    return value.type


def _period(value: Value, facts: ValueFacts) -> int:
    return facts.periods.get(value, _kind(value).slots)


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()


class _Packer:
    """Packs loops, and knows what it has unpacked: what one loop leaves, another may take up as it is."""

    def __init__(self, residual: int, facts: ValueFacts, refresh: bool) -> None:
        self.residual, self.facts, self.refresh = residual, facts, refresh
        self.packed: dict[tuple[Value, ...], tuple[Value, int]] = {}

    def rewrite(self, loop: Op, writer: LoopWriter) -> Sequence[Value] | None:
        """A packed loop in the place of one that can be."""
        members = packed_values(loop, self.residual, self.facts)
        if not members:
            return None
        arguments, inits, plain = arguments_of(loop), inits_of(loop), stays_plain(loop, self.residual)
        others = [i for i in range(len(arguments)) if i not in members]
        width = max(_period(arguments[i], self.facts) for i in members)
        exponent = max(self.facts.exponents.get(arguments[i], 0) for i in members)

        def join_members(inside: LoopWriter, values: Sequence[Value]) -> list[Value]:
            packed = self.pack(inside, [values[i] for i in members], width)
            self.facts.exponents[packed] = exponent
            return [packed, *(values[i] for i in others)]

        def unpack_members(inside: LoopWriter, carried: Sequence[Value]) -> list[Value]:
            whole = dict(zip(others, carried[1:], strict=True))
            whole |= dict(zip(members, self.unpack(inside, carried[0], len(members), width), strict=True))
            for i, value in whole.items():
                self.facts.hand_on(arguments[i], value)
            return [whole[i] for i in range(len(arguments))]

        def body(inside: LoopWriter, index: Value, carried: list[Value]) -> list[Value]:
            plain_results = [False, *(plain[i] for i in others)]
            fresh = [
                value if stays or not self.refresh else bootstrap_to(inside, [value], self.residual)[0]
                for value, stays in zip(carried, plain_results, strict=True)
            ]
            return join_members(inside, inside.iteration(loop, index, unpack_members(inside, fresh)))

        start = join_members(writer, inits)
        return unpack_members(writer, writer.loop(TripCount.of(loop), start, start, body))

    def pack(self, writer: LoopWriter, values: Sequence[Value], width: int) -> Value:
        """Join vectors that repeat after `width` slots in one vector, one after the other."""
        packed, had = self.packed.get(tuple(values), (None, 0))
        if packed is not None and had == width:
            return packed
        parts = [_mask(writer, value, place * width, width) for place, value in enumerate(values)]
        total = parts[0]
        for part in parts[1:]:
            total = writer.builder.build("vec.add", [total, part])
        return total

    def unpack(self, writer: LoopWriter, packed: Value, number: int, width: int) -> list[Value]:
        """Unpack the values that lie side by side in a vector, each repeated through a whole vector."""
        result = []
        for place in range(number):
            value, step = _mask(writer, packed, place * width, width), width
            while step < _kind(packed).slots:
                value = writer.builder.build(
                    "vec.add", [value, writer.builder.build("vec.rotate", [value], steps=step)]
                )
                step *= 2
            result.append(value)
        self.packed[tuple(result)] = packed, width
        return result


def _mask(writer: LoopWriter, value: Value, first: int, width: int) -> Value:
    """A mask of `width` slots from the first."""
    slots = _kind(value).slots
    first_slots = Access((slots,), ((1,),), (first,))
    mask = ConstRef(LoopNest((width,), PackMap((slots,), slots, (PackDim(0, slots),)), first_slots, None, None))
    return writer.builder.build("vec.mul", [value, writer.builder.build("vec.constant", value=mask)])


def packing(residual: int, facts: ValueFacts) -> Pass[object]:
    """The pass, for a chain whose bootstraps leave `residual` levels, with what is known of values."""
    return Pass(
        "pack-carried", lambda module, _cost: pack_carried(module, residual, facts), reads=("vec", "loop"),
        writes=("vec.bootstrap", "vec.constant", "vec.mul", "vec.add", "vec.rotate"),
    )  # fmt: skip
