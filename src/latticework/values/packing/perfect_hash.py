"""A hash by which some keys have places of their own: buckets of keys, each moved on until it fits the others.

Source: hash and displace (Pagh, WADS 1999; Belazzougui, Botelho and Dietzfelbinger, ESA 2009).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.number_hashes import IntArray, hash_numbers

BUCKET_KEYS = 3  # of a bucket, on average
MAX_SALTS = 64
TRIED = 64  # shifts at once, first; then twice as many each time
MAX_SHIFT = 1 << 20


@dataclass(frozen=True, slots=True)
class PerfectHash:
    """Places of keys, by the shift of each one's bucket; other keys have the place of some key, or a free one."""

    places: int
    salt: int
    shifts: IntArray

    def places_of(self, keys: Sequence[int] | IntArray) -> IntArray:
        """The place of each key."""
        buckets, starts, steps = _read(keys, self.places, len(self.shifts), self.salt)
        return (starts + self.shifts[buckets] * steps) % self.places


def find_perfect_hash(keys: Sequence[int] | IntArray, places: int) -> PerfectHash:
    """A perfect hash of different keys on at least as many places; quick where one in ten stays free.

    raises  ValueError where none is found
    """
    count = -(-len(keys) // BUCKET_KEYS)
    for salt in range(MAX_SALTS):
        shifts = _find_shifts(*_read(keys, places, count, salt), places, count)
        if shifts is not None:
            return PerfectHash(places, salt, shifts)
    raise ValueError(f"no perfect hash of {len(keys)} keys on {places} places")


def _read(keys: Sequence[int] | IntArray, places: int, count: int, salt: int) -> tuple[IntArray, IntArray, IntArray]:
    """The bucket of each key, where it starts, and its step, which is odd."""
    words = hash_numbers(keys, 3, salt.to_bytes(8, "little"))
    return words[:, 0] % count, words[:, 1] % places, (words[:, 2] % places) | 1


def _find_shifts(buckets: IntArray, starts: IntArray, steps: IntArray, places: int, count: int) -> IntArray | None:
    """A shift for each bucket, the fullest first; None where one finds none."""
    order = np.argsort(buckets, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(buckets, minlength=count))[:-1])
    taken, shifts = np.zeros(places, dtype=bool), np.zeros(count, dtype=np.int64)
    for bucket in sorted(range(count), key=lambda b: -len(members[b])):
        start, step = starts[members[bucket]], steps[members[bucket]]
        first, width = 0, TRIED
        while len(start):
            wanted = (start + np.arange(first, first + width)[:, None] * step) % places
            apart = np.sort(wanted, axis=1)
            fits = ~taken[wanted].any(axis=1) & (apart[:, 1:] != apart[:, :-1]).all(axis=1)
            if fits.any():
                found = int(np.argmax(fits))
                taken[wanted[found]] = True
                shifts[bucket] = first + found
                break
            first, width = first + width, 2 * width
            if first > min(MAX_SHIFT, 4 * places + TRIED):
                return None
    return shifts
