"""One workload, compiled with some techniques and run encrypted; or why it was not."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from bench.compiling import Compiled, compiled
from bench.programs import Stopwatch
from bench.rotom.workloads import Workload, workloads
from latticework.calibrate.machine import machine
from latticework.cost import CostModel, Estimate, estimate
from latticework.errors import UserError
from latticework.plan.schema import Plan
from latticework.techniques import ALL, Techniques

PRECISION_BITS = 10
MEMORY_SHARE = 0.6  # of the machine that a run may take


@dataclass(frozen=True)
class Limits:
    """What is spent on a program at most: seconds of compiling, and of one run as predicted on one thread."""

    compile_seconds: float = 600.0
    run_seconds: float = 180.0


@dataclass(frozen=True)
class Measured:
    """A compiled workload.

    times     seconds of runs, of which the first encodes constants; none if it was not run, and `note` says why
    error     the largest, of the largest result; None if it was not run
    by_place  seconds of one more run by place in the outermost sequence of instructions; None if that was not asked for
    """

    made: Compiled
    cost: Estimate
    times: tuple[float, ...] = ()
    error: float | None = None
    note: str | None = None
    by_place: dict[int, float] | None = None

    @property
    def plan(self) -> Plan:
        """What was compiled."""
        return self.made.model.plan

    @property
    def is_right(self) -> bool:
        """Whether it was run and the results are as precise as was asked for."""
        return self.error is not None and self.error <= 2.0**-PRECISION_BITS

    @property
    def seconds(self) -> float | None:
        """Of a run whose constants are encoded already; None if it was not run."""
        return median(self.times[1:]) if self.times else None


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


def measure(
    workload: Workload, slots: int, techniques: Techniques = ALL, runs: int = 0, limits: Limits | None = None,
    watched: bool = False,
) -> Measured | str:  # fmt: skip
    """A workload compiled, and run so often after a first time; why it was not compiled, if it takes too long.

    runs     0: it is not run
    limits   of time and memory; none if not given
    watched  whether one more run is timed by instruction
    """
    try:
        limit = None if limits is None else limits.compile_seconds
        made = compiled(options, workload.name, slots, techniques, limit_seconds=limit)
    except (TimeoutError, MemoryError, UserError) as error:
        return f"not compiled: {error}"
    cost = estimate(made.model.plan, CostModel.load())
    note = None if limits is None else _too_large(cost, limits)
    if note is not None or not runs:
        return Measured(made, cost, note=note)
    client = made.model.client()
    keys = client.keygen()
    server = made.model.server(keys.public())
    sent = client.encrypt(**workload.inputs)
    times = []
    for _ in range(1 + runs):
        started = time.perf_counter()
        result = server(sent)
        times.append(time.perf_counter() - started)
    clock = Stopwatch()
    if watched:
        server(sent, on_event=clock)
    expected = workload.expected()
    found = np.asarray(client.decrypt(result).reveal()).reshape(expected.shape)
    error = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    return Measured(made, cost, tuple(times), error, None, clock.seconds if watched else None)


def _too_large(cost: Estimate, limits: Limits) -> str | None:
    """Why a program is not run."""
    if cost.warm_seconds > limits.run_seconds:
        return f"not run: predicted to take {cost.warm_seconds:.0f} s, more than {limits.run_seconds:.0f} s"
    needed, there = (cost.memory.values + cost.memory.keys) / 2**30, machine()["memory_gb"]
    if needed > MEMORY_SHARE * there:
        return f"not run: it needs {needed:.1f} GiB for ciphertexts and keys, of {there} GiB that the machine has"
    return None
