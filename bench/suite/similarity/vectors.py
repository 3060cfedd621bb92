"""The owner's part in the clear, and the model's data.

vectors.py check FILE N ARRAY.npy       check N vectors of 128 float32 of length 1; one of them is a query
vectors.py count RAW.npy N RESULT       round a decrypted count to a whole number
vectors.py calibrate N ARRAYS.npz       draw databases and queries as the suite does, to compile with
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

from latticework.errors import FormatError, PrecisionError, RangeError, ShapeError, UserError

DIMENSIONS = 128
MOST_OFF = 1e-4  # of a length from 1: float32 keeps seven digits
MOST_FRACTION = 0.25  # of a count from the whole number that it is taken for
VECTORS_OF_CENTER, NOISE = 32, 0.3
SEED, LARGEST_ELEMENT = 1, 0.6


def check(file: str, count: str, array: str) -> None:
    """Write vectors as an array (n, 128) of float32, or (128) of a single one.

    raises  FormatError for a truncated file, ShapeError for fewer or more vectors than are announced, RangeError for a
            vector whose length is not 1
    """
    data, row_bytes = Path(file).read_bytes(), 4 * DIMENSIONS
    if len(data) % row_bytes:
        raise FormatError(
            f"{file} has {len(data)} bytes, {len(data) % row_bytes} more than whole vectors of {row_bytes}; it is "
            "truncated or holds something else: write it again"
        )
    if len(data) != int(count) * row_bytes:
        raise ShapeError(
            f"{file} holds {len(data) // row_bytes} vectors, and {count} are announced; write {count} vectors of "
            f"{DIMENSIONS} float32, or give the size that it is of"
        )
    vectors = np.frombuffer(data, "<f4").reshape(-1, DIMENSIONS)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    (wrong,) = np.nonzero(~(np.abs(lengths - 1) <= MOST_OFF))
    if len(wrong):
        raise RangeError(
            f"{file}: vector {wrong[0] + 1} has the length {lengths[wrong[0]]:g} and not 1, as have {len(wrong) - 1} "
            "more; divide each by its length"
        )
    write_array(array, vectors if int(count) > 1 else vectors[0])


def count(raw: str, most: str, result: str) -> None:
    """Write the whole number that a decrypted count is nearest to, as a machine word.

    raises  ShapeError for more than one number; PrecisionError for one that is not near a whole number from 0 to n
    """
    found = np.load(raw)
    if found.shape != ():
        raise ShapeError(f"{raw} has the shape {found.shape}, and a count is one number; decrypt the result of a count")
    whole = np.rint(found)
    if not (np.isfinite(found) and abs(found - whole) <= MOST_FRACTION and 0 <= whole <= int(most)):
        raise PrecisionError(
            f"{raw} is {found:g}: no count of {most} vectors, which is within {MOST_FRACTION} of a whole number; a "
            "vector lies in the gap of the comparison, or its length is not 1: check the database and the query"
        )
    write_whole(result, np.array([whole]).astype(np.int_).tobytes())


def calibrate(count: str, arrays: str) -> None:
    """Write databases (samples, n, 128) and queries (samples, 128), with elements as large as rare vectors have."""
    rng = np.random.default_rng(SEED)
    databases, queries = [], []
    for query in (None, None, spike(1), spike(-1)):
        centers = unit_vectors(rng, max(1, int(count) // VECTORS_OF_CENTER))
        vectors = points(rng, centers, int(count))
        if query is None:  # one with similar vectors: the precision is relative to how many there are
            query = vectors[np.argmax((vectors @ centers.T).max(axis=1))]
        vectors[:2] = spike(1), spike(-1)
        databases.append(vectors)
        queries.append(query)
    memory = io.BytesIO()
    np.savez(memory, db=np.array(databases, np.float32), query=np.array(queries, np.float32))
    write_whole(arrays, memory.getbuffer())


def unit_vectors(rng: np.random.Generator, count: int) -> Any:
    """Random vectors of length 1."""
    found = rng.standard_normal((count, DIMENSIONS))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def points(rng: np.random.Generator, centers: Any, count: int) -> Any:
    """Vectors of the suite's specification: each is random, or with probability 1/2 near a random center."""
    found = unit_vectors(rng, count)
    near = rng.random(count) < 0.5
    found[near] = centers[rng.integers(len(centers), size=near.sum())] + NOISE * found[near]
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def spike(sign: int) -> Any:
    """A vector of length 1 whose first element is as large as any is to be, and the others alike."""
    rest = np.sqrt((1 - LARGEST_ELEMENT**2) / (DIMENSIONS - 1))
    return np.r_[sign * LARGEST_ELEMENT, np.where(np.arange(DIMENSIONS - 1) % 2, rest, -rest)]


def write_array(file: str, array: Any) -> None:
    """Write an array whole, or not at all."""
    memory = io.BytesIO()
    np.save(memory, array)
    write_whole(file, memory.getbuffer())


def write_whole(file: str, data: bytes | memoryview) -> None:
    """Write a file whole, or not at all: a process that is ended leaves what was there before."""
    begun = Path(f"{file}.begun")
    begun.write_bytes(data)
    begun.replace(file)


if __name__ == "__main__":
    try:
        {"check": check, "count": count, "calibrate": calibrate}[sys.argv[1]](*sys.argv[2:])
    except (UserError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
