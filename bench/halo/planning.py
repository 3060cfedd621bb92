"""Programs planned by one compiler: how many bootstraps are run, and what that takes by published tables."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from bench.halo.data import inputs_of
from bench.halo.prices import PublishedPrices
from bench.halo.programs import PROGRAMS
from bench.placement.published import RESIDUAL
from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.levels.bootstrap_calls import ciphertexts
from latticework.compiler.levels.bootstrap_ranges import find_ranges
from latticework.compiler.levels.depth import LoopPlan, levels_of
from latticework.compiler.levels.loops.executed import bootstraps_run, executions
from latticework.compiler.levels.loops.iteration_levels import iteration_depth
from latticework.compiler.levels.loops.plan_loops import plan_loops
from latticework.compiler.levels.place_bootstrap import place_bootstraps
from latticework.compiler.levels.placement import place_by_points
from latticework.compiler.levels.unroll import with_copies
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.stage_results import Vectors
from latticework.compiler.trace_arrays import to_polynomials, to_tensors
from latticework.frontend.calibration.calibration_data import samples_of
from latticework.ir import Module, Op

RING_DEGREE = 1 << 17
PRECISION_BITS = 10.0
COMPILERS = ("ours", "halo", "dacapo", "type-matched", "packing", "packing-unrolling")
PRICES = PublishedPrices()


@dataclass(frozen=True)
class Laid:
    """A program as vectors, its loops kept.

    samples  inputs by name
    seconds  of every stage before bootstraps
    """

    vectors: Vectors
    samples: list[dict[str, Any]]
    seconds: dict[str, float]

    @property
    def module(self) -> Module:
        """The vec module."""
        return self.vectors.flat or self.vectors.module

    @property
    def depths(self) -> list[int]:
        """Levels that an iteration of each loop spends."""
        return [iteration_depth(op, RESIDUAL) for op in self.loops]

    @property
    def carried(self) -> list[int]:
        """Vectors that each loop carries."""
        return [sum(v.type.count for v in op.regions[0].block.args[1:]) for op in self.loops]  # type: ignore[attr-defined]

    @property
    def loops(self) -> list[Op]:
        """All loops."""
        return [op for op in self.module.walk() if op.name == "loop.for"]


@dataclass(frozen=True)
class Planned:
    """A program with bootstraps.

    bootstraps  run in all;  targets  of those that stand in the code, and how often each is run
    seconds     predicted;  share  of it that bootstraps take
    planning    seconds of processor time that placing took
    """

    module: Module
    bootstraps: int
    targets: dict[int, int]
    seconds: float
    share: float
    planning: float


@cache
def laid(name: str, size: tuple[int, ...], *, run_time: bool) -> Laid:
    """A program on the paper's data, laid out.

    size  iterations of its loops, the outer one's first; known to the compiler, or as many in calibration
    """
    found, inputs = PROGRAMS[name], inputs_of(name)
    program, trips = found.as_program(run_time=run_time), dict(zip(found.trips, size, strict=True))
    clock = time.process_time
    started = clock()
    module = to_tensors(program, {} if run_time else trips, inputs)
    samples = samples_of(program, module, {**inputs, **trips} if run_time else inputs)
    options = CompileOptions.of(precision_bits=PRECISION_BITS, ring_degree=RING_DEGREE)
    traced = to_polynomials(module, samples, options)
    calibrated = clock()
    vectors = ArrayVectors(traced.module, options, keep_loops=True).choose()
    return Laid(vectors, samples, {"trace, calibrate": calibrated - started, "lay out": clock() - calibrated})


def planned(program: Laid, compiler: str, trips: Mapping[str, int]) -> Planned:
    """The program by one compiler."""
    exponents = ranges(program)
    started = time.process_time()
    if compiler == "dacapo":
        flat = copies(program.module)
        made = place_bootstraps(flat, RESIDUAL, PRICES, dict.fromkeys(every(flat), 0), placer=place_by_points)
    else:
        made = plan_loops(program.module, RESIDUAL, PRICES, exponents, mode=compiler)
    took = time.process_time() - started
    runs, of = executions(made, trips), levels_of(made, residual=RESIDUAL).of
    targets: dict[int, int] = {}
    seconds = bootstrapping = 0.0
    for op, number in runs.items():
        if op.name == "vec.bootstrap":
            target, groups = op.attrs["target"], ciphertexts(op)
            targets[target] = targets.get(target, 0) + number * sum(group.number for group in groups)
            each = sum(PRICES.bootstrap(target, real=group.real, count=group.number) for group in groups)
            bootstrapping += number * each
        elif any(v.is_secret for v in op.results):
            read = min((level for v in op.operands if (level := of[v]) is not None), default=0)
            seconds += number * PRICES.operation(op, read + RESIDUAL)
    total = seconds + bootstrapping
    return Planned(made, bootstraps_run(made, trips), targets, total, bootstrapping / total if total else 0.0, took)


def ranges(program: Laid) -> dict[Any, int | None]:
    """Exponents of all values, from the data."""
    module, packs = program.module, program.vectors.inputs
    sample = program.samples[0]
    run = {
        name: sample[name] if pack is None else pack.pack(np.asarray(sample[name]))
        for name, pack in zip(module.input_names, packs, strict=True)
    }
    return find_ranges(module, [run]).exponents


def copies(module: Module) -> Module:
    """All loops of known counts as copies of their bodies."""
    while True:
        loops = [op for op in module.walk() if op.name == "loop.for"]
        if not loops:
            return module
        plans = {}
        for op in loops:
            carried = (0,) * len(op.results)
            plans[op] = LoopPlan(carried, carried, op.attrs["static_trip"])
        module = with_copies(module, plans)


def every(module: Module) -> list[Any]:
    """All secret values."""
    return [*module.inputs, *(v for op in module.walk() for v in op.results if v.is_secret)]
