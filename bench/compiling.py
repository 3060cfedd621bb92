"""Compiling in a process of its own: how long it takes for the first time, and the memory that it needs at most."""

from __future__ import annotations

import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import latticework as lw
from bench.rows import Row

# Names `program` among the options of `lw.compile`, all picklable by what made them.
Options = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Compiled:
    """A model that another process compiled.

    seconds     of `lw.compile`
    peak_bytes  of the whole process;  before_bytes  its peak before it compiled: Python, NumPy, the weights
    """

    model: lw.Model
    seconds: float
    peak_bytes: int
    before_bytes: int

    def rows(self, case: str, limit_seconds: float) -> list[Row]:
        """Time and memory."""
        memory = Row(
            case, "compile peak memory", "MB", self.peak_bytes / 1e6, checked=True,
            details={"before compiling, MB": round(self.before_bytes / 1e6)},
        )  # fmt: skip
        return [Row(case, "compile", "s", self.seconds, target=limit_seconds, checked=True), memory]


def compiled(options: Options, *arguments: Any, limit_seconds: float | None = None) -> Compiled:
    """Compile what an importable function gives for these arguments: the options of `lw.compile`, `program` included.

    raises  what compiling raises; TimeoutError if it takes longer than the limit
    """
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, get_context("spawn")) as pool:
        file = Path(folder) / "model.lwplan"
        seconds, peak, before = pool.submit(_work, file, options, arguments, limit_seconds).result()
        return Compiled(lw.load(file, allow_insecure=True), seconds, peak, before)


def _work(
    file: Path, options: Options, arguments: tuple[Any, ...], limit_seconds: float | None
) -> tuple[float, int, int]:
    given = options(*arguments)
    before, started = peak_bytes(), time.perf_counter()
    if limit_seconds is not None:
        signal.signal(signal.SIGALRM, partial(_stop, limit_seconds))
        # Again and again: an exception that is raised in the clearing up of an object is lost.
        signal.setitimer(signal.ITIMER_REAL, limit_seconds, limit_seconds)
    try:
        model = lw.compile(given.pop("program"), **given)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    seconds, peak = time.perf_counter() - started, peak_bytes()
    model.save(file)
    return seconds, peak, before


def _stop(limit_seconds: float, number: int, frame: object) -> None:
    raise TimeoutError(f"compiling takes longer than {limit_seconds:g} s")


def peak_bytes() -> int:
    """The most memory that this process has had resident."""
    status = Path("/proc/self/status")
    if status.exists():  # `getrusage` would count what the parent had when it started this process
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
