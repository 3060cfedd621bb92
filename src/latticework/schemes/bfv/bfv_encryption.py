"""Encoders, encryptors and decryptors of integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.errors import DecryptionError
from latticework.runtime.devices.device import Device
from latticework.runtime.ledger.refused_results import check_allowed
from latticework.schemes.bfv.bfv_ciphertext import Ciphertext, Plaintext
from latticework.schemes.bfv.bfv_evaluator import Evaluator, encode_values
from latticework.schemes.bfv.bfv_keys import PublicKey, SecretKey
from latticework.schemes.bfv.bfv_parameters import Parameters
from latticework.schemes.bfv.slot_integers import Integers, integer_dtype, to_integers
from latticework.schemes.rlwe import encryption
from latticework.schemes.rlwe.checks import as_list, locate
from latticework.schemes.rlwe.encodings import Encoding
from latticework.schemes.rlwe.parameters import check_parameters
from latticework.values.extension import _core


class Encoder(encryption.Encoder[Parameters]):
    """Integer arrays to plaintexts and back (batching)."""

    _kinds = (Parameters, Plaintext, _core.BfvEncoder)

    @locate
    def encode(self, values: npt.ArrayLike, *, encoding: Encoding = "slots") -> Plaintext:
        """Integers of shape (2, n) with n <= N/2, or a vector that fills the rows, or one for all slots.

        Slots that are not given are 0. Unsigned values lie in [0, t), signed ones in [-(t-1)/2, (t-1)/2], of an even t
        in [-t/2, t/2).
        encoding  "coefficients": a vector of up to N, the coefficients of a polynomial modulo X^N + 1
        raises  DtypeError, ShapeError, RangeError
        """
        return self._encode("encode", values, encoding)

    def _encode(self, who: str, values: npt.ArrayLike, encoding: Encoding = "slots") -> Plaintext:
        return encode_values(who, values, self.parameters, self._core, encoding)

    @locate
    def decode(self, plaintext: Plaintext, dtype: npt.DTypeLike = np.int64) -> Integers:
        """All slots, shape (2, N/2), or coefficients, (N,): int64 nearest to zero, or uint64 in [0, t)."""
        self._check_own(plaintext)
        return self._integers("decode", plaintext.core, dtype, plaintext.encoding)

    def _integers(
        self, who: str, message: _core.BfvMessage, dtype: npt.DTypeLike, encoding: Encoding = "slots"
    ) -> Integers:
        slots = encoding == "slots"
        found = self._core.decode(message).reshape(2, -1) if slots else self._core.coefficients(message)
        return to_integers(who, found, self.parameters.plain_modulus, dtype)


class Encryptor(encryption.Encryptor[Parameters, PublicKey, SecretKey, Evaluator, Ciphertext]):
    """Encrypts under a public key, or with less noise and half the bytes under the secret key.

    evaluator      whose keys the operators of the ciphertexts use; without one they can do all that needs no key
    device         where it encrypts, to which it uploads its key and messages: for ciphertexts there; if not given,
                   or "cpu", it encrypts on the host, and no key leaves it
    insecure_seed  INSECURE, for tests: as of `KeyGenerator`
    """

    _kinds = (Parameters, PublicKey, SecretKey, Encoder, Ciphertext)

    @locate
    def encrypt(self, values: npt.ArrayLike | Plaintext, level: int | None = None) -> Ciphertext:
        """Encrypt integers, as `Encoder.encode` takes them, or a Plaintext; at the highest level if none is given."""
        return self._encrypt_all([values], level)[0]

    @locate
    def encrypt_many(self, vectors: Sequence[npt.ArrayLike | Plaintext], level: int | None = None) -> list[Ciphertext]:
        """A ciphertext for each; on a device all at once."""
        return self._encrypt_all(as_list("encrypt_many", vectors, "give a list of vectors, or a matrix of rows"), level)

    def _encrypt_all(self, vectors: Sequence[npt.ArrayLike | Plaintext], level: int | None) -> list[Ciphertext]:
        level = self.parameters.check_level("encrypt", self.parameters.levels if level is None else level)
        addends = []
        for values in vectors:
            plaintext = values if isinstance(values, Plaintext) else self._encoder._encode("encrypt", values)
            check_parameters("encrypt: the plaintext", plaintext.parameters, self.parameters)
            addends.append(plaintext._at(self._encrypts_at)._as_addend(level))
        return self._encrypt(addends)


class Decryptor(encryption.Decryptor[Parameters, SecretKey, Ciphertext]):
    """Decrypts, for the owner of the secret key alone.

    A result is exact, or refused: when the noise has used up the budget but for 2 bits, `decrypt` raises
    DecryptionError. Never let others see whether a ciphertext of theirs decrypts, or its noise budget: both tell about
    the key. Refusals are counted in the key's ledger, and end at a limit; looks at noise budgets are not.

    allow_refusals  ciphertexts of this key set that may be refused before it decrypts no more; 4 if not given
    device          where ciphertexts are taken to the secret, to which it uploads the key, before the host rounds them;
                    if not given, or "cpu", all is done on the host, and the key stays there
    """

    _kinds = (Parameters, SecretKey, Ciphertext)
    _cores = (_core.BfvDecryptor, lambda context, key: _core.BfvDecryptor(context, key, True))

    @locate
    def __init__(
        self,
        parameters: Parameters,
        secret_key: SecretKey,
        *,
        allow_refusals: int | None = None,
        device: str | Device | None = None,
    ) -> None:
        super().__init__(parameters, secret_key, device=device)
        check_allowed("Decryptor", allow_refusals)
        self._encoder = Encoder(parameters)
        self._ledger, self._allow_refusals = secret_key._ledger, allow_refusals

    @locate
    def decrypt(self, ciphertext: Ciphertext, dtype: npt.DTypeLike = np.int64) -> Integers:
        """All slots, shape (2, N/2), or coefficients, (N,): int64 nearest to zero, or uint64 in [0, t).

        Of degree 1 or 2, any level. Nothing is promised of a ciphertext that `is_unproved`.

        raises  DecryptionError if the noise is too large; SecurityError after as many of these as may be, OSError where
                they cannot be recorded; ParameterMismatchError for another key's ciphertext
        """
        return self._decrypt([ciphertext], dtype)[0]

    @locate
    def decrypt_many(self, ciphertexts: Sequence[Ciphertext], dtype: npt.DTypeLike = np.int64) -> list[Integers]:
        """The slots of each; if one is refused, or several, all are, which counts once and takes the time of all."""
        return self._decrypt(as_list("decrypt_many", ciphertexts, "give a list of ciphertexts"), dtype)

    def _decrypt(self, ciphertexts: Sequence[Ciphertext], dtype: npt.DTypeLike) -> list[Integers]:
        core = self._core if self._there is None else self._there.get()[1]
        cores = [self._own("decrypt", ciphertext) for ciphertext in ciphertexts]
        integer_dtype("decrypt", dtype)
        messages: list[_core.BfvMessage] = []
        refused: DecryptionError | None = None
        with self._ledger.decrypting("decrypt", self._allow_refusals):
            for x in cores:
                try:
                    messages.append(core.decrypt(x))
                except DecryptionError as error:
                    refused = error
            if refused is not None:
                raise refused
        encodings = [ciphertext.encoding for ciphertext in ciphertexts]
        found = zip(messages, encodings, strict=True)
        return [self._encoder._integers("decrypt", message, dtype, encoding) for message, encoding in found]

    @locate
    def noise_budget(self, ciphertext: Ciphertext) -> float:
        """Bits that the noise may still grow by; at 0 decryption fails, below 2 it is refused."""
        core = self._core if self._there is None else self._there.get()[1]
        return float(core.noise_budget(self._own("noise_budget", ciphertext)))
