"""Work that is left where it takes too long: a compilation asks nobody how long it may go on."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

INTERVAL = 0.02  # seconds between two looks at the clock
T = TypeVar("T")
AGAIN = 0.5  # seconds after which work that did not end is told once more


class OutOfTime(BaseException):
    """Raised inside of work whose time is over."""


def run_within(seconds: float, work: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> T | None:
    """The result of work in a thread of its own; None where it took longer.

    It is ended between two steps of Python, so a long call of NumPy or the core is waited for.

    raises  what the work raises
    """
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except OutOfTime:
            pass
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    ends = clock() + seconds
    thread.start()
    while thread.is_alive() and clock() < ends:
        thread.join(INTERVAL)
    with _unheard():
        while thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(OutOfTime))
            thread.join(AGAIN)
    if failed:
        raise failed[0]
    return found[0] if found else None


@contextmanager
def _unheard() -> Iterator[None]:
    """Says nothing where work is told in a callback of a weak reference, which swallows it: it is told again."""
    hook = sys.unraisablehook

    def without_ours(unraisable: sys.UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, OutOfTime):
            hook(unraisable)

    sys.unraisablehook = without_ours
    try:
        yield
    finally:
        sys.unraisablehook = hook
