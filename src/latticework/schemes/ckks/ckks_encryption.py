"""Encoders, encryptors and decryptors of vectors of complex numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import UserError
from latticework.plan.parameters.step_noise import public_encryption, symmetric_encryption
from latticework.schemes.ckks.ckks_checks import (
    ComplexArray,
    check_above_noise,
    check_encodable,
    check_modulus,
    check_rows,
    check_scale,
    equal_rows,
    slot_values,
)
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext, Plaintext
from latticework.schemes.ckks.ckks_evaluator import Evaluator
from latticework.schemes.ckks.ckks_keys import PublicKey, SecretKey
from latticework.schemes.ckks.ckks_parameters import DEVIATIONS, Parameters
from latticework.schemes.ckks.exact import encode_coefficients
from latticework.schemes.rlwe import encryption
from latticework.schemes.rlwe.checks import as_list, fail, locate, one_of
from latticework.schemes.rlwe.encodings import Encoding, check_slots, holds_coefficients
from latticework.schemes.rlwe.parameters import check_parameters
from latticework.values.extension import _core

Slots = npt.NDArray[np.complex128] | npt.NDArray[np.float64]


class Encoder(encryption.Encoder[Parameters]):
    """Vectors to plaintexts and back."""

    _kinds = (Parameters, Plaintext, _core.Encoder)

    @locate
    def encode(
        self,
        values: npt.ArrayLike,
        level: int | None = None,
        scale: float | None = None,
        *,
        encoding: Encoding = "slots",
    ) -> Plaintext:
        """A vector, real or complex, of any power of two of slots up to N/2; a number is the same in every slot.

        level  the highest if not given
        scale  the factor itself, 2.0**40 and not 40; the canonical one of the level if not given
        encoding  "coefficients": a real vector of up to N, the coefficients of a polynomial modulo X^N + 1
        raises RangeError for values that are not finite, or too large for the scale
        """
        p = self.parameters
        if holds_coefficients("encode", encoding):
            level, scale = self._level_and_scale("encode", level, scale)
            return encode_coefficients("encode", values, p, self._core, (level, scale))
        if p._place is None:
            return self._encode("encode", values, level, scale)
        level, scale = self._level_and_scale("encode", level, scale)
        [(_, row)] = equal_rows("encode", [values], p.slots)
        check_rows("encode", row, scale, p.chain.modulus(level) // 2, level)
        numbers = row.view(np.float64), row.dtype == np.float64
        return Plaintext(p._device_encoder.encode(*numbers, (0, level), scale)[0], p)

    def _encode(self, who: str, values: npt.ArrayLike, level: int | None, scale: float | None) -> Plaintext:
        p = self.parameters
        level, scale = self._level_and_scale(who, level, scale)
        slots = slot_values(who, values, p.slots)
        check_encodable(who, slots, scale)
        check_modulus(who, slots, scale, p.chain.modulus(level) // 2, level)
        return Plaintext(self._core.encode(slots, (0, level), scale), p)

    def _level_and_scale(self, who: str, level: int | None, scale: float | None) -> tuple[int, float]:
        p = self.parameters
        level = p.check_level(who, p.levels if level is None else level)
        return level, check_scale(who, p.scales[level] if scale is None else scale)

    @locate
    def decode(self, plaintext: Plaintext, dtype: npt.DTypeLike = np.complex128) -> Slots:
        """The vector that a plaintext holds, rounded as it was encoded; shape and dtype as of `decrypt`."""
        self._check_own(plaintext)
        context = self.parameters.context
        anybody = _core.KeyGenerator(context).secret_key()  # a trivial encryption opens under every key
        trivial = _core.Evaluator(context).trivial(plaintext._at(self.parameters._place).core)
        return _as_asked("decode", _read(_core.Decryptor(context, anybody), trivial), dtype)


class Encryptor(encryption.Encryptor[Parameters, PublicKey, SecretKey, Evaluator, Ciphertext]):
    """Encrypts under a public key, or with less noise and half the bytes under the secret key.

    evaluator      whose keys the operators of the ciphertexts use; without one they can do all that needs no key
    device         where it encodes and encrypts, to which it uploads its key and messages: for ciphertexts there; if
                   not given, or "cpu", it works on the host, and no key leaves it
    insecure_seed  INSECURE, for tests: as of `KeyGenerator`
    """

    _kinds = (Parameters, PublicKey, SecretKey, Encoder, Ciphertext)

    @locate
    def encrypt(
        self, values: npt.ArrayLike | Plaintext, level: int | None = None, scale: float | None = None
    ) -> Ciphertext:
        """Encrypt a vector or a Plaintext; level and scale as in `Encoder.encode`."""
        return self._encrypt_all([values], level, scale)[0]

    @locate
    def encrypt_many(
        self, vectors: Sequence[npt.ArrayLike | Plaintext], level: int | None = None, scale: float | None = None
    ) -> list[Ciphertext]:
        """A ciphertext for each vector (or each row of a matrix); on a device all at once."""
        if not isinstance(vectors, np.ndarray) or vectors.ndim != 2:
            vectors = as_list("encrypt_many", vectors, "give a list of vectors, or a matrix of rows")
        return self._encrypt_all(vectors, level, scale)

    def _encrypt_all(
        self, vectors: Sequence[npt.ArrayLike | Plaintext], level: int | None, scale: float | None
    ) -> list[Ciphertext]:
        if self._there is None:
            return [self._encrypt([self._plaintext(values, level, scale).core])[0] for values in vectors]
        if not any(isinstance(values, Plaintext) for values in vectors):
            return self._encrypt_rows(vectors, level, scale)
        found: dict[int, Ciphertext] = {}
        levels: dict[int, dict[int, _core.Plaintext]] = {}
        for i, values in enumerate(vectors):
            plaintext = self._plaintext(values, level, scale)
            levels.setdefault(plaintext.level, {})[i] = plaintext.core
        for plaintexts in levels.values():
            found |= dict(zip(plaintexts, self._encrypt(list(plaintexts.values())), strict=True))
        return [found[i] for i in range(len(vectors))]

    def _plaintext(self, values: npt.ArrayLike | Plaintext, level: int | None, scale: float | None) -> Plaintext:
        """Values encoded, or a plaintext, where it is encrypted."""
        if not isinstance(values, Plaintext):
            encoder: Encoder = self._encoder
            values = encoder._encode("encrypt", values, level, scale)
            self._check_noise(values)
            return values._at(self._encrypts_at)
        if level is not None or scale is not None:
            fail(UserError, "encrypt: a Plaintext has its level and scale; give them to encode, or give the values")
        check_parameters("encrypt: the plaintext", values.parameters, self.parameters)
        self._check_noise(values)
        return values._at(self._encrypts_at)

    def _check_noise(self, plaintext: Plaintext) -> None:
        """ScaleError where the noise of encryption is as large as the values, and as 1."""
        noise = self._largest_noise(plaintext.slots if plaintext.encoding == "slots" else 1)
        if noise >= plaintext.scale:
            largest = float(np.max(np.abs(self._encoder.decode(plaintext._at(None)))))
            check_above_noise("encrypt", largest, plaintext.scale, noise)

    def _largest_noise(self, slots: int) -> float:
        """The noise of a slot at scale 1 that hardly any exceeds."""
        chain = self.parameters.chain
        return DEVIATIONS * sqrt(slots) * (public_encryption(chain) if self._is_public else symmetric_encryption())

    def _encrypt_rows(self, vectors: Sequence[Any], level: int | None, scale: float | None) -> list[Ciphertext]:
        """Encode and encrypt vectors on the device, those of one length at once."""
        assert self._there is not None
        level, scale = self._encoder._level_and_scale("encrypt", level, scale)
        there, core = self._there.get()
        found: dict[int, Ciphertext] = {}
        modulus = there.chain.modulus(level) // 2
        for places, rows in equal_rows("encrypt", vectors, there.slots):
            check_rows("encrypt", rows, scale, modulus, level)
            check_above_noise("encrypt", float(np.max(np.abs(rows))), scale, self._largest_noise(rows.shape[1]))
            numbers = rows.view(np.float64), rows.dtype == np.float64
            made = core.encrypt(there._device_encoder, *numbers, (0, level), scale)
            found |= dict(zip(places, self._own(made, there), strict=True))
        return [found[i] for i in range(len(found))]


class Decryptor(encryption.Decryptor[Parameters, SecretKey, Ciphertext]):
    """Decrypts, for the owner of the secret key alone.

    What `decrypt` returns carries noise from which the key can be computed (Li and Micciancio, Eurocrypt 2021): keep it
    to yourself, rounded or not, and never let others see how you react to ciphertexts of theirs.

    device  where it decrypts and decodes, to which it uploads the secret key; if not given, or "cpu", it works on the
            host, and the key stays there
    """

    _kinds = (Parameters, SecretKey, Ciphertext)
    _cores = (_core.Decryptor, _core.DeviceDecryptor)

    @locate
    def decrypt(self, ciphertext: Ciphertext, dtype: npt.DTypeLike = np.complex128) -> Slots:
        """The slots, complex128 of shape (slots,), or their real parts with dtype=float; of degree 1 or 2, any level.

        Coefficients have shape (N,). Nothing is promised of the noise of a ciphertext that `is_unproved`.

        raises  ParameterMismatchError for a ciphertext of other parameters or another key
        """
        return self._decrypt_all([ciphertext], dtype)[0]

    @locate
    def decrypt_many(self, ciphertexts: Sequence[Ciphertext], dtype: npt.DTypeLike = np.complex128) -> list[Slots]:
        """The slots of each; on a device all at once."""
        return self._decrypt_all(as_list("decrypt_many", ciphertexts, "give a list of ciphertexts"), dtype)

    def _decrypt_all(self, ciphertexts: Sequence[Ciphertext], dtype: npt.DTypeLike) -> list[Slots]:
        if self._there is None:
            found = (_read(self._core, self._own("decrypt", ciphertext)) for ciphertext in ciphertexts)
            return [_as_asked("decrypt", values, dtype) for values in found]
        for ciphertext in ciphertexts:
            check_slots("decrypt on a device", ciphertext.encoding)
        is_real = _checked_dtype("decrypt", dtype) == np.float64
        alike: dict[tuple[int, int], dict[int, _core.Ciphertext]] = {}
        for i, ciphertext in enumerate(ciphertexts):
            core = self._own("decrypt", ciphertext)
            alike.setdefault((core.degree, core.slots), {})[i] = core
        there, decryptor = self._there.get()
        slots: dict[int, Slots] = {}
        for cores in alike.values():
            rows = decryptor.decrypt(there._device_encoder, list(cores.values()), is_real)
            slots |= zip(cores, rows if is_real else rows.view(np.complex128), strict=True)
        return [slots[i] for i in range(len(ciphertexts))]


def _read(decryptor: _core.Decryptor, x: _core.Ciphertext) -> ComplexArray:
    """The numbers that a ciphertext holds."""
    if x.encoding == "slots":
        return np.asarray(decryptor.decrypt(x))
    return (decryptor.coefficients(x) / x.scale).astype(np.complex128)


def _checked_dtype(who: str, dtype: npt.DTypeLike) -> npt.DTypeLike:
    """complex128 or float64; DtypeError for another one."""
    return one_of(who, dtype, (np.complex128, np.float64), "complex128 and float64 (the real parts)")


def _as_asked(who: str, slots: ComplexArray, dtype: npt.DTypeLike) -> Slots:
    """Complex slots, or their real parts."""
    return slots if _checked_dtype(who, dtype) == np.complex128 else np.ascontiguousarray(slots.real)
