"""Errors of a plan's outputs and tensors against the program's own arithmetic, by simulation with modelled noise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.stage_results import Vectors
from latticework.errors import RangeError
from latticework.frontend.calibration.calibration_data import (
    Sample,
    affordable_samples,
    choose_evenly,
    has_large_arrays,
    telling_samples,
)
from latticework.ir import Module, Value, interpret
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.simulate import OnValue, simulate
from latticework.plan.parameters.chain_without_keys import has_public_key
from latticework.plan.schema.schema import IndexInput, Plan
from latticework.values.map_in_order import map_in_order

SIMULATED_SAMPLES = 3
RANKED_SAMPLES = 64  # of which the simulated ones have the largest output, and the largest errors of one draw
MOST_TURNS = 4  # values of a run-time integer that are simulated, the smallest and the largest among them
ENOUGH_DRAWS = 24  # of the noise, to know a deviation to about 15 %
LARGER_NOISE = 3.0  # times what is expected: by the secret some slot has three times as much in every run
MOST_GROWTH = 4.0  # of errors by that of the noise, where polynomials stay within their intervals
MOST_SLOTS = 1 << 16  # of one vector, simulated side by side
MOST_PLACES = 1 << 21  # of the largest array

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Deviations of the worst element: of every output, and of every watched tensor by position."""

    outputs: list[float]
    tensors: dict[int, float]


class Measure:
    """The runs by which plans of one program are measured: for several values of its run-time integers, one each."""

    def __init__(self, vectors: Vectors, samples: Sequence[Sample]) -> None:
        integers = [n for n, pack in zip(vectors.placed.input_names, vectors.inputs, strict=True) if pack is None]
        # Bootstraps lose bits of what is large, whatever becomes of it; elsewhere outputs say enough.
        telling = set() if vectors.residual is None else set(telling_samples(vectors.placed, samples, 1, vectors.sizes))
        alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for number, sample in enumerate(samples):
            alike[tuple(int(sample[name]) for name in integers)].append(number)
        iterations = sorted(alike)
        most = MOST_TURNS ** min(len(integers), 2)  # of several integers, what is largest is at no end of either
        chosen = [alike[iterations[int(i)]] for i in np.unique(np.linspace(0, len(iterations) - 1, most).round())]
        self.runs = [
            _Runs(vectors, samples, same, [at for at, i in enumerate(same) if i in telling]) for same in chosen
        ]
        outputs = range(len(vectors.placed.outputs))
        self.magnitudes = [max(float(np.max(np.abs(run.exact[i]))) for run in self.runs) for i in outputs]

    def measure(self, plan: Plan, on_value: OnValue | None = None) -> Measured:
        """A simulation with noise against the tensors' arithmetic. Inputs are encrypted under the public key, the
        noisier one, where there may be one.

        on_value  is shown all values of the simulation too
        """
        measured = [run.measure(plan, on_value) for run in self.runs]
        outputs = [max(deviations) for deviations in zip(*(m.outputs for m in measured), strict=True)]
        positions = {p for m in measured for p in m.tensors}
        return Measured(outputs, {p: max(m.tensors.get(p, 0.0) for m in measured) for p in positions})

    def withstands(self, plan: Plan, measured: Measured) -> bool:
        """Whether errors of outputs grow about as noise does, where that is larger than expected."""
        return all(runs.withstands(plan, measured) for runs in self.runs)


