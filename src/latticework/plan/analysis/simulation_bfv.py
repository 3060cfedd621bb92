"""The meaning of BFV plans: integers modulo t, exact, as their representatives nearest to zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.plan.analysis.simulation import Item, OnValue, Simulation, Slots
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.instructions.walk import Site
from latticework.plan.schema.schema import Plan
from latticework.values.centred_residues import centre, mul_mod
from latticework.values.packing.packed_constants import ConstRef
from latticework.values.packing.slot_arrays import sum_vectors


class BfvSimulation(Simulation):
    """A run on int64 arrays; nothing is ever too large or rounded."""

    def __init__(self, plan: Plan, on_value: OnValue | None) -> None:
        super().__init__(plan, None, on_value)
        self.dtype = np.int64
        self.modulus = plan.chain.plain_modulus

    def run(self, arguments: Sequence[Item]) -> list[Item]:
        """Run on reduced inputs."""
        return super().run([centre(a, self.modulus) if isinstance(a, np.ndarray) else a for a in arguments])

    def step(self, site: Site, operands: list[Any]) -> Sequence[Item]:
        """Compute the results of one instruction, reduced."""
        return [centre(np.asarray(value), self.modulus) for value in super().step(site, operands)]

    def hold(self, register: int, value: Item) -> None:
        """Tell whoever listens: every residue fits."""
        kind = self.plan.kind(register)
        if self.on_value is not None and isinstance(kind, CipherKind) and kind.basis == 0:
            assert isinstance(value, np.ndarray)
            self.report(register, value)

    def decode(self, tensor: Any) -> Any:
        """The integers of an output; float64 held them exactly."""
        return tensor.astype(np.int64)

    def encode_constant(self, constant: ConstRef, scale: float) -> Slots:
        """Public integers."""
        return centre(np.rint(constant.evaluate(self.plan.sources)).astype(np.int64), self.modulus)

    def product(self, a: Slots, b: Slots) -> Slots:
        """Slot by slot, reduced, so that thousands of them can be added up."""
        return mul_mod(a, b, self.modulus)

    def dot(self, a: Slots, b: Slots, groups: int) -> Slots:
        """Return sums of reduced products."""
        return sum_vectors(self.product(a, b), groups)

    def multiple(self, a: Slots, factor: int, ratio: float) -> Slots:
        """Multiply a value by an integer; all scales are 1."""
        return self.product(a, np.array(factor % self.modulus))

    def integer(self, number: int, scale: float) -> int:
        """Return a public integer, reduced."""
        return number % self.modulus
