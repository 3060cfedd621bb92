"""How far a plan's outputs and tensors lie from the program's own arithmetic, by simulation with modelled noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.frontend.samples import Sample
from latticework.ir import interpret
from latticework.plan.schema import IndexInput, Plan
from latticework.plan.simulate import simulate
from latticework.stages import Vectors

SIMULATED_SAMPLES = 3
RANKED_SAMPLES = 64  # of which the simulated ones are those with the largest outputs
ENOUGH_DRAWS = 24  # of the noise, to know a deviation to about 15 %
MOST_SLOTS = 1 << 16  # simulated side by side

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Deviations of the worst element: of every output, and of every watched tensor by position."""

    outputs: list[float]
    tensors: dict[int, float]


class Measure:
    """The runs by which plans of one program are measured."""

    def __init__(self, vectors: Vectors, samples: Sequence[Sample]) -> None:
        self.vectors = vectors
        spaced = [samples[int(i)] for i in np.unique(np.linspace(0, len(samples) - 1, RANKED_SAMPLES).astype(int))]
        outputs = [interpret(vectors.placed, sample) for sample in spaced]
        largest = [max(float(np.max(np.abs(run[i]))) for run in outputs) or 1.0 for i in range(len(outputs[0]))]
        size = [max(np.max(np.abs(y)) / m for y, m in zip(run, largest, strict=True)) for run in outputs]
        count = max(1, min(SIMULATED_SAMPLES, MOST_SLOTS // vectors.slots))
        order = sorted(range(len(spaced)), key=lambda i: -size[i])[:count]
        self.samples = [spaced[i] for i in order]
        self.exact = [np.stack(runs) for runs in zip(*(outputs[i] for i in order), strict=True)]
        self.draws = max(1, min(ENOUGH_DRAWS // len(order), MOST_SLOTS // (vectors.slots * len(order))))

    def stacks(self, plan: Plan, draws: int) -> list[Any]:
        """Inputs of the simulated samples, each `draws` times, as stacks; run-time integers are the same in all."""
        first = self.samples[0]
        return [
            first[i.name]
            if isinstance(i, IndexInput)
            else np.repeat(np.stack([np.asarray(s[i.name], dtype=np.float64) for s in self.samples]), draws, axis=0)
            for i in plan.client.inputs
        ]

    def measured(self, plan: Plan) -> Measured:
        """One noiseless and one noisy simulation, compared. Inputs are encrypted under the public key: the noisier."""
        noise = np.random.default_rng(0)
        quiet = self.watched(plan, simulate_with={}, draws=1)[1]
        outputs, noisy = self.watched(plan, simulate_with={"noise": noise, "public_key": True}, draws=self.draws)
        found = [self.deviation(a, b) for a, b in zip(self.exact, outputs, strict=True)]
        tensors: dict[int, float] = {}
        for (position, a), (_, b) in zip(quiet, noisy, strict=True):
            tensors[position] = max(tensors.get(position, 0.0), self.deviation(a, b))
        return Measured(found, tensors)

    def watched(
        self, plan: Plan, *, simulate_with: dict[str, Any], draws: int
    ) -> tuple[list[FloatArray], list[tuple[int, FloatArray]]]:
        """Outputs, and (position, slots) of every watched value in the order they are computed."""
        seen: list[tuple[int, FloatArray]] = []
        runs = draws * len(self.samples)

        def note(register: int, value: npt.NDArray[Any]) -> None:
            if register in plan.watch:
                # A value that comes from public numbers alone is the same in all runs.
                seen.append((plan.watch[register], np.broadcast_to(np.real(value), (runs, value.shape[-1]))))

        outputs = simulate(plan, self.stacks(plan, draws), on_value=note, **simulate_with)
        return outputs, seen

    def deviation(self, exact: FloatArray, noisy: FloatArray) -> float:
        """Root mean square error where it is largest.

        Elements differ (a square's error grows with its value), so their mean would not bound the worst; few draws of
        one element say little. So elements are ranked by magnitude and averaged over as few neighbours as it takes.
        """
        repeated = np.repeat(exact, self.draws, axis=0)
        squares = np.mean((noisy - repeated) ** 2, axis=0).reshape(-1)
        order = np.argsort(np.max(np.abs(exact), axis=0).reshape(-1), kind="stable")
        group = min(ceil(ENOUGH_DRAWS / len(repeated)), squares.size)
        if group > 1:
            squares = np.convolve(squares[order], np.full(group, 1.0 / group), mode="valid")
        return float(np.sqrt(np.max(squares)))