class _Runs:
    """Simulations side by side, whose run-time integers are the same.

    same     numbers of the samples that have them
    telling  places in these of samples that are looked at in any case
    """

    def __init__(
        self, vectors: Vectors, samples: Sequence[Sample], same: Sequence[int], telling: Sequence[int] = ()
    ) -> None:
        self.vectors = vectors
        ranked = affordable_samples(vectors.placed, samples[same[0]], RANKED_SAMPLES)
        numbers = [same[at] for at in sorted({*choose_evenly(len(same), ranked), *telling})]
        seen = [samples[number] for number in numbers]
        outputs = vectors.sizes.outputs(vectors.placed, samples, numbers)
        largest = [max(float(np.max(np.abs(run[i]))) for run in outputs) or 1.0 for i in range(len(outputs[0]))]
        size = [max(np.max(np.abs(y)) / m for y, m in zip(run, largest, strict=True)) for run in outputs]
        slots = vectors.slots // vectors.rows
        capacity = max(1, min(MOST_SLOTS // slots, MOST_PLACES // (slots * widest(vectors.module))))
        count = min(SIMULATED_SAMPLES, capacity)
        order = sorted(range(len(seen)), key=lambda i: -size[i])
        self.ranked = [(seen[i], outputs[i]) for i in order[:capacity]]  # those with the largest outputs first
        self.is_settled = len(self.ranked) <= count
        self.take(self.ranked[:count])
        self.draws = max(1, min(ENOUGH_DRAWS // len(self.samples), capacity // len(self.samples)))

    def take(self, chosen: Sequence[tuple[Sample, Sequence[Any]]]) -> None:
        """Simulate these samples, given with their outputs, from now on."""
        self.samples = [sample for sample, _ in chosen]
        self.exact = [np.stack(runs) for runs in zip(*(outputs for _, outputs in chosen), strict=True)]
        seen = list(map_in_order(self.tensors, self.samples, is_worth_it=has_large_arrays(self.vectors.placed)))
        self.exact_tensors = {p: [np.stack(runs) for runs in zip(*(s[p] for s in seen), strict=True)] for p in seen[0]}

    def settle(self, plan: Plan) -> None:
        """Keep the sample with the largest output, and take those with the largest errors of one draw beside it.

        Where outputs are large noise may be small: a softmax near 1 hardly moves, and a sum of exponentials is divided
        by best where it is large.
        """
        count, draws = len(self.samples), self.draws
        largest = [float(np.max(np.abs(exact))) or 1.0 for exact in self.exact]
        self.take(self.ranked)
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = simulate(
                plan, self.stacks(plan, 1), noise=np.random.default_rng(1), public_key=has_public_key(plan.chain)
            )
            errors = np.zeros(len(self.ranked))
            for exact, noisy, size in zip(self.exact, outputs, largest, strict=True):
                off = np.abs(np.broadcast_to(noisy, exact.shape) - exact).reshape(len(exact), -1)
                errors = np.maximum(errors, np.max(off, axis=1, initial=0.0) / size)
        worst = [int(i) for i in np.argsort(-errors, kind="stable") if i != 0]
        self.take([self.ranked[i] for i in [0, *worst[: count - 1]]])
        self.draws, self.is_settled = draws, True

    def stacks(self, plan: Plan, draws: int) -> list[Any]:
        """Inputs of the simulated samples, each `draws` times, as stacks."""
        first = self.samples[0]
        return [
            first[i.name]
            if isinstance(i, IndexInput)
            else np.repeat(np.stack([np.asarray(s[i.name], dtype=np.float64) for s in self.samples]), draws, axis=0)
            for i in plan.client.inputs
        ]

    def tensors(self, sample: Sample) -> dict[int, list[FloatArray]]:
        """Values of the program's tensors by position, in the order they are computed (several in loops)."""
        result: dict[int, list[FloatArray]] = defaultdict(list)

        def note(value: Value, array: npt.NDArray[Any]) -> None:
            if value in self.vectors.positions:
                result[self.vectors.positions[value]].append(np.asarray(array, dtype=np.float64))

        interpret(self.vectors.placed, sample, on_value=note)
        return result

    def measure(self, plan: Plan, on_value: OnValue | None) -> Measured:
        """Deviations in these runs."""
        if not self.is_settled:
            self.settle(plan)
        runs = self.draws * len(self.samples)
        done: dict[int, int] = defaultdict(int)
        tensors: dict[int, float] = {}

        def note(register: int, value: npt.NDArray[Any]) -> None:
            if on_value is not None:
                on_value(register, value)
            position = plan.watch.get(register)
            exact = self.exact_tensors.get(position, []) if position is not None else []
            if position is None or done[position] >= len(exact):
                return
            # A value that comes from public numbers alone is the same in all runs.
            tensor, groups = plan.tensors[position], plan.client.runs_for(runs)
            count, slots = tensor.pack.count, tensor.pack.slots
            vectors = np.broadcast_to(np.real(value), (groups, slots) if count == 1 else (groups, count, slots))
            noisy = tensor.unpack_values(vectors, plan.client.rows, runs) * plan.factors.get(register, 1.0)
            tensors[position] = max(tensors.get(position, 0.0), self.deviation(exact[done[position]], noisy))
            done[position] += 1

        noise = np.random.default_rng(0)
        with np.errstate(over="ignore", invalid="ignore"):  # errors may grow without end
            outputs = simulate(
                plan, self.stacks(plan, self.draws), noise=noise, public_key=has_public_key(plan.chain), on_value=note
            )
        # So is an output: of a loop of no turns that carries public numbers.
        shapes = [(runs, *exact.shape[1:]) for exact in self.exact]
        noisy = [np.broadcast_to(y, shape) for y, shape in zip(outputs, shapes, strict=True)]
        return Measured([self.deviation(a, b) for a, b in zip(self.exact, noisy, strict=True)], tensors)

    def withstands(self, plan: Plan, measured: Measured) -> bool:
        """Whether errors of outputs grow about as noise does, where that is larger than expected.

        Where a polynomial gets an argument beyond its interval it may be off by any amount. Some slot of some run has
        noise of many deviations, which few draws do not show, and all its errors grow far more than noise does then.
        """
        noise = np.random.default_rng(2)
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                outputs = simulate(
                    plan,
                    self.stacks(plan, self.draws),
                    noise=noise,
                    public_key=has_public_key(plan.chain),
                    noise_factor=LARGER_NOISE,
                )
            except RangeError:
                return False
        runs = self.draws * len(self.samples)
        noisy = [np.broadcast_to(y, (runs, *exact.shape[1:])) for y, exact in zip(outputs, self.exact, strict=True)]
        pairs = zip(self.exact, noisy, measured.outputs, strict=True)
        return all(self.deviation(a, b) <= MOST_GROWTH * LARGER_NOISE * usual for a, b, usual in pairs)

    def deviation(self, exact: FloatArray, noisy: FloatArray) -> float:
        """Root mean square error where it is largest.

        Elements differ (a square's error grows with its value), so their mean would not bound the worst; few draws of
        one element say little. So elements are ranked by magnitude and averaged over as few neighbours as it takes.
        """
        repeated = np.repeat(exact, self.draws, axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.mean((noisy - repeated) ** 2, axis=0).reshape(-1)
        order = np.argsort(np.max(np.abs(exact), axis=0).reshape(-1), kind="stable")
        group = min(ceil(ENOUGH_DRAWS / len(repeated)), squares.size)
        if group > 1:
            squares = np.convolve(squares[order], np.full(group, 1.0 / group), mode="valid")
        return float(np.sqrt(np.max(squares)))


def simulate_for_anyone(plan: Plan, inputs: Sequence[Any], **options: Any) -> list[FloatArray]:
    """Simulate inputs that are encrypted under the public key, which is noisier, where the plan has room for that."""
    return simulate(plan, inputs, public_key=has_public_key(plan.chain), **options)


def widest(module: Module) -> int:
    """Vectors of the largest array that a program of vectors makes."""
    types = (value.type for op in module.walk() for value in op.results)
    return max((kind.count for kind in types if isinstance(kind, VecType) and kind.secret), default=1)
