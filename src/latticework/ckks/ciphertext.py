"""Encrypted and encoded vectors, and what operators mean on them.

Operators align their operands by themselves (docs/ckks.md says how); the methods
of an `Evaluator` do exactly one thing and refuse what does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Any, NoReturn, Protocol

from latticework import _core
from latticework.ckks.checks import is_real_number
from latticework.ckks.parameters import Parameters
from latticework.errors import UnsupportedError
from latticework.location import user_loc


class Plaintext:
    """A vector encoded at a level and scale."""

    __slots__ = ("core", "parameters")

    def __init__(self, core: _core.Plaintext, parameters: Parameters) -> None:
        self.core = core
        self.parameters = parameters

    @property
    def level(self) -> int:
        """Rescales left; 0 is the last level."""
        return self.core.level[1]

    @property
    def scale(self) -> float:
        """What the values were multiplied by before they were rounded."""
        return self.core.scale

    @property
    def slots(self) -> int:
        """Length of the vector."""
        return self.core.slots

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.core.num_bytes

    def __repr__(self) -> str:
        return f"Plaintext({self.slots} slots, level {self.level}, scale 2^{log2(self.scale):.3f})"


class Operators(Protocol):
    """What a ciphertext asks of the evaluator that it belongs to."""

    @property
    def has_keys(self) -> bool:
        """Whether it can rotate and relinearise anything."""

    def operate(self, name: str, *operands: Any) -> Ciphertext:
        """Apply an operator with automatic alignment."""

    def apply(self, name: str, *operands: Any, **options: Any) -> Any:
        """Apply the evaluator's method of that name."""


class Ciphertext:
    """An encrypted vector of slots; immutable. Operators and methods use the evaluator that it came from.

    `a + b`, `a - b`, `a * b`, `-a`, `a ** n` take ciphertexts, vectors of as many slots, Plaintexts and numbers, and
    `a / number` is `a * (1 / number)`. They align operands automatically: a product that is
    still of degree 2 or of squared scale is relinearised and rescaled when something other than a sum of its like needs
    it; of two levels the higher is brought down to the lower, exactly onto its canonical scale. Products themselves
    stay as they are until then, so sums of products relinearise once.
    """

    __slots__ = ("core", "evaluator", "parameters")
    __array_ufunc__ = None  # NumPy leaves mixed operators to the ones here

    def __init__(self, core: _core.Ciphertext, parameters: Parameters, evaluator: Operators) -> None:
        self.core = core
        self.parameters = parameters
        self.evaluator = evaluator

    @property
    def level(self) -> int:
        """Rescales left; 0 is the last level."""
        return self.core.level[1]

    @property
    def scale(self) -> float:
        """The factor between slots and what is encrypted."""
        return self.core.scale

    @property
    def degree(self) -> int:
        """1, or 2 for a product that is not relinearised."""
        return self.core.degree

    @property
    def slots(self) -> int:
        """Length of the vector. Shorter vectors than N/2 repeat, so rotations wrap at this length."""
        return self.core.slots

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.core.num_bytes

    @property
    def is_settled(self) -> bool:
        """Whether degree and scale are those that operations start from: degree 1, the canonical scale of its level."""
        canonical = self.parameters.scales[self.level]
        return self.degree == 1 and abs(self.scale - canonical) <= 2.0**-45 * canonical

    def using(self, evaluator: Operators) -> Ciphertext:
        """The same ciphertext, whose operators use the keys of this evaluator."""
        return Ciphertext(self.core, self.parameters, evaluator)

    def save(self, path: Any) -> None:
        """Write to a file; `load_ciphertexts` reads it."""
        _core.save_ciphertexts(path, [self.core], ["0"], {})

    # -- operators, aligned automatically ----------------------------------------------------

    def _operate(self, name: str, *operands: Any) -> Ciphertext:
        chosen = self.evaluator
        for other in operands:
            if not chosen.has_keys and isinstance(other, Ciphertext):
                chosen = other.evaluator
        return chosen.operate(name, *operands)

    def __add__(self, other: Any) -> Ciphertext:
        return self._operate("add", self, other)

    def __radd__(self, other: Any) -> Ciphertext:
        return self._operate("add", self, other)

    def __sub__(self, other: Any) -> Ciphertext:
        return self._operate("sub", self, other)

    def __rsub__(self, other: Any) -> Ciphertext:
        return self._operate("add", self._operate("neg", self), other)

    def __mul__(self, other: Any) -> Ciphertext:
        return self._operate("mul", self, other)

    def __rmul__(self, other: Any) -> Ciphertext:
        return self._operate("mul", self, other)

    def __truediv__(self, other: Any) -> Ciphertext:
        if isinstance(other, Ciphertext) or not is_real_number(other) or float(other) == 0.0:
            self.__rtruediv__(other)
        return self._operate("mul", self, 1.0 / float(other))

    def __rtruediv__(self, other: Any) -> NoReturn:
        raise UnsupportedError(
            "division: only by a number other than 0; multiply by the reciprocals of a public vector, or approximate "
            "1/x by ckks.chebyshev(lambda x: 1 / x, (lo, hi), degree) where encrypted values have one sign",
            at=user_loc(),
        )

    def __matmul__(self, other: Any) -> NoReturn:
        raise UnsupportedError(
            "@: give the matrix to evaluator.linear_transform(x, ckks.LinearTransform(matrix)), which needs the keys "
            "of its required_keys(parameters)",
            at=user_loc(),
        )

    __rmatmul__ = __matmul__

    def __neg__(self) -> Ciphertext:
        return self._operate("neg", self)

    def __pos__(self) -> Ciphertext:
        return self

    def __pow__(self, exponent: int) -> Ciphertext:
        return self._operate("power", self, exponent)

    def settle(self) -> Ciphertext:
        """Relinearise and rescale what is pending: a product becomes an operand."""
        return self._operate("settle", self)

    # -- the evaluator's methods, exact ------------------------------------------------------

    def relinearize(self, *, rescale: bool = False) -> Ciphertext:
        """Degree 2 to degree 1, rescaled in the same step if that is asked for."""
        return self._one("relinearize", self, rescale=rescale)

    def rescale(self) -> Ciphertext:
        """One level down, the scale divided by the level's primes."""
        return self._one("rescale", self)

    def drop_level(self, level: int) -> Ciphertext:
        """Fewer primes, same scale."""
        return self._one("drop_level", self, level)

    def level_to(self, level: int) -> Ciphertext:
        """Down to a level, exactly onto its canonical scale."""
        return self._one("level_to", self, level)

    def rotate(self, steps: int) -> Ciphertext:
        """Slots moved left by `steps` (right if negative), round the end."""
        return self._one("rotate", self, steps)

    def rotate_many(self, steps: Sequence[int]) -> list[Ciphertext]:
        """Several rotations for one decomposition."""
        found: list[Ciphertext] = self.evaluator.apply("rotate_many", self, steps)
        return found

    def conjugate(self) -> Ciphertext:
        """The complex conjugate of every slot."""
        return self._one("conjugate", self)

    def _one(self, name: str, *operands: Any, **options: Any) -> Ciphertext:
        found: Ciphertext = self.evaluator.apply(name, *operands, **options)
        return found

    def __bool__(self) -> NoReturn:
        raise TypeError("a ciphertext has no truth value: what is encrypted cannot decide what a program does")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        pending = "" if self.degree == 1 else f", degree {self.degree}"
        return f"Ciphertext({self.slots} slots, level {self.level}, scale 2^{log2(self.scale):.3f}{pending})"
