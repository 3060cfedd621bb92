"""Encoding and decoding of the values of a scheme, and the checks of which it takes: one class a scheme."""

from __future__ import annotations

from math import inf
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.schema import Output, SecretInput
from latticework.runtime.exchange.decrypted import OwnerValue
from latticework.runtime.exchange.input_errors import OUTSIDE, REMEDY, Misfits, not_finite, not_whole, replace_misfits
from latticework.values.extension import _core
from latticework.values.packing.slot_arrays import as_value

MAGNITUDE_MARGIN = 2.0  # results larger than this times calibration's have no error bound, unless one is proved
Slots = npt.NDArray[Any]


class Coding(Protocol):
    """The interface of a scheme to a client.

    may_refuse  whether a decryption can be refused for what the secret key makes of a ciphertext
    """

    may_refuse: bool

    def check_dtype(self, where: str, array: npt.NDArray[Any]) -> None:
        """DtypeError for an array that can hold no values of an input."""

    def fitting(
        self, spec: SecretInput, array: npt.NDArray[Any], has_rows: bool
    ) -> tuple[npt.NDArray[np.float64], list[Misfits]]:
        """The values of an input as float64 that are taken, and what was replaced for that.

        has_rows  whether the first axis is of rows or of runs
        """

    def encode(self, vector: Slots, spec: SecretInput) -> _core.Plaintext:
        """A slot vector of an input, to be encrypted."""

    def decryptor(self, secret: _core.SecretKey) -> PlanDecryptor:
        """Make a decryptor under a key."""

    def value(self, output: Output, vectors: Slots, rows: int | None = None) -> OwnerValue:
        """An output from its slot vectors (count, slots), or so many rows of it that were computed together."""


class PlanDecryptor(Protocol):
    """Decrypts under one key."""

    def decrypt(self, ciphertext: _core.Ciphertext) -> Slots:
        """The slots of a ciphertext."""


def coding_of(chain: ModulusChain, context: _core.Context) -> Coding:
    """The coding of a chain's scheme."""
    return BfvCoding(chain, context) if chain.scheme == "bfv" else CkksCoding(context)


class CkksCoding:
    """Real numbers at a scale. Every ciphertext has some: one that is wrong is marked, and none refused."""

    may_refuse = False

    def __init__(self, context: _core.Context) -> None:
        self._context = context
        self._encoder = _core.Encoder(context)

    def check_dtype(self, where: str, array: npt.NDArray[Any]) -> None:
        """Real numbers."""
        if array.dtype.kind not in "fiub":
            raise DtypeError(f"{where} has dtype {array.dtype}; give real numbers (float or integer)")

    def fitting(
        self, spec: SecretInput, array: npt.NDArray[Any], has_rows: bool
    ) -> tuple[npt.NDArray[np.float64], list[Misfits]]:
        """Finite real numbers in the calibrated range."""
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
        found = []
        finite = np.isfinite(array)
        if not finite.all():
            found.append(not_finite(~finite, spec.name, spec.shape, has_rows))
        off = finite & ((array < spec.low) | (array > spec.high))
        if off.any():
            found.append(
                Misfits(
                    spec.name, off, spec.shape, has_rows, OUTSIDE,
                    "the program's approximations are wrong outside: scale the input, leave it out, or compile with "
                    f"calibrate= data that cover it; {REMEDY}",
                    ", as calibrated", spec.low, spec.high,
                )
            )  # fmt: skip
        return replace_misfits(array, found, spec.low) if found else array, found

    def encode(self, vector: Slots, spec: SecretInput) -> _core.Plaintext:
        """Encode at the input's level and scale."""
        return self._encoder.encode(vector, (0, spec.level), spec.scale)

    def decryptor(self, secret: _core.SecretKey) -> PlanDecryptor:
        """The core's own."""
        return _core.Decryptor(self._context, secret)

    def value(self, output: Output, vectors: Slots, rows: int | None = None) -> OwnerValue:
        """Decode with the error bound of the noise model, where the value is no larger than those it was made for.

        A row that is too large may wrap around in the coefficients, which all rows of a run share: then none is known.
        """
        value = output.unpack_values(as_value(np.real(vectors)), rows)
        if output.reach is None:
            is_known = is_usual(value, output, output.error_bound)
        else:
            is_known = _is_within(value, output.reach + output.error_bound)
        bound = output.error_bound if is_known else inf
        return OwnerValue(value, bound, usual_error=output.usual_error, conditions=output.all_conditions)


