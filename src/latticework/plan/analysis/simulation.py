"""Slot vectors as a domain: what each instruction means, run on values; the plan's oracle.

Levels, scales and degrees are checked before anything runs, values are checked
against the modulus that has to hold them, and noise can be drawn as modelled.
Inside, an array of vectors is (..., count, slots), also where the count is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind
from latticework.plan.instructions.table import RECORDS
from latticework.plan.instructions.walk import Domain, Site, Walk
from latticework.plan.parameters import step_noise as model
from latticework.plan.parameters.bootstrap_noise import BootstrapStep
from latticework.plan.schema.bootstraps import Bootstrap, steps_of
from latticework.plan.schema.schema import Plan
from latticework.values.packing.embedding import largest_coefficient
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import ConstRef, NumberMatrix
from latticework.values.packing.slot_arrays import as_value, dot_vectors, multiply_vectors

Slots = npt.NDArray[Any]  # complex128, or float64 for plans that are real throughout
Item = Slots | int | KeySpec
OnValue = Callable[[int, Slots], None]
DRAWN = 1 << 22  # random numbers that are drawn afresh in one run
MAX_COEFFICIENT = 2.0**62  # of an encoded vector, whose coefficients are at most its largest slot


class Simulation(Domain):
    """One run on slot vectors, and its noise."""

    def __init__(
        self,
        plan: Plan,
        noise: np.random.Generator | None,
        on_value: OnValue | None,
        *,
        into_bootstraps: bool = False,
    ) -> None:
        self.plan = plan
        self.bootstraps = {} if into_bootstraps else steps_of(plan)
        self.chain = plan.chain
        self.noise = noise
        self.on_value = on_value
        self.draws_secret = False
        self.noise_factor = 1.0  # of all noise that is drawn
        self.shares: dict[int, Slots] = {}
        self.drawn = 0
        self.pool: Slots = np.zeros(0)
        self.walk = Walk(plan, plan.chain, self)
        # Without conjugation and complex constants, imaginary parts are noise that never reaches the real parts.
        is_complex = (
            any(k.galois_element % 4 == 3 for k in plan.keys)
            or any(c.is_complex for c in plan.constants)
            or any(RECORDS[instruction.op].traits.is_complex for _, _, instruction in plan.walk())
        )
        self.dtype: type = np.complex128 if is_complex else np.float64

    def run(self, arguments: Sequence[Item]) -> list[Item]:
        """Check the code, and run it; returns what it yields."""
        self.walk.check()
        return self.walk.run(0, arguments)

    def step(self, site: Site, operands: list[Any]) -> Sequence[Item]:
        """Compute the results of one instruction."""
        outcome = site.record.meaning(self, site.use, *operands)
        return outcome if type(outcome) is list else [outcome]

    def call(self, site: Site, operands: Sequence[Any], follow: Callable[[], list[Any]]) -> Sequence[Any]:
        """A bootstrap is one step, where it is known what it leaves."""
        known = self.bootstraps.get(site.instruction.immediate[0])
        return follow() if known is None else [self.bootstrap(*known, operands[0])]

    def bootstrap(self, kind: Bootstrap, step: BootstrapStep, x: Slots) -> Slots:
        """The slots of x, as they come out of a bootstrap."""
        size = float(np.max(np.abs(x), initial=0.0))
        real = step.value(np.real(x), size, self.add_noise)
        whole = real if kind.real else real + 1j * step.value(np.imag(x), size, self.add_noise)
        return whole.astype(self.dtype, copy=False)

    def add_noise(self, parts: Slots, deviation: float) -> Slots:
        """Parts of slots with noise of this deviation, if noise is drawn."""
        if self.noise is None:
            return parts
        shares = np.sqrt(self.secret_shares(parts.shape[-1])) if self.draws_secret else 1.0
        disturbed: Slots = parts + self.noise_factor * deviation * shares * self.normal(parts.shape)
        return disturbed

    def hold(self, register: int, value: Item) -> None:
        """Check that a register's modulus can hold its value."""
        kind = self.plan.kind(register)
        if isinstance(kind, CipherKind) and kind.basis == 0:
            assert isinstance(value, np.ndarray)
            largest = float(np.max(np.abs(value), initial=0.0))
            most_bits = log2(self.chain.modulus(kind.level, kind.track)) - 1
            if largest > 0 and log2(largest) + log2(kind.scale) > most_bits:  # coefficients are no larger than slots
                largest = largest_coefficient(value)
            if largest > 0 and log2(largest) + log2(kind.scale) > most_bits:
                most = 2.0 ** (most_bits - log2(kind.scale))
                raise RangeError(
                    f"a value here reaches {largest:.3g}, and there is room for {most:.3g}: "
                    "scale the inputs or weights down by a public number, or calibrate with data that cover the values "
                    "that occur"
                )
            self.report(register, value)

    def report(self, register: int, value: Slots) -> None:
        """Report a value to the caller's function, where there is one."""
        if self.on_value is not None:
            self.on_value(register, as_value(value))

    def decode(self, tensor: Slots) -> Slots:
        """Return an output as the caller gets it."""
        return tensor

    # -- what meanings ask for ---------------------------------------------------------------

    def product(self, a: Slots, b: Slots) -> Slots:
        """Multiply two arrays, slot by slot."""
        return a * b

    def dot(self, a: Slots, b: Slots, groups: int) -> Slots:
        """Return sums of products of neighbours, in `groups` groups."""
        return dot_vectors(a, b, groups)

    def multiple(self, a: Slots, factor: int, ratio: float) -> Slots:
        """A value times an integer, read at another scale."""
        multiple: Slots = a * (factor * ratio)
        return multiple

    def integer(self, number: int, scale: float) -> Any:
        """Return a public integer as what it adds to a slot."""
        return number / scale

    def encode_constant(self, constant: ConstRef, scale: float) -> Slots:
        """Public vectors as the encoder rounds them."""
        vector: Slots = constant.evaluate(self.plan.sources).astype(self.dtype, copy=False)
        largest = float(np.max(np.abs(vector)))
        if largest * scale >= MAX_COEFFICIENT:
            raise RangeError(
                f"encode: a public number of magnitude {largest:.3g} at scale 2^{log2(scale):.1f} is more "
                "than the encoder's 2^62; scale the weights down, or lower precision_bits"
            )
        return self.noisy(vector, model.encoding(), scale)

    def multiply_matrix(self, matrix: NumberMatrix, a: Slots, scale: float) -> Slots:
        """Numbers as integers at the scale, which are those of ciphertexts; exact ones if no noise is drawn."""
        rounded = matrix.integers(self.plan.sources, scale) / scale
        return multiply_vectors(matrix.evaluate(self.plan.sources) if self.noise is None else rounded, a)

    def random(self) -> np.random.Generator:
        """Generator of the integers that raising a modulus adds."""
        return np.random.default_rng(0) if self.noise is None else self.noise

    def with_key_noise(self, a: Slots, kind: CipherKind | DigitsKind) -> Slots:
        """Add the noise of a product with a key."""
        if self.noise is None:
            return a
        return self.noisy(a, model.key_product(self.chain, kind.level, kind.track), kind.scale)

    def with_rounding(self, a: Slots, result: CipherKind, degree: int) -> Slots:
        """Add the rounding error of a division."""
        if self.noise is None:
            return a
        return self.noisy(a, self.rounding(a.shape[-1], degree), result.scale)

    def with_sparse_noise(self, a: Slots, result: CipherKind) -> Slots:
        """Add the noise of the switch to the sparse secret."""
        return self.noisy(a, model.to_sparse(self.chain), result.scale)

    def with_raised_noise(self, a: Slots, result: CipherKind, factor: int) -> Slots:
        """Add the noise of the switch from the sparse secret."""
        return self.noisy(a, model.mod_raise(self.chain, factor, result.level, result.track), result.scale)

    def rounding(self, slots: int, degree: int = 1) -> Slots | float:
        """Deviation of a coefficient of a rounded ciphertext; where a secret is drawn, as seen by each slot."""
        if not self.draws_secret:
            return model.mod_down(self.chain.ring_degree, degree)
        return model.mod_down_by_slot(self.chain.ring_degree, degree, self.secret_shares(slots))

    def secret_shares(self, slots: int) -> Slots:
        """Return the shares of the secret of this run."""
        if slots not in self.shares:
            assert self.noise is not None
            self.shares[slots] = model.secret_shares(self.chain.ring_degree, slots, self.noise)
        return self.shares[slots]

    def noisy(self, value: Slots, deviation: Slots | float, scale: float) -> Slots:
        """The value with noise of this coefficient deviation, if noise is drawn."""
        if self.noise is None:
            return value
        sigma = self.noise_factor * deviation * np.sqrt(value.shape[-1]) / scale
        if not np.iscomplexobj(value):
            real: Slots = value + sigma * self.normal(value.shape)
            return real
        noisy = value.copy()
        noisy.real += sigma * self.normal(value.shape)
        noisy.imag += sigma * self.normal(value.shape)
        return noisy

    def normal(self, shape: tuple[int, ...]) -> Slots:
        """Standard normal numbers; where very many have been drawn, a stretch of those, from any place on."""
        assert self.noise is not None
        size = prod(shape)
        self.drawn += size
        if self.drawn <= DRAWN:
            return self.noise.normal(size=shape)
        if self.pool.size < 2 * size:
            self.pool = self.noise.normal(size=max(DRAWN, 2 * size))
        start = int(self.noise.integers(self.pool.size - size + 1))
        drawn: Slots = self.pool[start : start + size].reshape(shape)
        return drawn
