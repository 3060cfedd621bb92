"""One workload, compiled with some techniques and run encrypted, several ways in turns; or only counted, and why."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2
from statistics import median
from typing import Any

import numpy as np

from bench.compiling import Compiled, compiled
from bench.memory import SPARE_BYTES, available_bytes
from bench.programs import Stopwatch
from bench.rotom.counting import counted
from bench.rotom.workloads import Workload, workloads
from latticework.compiler.options.techniques import ALL, Techniques
from latticework.errors import UserError
from latticework.plan.analysis.estimate import CostEstimate, estimate
from latticework.plan.cost import CostModel
from latticework.plan.cost.client_cost import input_bytes, result_bytes
from latticework.plan.schema.schema import Plan

PRECISION_BITS = 10
TIMED_SECONDS, MOST_RUNS = 0.5, 100  # short runs are repeated, since a median of a few milliseconds says little
MEMORY_SHARE = 0.5  # that a run may take of what the machine has left


@dataclass(frozen=True)
class Limits:
    """What is spent on a program at most: seconds of compiling, of a run as predicted on one thread, and bytes.

    memory_bytes  of all servers of a workload together; a share of what the machine has left if not given
    """

    compile_seconds: float = 300.0
    run_seconds: float = 180.0
    memory_bytes: int | None = None

    @property
    def server_bytes(self) -> int:
        """What all servers of a workload may take together."""
        return self.memory_bytes or int(MEMORY_SHARE * available_bytes())


@dataclass(frozen=True)
class Times:
    """Seconds of one run: of the wall, and of all processors."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Measured:
    """A compiled workload.

    made      None if it was only counted
    times     of runs, of which the first encodes constants; none if it was not run, and `note` says why
    error     the largest, of the largest result; None if it was not run
    by_place  seconds of one more run by place in the outermost sequence of instructions; None if that was not asked for
    stored    bytes of inputs and results as they were sent; None if it was not run
    memory    that its server had, in bytes
    """

    plan: Plan
    cost: CostEstimate
    made: Compiled | None = None
    times: tuple[Times, ...] = ()
    error: float | None = None
    note: str | None = None
    by_place: dict[int, float] | None = None
    stored: tuple[int, int] | None = None
    memory: int | None = None

    @property
    def moved_bytes(self) -> tuple[int, int]:
        """Bytes of inputs and of results; without headers if it was not run."""
        return self.stored or (input_bytes(self.plan.client), result_bytes(self.plan.client))

    @property
    def is_right(self) -> bool:
        """Whether it was run and the results are as precise as was asked for."""
        return self.error is not None and self.error <= 2.0**-PRECISION_BITS

    @property
    def shortage(self) -> str | None:
        """That not all constants stayed in memory encoded; None if they did, or it was not run."""
        if self.memory is None or self.memory >= _wanted_bytes(self.cost):
            return None
        whole, there = self.cost.memory.constants / 2**30, self.memory / 2**30
        return f"encodes constants in every run: all take {whole:.1f} GiB, the server had {there:.1f} for everything"

    @property
    def seconds(self) -> float | None:
        """Of the wall, of a run after the first; None if it was not run."""
        return median(each.wall for each in self.times[1:]) if self.times else None

    @property
    def processor_seconds(self) -> float | None:
        """Of all processors, of a run after the first; None if it was not run."""
        return median(each.processor for each in self.times[1:]) if self.times else None


class Session:
    """A compiled workload with keys and encrypted inputs, on a server with so much memory."""

    def __init__(self, workload: Workload, found: Measured, memory: int, threads: int) -> None:
        assert found.made is not None
        model, self.workload, self.found, self.memory = found.made.model, workload, found, memory
        self.client = model.client()
        self.server = model.server(self.client.keygen().public(), memory=memory, threads=threads)
        self.sent = self.client.encrypt(**workload.inputs)
        self.times: list[Times] = []

    def run(self) -> None:
        """Run once, and note the times."""
        wall, processor = time.perf_counter(), time.process_time()
        self.result = self.server(self.sent)
        self.times.append(Times(time.perf_counter() - wall, time.process_time() - processor))

    def has_enough(self, runs: int) -> bool:
        """Whether it ran so often after the first time, and more often where runs are short."""
        later = self.times[1:]
        seconds = sum(each.wall for each in later)
        return len(later) >= runs and (seconds >= TIMED_SECONDS or len(later) >= MOST_RUNS)

    def finish(self, *, watched: bool) -> Measured:
        """What was measured, the last result compared with NumPy's; `watched`: one more run, timed by instruction."""
        clock = Stopwatch()
        if watched:
            self.server(self.sent, on_event=clock)
        expected = self.workload.expected()
        found = np.asarray(self.client.decrypt(self.result).reveal()).reshape(expected.shape)
        error = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
        stored = len(self.sent.to_bytes()), len(self.result.to_bytes())
        return replace(
            self.found, times=tuple(self.times), error=error, by_place=clock.seconds if watched else None,
            stored=stored, memory=self.memory,
        )  # fmt: skip


