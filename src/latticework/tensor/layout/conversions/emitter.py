"""Emitter of vec operations on arrays of vectors, in which recipes are written."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.ir.builder import Builder
from latticework.ir.core import Value
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import ConstRef, LinearMap, LoopNest, whole_rotations


@dataclass(frozen=True, slots=True)
class VectorEmitter:
    """Emits vec operations, none where nothing has to be done."""

    builder: Builder
    slots: int

    def take(self, x: Value, vectors: Sequence[int]) -> Value:
        """The array of those vectors."""
        if tuple(vectors) == tuple(range(x.type.count)):  # type: ignore[attr-defined]
            return x
        return self.builder.build("vec.take", [x], vectors=tuple(vectors))

    def concat(self, parts: Sequence[Value]) -> Value:
        """One array of all."""
        return parts[0] if len(parts) == 1 else self.builder.build("vec.concat", list(parts))

    def rotate(self, x: Value, steps: int) -> Value:
        """Every vector rotated left."""
        return self.builder.build("vec.rotate", [x], steps=steps) if steps % self.slots else x

    def rotate_vectors(self, x: Value, rotations: Sequence[tuple[int, int]]) -> Value:
        """The array of those vectors, each (vector, steps) rotated left: one rotation for all that rotate alike."""
        by_steps: dict[int, list[int]] = {}
        for vector, steps in dict.fromkeys(rotations):
            by_steps.setdefault(steps, []).append(vector)
        arrays = {vectors: self.take(x, vectors) for vectors in dict.fromkeys(map(tuple, by_steps.values()))}
        joined = self.concat([self.rotate(arrays[tuple(vectors)], steps) for steps, vectors in by_steps.items()])
        order = [(vector, steps) for steps, vectors in by_steps.items() for vector in vectors]
        places = {rotation: place for place, rotation in enumerate(order)}
        return self.take(joined, [places[rotation] for rotation in rotations])

    def apply_mask(self, x: Value, mask: LoopNest) -> Value:
        """Every vector times a vector of zeros and ones."""
        return self.builder.build("vec.mul", [x, self.builder.build("vec.constant", value=ConstRef(mask))])

    def add(self, x: Value, y: Value) -> Value:
        """Vector by vector."""
        return self.builder.build("vec.add", [x, y])

    def sub(self, x: Value, y: Value) -> Value:
        """Vector by vector."""
        return self.builder.build("vec.sub", [x, y])

    def replicate(self, x: Value, step: int, copies: int) -> Value:
        """The sum of so many copies, a power of two, each rotated `step` slots further right."""
        for bit in range(copies.bit_length() - 1):
            x = self.add(x, self.rotate(x, -(step << bit)))
        return x

    def transform(self, x: Value, gather: LoopNest, clear: bool = False) -> Value:
        """A block linear map; by rotating whole vectors where that is enough, unless other slots are to be cleared."""
        rotations = None if clear else whole_rotations(gather)
        if rotations is not None:
            return self.rotate_vectors(x, rotations)
        return self.builder.build("vec.linear_transform", [x], map=LinearMap.of(gather))
