"""The two machines that recipes run on: one counts what they do, the other emits it as vec operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from latticework.ir.builder import Builder
from latticework.ir.core import Value
from latticework.layout.conversions.price import Price, transform_price
from latticework.plan.constants import ConstRef, Gather, LinearMap, is_identity


@dataclass(frozen=True, slots=True)
class Counted:
    """An array of vectors to a Counter.

    vectors  a name for each: vectors with one name are the same value
    levels   below the operand
    """

    vectors: tuple[int, ...]
    levels: int = 0


class Counter:
    """Counts operations on single ciphertexts; rotations of one vector share its decomposition."""

    def __init__(self, slots: int, count: int) -> None:
        self.slots = slots
        self.spent = Price()
        self.operand = Counted(tuple(range(count)))
        self._names = count
        self._hoisted: set[int] = set()

    def take(self, x: Counted, vectors: Sequence[int]) -> Counted:
        """Free."""
        return replace(x, vectors=tuple(x.vectors[v] for v in vectors))

    def concat(self, parts: Sequence[Counted]) -> Counted:
        """Free."""
        return Counted(tuple(v for part in parts for v in part.vectors), max(part.levels for part in parts))

    def rotate(self, x: Counted, steps: int) -> Counted:
        """One rotation a vector."""
        if steps % self.slots == 0:
            return x
        hoists = set(x.vectors) - self._hoisted
        self._hoisted |= hoists
        count = len(x.vectors)
        return self._made(count, x.levels, Price(len(hoists), count, count))

    def masked(self, x: Counted, mask: Gather) -> Counted:
        """One product a vector, and the division by the level's primes."""
        count = len(x.vectors)
        return self._made(count, x.levels + 1, Price(divisions=count, products=count))

    def add(self, x: Counted, y: Counted) -> Counted:
        """One addition a vector."""
        return self._made(len(x.vectors), max(x.levels, y.levels), Price(additions=len(x.vectors)))

    def sub(self, x: Counted, y: Counted) -> Counted:
        """One subtraction a vector."""
        return self.add(x, y)

    def transform(self, x: Counted, gather: Gather, clear: bool = False) -> Counted:
        """Baby steps and giant steps, unless nothing has to be done."""
        if not clear and is_identity(gather):
            return x
        price = transform_price(gather)
        return self._made(gather.count_out, x.levels + price.levels, replace(price, levels=0))

    def _made(self, count: int, levels: int, price: Price) -> Counted:
        self.spent += price
        self._names += count
        return Counted(tuple(range(self._names - count, self._names)), levels)


class Emitter:
    """Emits vec operations."""

    def __init__(self, builder: Builder, slots: int) -> None:
        self.builder = builder
        self.slots = slots

    def take(self, x: Value, vectors: Sequence[int]) -> Value:
        """vec.take, unless it is all as they are."""
        if tuple(vectors) == tuple(range(x.type.count)):  # type: ignore[attr-defined]
            return x
        return self.builder.build("vec.take", [x], vectors=tuple(vectors))

    def concat(self, parts: Sequence[Value]) -> Value:
        """vec.concat of more than one."""
        return parts[0] if len(parts) == 1 else self.builder.build("vec.concat", list(parts))

    def rotate(self, x: Value, steps: int) -> Value:
        """vec.rotate, if it turns."""
        return self.builder.build("vec.rotate", [x], steps=steps) if steps % self.slots else x

    def masked(self, x: Value, mask: Gather) -> Value:
        """vec.mul by a constant."""
        return self.builder.build("vec.mul", [x, self.builder.build("vec.constant", value=ConstRef(mask))])

    def add(self, x: Value, y: Value) -> Value:
        """vec.add."""
        return self.builder.build("vec.add", [x, y])

    def sub(self, x: Value, y: Value) -> Value:
        """vec.sub."""
        return self.builder.build("vec.sub", [x, y])

    def transform(self, x: Value, gather: Gather, clear: bool = False) -> Value:
        """vec.linear_transform, unless nothing has to be done."""
        if not clear and is_identity(gather):
            return x
        return self.builder.build("vec.linear_transform", [x], map=LinearMap.of(gather))
