"""Encoding and decoding of the values of a scheme, and the checks of which it takes: one class a scheme."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.modulus_chain import SLOT_ROWS
from latticework.plan.schema.schema import Output, SecretInput
from latticework.runtime.exchange.decrypted import OwnerValue
from latticework.runtime.exchange.input_errors import OUTSIDE, REMEDY, Misfits, not_finite, not_whole, replace_misfits
from latticework.values.chinese_remainders import from_residues, to_residues
from latticework.values.extension import _core
from latticework.values.packing.slot_arrays import as_value

MAGNITUDE_MARGIN = 2.0  # results larger than this times calibration's have no error bound, unless one is proved
SMALL = 2.0**63  # magnitudes below are held by int64
Slots = npt.NDArray[Any]


class Coding(Protocol):
    """The interface of a scheme to a client.

    may_refuse  whether a decryption can be refused for what the secret key makes of a ciphertext
    parts       what encodes and decodes: several where a number is residues modulo several primes, each in ciphertexts
                of its own
    """

    may_refuse: bool
    parts: tuple[SlotCoding, ...]

    def check_dtype(self, where: str, array: npt.NDArray[Any]) -> None:
        """DtypeError for an array that can hold no values of an input."""

    def fitting(
        self, spec: SecretInput, array: npt.NDArray[Any], has_rows: bool
    ) -> tuple[npt.NDArray[np.float64], list[Misfits]]:
        """The values of an input as float64 that are taken, and what was replaced for that.

        has_rows  whether the first axis is of rows or of runs
        """

    def split(self, values: npt.NDArray[Any]) -> Iterable[npt.NDArray[Any]]:
        """The share of values that each part encodes, one after the other."""

    def join(self, output: Output, values: Sequence[OwnerValue]) -> OwnerValue:
        """An output from what each part decoded."""


class SlotCoding(Protocol):
    """Slot vectors to plaintexts, and ciphertexts to numbers."""

    context: _core.Context

    def encode(self, vectors: Slots, spec: SecretInput) -> _core.Plaintext:
        """A slot vector of an input (1, slots), or one for each row of slots, to be encrypted."""

    def decryptor(self, secret: _core.SecretKey) -> PlanDecryptor:
        """Make a decryptor under a key."""

    def value(self, output: Output, vectors: Slots, rows: int | None = None) -> OwnerValue:
        """An output from its slot vectors (count, slots), or so many rows of it that were computed together."""


class PlanDecryptor(Protocol):
    """Decrypts under one key."""

    def decrypt(self, ciphertext: _core.Ciphertext) -> Slots:
        """The slots of a ciphertext."""


def coding_of(chain: ModulusChain, contexts: Sequence[_core.Context], slot_rows: int = 1) -> Coding:
    """The coding of a chain's scheme, with a context for each plaintext modulus; slot_rows as of `ClientSpec`."""
    if chain.scheme != "bfv":
        return CkksCoding(contexts[0])
    pairs = zip(chain.plain_moduli, contexts, strict=True)
    parts = [BfvCoding(chain.slots, t, context, slot_rows) for t, context in pairs]
    return WideCoding(parts) if chain.has_wide_integers else parts[0]


class Whole:
    """A coding of numbers as they are, its own only part."""

    parts: tuple[Any, ...]

    def split(self, values: npt.NDArray[Any]) -> Iterable[npt.NDArray[Any]]:
        """The values."""
        return (values,)

    def join(self, output: Output, values: Sequence[OwnerValue]) -> OwnerValue:
        """The value."""
        return values[0]


class CkksCoding(Whole):
    """Real numbers at a scale. Every ciphertext has some: one that is wrong is marked, and none refused."""

    may_refuse = False

    def __init__(self, context: _core.Context) -> None:
        self.context, self.parts = context, (self,)
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

    def encode(self, vectors: Slots, spec: SecretInput) -> _core.Plaintext:
        """Encode at the input's level and scale."""
        return self._encoder.encode(vectors[0], (0, spec.level), spec.scale)

    def decryptor(self, secret: _core.SecretKey) -> PlanDecryptor:
        """The core's own."""
        return _core.Decryptor(self.context, secret)

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


