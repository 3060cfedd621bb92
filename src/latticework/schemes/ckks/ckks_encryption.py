"""From vectors to plaintexts and ciphertexts, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.errors import ParameterMismatchError, UserError
from latticework.errors.shown import describe
from latticework.schemes.ckks.ckks_checks import ComplexArray, check_encodable, check_modulus, check_scale, slot_values
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext, Plaintext
from latticework.schemes.ckks.ckks_evaluator import Evaluator
from latticework.schemes.ckks.ckks_keys import PublicKey, SecretKey
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.rlwe.checks import as_list, fail, locate, needs, one_of
from latticework.schemes.rlwe.other_names import KnowsOtherNames
from latticework.schemes.rlwe.parameters import check_parameters, need_parameters
from latticework.values.extension import _core

Slots = npt.NDArray[np.complex128] | npt.NDArray[np.float64]


class Encoder:
    """Vectors to plaintexts and back."""

    @locate
    def __init__(self, parameters: Parameters) -> None:
        need_parameters("Encoder", parameters, Parameters)
        self.parameters = parameters
        self._core = _core.Encoder(parameters.context)

    @locate
    def encode(self, values: npt.ArrayLike, level: int | None = None, scale: float | None = None) -> Plaintext:
        """A vector, real or complex, of any power of two of slots up to N/2; a number is the same in every slot.

        level  the highest if not given
        scale  the factor itself, 2.0**40 and not 40; the canonical one of the level if not given
        raises RangeError for values that are not finite, or too large for the scale
        """
        return self._encode("encode", values, level, scale)

    def _encode(self, who: str, values: npt.ArrayLike, level: int | None, scale: float | None) -> Plaintext:
        p = self.parameters
        level = p.check_level(who, p.levels if level is None else level)
        scale = check_scale(who, p.scales[level] if scale is None else scale)
        slots = slot_values(who, values, p.slots)
        check_encodable(who, slots, scale)
        check_modulus(who, slots, scale, p.chain.modulus(level) // 2, level)
        return Plaintext(self._core.encode(slots, (0, level), scale), p)

    @locate
    def decode(self, plaintext: Plaintext, dtype: npt.DTypeLike = np.complex128) -> Slots:
        """The vector that a plaintext holds, rounded as it was encoded; shape (slots,), dtype as of `decrypt`."""
        needs("decode: the plaintext", plaintext, Plaintext, "give what Encoder.encode made; decrypt takes ciphertexts")
        check_parameters("decode: the plaintext", plaintext.parameters, self.parameters)
        context = self.parameters.context
        anybody = _core.KeyGenerator(context).secret_key()  # a trivial encryption opens under every key
        trivial = _core.Evaluator(context).trivial(plaintext._at(self.parameters._place).core)
        return _as_asked("decode", np.asarray(_core.Decryptor(context, anybody).decrypt(trivial)), dtype)

    def __repr__(self) -> str:
        return describe("Encoder", *self.parameters._ring)


class Encryptor:
    """Encrypts under a public key, or with less noise and half the bytes under the secret key.

    evaluator  whose keys the operators of the ciphertexts use; without one they can do all that needs no key
    """

    @locate
    def __init__(
        self, parameters: Parameters, key: PublicKey | SecretKey, *, evaluator: Evaluator | None = None
    ) -> None:
        need_parameters("Encryptor", parameters, Parameters)
        needs("Encryptor: the key", key, (PublicKey, SecretKey), "give keygen.public_key() or keygen.secret_key()")
        check_parameters("Encryptor: the key", key.parameters, parameters)
        self.parameters = parameters
        self.evaluator = Ciphertext._owner("Encryptor", parameters, evaluator)
        self._encoder = Encoder(parameters)
        self._core = _core.Encryptor(parameters.context, key.core)
        self._kind = "public" if isinstance(key, PublicKey) else "secret"

    @locate
    def encrypt(
        self, values: npt.ArrayLike | Plaintext, level: int | None = None, scale: float | None = None
    ) -> Ciphertext:
        """Encrypt a vector or a Plaintext; level and scale as in `Encoder.encode`."""
        if isinstance(values, Plaintext):
            if level is not None or scale is not None:
                fail(UserError, "encrypt: a Plaintext has its level and scale; give them to encode, or give the values")
            check_parameters("encrypt: the plaintext", values.parameters, self.parameters)
            plaintext = values
        else:
            plaintext = self._encoder._encode("encrypt", values, level, scale)
        return Ciphertext(
            self._core.encrypt(plaintext._at(self.parameters._place).core), self.parameters, self.evaluator
        )

    def encrypt_many(
        self, vectors: Sequence[npt.ArrayLike | Plaintext], level: int | None = None, scale: float | None = None
    ) -> list[Ciphertext]:
        """A ciphertext for each vector (or each row of a matrix)."""
        return [
            self.encrypt(v, level, scale)
            for v in as_list("encrypt_many", vectors, "give a list of vectors, or a matrix of rows")
        ]

    def __repr__(self) -> str:
        return describe("Encryptor", *self.parameters._ring, f"{self._kind} key")


class Decryptor(KnowsOtherNames):
    """Decrypts, for the owner of the secret key alone.

    What `decrypt` returns carries noise from which the key can be computed (Li and Micciancio, Eurocrypt 2021): keep it
    to yourself, round what you pass on, and never let others see how you react to ciphertexts of theirs.
    """

    @locate
    def __init__(self, parameters: Parameters, secret_key: SecretKey) -> None:
        need_parameters("Decryptor", parameters, Parameters)
        needs("Decryptor: the key", secret_key, SecretKey, "give keygen.secret_key()")
        check_parameters("Decryptor: the key", secret_key.parameters, parameters)
        self.parameters = parameters
        self._key_set = secret_key.key_set
        self._core = _core.Decryptor(parameters.context, secret_key.core)

    @locate
    def decrypt(self, ciphertext: Ciphertext, dtype: npt.DTypeLike = np.complex128) -> Slots:
        """The slots, complex128 of shape (slots,), or their real parts with dtype=float; of degree 1 or 2, any level.

        raises  ParameterMismatchError for a ciphertext of other parameters or another key
        """
        needs("decrypt: the ciphertext", ciphertext, Ciphertext, "give one ckks.Ciphertext; decrypt_many takes lists")
        check_parameters("decrypt: the ciphertext", ciphertext.parameters, self.parameters)
        if any(ciphertext.key_set) and ciphertext.key_set != self._key_set:
            fail(
                ParameterMismatchError,
                f"decrypt: the ciphertext is of key set {ciphertext.key_set[:8].hex()}, the secret key of "
                f"{self._key_set[:8].hex()}: use the key that it was encrypted for",
            )
        return _as_asked("decrypt", np.asarray(self._core.decrypt(ciphertext._at(self.parameters._place).core)), dtype)

    def decrypt_many(self, ciphertexts: Sequence[Ciphertext], dtype: npt.DTypeLike = np.complex128) -> list[Slots]:
        """The slots of each."""
        return [self.decrypt(c, dtype) for c in as_list("decrypt_many", ciphertexts, "give a list of ciphertexts")]

    def __repr__(self) -> str:
        return describe("Decryptor", *self.parameters._ring, "secret key hidden")


def _as_asked(who: str, slots: ComplexArray, dtype: npt.DTypeLike) -> Slots:
    """Complex slots, or their real parts."""
    asked = one_of(who, dtype, (np.complex128, np.float64), "complex128 and float64 (the real parts)")
    return slots if asked == np.complex128 else np.ascontiguousarray(slots.real)
