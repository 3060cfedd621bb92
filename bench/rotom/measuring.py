"""One workload, compiled with some techniques and run encrypted; or only counted, and why."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import log2
from statistics import median
from typing import Any

import numpy as np

from bench.compiling import Compiled, compiled
from bench.memory import available_bytes, constant_bytes, server_bytes
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
    """What is spent on a program at most: seconds of compiling, and of one run as predicted on one thread."""

    compile_seconds: float = 300.0
    run_seconds: float = 180.0


@dataclass(frozen=True)
class Measured:
    """A compiled workload.

    made      None if it was only counted
    times     seconds of runs, of which the first encodes constants; none if it was not run, and `note` says why
    error     the largest, of the largest result; None if it was not run
    by_place  seconds of one more run by place in the outermost sequence of instructions; None if that was not asked for
    stored    bytes of inputs and results as they were sent; None if it was not run
    """

    plan: Plan
    cost: CostEstimate
    made: Compiled | None = None
    times: tuple[float, ...] = ()
    error: float | None = None
    note: str | None = None
    by_place: dict[int, float] | None = None
    stored: tuple[int, int] | None = None

    @property
    def moved_bytes(self) -> tuple[int, int]:
        """Bytes of inputs and of results; without headers if it was not run."""
        return self.stored or (input_bytes(self.plan.client), result_bytes(self.plan.client))

    @property
    def is_warm(self) -> bool:
        """Whether it was run with all constants encoded before."""
        return bool(self.times) and self.note is None

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
    *, like: Plan | None = None, watched: bool = False,
) -> Measured | str:  # fmt: skip
    """A workload compiled, and run so often or more after a first time; why it was not compiled, if it cannot be.

    runs     0: it is not run
    limits   of time and memory; none if not given
    like     if compiling takes too long, it is only counted, at the scale of this plan
    watched  whether one more run is timed by instruction
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
    note = None if limits is None else _too_large(cost, limits)
    if note is not None or not runs:
        return Measured(plan, cost, made, note=note)
    client = made.model.client()
    keys = client.keygen()
    memory = constant_bytes(cost, MEMORY_SHARE)
    server = made.model.server(keys.public(), memory=server_bytes(cost, memory))
    sent = client.encrypt(**workload.inputs)
    times: list[float] = []
    while len(times) < 1 + runs or (sum(times[1:]) < TIMED_SECONDS and len(times) < MOST_RUNS):
        started = time.perf_counter()
        result = server(sent)
        times.append(time.perf_counter() - started)
    clock = Stopwatch()
    if watched:
        server(sent, on_event=clock)
    expected = workload.expected()
    found = np.asarray(client.decrypt(result).reveal()).reshape(expected.shape)
    error = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    if cost.memory.constants > memory:
        whole, there = cost.memory.constants / 2**30, memory / 2**30
        note = f"encodes constants in every run: they take {whole:.1f} GiB, and there are {there:.1f}"
    stored = len(sent.to_bytes()), len(result.to_bytes())
    return Measured(plan, cost, made, tuple(times), error, note, clock.seconds if watched else None, stored)


def _too_large(cost: CostEstimate, limits: Limits) -> str | None:
    """Why a program is not run."""
    if cost.seconds > limits.run_seconds:
        return f"not run: predicted to take {cost.seconds:.0f} s at first, more than {limits.run_seconds:.0f} s"
    needed, there = (cost.memory.values + cost.memory.keys) / 2**30, available_bytes() / 2**30
    if needed > MEMORY_SHARE * there:
        return f"not run: ciphertexts and keys need {needed:.1f} GiB, of {there:.1f} GiB that the machine has left"
    return None
