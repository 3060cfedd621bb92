"""Processor cycles of a call: by the hardware's counter, or else by the clock of a chain of dependent instructions."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from latticework import _core

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}  # system call numbers
ATTRIBUTE_BYTES = 128
HARDWARE, CPU_CYCLES = 0, 0
USER_ONLY = 1 << 5 | 1 << 6  # exclude kernel and hypervisor
CHAIN_STEPS = 1 << 15
CYCLES_A_STEP = 2


@dataclass(frozen=True)
class Measured:
    """One turn of what was timed: the shortest found."""

    seconds: float
    cycles: float


class Cycles:
    """Counts user-mode cycles of this thread, or derives them from time.

    source  what the cycles are
    """

    def __init__(self, threads: int = 1) -> None:
        self.counter = _open_counter() if threads == 1 else None
        self.clock = time.process_time if threads == 1 else time.perf_counter  # others may be running meanwhile
        self.source = (
            "hardware counter, user mode, one thread"
            if self.counter is not None
            else ("processor " if threads == 1 else "")
            + "time x clock, the clock from a chain of dependent shifts and exclusive ors timed beside every kernel"
            + ("" if threads > 1 else " (no hardware counter here)")
        )

    def measure(self, run: Callable[[int], Any], repeats: int, shortest: float = 2e-4) -> Measured:
        """The best of some stretches of `run(turns)`, each as many turns as the clock needs."""
        run(1)
        start = self.clock()
        run(1)
        turns = max(1, int(shortest / max(self.clock() - start, 1e-9)))
        seconds, cycles, chain = [], [], []
        for _ in range(repeats):
            before = self.read()
            start = self.clock()
            run(turns)
            seconds.append(self.clock() - start)
            cycles.append(self.read() - before)
            start = self.clock()
            _core.dependent_steps(CHAIN_STEPS)
            chain.append(self.clock() - start)
        best = min(seconds) / turns
        clock = CHAIN_STEPS * CYCLES_A_STEP / min(chain)
        return Measured(best, min(cycles) / turns if self.counter is not None else best * clock)

    def read(self) -> int:
        """The counter; 0 without one."""
        return 0 if self.counter is None else int(struct.unpack("Q", os.read(self.counter, 8))[0])

    def close(self) -> None:
        """Give the counter back."""
        if self.counter is not None:
            os.close(self.counter)
            self.counter = None


def _open_counter() -> int | None:
    """A file that reads as the cycles of this thread; None where the system or the machine has none."""
    number = PERF_EVENT_OPEN.get(platform.machine())
    library = ctypes.CDLL(None)
    if number is None or not hasattr(library, "syscall"):
        return None
    attribute = ctypes.create_string_buffer(ATTRIBUTE_BYTES)
    # type, size, config, sample period, sample type, read format, flags
    struct.pack_into("IIQQQQQ", attribute, 0, HARDWARE, ATTRIBUTE_BYTES, CPU_CYCLES, 0, 0, 0, USER_ONLY)
    this_thread, any_processor, no_group = 0, -1, -1
    file = library.syscall(number, attribute, this_thread, any_processor, no_group, 0)
    return None if file < 0 else int(file)
