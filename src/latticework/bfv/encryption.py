"""From integers to plaintexts and ciphertexts, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework import _core
from latticework.bfv.checks import located, needs
from latticework.bfv.ciphertext import Ciphertext, Plaintext
from latticework.bfv.context import Context
from latticework.bfv.evaluator import Evaluator
from latticework.bfv.keys import PublicKey, SecretKey
from latticework.bfv.values import Integers, to_integers, to_residues
from latticework.errors import ShapeError


class Encoder:
    """Integer arrays to plaintexts and back (batching)."""

    @located
    def __init__(self, context: Context) -> None:
        self.context = context
        self._core = _core.BfvEncoder(context.core)

    @located
    def encode(self, values: npt.ArrayLike) -> Plaintext:
        """Integers of shape (2, n) with n <= N/2, or a vector that fills the rows, or one for all slots.

        Slots that are not given are 0. Unsigned values lie in [0, t), signed ones in [-(t-1)/2, (t-1)/2].
        raises  DtypeError, ShapeError, RangeError
        """
        p = self.context.parameters
        residues = to_residues("encode", values, p.row_slots, p.plain_modulus)
        return Plaintext(self.context, self._core.encode(residues), self._core)

    @located
    def decode(self, plaintext: Plaintext, dtype: npt.DTypeLike = np.int64) -> Integers:
        """All slots, shape (2, N/2): int64 nearest to zero, or uint64 in [0, t)."""
        needs("decode: the plaintext", plaintext, Plaintext, "give what Encoder.encode made")
        self.context.check("decode: the plaintext", plaintext.context)
        return to_integers(self._core.decode(plaintext.core), self.context.parameters.plain_modulus, dtype)


class Encryptor:
    """Encrypts under a public key; or, with less noise and half the bytes in files, under the secret key.

    evaluator  whose keys the operators of the ciphertexts use; without one they do what needs no keys
    """

    @located
    def __init__(self, context: Context, key: PublicKey | SecretKey, *, evaluator: Evaluator | None = None) -> None:
        needs("Encryptor: the context", context, Context, "give bfv.Context(parameters)")
        needs("Encryptor: the key", key, (PublicKey, SecretKey), "give keygen.public_key() or keygen.secret_key")
        context.check("Encryptor: the key", key.context)
        self.context = context
        self._evaluator = evaluator or Evaluator(context)
        self._encoder = Encoder(context)
        self._core = _core.Encryptor(context.core, key.core)

    @located
    def encrypt(self, values: Plaintext | npt.ArrayLike) -> Ciphertext:
        """A plaintext, or integers as `Encoder.encode` takes them, at the highest level."""
        plaintext = values if isinstance(values, Plaintext) else self._encoder.encode(values)
        self.context.check("encrypt: the plaintext", plaintext.context)
        fresh = self._core.encrypt(plaintext.addend(self.context.parameters.levels))
        return Ciphertext(self.context, fresh, self._evaluator)


class Decryptor:
    """Decrypts, for the owner of the secret key alone.

    A result is exact, or refused: when the noise has used up the budget but for 2 bits, `decrypt` raises
    DecryptionError. Never let others see whether a ciphertext of theirs decrypts, or its noise budget: both tell about
    the key.
    """

    @located
    def __init__(self, context: Context, secret_key: SecretKey) -> None:
        needs("Decryptor: the context", context, Context, "give bfv.Context(parameters)")
        needs("Decryptor: the key", secret_key, SecretKey, "give keygen.secret_key")
        context.check("Decryptor: the key", secret_key.context)
        self.context = context
        self._encoder = Encoder(context)
        self._core = _core.BfvDecryptor(context.core, secret_key.core)

    @located
    def decrypt(self, ciphertext: Ciphertext, dtype: npt.DTypeLike = np.int64) -> Integers:
        """All slots, shape (2, N/2): int64 nearest to zero, or uint64 in [0, t).

        raises  DecryptionError if the noise is too large; ParameterMismatchError for another key's ciphertext
        """
        needs("decrypt: the ciphertext", ciphertext, Ciphertext, "give one bfv.Ciphertext")
        self.context.check("decrypt: the ciphertext", ciphertext.context)
        message = self._core.decrypt(ciphertext.core)
        return self._encoder.decode(Plaintext(self.context, message, self._encoder._core), dtype)

    @located
    def noise_budget(self, ciphertext: Ciphertext) -> float:
        """Bits that the noise may still grow by; at 0 decryption fails, below 2 it is refused."""
        needs("noise_budget: the ciphertext", ciphertext, Ciphertext, "give one bfv.Ciphertext")
        self.context.check("noise_budget: the ciphertext", ciphertext.context)
        return self._core.noise_budget(ciphertext.core)


@located
def save_ciphertexts(path: Any, ciphertexts: dict[str, Ciphertext]) -> bytes | None:
    """Named ciphertexts of one key, as {"name": ciphertext}, to a file; to bytes if `path` is None."""
    needs("save_ciphertexts: what to save", ciphertexts, dict, 'give a dictionary, as in {"x": ciphertext}')
    if not ciphertexts:
        raise ShapeError("save_ciphertexts: the dictionary is empty; give at least one ciphertext")
    for name, ciphertext in ciphertexts.items():
        needs(f"save_ciphertexts: {name!r}", ciphertext, Ciphertext, "give a bfv.Ciphertext")
    values = [c.core for c in ciphertexts.values()]
    written: bytes | None = _core.save_ciphertexts(path, values, list(ciphertexts))
    return written


@located
def load_ciphertexts(source: Any, evaluator: Evaluator) -> dict[str, Ciphertext]:
    """What `save_ciphertexts` wrote; operators on it use the evaluator's keys.

    raises  ParameterMismatchError for a file of other parameters, FormatError for a damaged one
    """
    needs("load_ciphertexts: the evaluator", evaluator, Evaluator, "give bfv.Evaluator(context, keys)")
    values, names, _ = _core.load_ciphertexts(source, evaluator.context.core)
    return {name: Ciphertext(evaluator.context, v, evaluator) for name, v in zip(names, values, strict=True)}
