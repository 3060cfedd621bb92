"""Residues as arrays: their form, shape and range are checked before anything is made of them.

Row j of the NTT form of a polynomial c modulo q holds, at place k, c(psi^(2 r(k) + 1)) mod q, where r reverses the
log2 N bits of k and psi is the smallest primitive 2N-th root of unity modulo q. The coefficient form holds c itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError, SecurityError, ShapeError, UserError
from latticework.lazy_dataclass import dataclass
from latticework.schemes.rlwe.checks import fail, type_text
from latticework.schemes.rlwe.encodings import Encoding
from latticework.schemes.rlwe.parameters import ChainParameters
from latticework.values.extension import _core

Residues = npt.NDArray[np.uint64]
Form = Literal["coefficients", "ntt"]
KEY_SET_BYTES = 16


@dataclass(frozen=True)
class ValueLabel:
    """The facts of a ciphertext that residues do not tell. level None: the highest; scale None: that of the level."""

    key_set: bytes
    level: int | None
    scale: float | None
    slots: int
    encoding: Encoding


def is_ntt(who: str, form: Form) -> bool:
    """Whether a form is that of NTT values; UserError for one that there is not."""
    if not isinstance(form, str) or form not in ("coefficients", "ntt"):
        fail(UserError, f'{who}: form={form!r:.60}; choose "coefficients" or "ntt"')
    return form == "ntt"


def check_residues(who: str, given: Any, parts: Sequence[int], primes: Sequence[int], ring_degree: int) -> Residues:
    """Residues of shape (parts, limbs, N), each below the prime of its limb.

    parts   numbers of polynomials that are possible
    raises  DtypeError unless they are unsigned or signed whole numbers, ShapeError, RangeError
    """
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "ui":
        what = f"an array of dtype {given.dtype}" if isinstance(given, np.ndarray) else type_text(given)
        fail(DtypeError, f"{who}: the residues are {what}; give a NumPy array of uint64")
    wanted = len(primes), ring_degree
    if given.ndim != 3 or given.shape[0] not in parts or given.shape[1:] != wanted:
        possible = " or ".join(str((count, *wanted)) for count in parts)
        fail(ShapeError, f"{who}: residues of shape {given.shape}; {possible} (parts, limbs, N) is needed")
    bound = np.array(primes, dtype=np.uint64)[:, None]
    outside = (given < 0) | (given.astype(np.uint64) >= bound)
    if outside.any():
        part, limb, place = (int(i) for i in np.argwhere(outside)[0])
        fail(
            RangeError,
            f"{who}: {int(np.count_nonzero(outside))} residues are not in [0, prime); the first is "
            f"{given[part, limb, place]} at [{part}, {limb}, {place}], of prime {primes[limb]}: reduce them first",
        )
    return np.ascontiguousarray(given, dtype=np.uint64)


def check_key_set(who: str, key_set: Any) -> bytes:
    """The 16 bytes that name a secret key; RangeError for any others, and for zeros, which would fit every key."""
    if not isinstance(key_set, bytes) or len(key_set) != KEY_SET_BYTES or not any(key_set):
        fail(
            RangeError,
            f"{who}: key_set={key_set!r:.60}; give the key_set of the secret key that it is for, as secret_key.key_set",
        )
    return key_set


def require_insecure(who: str, parameters: ChainParameters, why: str) -> None:
    """SecurityError unless parameters are marked insecure."""
    if parameters.is_insecure:
        return
    fail(
        SecurityError,
        f"{who}: {why}, and these parameters promise {parameters.chain.security_bits}-bit security; for tests, use "
        "parameters.mark_insecure()",
    )


def seed_bytes(who: str, seed: Any) -> bytes | None:
    """32 bytes of a seed of tests: one for each user of it, so that no two draw the same; None for None."""
    if seed is None:
        return None
    if (
        isinstance(seed, bool)
        or not isinstance(seed, int | bytes)
        or (isinstance(seed, int) and not 0 <= seed < 1 << 64)
    ):
        fail(DtypeError, f"{who}: insecure_seed is {seed!r:.60}; give bytes, or a whole number from 0 to 2^64 - 1")
    given = b"number " + seed.to_bytes(8, "little") if isinstance(seed, int) else b"bytes " + seed
    return bytes(_core.blake3(f"latticework insecure seed of {who}: ".encode() + given))


def small_integers(who: str, residues: Residues, primes: Sequence[int]) -> npt.NDArray[np.int8]:
    """The coefficients that have these residues, (limbs, N), in coefficient form; RangeError unless they are small."""
    first = residues[0].astype(np.int64)
    centred = np.where(first > primes[0] // 2, first - primes[0], first)
    small = np.clip(centred, -128, 127)
    moduli = np.array(primes, dtype=np.int64)[:, None]
    if not (np.array_equal(small, centred) and np.array_equal(small % moduli, residues)):
        fail(RangeError, f"{who}: the residues are not those of one polynomial with coefficients from -128 to 127")
    found: npt.NDArray[np.int8] = small.astype(np.int8)
    return found
