"""Work on several devices at the same time: a thread for each, which stops when another fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

Check = Callable[[], None]  # to be called now and then: raises where the work is to stop


class _Stopped(Exception):
    """Another failed, or who waits for all was interrupted."""


def side_by_side(jobs: Sequence[Callable[[Check | None], None]]) -> None:
    """Does all jobs, each on a thread of its own; a single one on this thread, with nothing to check.

    raises  what one that failed raised, and what interrupts this thread, when all of them have ended
    """
    if len(jobs) == 1:
        jobs[0](None)
        return
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise _Stopped

    def run(job: Callable[[Check | None], None]) -> None:
        try:
            job(check)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(len(jobs)) as pool:
        started = [pool.submit(run, job) for job in jobs]
        try:
            wait(started)
        except BaseException:  # of a signal
            stop.set()
            raise
    failures = [error for job in started if (error := job.exception()) is not None]
    if failures:
        raise next(error for error in failures if not isinstance(error, _Stopped))
