"""What the device does a second: copies, reads from its cache, multiply-adds; and what a launch and a replay take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from statistics import median

from bench.reports import Row
from bench.xehe.place import COUNTED, Place
from latticework import _core

CHAINS = 8  # operations of a thread in a round
REPEATS = 5
BLOCK = 1024
LAUNCHES, REPLAYS = 100, 20  # kernels of a graph, and how often it is replayed
COPIED, READ, PASSES, THREADS, ROUNDS = 1 << 26, 1 << 21, 64, 1 << 20, 1 << 11


@dataclass(frozen=True)
class Rates:
    """Bytes and operations a second; seconds of one launch of many, by the device's clock and by the host's."""

    copy: float
    read: float
    fma: float
    multiply_add: float
    launch: float
    host_launch: float
    replay: float

    @property
    def arithmetic(self) -> dict[str, float]:
        """Of the operation that products are made of."""
        return {"fp64": self.fma, "u64": self.multiply_add}


def ring_of(backend: str, log_degree: int = 10, limbs: int = 1) -> _core.Ring:
    """A ring of primes below 2^49, as those of parameters are."""
    near = _core.primes_near(2.0**49 * (1 - 2.0**-20), 2 << log_degree, 8 * limbs)
    return _core.Ring(1 << log_degree, [p for p in near if p < 1 << 49][:limbs], backend=backend)


@cache
def rates(place: Place) -> Rates | None:
    """Measured once for each place; None on a simulation, which only carries the kernels out."""
    ring = ring_of(place.backend)
    timed = place.is_timed

    def seconds(name: str, words: int, rounds: int = 1) -> float:
        if not timed:
            words, rounds = 4 * BLOCK, 2
        return median(_core.rate_seconds(ring, name, words, rounds) for _ in range(REPEATS if timed else 1))

    operations = CHAINS * THREADS * ROUNDS
    copy, read = 16 * COPIED / seconds("copy", COPIED), 8 * READ * PASSES / seconds("read", READ, PASSES)
    fma = operations / seconds("fma", THREADS, ROUNDS)
    multiply_add = operations / seconds("multiply_add", THREADS, ROUNDS)
    launches, replays = (LAUNCHES * REPLAYS, REPLAYS) if timed else (3, 2)
    start = time.perf_counter()
    launch = _core.rate_seconds(ring, "fma", BLOCK, 0, launches) / launches
    host = (time.perf_counter() - start) / launches
    graph = LAUNCHES if timed else 3
    replay = _core.rate_seconds(ring, "fma", BLOCK, 0, graph, replays) / (graph * replays)
    return Rates(copy, read, fma, multiply_add, launch, host, replay) if timed else None


def rows(place: Place) -> Iterator[Row]:
    """A row for each rate, without figures on a simulation."""
    found = rates(place)
    cases = (
        ("copy, read and written", "GB/s", 1e-9, "copy"),
        ("reads from L2", "GB/s", 1e-9, "read"),
        ("float64 multiply-adds", "10^9 a second", 1e-9, "fma"),
        ("32 x 32 + 64 multiply-adds", "10^9 a second", 1e-9, "multiply_add"),
        ("a launch, one of many", "us", 1e6, "launch"),
        ("a launch, one of many, by the host's clock", "us", 1e6, "host_launch"),
        (f"a launch in a graph of {LAUNCHES} that is replayed", "us", 1e6, "replay"),
    )
    for case, unit, factor, name in cases:
        is_time = unit == "us"
        yield Row(case, "time" if is_time else "rate", unit, None if found is None else factor * getattr(found, name),
                  better="lower" if is_time else "higher", note=COUNTED if found is None else None)  # fmt: skip
