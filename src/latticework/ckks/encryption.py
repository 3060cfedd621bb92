"""From vectors to plaintexts and ciphertexts, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework import _core
from latticework.ckks.checks import ComplexArray, check_encodable, checked_scale, fail, slot_values
from latticework.ckks.ciphertext import Ciphertext, Plaintext
from latticework.ckks.evaluator import Evaluator
from latticework.ckks.keys import PublicKey, SecretKey
from latticework.ckks.parameters import Parameters, check_parameters, need_parameters
from latticework.errors import ParameterMismatchError, UserError


class Encoder:
    """Vectors to plaintexts and back."""

    def __init__(self, parameters: Parameters) -> None:
        need_parameters("Encoder", parameters)
        self.parameters = parameters
        self._core = _core.Encoder(parameters.context)

    def encode(self, values: npt.ArrayLike, level: int | None = None, scale: float | None = None) -> Plaintext:
        """A vector, real or complex, of any power of two of slots up to N/2; a number is the same in every slot.

        level  the highest if not given
        scale  the factor itself, 2.0**40 and not 40; the canonical one of the level if not given
        raises RangeError for values that are not finite, or too large for the scale
        """
        level = self.parameters.check_level("encode", self.parameters.levels if level is None else level)
        scale = checked_scale("encode", self.parameters.scales[level] if scale is None else scale)
        slots = slot_values("encode", values, self.parameters.slots)
        check_encodable("encode", slots, scale)
        return Plaintext(self._core.encode(slots, (0, level), scale), self.parameters)

    def decode(self, plaintext: Plaintext) -> ComplexArray:
        """The vector that a plaintext holds, rounded as it was encoded; shape (slots,)."""
        context = self.parameters.context
        anybody = _core.KeyGenerator(context).secret_key()  # a trivial encryption opens under every key
        trivial = _core.Evaluator(context).trivial(plaintext.core)
        return np.asarray(_core.Decryptor(context, anybody).decrypt(trivial))


class Encryptor:
    """Encrypts under a public key, or with less noise and half the bytes under the secret key.

    evaluator  whose keys the operators of the ciphertexts use; without one they can do all that needs no key
    """

    def __init__(
        self, parameters: Parameters, key: PublicKey | SecretKey, *, evaluator: Evaluator | None = None
    ) -> None:
        if not isinstance(key, PublicKey | SecretKey):
            fail(UserError, f"Encryptor: takes a PublicKey or a SecretKey, got {type(key).__name__}")
        check_parameters("Encryptor: the key", key.parameters, parameters)
        self.parameters = parameters
        self.evaluator = Evaluator(parameters) if evaluator is None else evaluator
        self._encoder = Encoder(parameters)
        self._core = _core.Encryptor(parameters.context, key.core)

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
            plaintext = self._encoder.encode(values, level, scale)
        return Ciphertext(self._core.encrypt(plaintext.core), self.parameters, self.evaluator)

    def encrypt_many(
        self, vectors: Sequence[npt.ArrayLike], level: int | None = None, scale: float | None = None
    ) -> list[Ciphertext]:
        """A ciphertext for each vector (or each row of a matrix)."""
        return [self.encrypt(v, level, scale) for v in vectors]


class Decryptor:
    """Decrypts, for the owner of the secret key alone.

    What `decrypt` returns carries noise from which the key can be computed (Li and Micciancio, Eurocrypt 2021): keep it
    to yourself, round what you pass on, and never let others see how you react to ciphertexts of theirs.
    """

    def __init__(self, parameters: Parameters, secret_key: SecretKey) -> None:
        if not isinstance(secret_key, SecretKey):
            fail(UserError, f"Decryptor: takes a SecretKey, got {type(secret_key).__name__}")
        check_parameters("Decryptor: the key", secret_key.parameters, parameters)
        self.parameters = parameters
        self._key_set = secret_key.key_set
        self._core = _core.Decryptor(parameters.context, secret_key.core)

    def decrypt(self, ciphertext: Ciphertext) -> ComplexArray:
        """The slots, complex128 of shape (slots,); of degree 1 or 2, at any level and scale.

        raises  ParameterMismatchError for a ciphertext of other parameters or another key
        """
        if not isinstance(ciphertext, Ciphertext):
            fail(
                UserError,
                f"decrypt: takes a ckks.Ciphertext, got {type(ciphertext).__name__}; decrypt_many takes lists",
            )
        check_parameters("decrypt: the ciphertext", ciphertext.parameters, self.parameters)
        if any(ciphertext.core.key_set) and ciphertext.core.key_set != self._key_set:
            fail(
                ParameterMismatchError,
                f"decrypt: the ciphertext is of key set {ciphertext.core.key_set[:8].hex()}, the secret key of "
                f"{self._key_set[:8].hex()}: use the key that it was encrypted for",
            )
        return np.asarray(self._core.decrypt(ciphertext.core))

    def decrypt_many(self, ciphertexts: Sequence[Ciphertext]) -> list[ComplexArray]:
        """The slots of each."""
        return [self.decrypt(c) for c in ciphertexts]
