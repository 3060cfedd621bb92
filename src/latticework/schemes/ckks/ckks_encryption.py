"""Encoders, encryptors and decryptors of vectors of complex numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.errors import UserError
from latticework.schemes.ckks.ckks_checks import ComplexArray, check_encodable, check_modulus, check_scale, slot_values
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext, Plaintext
from latticework.schemes.ckks.ckks_evaluator import Evaluator
from latticework.schemes.ckks.ckks_keys import PublicKey, SecretKey
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.rlwe import encryption
from latticework.schemes.rlwe.checks import as_list, fail, locate, one_of
from latticework.schemes.rlwe.parameters import check_parameters
from latticework.values.extension import _core

Slots = npt.NDArray[np.complex128] | npt.NDArray[np.float64]


class Encoder(encryption.Encoder[Parameters]):
    """Vectors to plaintexts and back."""

    _kinds = (Parameters, Plaintext, _core.Encoder)

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
        self._check_own(plaintext)
        context = self.parameters.context
        anybody = _core.KeyGenerator(context).secret_key()  # a trivial encryption opens under every key
        trivial = _core.Evaluator(context).trivial(plaintext._at(self.parameters._place).core)
        return _as_asked("decode", np.asarray(_core.Decryptor(context, anybody).decrypt(trivial)), dtype)


class Encryptor(encryption.Encryptor[Parameters, PublicKey, SecretKey, Evaluator, Ciphertext]):
    """Encrypts under a public key, or with less noise and half the bytes under the secret key.

    evaluator      whose keys the operators of the ciphertexts use; without one they can do all that needs no key
    insecure_seed  INSECURE, for tests: as of `KeyGenerator`
    """

    _kinds = (Parameters, PublicKey, SecretKey, Encoder, Ciphertext)

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
        return self._encrypt(plaintext._at(self.parameters._place).core)

    def encrypt_many(
        self, vectors: Sequence[npt.ArrayLike | Plaintext], level: int | None = None, scale: float | None = None
    ) -> list[Ciphertext]:
        """A ciphertext for each vector (or each row of a matrix)."""
        return self._encrypt_many(vectors, level, scale)


class Decryptor(encryption.Decryptor[Parameters, SecretKey, Ciphertext]):
    """Decrypts, for the owner of the secret key alone.

    What `decrypt` returns carries noise from which the key can be computed (Li and Micciancio, Eurocrypt 2021): keep it
    to yourself, round what you pass on, and never let others see how you react to ciphertexts of theirs.
    """

    _kinds = (Parameters, SecretKey, Ciphertext, _core.Decryptor)

    @locate
    def decrypt(self, ciphertext: Ciphertext, dtype: npt.DTypeLike = np.complex128) -> Slots:
        """The slots, complex128 of shape (slots,), or their real parts with dtype=float; of degree 1 or 2, any level.

        raises  ParameterMismatchError for a ciphertext of other parameters or another key
        """
        return _as_asked("decrypt", np.asarray(self._core.decrypt(self._own("decrypt", ciphertext))), dtype)

    def decrypt_many(self, ciphertexts: Sequence[Ciphertext], dtype: npt.DTypeLike = np.complex128) -> list[Slots]:
        """The slots of each."""
        return [self.decrypt(c, dtype) for c in as_list("decrypt_many", ciphertexts, "give a list of ciphertexts")]


def _as_asked(who: str, slots: ComplexArray, dtype: npt.DTypeLike) -> Slots:
    """Complex slots, or their real parts."""
    asked = one_of(who, dtype, (np.complex128, np.float64), "complex128 and float64 (the real parts)")
    return slots if asked == np.complex128 else np.ascontiguousarray(slots.real)
