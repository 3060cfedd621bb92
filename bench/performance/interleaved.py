"""Times of cases beside a calibration loop: in each round the loop runs before and after every case.

A machine that others load, or another machine of the kind, makes both slower, so that their ratio says more than the
time. The loop is half Python's interpreter and half compiled code, as the cases are, and uses nothing of the package.
"""

from __future__ import annotations

import hashlib
import resource
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from statistics import median, quantiles
from typing import Any

Action = Callable[[], Any]
Clock = Callable[[], float]
SHORTEST = 0.03  # seconds of a case between two readings of the clock
STEPS, BLOCK = 60_000, bytes(6 << 20)


@dataclass
class Samples:
    """What was measured of one case.

    seconds  of processor time for one call, by round;  ratios  these over the time of the calibration loop
    """

    seconds: list[float]
    ratios: list[float]

    def summary(self) -> dict[str, float | int]:
        """Medians, and the distance of the quartiles of the ratio as a share of its median."""
        ratio = median(self.ratios)
        low, _, high = quantiles(self.ratios, n=4) if len(self.ratios) > 1 else (ratio, ratio, ratio)
        return {
            "seconds": float(f"{median(self.seconds):.4g}"),
            "ratio": float(f"{ratio:.5g}"),
            "spread": round((high - low) / ratio, 4),
            "rounds": len(self.ratios),
        }


def processor_seconds() -> float:
    """Seconds of all threads of this process, and of the processes that it started and waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def calibrate() -> bytes:
    """Run the calibration loop: some 20 ms, the same work for ever."""
    total, table = 1, {}
    for step in range(STEPS):
        total = (total * 1103515245 + step) & 0x7FFFFFFF
        table[total & 255] = step
    return hashlib.blake2b(BLOCK, key=total.to_bytes(8, "little")).digest()


def measure(
    cases: Iterable[tuple[str, Action]], rounds: int, into: Mapping[str, Samples], clock: Clock = processor_seconds
) -> dict[str, Samples]:
    """Samples of each case, added to those of `into`; one call before them is not counted.

    Cases come from a generator that may prepare each, so all rounds of one come before the next is asked for.
    """
    found = dict(into)
    for name, action in cases:
        samples = found.setdefault(name, Samples([], []))
        action()
        calls = max(1, ceil(SHORTEST / max(seconds_of(action, clock), 1e-9)))
        before = seconds_of(calibrate, clock)
        for _ in range(rounds):
            seconds = seconds_of(lambda: [action() for _ in range(calls)], clock) / calls  # noqa: B023
            after = seconds_of(calibrate, clock)
            samples.seconds.append(seconds)
            samples.ratios.append(seconds / ((before + after) / 2))
            before = after
    return found


def seconds_of(action: Action, clock: Clock) -> float:
    """What one call takes by the clock."""
    started = clock()
    action()
    return clock() - started
