"""Work on several items at the same time, on as many threads as there are cores, two at most.

NumPy and the core compute without Python's lock, so that runs of a program on samples share the cores. One thread works
on an item, as if it were alone: results have the same bits as one after the other.
Memory: what two items take, and the results of two that wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from itertools import chain, islice
from typing import TypeVar

from latticework.values.blas_threads import has_one_blas_thread
from latticework.values.cores import count_cores

THREADS = 2
T = TypeVar("T")
R = TypeVar("R")

_is_inside: ContextVar[bool] = ContextVar("latticework_map_in_order", default=False)


def map_in_order(work: Callable[[T], R], items: Iterable[T], *, is_worth_it: bool = True) -> Iterator[R]:
    """Yield the results of all items in order; those of the next ones are made meanwhile.

    One after the other where there is no second core or thread, where matrix products have threads of their own, and
    within work of another call. Threads stand where the caller does: the line of the user's program, what NumPy does
    with errors.

    is_worth_it  whether an item takes longer than a thread takes to start
    raises       what the first item raises that fails, when what was begun has ended
    """
    left = iter(items)
    first = list(islice(left, 2))
    left = chain(first, left)
    may = is_worth_it and not _is_inside.get() and count_cores() > 1 and has_one_blas_thread()
    if len(first) < 2 or not may:
        yield from map(work, left)
        return
    running: deque[Future[R]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for item in left:
                try:
                    running.append(pool.submit(copy_context().run, _work_inside, work, item))
                except RuntimeError:  # no thread can be started
                    left = chain([item], left)
                    break
                if len(running) > THREADS:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
    yield from map(work, left)


def _work_inside(work: Callable[[T], R], item: T) -> R:
    _is_inside.set(True)
    return work(item)
