"""Admission of runs to a server: as many at a time as its budget has room for, the others wait."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from latticework.errors import BudgetError
from latticework.errors.shown import count_noun

TICK_SECONDS = 0.05  # between looks for Ctrl-C, and at the longest from when there is room to who waits for it


class Admission:
    """Room for so many runs, for which threads wait in the order in which they came.

    who   the program, in errors
    most  runs at the same time; None: any number
    is_bounded  runs share memory, so that one cannot wait for another that waits for it
    """

    def __init__(self, who: str, most: int | None, *, is_bounded: bool = True) -> None:
        self.who = who
        self.most = most
        self.is_bounded = is_bounded
        self._start()

    def _start(self) -> None:
        """Begin with nothing under way, as in a process that was just forked: what its parent runs is not here."""
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._under_way: dict[object, int] = {}
        self._reporting = threading.local()

    @contextmanager
    def runs(self, number: int = 1) -> Iterator[None]:
        """Admit `number` runs together. Whatever ends the wait or the runs, their room is free then.

        raises  BudgetError for more than `most`, and for runs that a listener of another one starts: that one ends when
                they have, and they may wait for what it holds
        """
        if getattr(self._reporting, "depth", 0) > 0:
            raise BudgetError(
                f"program {self.who}: its server has a budget of memory, and a run that on_event starts may wait for "
                "what the run that called on_event holds: start it when that one has ended"
            )
        if self.most is None:
            yield
            return
        if self._process != os.getpid():
            self._start()
        changed, place = self._changed, object()
        try:
            with changed:
                self._wait(place, number, self.most)
            yield
        finally:
            with changed:
                if place in self._waiting:
                    self._waiting.remove(place)
                self._under_way.pop(place, None)
                changed.notify_all()

    def _wait(self, place: object, number: int, most: int) -> None:
        """Wait until there is room, and nobody came before."""
        if number > most:
            raise BudgetError(
                f"program {self.who}: there is no room for {count_noun(number, 'run')}: memory= of this server has "
                f"room for {most} at a time; make it with runs={number}, and more memory"
            )
        self._waiting.append(place)
        while self._waiting[0] is not place or number > most - sum(self._under_way.values()):
            self._changed.wait(TICK_SECONDS)
        self._waiting.popleft()
        self._under_way[place] = number

    def reporting(self, listener: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """The same listener, known to be called in a run."""
        if listener is None or not self.is_bounded:
            return listener

        def report(*words: Any) -> Any:
            self._reporting.depth = getattr(self._reporting, "depth", 0) + 1
            try:
                return listener(*words)
            finally:
                self._reporting.depth -= 1

        return report
