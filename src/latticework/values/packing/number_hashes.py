"""Hashes of whole numbers, for tables that two sides lay out alike: words of BLAKE2b, as good as drawn at random."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
WORD_BYTES = 8


def hash_numbers(numbers: Iterable[int], words: int, key: bytes = b"") -> IntArray:
    """Hash each number, of at most 63 bits, to so many words of 63 bits, by a key: (numbers, words)."""
    digests = [
        blake2b(int(n).to_bytes(WORD_BYTES, "little"), digest_size=WORD_BYTES * words, key=key).digest()
        for n in numbers
    ]
    held = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, words)
    return (held >> np.uint64(1)).astype(np.int64)
