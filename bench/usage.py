"""What a stretch of work took: wall time, processor time by user and system, page faults."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.rows import Row


@dataclass(frozen=True)
class Usage:
    """Of the whole process, all its threads together.

    faults  page faults that no reading caused; of 2 MiB each where the system gives large pages
    """

    seconds: float
    user_seconds: float
    system_seconds: float
    faults: int

    def __sub__(self, before: Usage) -> Usage:
        return Usage(
            self.seconds - before.seconds,
            self.user_seconds - before.user_seconds,
            self.system_seconds - before.system_seconds,
            self.faults - before.faults,
        )


def usage() -> Usage:
    """Since the process began, on a clock that began some time."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return Usage(time.perf_counter(), now.ru_utime, now.ru_stime, now.ru_minflt)


def rows(
    case: str,
    runs: Sequence[Usage],
    fresh_bytes: Sequence[int],
    predicted: tuple[float | None, float | None] = (None, None),
) -> list[Row]:
    """Rows of a first run, and of the median of the later ones.

    fresh_bytes  memory that each run got from the system beyond what was kept for it; later runs are to get none
    predicted    seconds on one thread, of the first run and of later ones
    """
    found = []
    stages = (("first run", slice(0, 1), None), ("later runs", slice(1, None), 0.0))
    for (name, part, most_fresh), expected in zip(stages, predicted, strict=True):
        taken = runs[part]
        if not taken:
            continue
        processor = median(u.user_seconds + u.system_seconds for u in taken)
        source = None if expected is None else "predicted, one thread"
        got = float(median(fresh_bytes[part]))
        found += [
            Row(case, f"{name}, processor time", "s", processor, expected, source),
            Row(case, f"{name}, system time", "s", median(u.system_seconds for u in taken)),
            Row(case, f"{name}, page faults", "", float(median(u.faults for u in taken))),
            Row(case, f"{name}, memory got", "bytes", got, target=most_fresh, checked=True),
        ]
    return found
