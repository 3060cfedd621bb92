"""Slot vectors that are written down: evaluating a function with this arithmetic gives vec IR.

Public vectors are kept as numbers until they meet a secret one, so what is public altogether is computed here; sums
with zeros and products with ones or zeros are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.frontend.heir.slots import SlotArithmetic
from latticework.frontend.heir.syntax import HeirOperation
from latticework.ir import Builder, Loc, Module, Value
from latticework.ir.dialects import loop_dialect  # noqa: F401  (defines loop.yield)
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, IntervalPolynomial, LoopNest

Slots = npt.NDArray[np.float64] | Value


class VectorCode(SlotArithmetic):
    """Writes operations on vectors of `width` slots into a module."""

    def __init__(self, module: Module, width: int, file: str, lines: list[str]) -> None:
        self.module, self.width, self.file, self.lines = module, width, file, lines
        self.builder = Builder(module.body)
        self.public: dict[bytes, Value] = {}

    def at(self, op: HeirOperation) -> None:
        """Give the operations that are built next the line of `op`."""
        self.builder.loc = Loc(self.file, op.line, self.lines[op.line - 1].strip()[:200])

    def add(self, a: Slots, b: Slots) -> Slots:
        """A sum, unless one is zero."""
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return a + b
        for one, other in ((a, b), (b, a)):
            if isinstance(one, np.ndarray) and not one.any():
                return other
        return self.builder.build("vec.add", [self.value(a), self.value(b)])

    def sub(self, a: Slots, b: Slots) -> Slots:
        """A difference, unless one is zero."""
        if isinstance(b, np.ndarray):
            return self.add(a, -b)
        if isinstance(a, np.ndarray) and not a.any():
            return self.negate(b)
        return self.builder.build("vec.sub", [self.value(a), self.value(b)])

    def mul(self, a: Slots, b: Slots) -> Slots:
        """A product, unless one is zero or one."""
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return a * b
        for one, other in ((a, b), (b, a)):
            if isinstance(one, np.ndarray) and not one.any():
                return np.zeros(self.width)
            if isinstance(one, np.ndarray) and (one == 1.0).all():
                return other
        return self.builder.build("vec.mul", [self.value(a), self.value(b)])

    def negate(self, a: Slots) -> Slots:
        """Negate each slot."""
        return -a if isinstance(a, np.ndarray) else self.builder.build("vec.neg", [a])

    def rotate(self, a: Slots, steps: int) -> Slots:
        """Rotate to the left, by the shorter direction."""
        steps %= self.width
        if steps == 0:
            return a
        if isinstance(a, np.ndarray):
            return np.roll(a, -steps)
        return self.builder.build("vec.rotate", [a], steps=steps - self.width if 2 * steps > self.width else steps)

    def polynomial(self, a: Slots, polynomial: IntervalPolynomial) -> Slots:
        """Apply a polynomial to each slot."""
        if isinstance(a, np.ndarray):
            return polynomial(a)
        return self.builder.build("vec.polynomial", [a], polynomial=polynomial)

    def value(self, slots: Slots) -> Value:
        """A vector in the module; of a public one a constant, each once."""
        if isinstance(slots, Value):
            return slots
        vector: Any = np.broadcast_to(slots, (self.width,)).astype(np.float64)
        if not np.isfinite(vector).all():
            raise ValueError("a constant that is infinite or NaN")
        key = vector.tobytes()
        if key not in self.public:
            self.public[key] = self._constant(vector)
        return self.public[key]

    def _constant(self, vector: npt.NDArray[np.float64]) -> Value:
        if (vector == vector[0]).all():
            return self.builder.build("vec.splat", value=float(vector[0]), slots=self.width)
        pack, in_order = (
            PackMap((self.width,), self.width, (PackDim(0, self.width),)),
            Access((self.width,), ((1,),), (0,)),
        )
        gather = LoopNest((self.width,), pack, in_order, self.module.add_source(vector), in_order)
        return self.builder.build("vec.constant", value=ConstRef(gather), slots=self.width)
