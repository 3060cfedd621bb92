"""Encrypted and encoded vectors, and what operators mean on them.

Operators align their operands by themselves (docs/ckks.md says how); the methods
of an `Evaluator` do exactly one thing and refuse what does not fit.
"""

from __future__ import annotations

from typing import Any, NoReturn

from latticework.errors import LayoutError, UnsupportedError
from latticework.errors.shown import describe, size
from latticework.ir.lines import user_loc
from latticework.runtime.devices.device import Device
from latticework.schemes.ckks.ckks_checks import check_scale, is_real_number, short_scale_text
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.rlwe import ciphertext
from latticework.schemes.rlwe.checks import fail, locate, whole
from latticework.schemes.rlwe.encodings import Encoding, holds_coefficients
from latticework.schemes.rlwe.parameters import need_parameters
from latticework.schemes.rlwe.residues import Form, Residues, ValueLabel, check_residues, is_ntt
from latticework.values.extension import _core


class Plaintext(ciphertext.Plaintext[Parameters, _core.Plaintext]):
    """A vector encoded at a level and scale."""

    __slots__ = ()

    def _at(self, place: Device | None) -> Plaintext:
        there = self.parameters._at(place)
        return Plaintext(_core.move(self.core, there.context), there)

    @property
    def level(self) -> int:
        """Rescales left; 0 is the last level."""
        return self.core.level[1]

    @property
    def scale(self) -> float:
        """The factor that the values were multiplied by before they were rounded."""
        return self.core.scale

    @property
    def encoding(self) -> Encoding:
        """The numbers that it holds: "slots", or "coefficients" of a polynomial modulo X^N + 1."""
        return "coefficients" if self.core.encoding == "coefficients" else "slots"

    @property
    def slots(self) -> int:
        """Length of the vector: N where it holds coefficients."""
        return self.core.slots if self.encoding == "slots" else self.parameters.ring_degree

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.core.num_bytes

    @locate
    def residues(self, form: Form = "coefficients") -> Residues:
        """Canonical residues, uint64 of shape (1, limbs, N); limb j is modulo `parameters.primes_at(level)[j]`.

        form  as of `Ciphertext.residues`
        """
        return _core.plaintext_residues(self.core, is_ntt("residues", form))

    @classmethod
    @locate
    def from_residues(
        cls,
        residues: Residues,
        parameters: Parameters,
        *,
        level: int | None = None,
        scale: float | None = None,
        slots: int | None = None,
        encoding: Encoding = "slots",
        form: Form = "coefficients",
    ) -> Plaintext:
        """The plaintext of residues as `residues` gives them; what is computed with it is `is_unproved`.

        level  the highest if not given; scale: the canonical one of the level; slots: N/2
        raises DtypeError, ShapeError, RangeError, ScaleError
        """
        who = "ckks.Plaintext.from_residues"
        holds_coefficients(who, encoding)
        need_parameters(who, parameters, Parameters)
        level = parameters.check_level(who, parameters.levels if level is None else level)
        checked = check_residues(who, residues, (1,), parameters.primes_at(level), parameters.ring_degree)
        scale = check_scale(who, parameters.scales[level] if scale is None else scale)
        core = _core.plaintext_from_residues(
            parameters.context, checked, is_ntt(who, form), (0, level), scale, _slots(who, parameters, slots), encoding
        )
        return cls(core, parameters)

    def __repr__(self) -> str:
        place = f"level {self.level} of {self.parameters.levels}"
        facts = f"{self.slots} {self.encoding}", place, short_scale_text(self.scale), size(self.num_bytes)
        return describe("Plaintext", *self.parameters._ring, *facts)


def _slots(who: str, parameters: Parameters, slots: int | None) -> int:
    """The length of a vector that repeats in all slots; LayoutError unless it is one."""
    count = parameters.slots if slots is None else whole(f"{who}: slots", slots)
    if not 1 <= count <= parameters.slots or count & (count - 1):
        fail(LayoutError, f"{who}: slots={count}; give a power of two up to {parameters.slots}")
    return count


class Ciphertext(ciphertext.Ciphertext[Parameters]):
    """An encrypted vector of slots; immutable. Operators and methods use the evaluator that it came from.

    `a + b`, `a - b`, `a * b`, `-a`, `a ** n` take ciphertexts, vectors of as many slots, Plaintexts and numbers, and
    `a / number` is `a * (1 / number)`. They align operands automatically: a product that is
    still of degree 2 or of squared scale is relinearised and rescaled when something other than a sum of its like needs
    it, `rotate` and `conjugate` too; of two levels the higher is brought down to the lower, exactly onto its canonical
    scale. Products themselves stay as they are until then, so sums of products relinearise once.
    """

    __slots__ = ()
    _parameters = Parameters

    @classmethod
    @locate
    def from_residues(
        cls,
        residues: Residues,
        parameters: Parameters,
        *,
        key_set: bytes,
        level: int | None = None,
        scale: float | None = None,
        slots: int | None = None,
        encoding: Encoding = "slots",
        form: Form = "coefficients",
        evaluator: ciphertext.Operators | None = None,
    ) -> Ciphertext:
        """The ciphertext of residues as `residues` gives them, marked as `is_unproved`.

        key_set  of the secret key that decrypts it
        level    the highest if not given; scale: the canonical one of the level; slots: N/2
        raises   DtypeError, ShapeError, RangeError, ScaleError
        """
        who = "ckks.Ciphertext.from_residues"
        need_parameters(who, parameters, Parameters)
        factor = None if scale is None else check_scale(who, scale)
        width = _slots(who, parameters, slots)
        label = ValueLabel(key_set, level, factor, width, encoding)
        return cls._from_residues(residues, parameters, label, evaluator, form)

    @property
    def scale(self) -> float:
        """The factor between slots and what is encrypted."""
        return self.core.scale

    @property
    def slots(self) -> int:
        """Length of the vector. Shorter vectors than N/2 repeat, so rotations wrap there. Coefficients are N."""
        return self.core.slots if self.encoding == "slots" else self.parameters.ring_degree

    @property
    def is_settled(self) -> bool:
        """Whether degree and scale are those that operations start from: degree 1, the canonical scale of its level."""
        canonical = self.parameters.scales[self.level]
        return self.degree == 1 and abs(self.scale - canonical) <= 2.0**-45 * canonical

    # -- operators, aligned automatically ----------------------------------------------------

    def __truediv__(self, other: Any) -> Ciphertext:
        if isinstance(other, Ciphertext) or not is_real_number(other) or float(other) == 0.0:
            self.__rtruediv__(other)
        return self._operate("mul", 1.0 / float(other))

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

    def conjugate(self) -> Ciphertext:
        """The complex conjugate of every slot; a product is settled first."""
        return self._operate("conjugate")

    # -- the evaluator's methods, exact ------------------------------------------------------

    def relinearize(self, *, rescale: bool = False) -> Ciphertext:
        """Degree 2 to degree 1, rescaled in the same step if that is asked for."""
        return self._exactly("relinearize", rescale=rescale)

    def rescale(self) -> Ciphertext:
        """One level down, the scale divided by the level's primes."""
        return self._exactly("rescale")

    def level_to(self, level: int) -> Ciphertext:
        """Down to a level, exactly onto its canonical scale."""
        return self._exactly("level_to", level)

    @property
    def _row_slots(self) -> int:
        return self.slots

    @property
    def _slots_text(self) -> str:
        return f"{self.slots} slots"

    def _facts(self) -> list[str]:
        return [short_scale_text(self.scale)]
