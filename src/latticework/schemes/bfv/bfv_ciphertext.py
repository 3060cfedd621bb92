"""Encrypted and encoded vectors, and what operators on them mean."""

from __future__ import annotations

from typing import Any, NoReturn

from latticework.errors import ShapeError, UnsupportedError, UserError
from latticework.errors.shown import describe
from latticework.ir.lines import user_loc
from latticework.runtime.devices.device import Device
from latticework.schemes.bfv.bfv_parameters import Parameters
from latticework.schemes.rlwe import ciphertext
from latticework.schemes.rlwe.checks import fail, locate
from latticework.schemes.rlwe.encodings import Encoding, holds_coefficients
from latticework.schemes.rlwe.parameters import need_parameters
from latticework.schemes.rlwe.residues import Form, Residues, ValueLabel, check_residues, is_ntt
from latticework.values.extension import _core


class Plaintext(ciphertext.Plaintext[Parameters, _core.BfvMessage]):
    """Integers modulo t in slots, encoded. The forms in which products take it are kept for the level last used."""

    __slots__ = ("_encoder", "_encoding", "_factor")

    def __init__(
        self,
        core: _core.BfvMessage,
        parameters: Parameters,
        encoder: _core.BfvEncoder,
        encoding: Encoding = "slots",
    ) -> None:
        super().__init__(core, parameters)
        self._encoding: Encoding = encoding
        self._encoder = encoder
        self._factor: tuple[int, _core.Plaintext] | None = None

    def _at(self, place: Device | None) -> Plaintext:
        """The same integers for a device: they stay on the host, their forms are made where they are used."""
        there = self.parameters._at(place)
        return Plaintext(self.core, there, _core.BfvEncoder(there.context), self.encoding)

    @property
    def encoding(self) -> Encoding:
        """The numbers that it holds: "slots", or "coefficients" of a polynomial modulo X^N + 1."""
        return self._encoding

    @property
    def slots(self) -> int:
        """Integers that it holds, N, in two rows."""
        return self.parameters.slots

    @property
    def num_bytes(self) -> int:
        """Bytes in memory, without the form that is kept for products."""
        return 8 * self.parameters.slots

    @locate
    def residues(self, form: Form = "coefficients") -> Residues:
        """Canonical residues of its polynomial modulo t, uint64 of shape (1, 1, N); it has coefficient form only."""
        _require_coefficients("Plaintext.residues", form)
        return self._encoder.coefficients(self.core).reshape(1, 1, -1)

    @classmethod
    @locate
    def from_residues(
        cls,
        residues: Residues,
        parameters: Parameters,
        *,
        encoding: Encoding = "slots",
        form: Form = "coefficients",
    ) -> Plaintext:
        """The plaintext of residues as `residues` gives them; it is exact, as all are."""
        who = "bfv.Plaintext.from_residues"
        need_parameters(who, parameters, Parameters)
        _require_coefficients(who, form)
        checked = check_residues(who, residues, (1,), (parameters.plain_modulus,), parameters.ring_degree)
        encoder = _core.BfvEncoder(parameters.context)
        if not holds_coefficients(who, encoding):
            require_batching(who, parameters)
        return cls(encoder.encode_coefficients(checked.reshape(-1)), parameters, encoder, encoding)

    def _as_addend(self, level: int) -> _core.Plaintext:
        """The form that is encrypted or added."""
        return self._encoder.addend(self.core, (0, level), encoding=self.encoding)

    def _as_factor(self, level: int) -> _core.Plaintext:
        """The form that is multiplied by."""
        kept = self._factor
        if kept is None or kept[0] != level:
            self._factor = kept = (level, self._encoder.factor(self.core, (0, level), self.encoding))
        return kept[1]

    def __repr__(self) -> str:
        slots, n = f"2 x {self.parameters.row_slots} slots", self.parameters.ring_degree
        facts = slots if self.encoding == "slots" else f"{n} coefficients", f"t={self.parameters.plain_modulus}"
        return describe("Plaintext", *self.parameters._ring, *facts)


def require_batching(who: str, parameters: Parameters) -> None:
    """ShapeError where the plaintext modulus does not split into slots."""
    if not parameters.batching:
        t = parameters.plain_modulus
        fail(ShapeError, f'{who}: t = {t} has no slots; use encoding="coefficients", or a prime t that is 1 modulo 2N')


def _require_coefficients(who: str, form: Form) -> None:
    if is_ntt(who, form):
        fail(UserError, f'{who}: a bfv.Plaintext is one polynomial modulo t, of no level; use form="coefficients"')


class Ciphertext(ciphertext.Ciphertext[Parameters]):
    """Two rows of N/2 encrypted integers modulo t; immutable.

    `a + b`, `a - b`, `a * b` take ciphertexts, Plaintexts, integer arrays and integers, slot by slot modulo t; `-a` and
    `a ** n` (n a whole number of 1 or more) work too. They use the evaluator that the ciphertext came from, or that of
    the other operand if this one has no keys. Products are relinearised at once where there is a key for it, which is
    one division with the product; of two levels the higher is brought down to the lower.
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
        encoding: Encoding = "slots",
        form: Form = "coefficients",
        evaluator: ciphertext.Operators | None = None,
    ) -> Ciphertext:
        """The ciphertext of residues as `residues` gives them, marked as `is_unproved`.

        key_set  of the secret key that decrypts it
        level    the highest if not given
        raises   DtypeError, ShapeError, RangeError
        """
        need_parameters("bfv.Ciphertext.from_residues", parameters, Parameters)
        if not holds_coefficients("bfv.Ciphertext.from_residues", encoding):
            require_batching("bfv.Ciphertext.from_residues", parameters)
        width = parameters.row_slots
        label = ValueLabel(key_set, level, 1.0, width, encoding)
        return cls._from_residues(residues, parameters, label, evaluator, form)

    @property
    def slots(self) -> int:
        """Integers that it holds, N, in two rows."""
        return self.parameters.slots

    @property
    def is_settled(self) -> bool:
        """Whether it is of degree 1, as operations start from."""
        return self.degree == 1

    def __truediv__(self, other: Any) -> NoReturn:
        t = self.parameters.plain_modulus
        raise UnsupportedError(
            f"division: integers modulo t = {t} have no quotients; multiply by pow(n, -1, {t}), or divide "
            "after decryption",
            at=user_loc(),
        )

    __rtruediv__ = __truediv__

    def __matmul__(self, other: Any) -> NoReturn:
        raise UnsupportedError(
            "@: BFV has no linear transforms here; add up rotations times the diagonals of the matrix, or compile the "
            "product as a circuit",
            at=user_loc(),
        )

    __rmatmul__ = __matmul__

    def swap_rows(self) -> Ciphertext:
        """The two rows exchanged: x[::-1]; a product is relinearised first."""
        return self._operate("swap_rows")

    def relinearize(self) -> Ciphertext:
        """Degree 2 to degree 1."""
        return self._exactly("relinearize")

    @property
    def _row_slots(self) -> int:
        return self.parameters.row_slots

    @property
    def _slots_text(self) -> str:
        return f"2 x {self.parameters.row_slots} slots"

    def _facts(self) -> list[str]:
        return [f"t={self.parameters.plain_modulus}"]
