"""The smallest scale that gives the precision asked for, found by simulating plans on calibration data.

The modelled error of a plan falls by one bit for every bit of scale, so one
plan at a guessed scale tells the scale that is needed; the final plan is
simulated again, and its error bounds are those of that run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, log2
from typing import Any

import numpy as np

from latticework.errors import PrecisionError, UserError
from latticework.frontend import Program
from latticework.frontend.samples import Sample
from latticework.ir import interpret
from latticework.params import ModulusChain, Need, build_chain, select_chain
from latticework.pipeline import OnEvent, to_plan, to_primitives
from latticework.plan.schema import CipherKind, IndexInput, Plan
from latticework.plan.simulate import simulate
from latticework.stages import Traced, Vectors

FIRST_SCALE_BITS, MAX_SCALE_BITS = 40, 55
FIRST_HEADROOM_BITS = 56  # of the trial plan: values up to 2^54 fit
HEADROOM_MARGIN = 2.0  # values at the lowest level may be this much larger than in calibration
BOUND_DEVIATIONS = 6.0  # an error bound is this many standard deviations of the noise of the worst element
SIMULATED_SAMPLES = 3
DRAWS = 8  # of the noise, for each sample
ATTEMPTS = 4
VANISHING = 2.0**-60  # outputs smaller than this have no relative precision


@dataclass
class Search:
    """Builds plans of one program for different scales and measures their modelled error."""

    program: Program
    traced: Traced
    vectors: Vectors
    samples: list[Sample]
    precision_bits: float
    on_event: OnEvent | None

    def best(self, ring_degree: int | None, security_bits: int, insecure: bool) -> Plan:
        """The plan with the smallest scale that reaches the precision, on the smallest ring that holds it.

        raises  LayoutError or LevelError if no ring is large enough; PrecisionError if no scale is
        """

        def chain_for(scale_bits: int, headroom_bits: int) -> ModulusChain:
            need = Need(self.vectors.depth, self.vectors.slots, scale_bits, headroom_bits)
            try:
                return select_chain(need, ring_degree=ring_degree, security_bits=security_bits, insecure=insecure)
            except UserError as error:
                raise type(error)(error.message, at=self.program.loc) from None

        chain_for(0, 0)  # depth and width that fit at no scale are refused before any plan is built
        degree = max(ring_degree or 1 << 14, 2 * self.vectors.slots)
        probe = Need(self.vectors.depth, self.vectors.slots, FIRST_SCALE_BITS, FIRST_HEADROOM_BITS)
        plan = self.plan(build_chain(degree, probe, 2, security_bits, insecure=True))
        headroom = self.headroom_bits(plan)
        scale_bits = FIRST_SCALE_BITS + self.missing_bits(plan)
        for _ in range(ATTEMPTS):
            if scale_bits > MAX_SCALE_BITS:
                raise PrecisionError(
                    f"compile: precision_bits={self.precision_bits:g} would need a scale of 2^{scale_bits}; at most "
                    f"2^{MAX_SCALE_BITS} is possible: ask for {scale_bits - MAX_SCALE_BITS} bits less",
                    at=self.program.loc,
                )
            plan = self.plan(chain_for(scale_bits, headroom))
            missing = self.missing_bits(plan)
            if missing <= 0:
                return self.finished(plan)
            scale_bits = max(scale_bits, round(log2(plan.chain.main.scales[-1]))) + missing
        raise PrecisionError(
            f"compile: precision_bits={self.precision_bits:g} is not reached: {missing} bits are missing at a scale of "
            f"2^{scale_bits - missing}; ask for less",
            at=self.program.loc,
        )

    def plan(self, chain: ModulusChain) -> Plan:
        """The plan for a chain, without error bounds."""
        lowered = to_primitives(self.vectors, chain, self.on_event)
        return to_plan(self.program.name, self.traced, self.vectors, lowered, self.samples, self.precision_bits)

    def missing_bits(self, plan: Plan) -> int:
        """Bits by which the modelled error exceeds what was asked for (negative: bits to spare)."""
        worst = -inf
        for output, deviation, magnitude in zip(plan.client.outputs, *self.deviations(plan), strict=True):
            if magnitude < VANISHING:
                raise PrecisionError(
                    f"compile: output {output.name} is at most {magnitude:.1g} for all calibration data, so there is "
                    "nothing to be precise about; give calibrate= data like what will be encrypted",
                    at=self.program.loc,
                )
            target = 2.0**-self.precision_bits * magnitude
            worst = max(worst, log2(max(BOUND_DEVIATIONS * deviation, 1e-300) / target))
        return ceil(worst)

    def deviations(self, plan: Plan) -> tuple[list[float], list[float]]:
        """Of every output the deviation of its worst element from the tensors' own arithmetic, and the magnitude."""
        exact = [np.stack(runs) for runs in zip(*(interpret(self.vectors.placed, s) for s in self.drawn), strict=True)]
        noisy = simulate(plan, self.stacks(plan, DRAWS), noise=np.random.default_rng(0))
        return (
            [worst_deviation(b - np.repeat(a, DRAWS, axis=0)) for a, b in zip(exact, noisy, strict=True)],
            [float(np.max(np.abs(a))) for a in exact],
        )

    @cached_property
    def drawn(self) -> list[Sample]:
        """The samples that are simulated: that with the largest input, and the first others."""
        largest = max(self.samples, key=lambda s: max((float(np.max(np.abs(v))) for v in s.values()), default=0.0))
        others = [s for s in self.samples if s is not largest]
        return [largest, *others[: SIMULATED_SAMPLES - 1]]

    def stacks(self, plan: Plan, draws: int) -> list[Any]:
        """Inputs of the drawn samples, each `draws` times, as stacks; run-time integers are the same in all."""
        first = self.drawn[0]
        return [
            first[i.name]
            if isinstance(i, IndexInput)
            else np.repeat(np.stack([np.asarray(s[i.name], dtype=np.float64) for s in self.drawn]), draws, axis=0)
            for i in plan.client.inputs
        ]

    def headroom_bits(self, plan: Plan) -> int:
        """Bits of q0 above the scale that make room, at every level, for the largest value, a sign and a margin."""
        chain, largest = plan.chain, 1e-300

        def note(register: int, value: np.ndarray[Any, Any]) -> None:
            nonlocal largest
            kind = plan.kind(register)
            if isinstance(kind, CipherKind):
                above = chain.modulus(kind.level, kind.track) // chain.modulus(0, kind.track)
                size = float(np.max(np.abs(value))) * kind.scale / chain.main.scales[0]
                largest = max(largest, size / above)

        simulate(plan, self.stacks(plan, 1), on_value=note)
        for value in self.vectors.placed.body.terminator.operands:
            if value.origin is not None and value.origin.max_abs is not None:
                largest = max(largest, value.origin.max_abs)
        return max(2, ceil(log2(HEADROOM_MARGIN * largest)) + 1)

    def finished(self, plan: Plan) -> Plan:
        """The plan with error bounds for its outputs and its tensors."""
        deviations, magnitudes = self.deviations(plan)
        outputs = tuple(
            replace(o, error_bound=BOUND_DEVIATIONS * d, magnitude=m)
            for o, d, m in zip(plan.client.outputs, deviations, magnitudes, strict=True)
        )
        bounds = self.tensor_bounds(plan)
        tensors = tuple(replace(t, bound=bounds.get(t.position, 0.0)) for t in plan.tensors)
        return replace(plan, client=replace(plan.client, outputs=outputs), tensors=tensors)

    def tensor_bounds(self, plan: Plan) -> dict[int, float]:
        """Error bound of every watched tensor, from noisy against noiseless simulation."""
        exact = self.watched(plan, 1, None)
        noisy = self.watched(plan, DRAWS, np.random.default_rng(1))
        worst: dict[int, float] = {}
        for (position, a), (_, b) in zip(exact, noisy, strict=True):
            bound = BOUND_DEVIATIONS * worst_deviation(b - np.repeat(a, DRAWS, axis=0))
            worst[position] = max(worst.get(position, 0.0), bound)
        return worst

    def watched(
        self, plan: Plan, draws: int, noise: np.random.Generator | None
    ) -> list[tuple[int, np.ndarray[Any, Any]]]:
        """(position, slots) of every watched value, in the order they are computed."""
        seen: list[tuple[int, np.ndarray[Any, Any]]] = []
        runs = draws * len(self.drawn)

        def note(register: int, value: np.ndarray[Any, Any]) -> None:
            if register in plan.watch:
                # A value that comes from public numbers alone is the same in all runs.
                seen.append((plan.watch[register], np.broadcast_to(np.real(value), (runs, value.shape[-1]))))

        simulate(plan, self.stacks(plan, draws), noise=noise, on_value=note)
        return seen


def worst_deviation(errors: np.ndarray[Any, Any]) -> float:
    """Root mean square over runs (axis 0) of the element where it is largest.

    Elements differ (a square's error grows with its value), so their mean would not bound the worst.
    """
    return float(np.sqrt(np.max(np.mean(errors**2, axis=0))))
