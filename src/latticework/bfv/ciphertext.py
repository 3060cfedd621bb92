"""Encrypted and encoded vectors, and what operators on them mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, Protocol

import numpy.typing as npt

from latticework import _core
from latticework.bfv.context import Context
from latticework.errors import UnsupportedError
from latticework.location import user_loc


class Plaintext:
    """Integers modulo t in slots, encoded. The forms in which products take it are kept for the level last used."""

    __slots__ = ("_encoder", "_factor", "context", "core")

    def __init__(self, context: Context, core: _core.BfvMessage, encoder: _core.BfvEncoder) -> None:
        self.context = context
        self.core = core
        self._encoder = encoder
        self._factor: tuple[int, _core.Plaintext] | None = None

    def addend(self, level: int) -> _core.Plaintext:
        """The form that is encrypted or added."""
        return self._encoder.addend(self.core, (0, level))

    def factor(self, level: int) -> _core.Plaintext:
        """The form that is multiplied by."""
        kept = self._factor
        if kept is None or kept[0] != level:
            self._factor = kept = (level, self._encoder.factor(self.core, (0, level)))
        return kept[1]

    def __repr__(self) -> str:
        return f"bfv.Plaintext(2 x {self.context.parameters.row_slots} slots)"


class Operations(Protocol):
    """What a ciphertext asks of its evaluator."""

    has_keys: bool

    def add(self, a: Ciphertext, b: Any) -> Ciphertext:
        """A sum."""

    def sub(self, a: Ciphertext, b: Any) -> Ciphertext:
        """A difference."""

    def mul(self, a: Ciphertext, b: Any) -> Ciphertext:
        """A product."""

    def neg(self, x: Ciphertext) -> Ciphertext:
        """The negative."""

    def rotate_rows(self, x: Ciphertext, steps: int) -> Ciphertext:
        """A rotation."""

    def rotate_rows_many(self, x: Ciphertext, steps: Iterable[int]) -> list[Ciphertext]:
        """Rotations."""

    def swap_rows(self, x: Ciphertext) -> Ciphertext:
        """The rows exchanged."""

    def power(self, x: Ciphertext, exponent: int) -> Ciphertext:
        """A whole power."""


class Ciphertext:
    """Two rows of N/2 encrypted integers modulo t; immutable.

    `a + b`, `a - b`, `a * b` take ciphertexts, Plaintexts, integer arrays and integers, slot by slot modulo t; `-a` and
    `a ** n` (n a whole number of 1 or more) work too.
    They use the evaluator that the ciphertext came from, or that of the other operand if this one has no keys.
    """

    __slots__ = ("context", "core", "evaluator")
    __array_ufunc__ = None  # NumPy leaves mixed operators to the ones here
    __hash__ = object.__hash__

    def __init__(self, context: Context, core: _core.Ciphertext, evaluator: Operations) -> None:
        self.context = context
        self.core = core
        self.evaluator = evaluator

    @property
    def level(self) -> int:
        """Primes of its modulus, less one."""
        return self.core.level[1]

    @property
    def degree(self) -> int:
        """1, or 2 for a product that is not relinearised."""
        return self.core.degree

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.core.num_bytes

    def _chosen(self, other: Any) -> Operations:
        if isinstance(other, Ciphertext) and not self.evaluator.has_keys:
            return other.evaluator
        return self.evaluator

    def __add__(self, other: Any) -> Ciphertext:
        return self._chosen(other).add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Ciphertext:
        return self._chosen(other).sub(self, other)

    def __rsub__(self, other: npt.ArrayLike) -> Ciphertext:
        return self.evaluator.add(self.evaluator.neg(self), other)

    def __mul__(self, other: Any) -> Ciphertext:
        return self._chosen(other).mul(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> Ciphertext:
        return self.evaluator.neg(self)

    def __truediv__(self, other: Any) -> NoReturn:
        t = self.context.parameters.plain_modulus
        raise UnsupportedError(
            f"division: integers modulo t = {t} have no quotients; multiply by pow(n, -1, {t}), or divide "
            "after decryption",
            at=user_loc(),
        )

    def __pow__(self, exponent: int) -> Ciphertext:
        return self.evaluator.power(self, exponent)

    def rotate_rows(self, steps: int) -> Ciphertext:
        """Both rows moved left by `steps`: np.roll(x, -steps, axis=1)."""
        return self.evaluator.rotate_rows(self, steps)

    def rotate_rows_many(self, steps: Iterable[int]) -> list[Ciphertext]:
        """Several rotations for one decomposition."""
        return self.evaluator.rotate_rows_many(self, steps)

    def swap_rows(self) -> Ciphertext:
        """The two rows exchanged: x[::-1]."""
        return self.evaluator.swap_rows(self)

    def __bool__(self) -> NoReturn:
        raise TypeError("a ciphertext has no truth value: what is encrypted cannot decide what a program does")

    def __repr__(self) -> str:
        return (
            f"bfv.Ciphertext(2 x {self.context.parameters.row_slots} slots, level {self.level}, degree {self.degree})"
        )