def options(name: str, slots: int, techniques: Techniques = ALL) -> dict[str, Any]:
    """Those of `lw.compile` for a workload."""
    (workload,) = (w for w in workloads(slots) if w.name == name)
    return {
        "program": workload.program,
        "weights": tuple(workload.weights.values()),
        "calibrate": {name: array[None] for name, array in workload.inputs.items()},
        "precision_bits": PRECISION_BITS,
        "ring_degree": 2 * slots,
        "techniques": techniques,
    }


def prepare(
    workload: Workload, slots: int, techniques: Techniques = ALL, limits: Limits | None = None,
    *, like: Plan | None = None,
) -> Measured | str:  # fmt: skip
    """A workload compiled, not run; why it was not compiled, if it cannot be.

    limits   of time and memory; none if not given
    like     if compiling takes too long, it is only counted, at the scale of this plan
    """
    limit, model = None if limits is None else limits.compile_seconds, CostModel.load()
    try:
        made = compiled(options, workload.name, slots, techniques, limit_seconds=limit)
    except TimeoutError as error:
        if like is None:
            return f"not compiled: {error}"
        plan = counted(options(workload.name, slots, techniques), round(log2(like.chain.main.scales[-1])))
        return Measured(plan, estimate(plan, model), note=f"only counted: {error}")
    except (MemoryError, UserError) as error:
        return f"not compiled: {error}"
    plan = made.model.plan
    cost = estimate(plan, model)
    return Measured(plan, cost, made, note=None if limits is None else _too_large(cost, limits))


def run_in_turns(
    workload: Workload, ways: Sequence[Measured], runs: int, limits: Limits, threads: int, *, watched: bool = False
) -> list[Measured]:
    """Run the ways to compute a workload in turns, each after a first time so often or more; in the order given.

    watched  whether one more run of the first way is timed by instruction
    Those that have a note are not run. Where not all fit into memory at once, one after the other is.
    """
    sizes = [_wanted_bytes(way.cost) for way in ways]
    runnable = [number for number, way in enumerate(ways) if way.note is None and way.made is not None]
    together = sum(sizes[number] for number in runnable) <= limits.server_bytes
    found = list(ways)
    for turn in [runnable] if together else [[number] for number in runnable]:
        memory = {number: min(sizes[number], limits.server_bytes) for number in turn}
        sessions = {number: Session(workload, ways[number], memory[number], threads) for number in turn}
        while not all(session.has_enough(runs) for session in sessions.values()):
            for session in sessions.values():
                if not session.has_enough(runs):
                    session.run()
        for number, session in sessions.items():
            found[number] = session.finish(watched=watched and number == 0)
    return found


def measure(
    workload: Workload, slots: int, techniques: Techniques = ALL, runs: int = 0, limits: Limits | None = None,
    *, threads: int = 1,
) -> Measured | str:  # fmt: skip
    """A workload compiled, and run so often or more after a first time, unless that is 0; why it was not compiled."""
    found = prepare(workload, slots, techniques, limits)
    if isinstance(found, str) or not runs:
        return found
    return run_in_turns(workload, [found], runs, limits or Limits(), threads)[0]


def _wanted_bytes(cost: CostEstimate) -> int:
    """What a server has a use for: all constants whole."""
    return (cost.memory.constants + cost.memory.values + cost.memory.keys) * 9 // 8 + SPARE_BYTES


def _too_large(cost: CostEstimate, limits: Limits) -> str | None:
    """Why a program is not run."""
    if cost.seconds > limits.run_seconds:
        return f"not run: predicted to take {cost.seconds:.0f} s at first, more than {limits.run_seconds:.0f} s"
    needed, there = (cost.memory.values + cost.memory.keys) / 2**30, limits.server_bytes / 2**30
    if needed > there:
        return f"not run: ciphertexts and keys need {needed:.1f} GiB, of {there:.1f} GiB that there are"
    return None