class BfvCoding(Whole):
    """Integers modulo t, in two rows that are alike; read as the representatives nearest to zero."""

    may_refuse = True

    def __init__(self, row: int, modulus: int, context: _core.Context, slot_rows: int) -> None:
        self.context, self.parts = context, (self,)
        self._row, self.modulus, self._slot_rows = row, modulus, slot_rows
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
                    f"this program computes exactly on integers modulo {self.modulus}: round the values, or scale "
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

    def encode(self, vectors: Slots, spec: SecretInput) -> _core.Plaintext:
        """One in both rows of slots, or one in each; repeated there."""
        residues = np.mod(np.rint(vectors).astype(np.int64), self.modulus).astype(np.uint64)
        rows = np.broadcast_to(np.tile(residues, self._row // residues.shape[1]), (SLOT_ROWS, self._row))
        message = self._encoder.encode(np.ascontiguousarray(rows).reshape(-1))
        return self._encoder.addend(message, (0, spec.level), spec.pack.slots)

    def decryptor(self, secret: _core.SecretKey) -> PlanDecryptor:
        """Gives centred integers."""
        return _BfvDecryptor(self.context, secret, self._encoder, self.modulus, self._slot_rows)

    def value(self, output: Output, vectors: Slots, rows: int | None = None) -> OwnerValue:
        """Exact: int64; modulo t, and marked, where it may be larger."""
        if self._slot_rows > 1:
            vectors = np.moveaxis(vectors, 1, 0) if rows is not None else vectors[:, 0]
        value = output.unpack_values(as_value(vectors), rows).astype(np.int64)
        return OwnerValue(value, 0.0, conditions=output.conditions, wrapping=output.mask_wrapping(value.shape))


class WideCoding:
    """Integers of many bits, by their residues modulo several primes; of Python's own where int64 may not hold them."""

    may_refuse = True

    def __init__(self, parts: Sequence[BfvCoding]) -> None:
        self.parts: tuple[SlotCoding, ...] = tuple(parts)
        self._moduli = [part.modulus for part in parts]

    def check_dtype(self, where: str, array: npt.NDArray[Any]) -> None:
        """Integers: what users gave was looked at by argument."""

    def fitting(
        self, spec: SecretInput, array: npt.NDArray[Any], has_rows: bool
    ) -> tuple[npt.NDArray[Any], list[Misfits]]:
        """Integers as they are: ranges are of arguments."""
        return array, []

    def split(self, values: npt.NDArray[Any]) -> Iterable[npt.NDArray[Any]]:
        """Residues."""
        return (to_residues(values, modulus) for modulus in self._moduli)

    def join(self, output: Output, values: Sequence[OwnerValue]) -> OwnerValue:
        """The integers with these residues: int64 where no result of the output is larger."""
        residues = [value.reveal() for value in values]
        return OwnerValue(from_residues(residues, self._moduli, is_small=output.magnitude < SMALL), 0.0)


class _BfvDecryptor:
    def __init__(
        self, context: _core.Context, secret: _core.SecretKey, encoder: _core.BfvEncoder, modulus: int, slot_rows: int
    ) -> None:
        self._core, self._encoder, self._modulus = _core.BfvDecryptor(context, secret), encoder, modulus
        self._slot_rows = slot_rows

    def decrypt(self, ciphertext: _core.Ciphertext) -> Slots:
        """The first row's period, int64, or that of each row; DecryptionError where the noise is too large."""
        rows = np.reshape(self._encoder.decode(self._core.decrypt(ciphertext)), (SLOT_ROWS, -1))
        residues = rows[:, : ciphertext.slots].astype(np.int64)
        centred = np.where(residues > self._modulus // 2, residues - self._modulus, residues)
        return centred if self._slot_rows > 1 else centred[0]
