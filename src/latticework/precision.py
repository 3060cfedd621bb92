"""The smallest scale that gives the precision asked for, found by simulating plans on calibration data.

The modelled error of a plan falls by one bit for every bit of scale, so one
plan at a guessed scale tells the scale that is needed; the final plan is
simulated again, and its error bounds are those of that run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, log2
from typing import Any

import numpy as np

from latticework.errors import PrecisionError, UserError
from latticework.frontend import Program
from latticework.frontend.samples import Sample
from latticework.ir import interpret
from latticework.params import ModulusChain, Need, build_chain, select_chain
from latticework.pipeline import OnEvent, to_plan, to_primitives
from latticework.plan.schema import CipherKind, Plan
from latticework.plan.simulate import simulate
from latticework.stages import Traced, Vectors

FIRST_SCALE_BITS, MAX_SCALE_BITS = 40, 55
FIRST_HEADROOM_BITS = 14
HEADROOM_MARGIN = 2.0  # values at the lowest level may be this much larger than in calibration
BOUND_DEVIATIONS = 8.0  # an error bound is this many standard deviations of the modelled noise
SIMULATED_SAMPLES = 3
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
        """Root mean square error and largest magnitude of every output, against the tensors' own arithmetic."""
        squares: list[list[float]] = [[] for _ in plan.client.outputs]
        magnitudes = [0.0] * len(squares)
        rng = np.random.default_rng(0)
        for sample in self.samples[:SIMULATED_SAMPLES]:
            exact = interpret(self.vectors.placed, sample)
            noisy = simulate(plan, [sample[i.name] for i in plan.client.inputs], noise=rng)
            for i, (a, b) in enumerate(zip(exact, noisy, strict=True)):
                squares[i].append(float(np.mean((a - b) ** 2)))
                magnitudes[i] = max(magnitudes[i], float(np.max(np.abs(a))))
        return [float(np.sqrt(np.mean(s))) for s in squares], magnitudes

    def headroom_bits(self, plan: Plan) -> int:
        """Bits of q0 above the scale: the largest value at the lowest level, a sign, and a margin."""
        largest = 1e-300

        def note(register: int, value: np.ndarray[Any, Any]) -> None:
            nonlocal largest
            kind = plan.kind(register)
            if isinstance(kind, CipherKind) and kind.level == 0:
                largest = max(largest, float(np.max(np.abs(value))))

        for sample in self.samples[:SIMULATED_SAMPLES]:
            simulate(plan, [sample[i.name] for i in plan.client.inputs], on_value=note)
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
        worst: dict[int, float] = {}
        rng = np.random.default_rng(1)
        for sample in self.samples[:SIMULATED_SAMPLES]:
            inputs = [sample[i.name] for i in plan.client.inputs]
            runs: list[list[tuple[int, np.ndarray[Any, Any]]]] = [[], []]
            for seen, noise in zip(runs, (None, rng), strict=True):
                simulate(plan, inputs, noise=noise, on_value=lambda r, v, seen=seen: seen.append((r, v)))  # type: ignore[misc]
            for (register, exact), (_, noisy) in zip(*runs, strict=True):
                if register in plan.watch:
                    position = plan.watch[register]
                    deviation = float(np.sqrt(np.mean(np.real(exact - noisy) ** 2)))
                    worst[position] = max(worst.get(position, 0.0), BOUND_DEVIATIONS * deviation)
        return worst
