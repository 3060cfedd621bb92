"""Bases of the encoders, encryptors and decryptors of the two schemes: whose parameters and keys they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy.typing as npt

from latticework.errors import ParameterMismatchError
from latticework.errors.shown import describe
from latticework.schemes.rlwe.checks import as_list, fail, locate, needs
from latticework.schemes.rlwe.ciphertext import Ciphertext, Operators, Plaintext
from latticework.schemes.rlwe.other_names import KnowsOtherNames
from latticework.schemes.rlwe.parameters import ChainParameters, Params, check_parameters, need_parameters
from latticework.schemes.rlwe.residues import seed_bytes
from latticework.schemes.rlwe.rlwe_keys import PublicKey, SecretKey
from latticework.values.extension import _core

Public = TypeVar("Public", bound=PublicKey[Any])
Secret = TypeVar("Secret", bound=SecretKey[Any])
Evaluation = TypeVar("Evaluation", bound=Operators)
Cipher = TypeVar("Cipher", bound=Ciphertext[Any])


class Encoder(Generic[Params]):
    """Vectors to plaintexts and back."""

    _kinds: ClassVar[
        tuple[type[ChainParameters], type[Plaintext[Any, Any]], type[Any]]
    ]  # the last is the core's encoder

    @locate
    def __init__(self, parameters: Params) -> None:
        need_parameters("Encoder", parameters, self._kinds[0])
        self.parameters = parameters
        self._core = self._kinds[2](parameters.context)

    def _check_own(self, plaintext: Any) -> None:
        """Check that a plaintext to be decoded is one of these parameters."""
        remedy = "give what Encoder.encode made; decrypt takes ciphertexts"
        needs("decode: the plaintext", plaintext, self._kinds[1], remedy)
        check_parameters("decode: the plaintext", plaintext.parameters, self.parameters)

    def __repr__(self) -> str:
        return describe("Encoder", *self.parameters._ring)


class Encryptor(Generic[Params, Public, Secret, Evaluation, Cipher]):
    """Encrypts under a public key, or with less noise and half the bytes under the secret key.

    evaluator      whose keys the operators of the ciphertexts use; without one they can do all that needs no key
    insecure_seed  INSECURE, for tests: as of `KeyGenerator`
    """

    _kinds: ClassVar[tuple[type[ChainParameters], type[Any], type[Any], type[Any], type[Any]]]

    @locate
    def __init__(
        self,
        parameters: Params,
        key: Public | Secret,
        *,
        evaluator: Evaluation | None = None,
        insecure_seed: int | bytes | None = None,
    ) -> None:
        kind, public, secret, encoder, ciphertext = self._kinds
        need_parameters("Encryptor", parameters, kind)
        needs("Encryptor: the key", key, (public, secret), "give keygen.public_key() or keygen.secret_key()")
        check_parameters("Encryptor: the key", key.parameters, parameters)
        self.parameters = parameters
        self.evaluator: Evaluation = ciphertext._owner("Encryptor", parameters, evaluator)
        self._encoder = encoder(parameters)
        self._core = _core.Encryptor(parameters.context, key.core, seed_bytes("Encryptor", insecure_seed))
        self._facts = ["public key" if isinstance(key, public) else "secret key"]
        self._facts += [] if insecure_seed is None else ["INSECURE seed"]

    def _encrypt(self, plaintext: _core.Plaintext) -> Cipher:
        encrypted: Cipher = self._kinds[4](self._core.encrypt(plaintext), self.parameters, self.evaluator)
        return encrypted

    def _encrypt_many(self, vectors: Sequence[npt.ArrayLike | Plaintext[Any, Any]], *options: Any) -> list[Cipher]:
        items = as_list("encrypt_many", vectors, "give a list of vectors, or a matrix of rows")
        return [self.encrypt(item, *options) for item in items]  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return describe("Encryptor", *self.parameters._ring, *self._facts)


class Decryptor(KnowsOtherNames, Generic[Params, Secret, Cipher]):
    """Decrypts, for the owner of the secret key alone."""

    _kinds: ClassVar[tuple[type[ChainParameters], type[Any], type[Any], type[Any]]]  # the last is the core's decryptor

    @locate
    def __init__(self, parameters: Params, secret_key: Secret) -> None:
        kind, secret, _, decryptor = self._kinds
        need_parameters("Decryptor", parameters, kind)
        needs("Decryptor: the key", secret_key, secret, "give keygen.secret_key()")
        check_parameters("Decryptor: the key", secret_key.parameters, parameters)
        self.parameters = parameters
        self._key_set = secret_key.key_set
        self._core = decryptor(parameters.context, secret_key.core)

    def _own(self, who: str, ciphertext: Cipher) -> _core.Ciphertext:
        """The core of a ciphertext of these parameters and this key, where the decryptor is."""
        remedy = f"give one {self.parameters.scheme}.Ciphertext; decrypt_many takes lists"
        needs(f"{who}: the ciphertext", ciphertext, self._kinds[2], remedy)
        check_parameters(f"{who}: the ciphertext", ciphertext.parameters, self.parameters)
        if any(ciphertext.key_set) and ciphertext.key_set != self._key_set:
            fail(
                ParameterMismatchError,
                f"{who}: the ciphertext is of key set {ciphertext.key_set[:8].hex()}, the secret key of "
                f"{self._key_set[:8].hex()}: use the key that it was encrypted for",
            )
        return ciphertext._at(self.parameters._place).core

    def __repr__(self) -> str:
        return describe("Decryptor", *self.parameters._ring, "secret key hidden")