def is_usual(value: npt.NDArray[Any], output: Output, error: float) -> bool:
    """Whether a result that may be off by so much is not much larger than calibration's."""
    return _is_within(value, MAGNITUDE_MARGIN * output.magnitude + error)


def _is_within(value: npt.NDArray[Any], most: float) -> bool:
    return float(np.max(np.abs(value), initial=0.0)) <= most


class BfvCoding:
    """Integers modulo t, in two rows that are alike; read as the representatives nearest to zero."""

    may_refuse = True

    def __init__(self, chain: ModulusChain, context: _core.Context) -> None:
        self._context, self._row, self._modulus = context, chain.slots, chain.plain_modulus
        self._encoder = _core.BfvEncoder(context)

    def check_dtype(self, where: str, array: npt.NDArray[Any]) -> None:
        """Integers; floats and Python's own integers too, which may be whole."""
        if array.dtype.kind not in "fiub" and not all(type(v) is int for v in array.reshape(-1)):
            raise DtypeError(f"{where} has dtype {array.dtype}; give integers: this program computes exactly")

    def fitting(
        self, spec: SecretInput, array: npt.NDArray[Any], has_rows: bool
    ) -> tuple[npt.NDArray[np.float64], list[Misfits]]:
        """Integers in the declared range."""
        found = []
        if array.dtype.kind == "f":
            fractions = array != np.rint(array)  # NaN is not equal to itself
            if fractions.any():
                remedy = (
                    f"this program computes exactly on integers modulo {self._modulus}: round the values, or scale "
                    "them to integers"
                )
                found.append(not_whole(fractions, spec.name, spec.shape, has_rows, remedy))
                array = np.where(fractions, spec.low, array)
        off = np.asarray((array < spec.low) | (array > spec.high), dtype=bool)
        if off.any():
            remedy = "give values in this range, or compile with a larger one"
            then = ", which the program was compiled for"
            found.append(Misfits(spec.name, off, spec.shape, has_rows, OUTSIDE, remedy, then, spec.low, spec.high))
            array = np.where(off, np.where(array < spec.low, spec.low, spec.high), array)
        return array.astype(np.float64), found

    def encode(self, vector: Slots, spec: SecretInput) -> _core.Plaintext:
        """Repeated in both rows."""
        residues = np.mod(np.rint(vector).astype(np.int64), self._modulus).astype(np.uint64)
        message = self._encoder.encode(np.tile(residues, 2 * self._row // len(residues)))
        return self._encoder.addend(message, (0, spec.level), spec.pack.slots)

    def decryptor(self, secret: _core.SecretKey) -> PlanDecryptor:
        """Gives centred integers."""
        return _BfvDecryptor(self._context, secret, self._encoder, self._modulus)

    def value(self, output: Output, vectors: Slots, rows: int | None = None) -> OwnerValue:
        """Exact: int64; modulo t, and marked, where it may be larger."""
        value = output.unpack_values(as_value(vectors), rows).astype(np.int64)
        return OwnerValue(value, 0.0, conditions=output.conditions, wrapping=output.mask_wrapping(value.shape))


class _BfvDecryptor:
    def __init__(
        self, context: _core.Context, secret: _core.SecretKey, encoder: _core.BfvEncoder, modulus: int
    ) -> None:
        self._core, self._encoder, self._modulus = _core.BfvDecryptor(context, secret), encoder, modulus

    def decrypt(self, ciphertext: _core.Ciphertext) -> Slots:
        """The first row's period, int64; DecryptionError where the noise is too large."""
        residues = self._encoder.decode(self._core.decrypt(ciphertext))[: ciphertext.slots].astype(np.int64)
        return np.where(residues > self._modulus // 2, residues - self._modulus, residues)
