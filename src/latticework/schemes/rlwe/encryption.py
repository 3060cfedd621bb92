"""Bases of the encoders, encryptors and decryptors of the two schemes: whose parameters and keys they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from latticework.errors import ParameterMismatchError
from latticework.errors.shown import describe
from latticework.runtime.devices.device import Device
from latticework.schemes.rlwe.checks import fail, locate, needs
from latticework.schemes.rlwe.ciphertext import Ciphertext, Operators, Plaintext
from latticework.schemes.rlwe.device_clients import OnDevice, draw_seeds, place_client
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
    device         where it encrypts, to which it uploads its key and messages: for ciphertexts there; if not given,
                   or "cpu", it encrypts on the host, and no key leaves it
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
        device: str | Device | None = None,
        insecure_seed: int | bytes | None = None,
    ) -> None:
        kind, public, secret, encoder, ciphertext = self._kinds
        need_parameters("Encryptor", parameters, kind)
        needs("Encryptor: the key", key, (public, secret), "give keygen.public_key() or keygen.secret_key()")
        check_parameters("Encryptor: the key", key.parameters, parameters)
        self.parameters = parameters
        self.evaluator: Evaluation = ciphertext._owner("Encryptor", parameters, evaluator)
        self._encoder = encoder(parameters._at(None))
        self._is_public = isinstance(key, public)
        self._facts = ["public key" if self._is_public else "secret key"]
        self._facts += [] if insecure_seed is None else ["INSECURE seed"]
        place, seed = place_client("Encryptor", parameters, device), seed_bytes("Encryptor", insecure_seed)
        self._there: OnDevice[Params, _core.DeviceEncryptor] | None = None
        if place is None:
            self._core = _core.Encryptor(parameters.context, key.core, seed)
        else:
            seeds = draw_seeds(seed)
            self._there = OnDevice(parameters, place, lambda c: _core.DeviceEncryptor(c, key.core, next(seeds)))

    @property
    def _encrypts_at(self) -> Device | None:
        """The device that encrypts; None for the host."""
        return None if self._there is None else self._there.place

    def _encrypt(self, plaintexts: list[_core.Plaintext]) -> list[Cipher]:
        """Ciphertexts of plaintexts of one level, in the memory where they are encrypted."""
        if self._there is None:
            return self._own([self._core.encrypt(plaintext) for plaintext in plaintexts], self.parameters)
        there, core = self._there.get()
        return self._own(core.encrypt_plaintexts(plaintexts), there)

    def _own(self, encrypted: list[_core.Ciphertext], parameters: Params) -> list[Cipher]:
        return [self._kinds[4](core, parameters, self.evaluator) for core in encrypted]

    def __repr__(self) -> str:
        return describe("Encryptor", *self.parameters._ring, *self._facts)


class Decryptor(KnowsOtherNames, Generic[Params, Secret, Cipher]):
    """Decrypts, for the owner of the secret key alone."""

    _kinds: ClassVar[tuple[type[ChainParameters], type[Any], type[Any]]]
    _cores: ClassVar[tuple[Callable[..., Any], Callable[..., Any]]]  # decryptors of the host, and of a device
    _there: OnDevice[Params, Any] | None

    @locate
    def __init__(self, parameters: Params, secret_key: Secret, *, device: str | Device | None = None) -> None:
        kind, secret, _ = self._kinds
        need_parameters("Decryptor", parameters, kind)
        needs("Decryptor: the key", secret_key, secret, "give keygen.secret_key()")
        check_parameters("Decryptor: the key", secret_key.parameters, parameters)
        self.parameters = parameters
        self._key_set = secret_key.key_set
        place = place_client("Decryptor", parameters, device)
        core, there = self._cores
        self._there = None if place is None else OnDevice(parameters, place, lambda c: there(c, secret_key.core))
        self._core = core(parameters.context, secret_key.core)

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
        return ciphertext._at(self.parameters._place if self._there is None else self._there.place).core

    def __repr__(self) -> str:
        return describe("Decryptor", *self.parameters._ring, "secret key hidden")
