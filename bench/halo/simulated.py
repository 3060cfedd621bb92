"""One program simulated with noise on a set of any size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench.halo.cases import Case, compiled_case
from bench.halo.encrypted import CompileFigures, Conditions
from bench.halo.figures import bootstraps_row, quality_rows
from bench.halo.scores import Quality, outputs_of
from bench.rows import Row

SIMULATION_SECONDS = 60.0
SEED = 0


@dataclass(frozen=True)
class SimulationFigures:
    """A simulated run; what is not said here is as in `RunFigures`.

    seconds    of processor time, of the simulation
    predicted  seconds of an encrypted run, and the share of bootstraps in it
    """

    seconds: float
    predicted: float
    predicted_share: float
    bootstraps: int
    targets: dict[int, int]
    quality: Quality


def run_simulated(case: Case, conditions: Conditions) -> Iterator[CompileFigures | SimulationFigures]:
    """Compile, and simulate with noise; raises UserError as compiling does."""
    made = compiled_case(case)
    cost = made.cost(conditions.costs, case.size)
    yield CompileFigures(made.seconds, made.plan_bytes, cost.bytes.keys_stored, cost.bytes.constants)
    started = time.process_time()
    found = outputs_of(made.model.simulate(noise=np.random.default_rng(SEED), **made.arguments(case.size)))
    taken = time.process_time() - started
    bounds = [output.error_bound for output in made.model.plan.client.outputs]
    yield SimulationFigures(
        taken, cost.warm_seconds, made.share(cost), cost.counts.bootstraps, made.targets(cost),
        made.quality(case.size, found, bounds),
    )  # fmt: skip


def simulation_rows(case: Case, found: SimulationFigures, where: str) -> Iterator[Row]:
    """What a simulated run found."""
    shown = f"{case}, {where}"
    yield bootstraps_row(shown, case, case.size, found.bootstraps, found.targets)
    share = {"share of bootstraps": round(found.predicted_share, 3)}
    yield Row(shown, "run, predicted", "s", found.predicted, details=share)
    yield Row(shown, "simulation", "s", found.seconds, target=SIMULATION_SECONDS, checked=True)
    yield from quality_rows(shown, case.name, found.quality)
