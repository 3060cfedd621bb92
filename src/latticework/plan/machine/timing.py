"""Shortest times of many runs."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

REPEATS = 15
DIGITS = 4
SHORTEST = 2e-4  # seconds that one timed stretch takes at least


def round_seconds(seconds: float) -> float:
    """Round a time to as many digits as it is worth."""
    return float(f"{seconds:.{DIGITS}g}")


def clock_of(threads: int) -> Callable[[], float]:
    """The clock for work on so many threads: of one, the caller's, other work does not count."""
    return time.thread_time if threads == 1 else time.perf_counter


def best_of(
    function: Callable[[], Any], repeats: int = REPEATS, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Shortest time of a call, in seconds."""
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def best_of_loop(
    run: Callable[[int], Any], repeats: int = REPEATS, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Shortest time of one turn of `run(turns)`, with as many turns as the clock needs."""
    start = clock()
    run(1)
    run(1)
    first = (clock() - start) / 2
    turns = max(1, int(SHORTEST / max(first, 1e-9)))
    return best_of(lambda: run(turns), repeats, clock) / turns


def keep_memory() -> None:
    """Let the C library keep what is freed: fresh pages would cost more than some kernels, at random."""
    mmap_threshold, trim_threshold = -3, -1
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(mmap_threshold, 32 << 20)
        library.mallopt(trim_threshold, 1 << 30)
