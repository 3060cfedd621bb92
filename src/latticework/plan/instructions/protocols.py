"""Protocols of the analyses that call the functions of records."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import ConstRef, NumberMatrix

Slots = npt.NDArray[Any]  # (..., count, slots)


class Chain(Protocol):
    """A modulus chain, as type rules see it."""

    @property
    def scheme(self) -> str:
        """ "ckks" or "bfv"."""

    @property
    def ring_degree(self) -> int:
        """N."""

    def covers(self, held: tuple[int, int], wanted: tuple[int, int]) -> bool:
        """Whether the basis of one (track, level) lies within that of another."""

    def same_limbs(self, place: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether two (track, level) have one basis."""

    def dropped(self, track: int, level: int, to: int) -> int | None:
        """The product of the primes from one level of a track down to another; None if it is not known."""

    def modulus(self, level: int, track: int = 0) -> int:
        """Product of the Q limbs of a level."""


class Machine(Protocol):
    """A simulation, as the meanings of instructions see it: products modulo t where there is one, and noise."""

    def product(self, a: Slots, b: Slots) -> Slots:
        """Multiply slot by slot."""

    def dot(self, a: Slots, b: Slots, groups: int) -> Slots:
        """Return sums of products of neighbours, in `groups` groups."""

    def multiple(self, a: Slots, factor: int, ratio: float) -> Slots:
        """A value times an integer, read at another scale: times `ratio`."""

    def integer(self, number: int, scale: float) -> Any:
        """A public integer as what it adds to a slot at a scale."""

    def encode_constant(self, constant: ConstRef, scale: float) -> Slots:
        """Public vectors as the encoder rounds them."""

    def multiply_matrix(self, matrix: NumberMatrix, a: Slots, scale: float) -> Slots:
        """Multiply the vectors of an array with a public matrix, rounded at a scale."""

    def random(self) -> np.random.Generator:
        """Generator of integers that a ciphertext's randomness decides."""

    def with_key_noise(self, a: Slots, kind: CipherKind | DigitsKind) -> Slots:
        """Add the noise of a product with a key to slots of this type."""

    def with_rounding(self, a: Slots, result: CipherKind, degree: int) -> Slots:
        """Add the rounding error of a division of a ciphertext of this degree."""

    def with_sparse_noise(self, a: Slots, result: CipherKind) -> Slots:
        """Add the noise of the switch to the sparse secret."""

    def with_raised_noise(self, a: Slots, result: CipherKind, factor: int) -> Slots:
        """Add the noise of the switch from the sparse secret, after a product with an integer."""


class Errors(Protocol):
    """An analysis of errors, as rules see it: bounds of CKKS, noise of BFV.

    Values are the analysis's own, one for each ciphertext or plaintext; `use` says where they are.
    """

    def zero(self) -> Any:
        """Return an empty sum."""

    def encode_constant(self, constant: ConstRef, scale: float) -> tuple[Any, ...]:
        """Encode a public array as plaintexts."""

    def trivial(self, use: Any, plain: Any) -> Any:
        """Read a plaintext as a ciphertext."""

    def plus(self, a: Any, b: Any) -> Any:
        """Add values at one scale."""

    def add(self, use: Any, a: Any, b: Any) -> Any:
        """A sum or difference of ciphertexts, the second one read at the scale of the first."""

    def add_plain(self, use: Any, a: Any, plain: Any) -> Any:
        """Add or subtract a plaintext."""

    def add_integer(self, use: Any, a: Any) -> Any:
        """A sum with the integer that is the first immediate."""

    def mul(self, use: Any, a: Any, b: Any) -> Any:
        """Multiply ciphertexts."""

    def mul_relinearize(self, use: Any, a: Any, b: Any) -> Any:
        """Multiply ciphertexts, and relinearise."""

    def mul_plain(self, use: Any, a: Any, plain: Any) -> Any:
        """Multiply with a plaintext."""

    def multiply_matrix(self, use: Any, matrix: NumberMatrix, a: tuple[Any, ...]) -> tuple[Any, ...]:
        """Multiply an array with a public matrix, rounded at the scale that the result states."""

    def mul_integer(self, use: Any, a: Any) -> Any:
        """A product with the integer that is the first immediate, read at the result's scale."""

    def reread(self, use: Any, a: Any) -> Any:
        """Read the same integers at the result's scale."""

    def key_product(self, use: Any, a: Any, key: KeySpec) -> Any:
        """Multiply with a key, over QP."""

    def key_switch(self, use: Any, a: Any, key: KeySpec) -> Any:
        """The same, divided by P, and perhaps by primes of levels."""

    def mod_down(self, use: Any, a: Any) -> Any:
        """Divide by P, or by primes of levels."""
