"""A program of each scheme on a device and on the host, from the same ciphertexts and keys: results are the same bytes.

python -m bench.gpu.equality cuda     at N = 2^12, for tools that watch a process
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.reports import Row
from bench.xehe.pairs import Pair
from bench.xehe.place import Place
from latticework import bfv, ckks

SMALL = 12  # log2 of a ring degree
RESULTS = 2  # of each program


def ckks_parameters(log_degree: int) -> ckks.Parameters:
    """Five levels in two digits; insecure in small rings."""
    sizes = [45, 40, 40, 40, 40, 40]
    return ckks.Parameters(1 << log_degree, sizes, scale_bits=40, num_special=3, num_digits=2, insecure=True)


def bfv_parameters(log_degree: int) -> bfv.Parameters:
    """Two products."""
    return bfv.Parameters.choose(depth=2, plain_bits=20, ring_degree=1 << log_degree, insecure=True)


def ckks_program(x: Any, y: Any) -> Any:
    """Products, public factors, and rotations."""
    return ((x * y + x).rotate(3) * 0.5 - y.rotate(1) * x).settle()


def bfv_program(x: Any, y: Any) -> Any:
    """The same of integers."""
    return ((x * y + 3).rotate(1) - y * y).rotate(3)


def equal(log_degree: int, place: Place) -> Iterator[Row]:
    """A row for each scheme, whose figure is how many of two results are those of the host to the bit."""
    random = np.random.default_rng(log_degree)
    for name, scheme, made, program in (
        ("ckks", ckks, ckks_parameters, ckks_program),
        ("bfv", bfv, bfv_parameters, bfv_program),
    ):
        pair = Pair.make(scheme, made(log_degree), place, relin=True, steps=[1, 3])
        values = [random.uniform(-1, 1, 64) if name == "ckks" else random.integers(0, 100, 64) for _ in range(2)]
        (x, at_home_x), (y, at_home_y) = (pair.encrypt(v) for v in values)
        results = [program(x, y).to_bytes() for _ in range(RESULTS)]
        same = results.count(program(at_home_x, at_home_y).to_bytes())
        yield Row(f"{name} program, N = 2^{log_degree}", "results of the host's bytes", "", same, target=RESULTS,
                  better="higher", checked=True)  # fmt: skip


def main(kind: str) -> int:
    """Both schemes in the small ring; the exit status."""
    found = list(equal(SMALL - 2 if kind == "sim" else SMALL, Place.of(kind)))
    for row in found:
        print(row.case, row.ours)
    return 0 if all(row.meets for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
