"""Events of reading: what runs read of keys that stay in their file, and how they wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from latticework.runtime.events import Event, OnEvent
from latticework.runtime.memory_use import KeyTraffic


class KeyWaits:
    """The listener that keys call while a run waits for rows of them, on that run's thread, which alone is told."""

    def __init__(self) -> None:
        self.told: dict[int, list[Callable[[float], None]]] = {}  # by thread

    def __call__(self, seconds: float) -> None:
        """The run of this thread has waited for so long."""
        for tell in tuple(self.told.get(threading.get_ident(), ())):
            tell(seconds)

    @contextmanager
    def telling(self, tell: Callable[[float], None]) -> Iterator[None]:
        """Listen to waits while a run of this thread is under way."""
        thread = threading.get_ident()
        told = self.told.setdefault(thread, [])
        told.append(tell)
        try:
            yield
        finally:
            told.remove(tell)
            if not told:
                del self.told[thread]


class _Listener:
    """Adds to what a subscriber is told of one run."""

    def __init__(self, on_event: OnEvent, traffic: Callable[[], KeyTraffic]) -> None:
        self._on_event = on_event
        self._traffic = traffic
        self._before = self._seen = traffic()
        self._last = Event("read", "keys", 0, 0, -1, 0.0, 0.0)
        self._is_telling = False

    def __call__(self, event: Event) -> None:
        """A step, with how long it waited for keys."""
        self._last, before, self._seen = event, self._seen, self._traffic()
        self._tell(replace(event, waited=self._seen.stall_s - before.stall_s))

    def wait(self, seconds: float) -> None:
        """A wait that goes on, after so long."""
        now = time.monotonic()
        self._tell(self._read("waiting", now - seconds, now, waited=seconds))

    def end(self) -> None:
        """The run is over, or has failed; a subscriber that failed it is told nothing more."""
        if not self._is_telling:
            now = time.monotonic()
            self._tell(self._read("keys", now, now, traffic=self._traffic().since(self._before)))

    def _read(
        self, op: str, start: float, end: float, *, waited: float = 0.0, traffic: KeyTraffic | None = None
    ) -> Event:
        """The event of a read between steps, as far as the last one came."""
        return replace(self._last, stage="read", op=op, level=-1, start=start, end=end, waited=waited, traffic=traffic)

    def _tell(self, event: Event) -> None:
        self._is_telling = True
        self._on_event(event)
        self._is_telling = False


@contextmanager
def telling_reads(
    on_event: OnEvent | None, traffic: Callable[[], KeyTraffic | None], waits: KeyWaits
) -> Iterator[OnEvent | None]:
    """A subscriber for one run, whose events say how long they waited for keys.

    It is told, too, of long waits while they last, and at the end what was read. With all keys in memory, the
    subscriber itself.
    """
    if on_event is None or traffic() is None:
        yield on_event
        return

    def read_traffic() -> KeyTraffic:
        found = traffic()
        assert found is not None, "a server keeps its keys"
        return found

    listener = _Listener(on_event, read_traffic)
    try:
        with waits.telling(listener.wait):
            yield listener
    finally:
        listener.end()
