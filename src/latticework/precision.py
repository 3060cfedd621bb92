"""The smallest scale that gives the precision asked for, found by simulating plans on calibration data.

The modelled error of a plan falls by one bit for every bit of scale, so one
plan at a guessed scale tells the scale that is needed; the final plan is
simulated again, and its error bounds are those of that run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.assemble import accepted_ranges
from latticework.cost import CostModel
from latticework.errors import LevelError, PrecisionError, UserError
from latticework.frontend import Circuit, Program
from latticework.frontend.samples import Sample
from latticework.levels.ranges import Interval, Ranges, ranges
from latticework.measure import Measure, Measured
from latticework.params import ModulusChain, Need, build_chain, select_chain
from latticework.pipeline import OnEvent, to_plan, to_primitives
from latticework.plan.schema import CipherKind, Plan
from latticework.stages import Traced, Vectors
from latticework.techniques import ALL, Techniques

FIRST_SCALE_BITS, MAX_SCALE_BITS = 40, 55
FIRST_HEADROOM_BITS = 56  # of the trial plan: values up to 2^54 fit
HEADROOM_MARGIN = 4.0  # values at the lowest level may be this much larger than in calibration
MOST_REACH = 2.0**12  # and outputs as large as accepted inputs can make them, up to this much larger
BOUND_DEVIATIONS = 6.0  # an error bound is this many standard deviations of the noise of the worst element
ATTEMPTS = 4
VANISHING = 2.0**-60  # outputs smaller than this have no relative precision


@dataclass
class Sizes:
    """The largest value seen in a plan, as one at the lowest level takes as large a part of the modulus."""

    plan: Plan
    largest: float = 1e-300

    def note(self, register: int, value: npt.NDArray[Any]) -> None:
        """A value of the plan."""
        kind, chain = self.plan.kind(register), self.plan.chain
        if isinstance(kind, CipherKind):
            above = log2(chain.modulus(kind.level, kind.track)) - log2(chain.modulus(0, kind.track))
            size = float(np.max(np.abs(value))) * kind.scale / chain.main.scales[0]
            self.largest = max(self.largest, size * 2.0 ** -min(above, 1000.0))


@dataclass
class Search:
    """Builds plans of one program for different scales and measures their modelled error."""

    program: Program | Circuit
    traced: Traced
    vectors: Vectors
    samples: list[Sample]
    precision_bits: float
    on_event: OnEvent | None
    costs: CostModel | None = None
    techniques: Techniques = ALL

    @cached_property
    def measure(self) -> Measure:
        """The simulations by which plans are measured."""
        return Measure(self.vectors, self.samples)

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
        sizes = Sizes(plan)
        scale_bits = FIRST_SCALE_BITS + self.missing_bits(self.measure.measured(plan, sizes.note))
        headroom = self.headroom_bits(plan, sizes.largest)
        for _ in range(ATTEMPTS):
            if scale_bits > MAX_SCALE_BITS:
                raise PrecisionError(
                    f"compile: precision_bits={self.precision_bits:g} would need a scale of 2^{scale_bits}; at most "
                    f"2^{MAX_SCALE_BITS} is possible: ask for {scale_bits - MAX_SCALE_BITS} bits less",
                    at=self.program.loc,
                )
            plan = self.plan(chain_for(scale_bits, headroom))
            measured = self.measure.measured(plan)
            missing = self.missing_bits(measured)
            if missing <= 0:
                return self.finished(plan, measured)
            scale_bits = max(scale_bits, round(log2(plan.chain.main.scales[-1]))) + missing
        raise PrecisionError(
            f"compile: precision_bits={self.precision_bits:g} is not reached: {missing} bits are missing at a scale of "
            f"2^{scale_bits - missing}; ask for less",
            at=self.program.loc,
        )

    def on(self, chain: ModulusChain) -> Plan:
        """The plan on given parameters.

        raises  LevelError or PrecisionError if they do not do
        """
        plan = self.plan(chain)
        sizes = Sizes(plan)
        measured = self.measure.measured(plan, sizes.note)
        missing = self.missing_bits(measured)
        room = log2(chain.modulus(0) / chain.main.scales[0])
        wanted = self.headroom_bits(plan, sizes.largest)
        if wanted > room + 1:
            raise LevelError(
                f"compile: values of {wanted} bits do not fit the parameters that are shared, whose lowest level has "
                f"room for {room:.0f}; scale the outputs down, or compile the first circuit for larger values",
                at=self.program.loc,
            )
        if missing > 0:
            raise PrecisionError(
                f"compile: precision_bits={self.precision_bits:g} is not reached on the parameters that are shared: "
                f"{missing} bits are missing; ask for less here, or for more of the first circuit",
                at=self.program.loc,
            )
        return self.finished(plan, measured)

    def plan(self, chain: ModulusChain) -> Plan:
        """The plan for a chain, without error bounds."""
        lowered = to_primitives(self.vectors, chain, self.on_event, costs=self.costs, techniques=self.techniques)
        leaving = self.box.leaving
        return to_plan(
            self.program.name, self.traced, self.vectors, lowered, self.samples, self.precision_bits, leaving
        )

    def missing_bits(self, measured: Measured) -> int:
        """Bits by which the modelled error exceeds what was asked for (negative: bits to spare).

        raises  PrecisionError if no output is anything but zero: nothing to be precise about
        """
        needed = [
            log2(max(BOUND_DEVIATIONS * deviation, 1e-300) / (2.0**-self.precision_bits * magnitude))
            for deviation, magnitude in zip(measured.outputs, self.magnitudes, strict=True)
            if magnitude >= VANISHING
        ]
        if not needed:
            raise PrecisionError(
                f"compile: the outputs are at most {max(self.magnitudes):.1g} for all calibration data, so there is "
                "nothing to be precise about; give calibrate= data like what will be encrypted",
                at=self.program.loc,
            )
        return ceil(max(needed))

    @cached_property
    def magnitudes(self) -> list[float]:
        """Largest magnitude of every output over all calibration data."""
        values = self.vectors.placed.body.terminator.operands
        seen = [v.origin.max_abs if v.origin and v.origin.max_abs else 0.0 for v in values]
        return [max(s, float(np.max(np.abs(run)))) for s, run in zip(seen, self.measure.exact, strict=True)]

    @cached_property
    def box(self) -> Ranges:
        """What the program's values can be for inputs anywhere in the ranges that clients accept."""
        accepted = accepted_ranges(self.vectors.placed, self.samples)
        boxes: list[Interval | int] = []
        for name, pack in zip(self.vectors.placed.input_names, self.vectors.inputs, strict=True):
            if pack is None:
                boxes.append(max(int(sample[name]) for sample in self.samples))
                continue
            low, high = accepted[name]
            boxes.append(Interval(pack.pack(np.full(pack.shape, low)), pack.pack(np.full(pack.shape, high))))
        return ranges(self.vectors.module, boxes)

    def headroom_bits(self, plan: Plan, largest: float) -> int:
        """Bits of q0 above the scale that make room, at every level, for the largest value, a sign and a margin."""
        scales = plan.chain.main.scales
        shares = [o.scale / scales[o.level] for o in plan.client.outputs]  # of a value, in its vector
        magnitudes = [m * share for m, share in zip(self.magnitudes, shares, strict=True)]
        largest = HEADROOM_MARGIN * max(largest, *magnitudes)
        for output, share, magnitude, box in zip(
            plan.client.outputs, shares, magnitudes, self.box.outputs, strict=True
        ):
            if box is not None:
                held = output.pack.element_of_slot() >= 0
                reach = share * float(np.max(np.maximum(np.abs(box.low), np.abs(box.high)).reshape(-1)[held]))
                largest = max(largest, min(reach if np.isfinite(reach) else np.inf, MOST_REACH * magnitude))
        return max(2, ceil(log2(largest)) + 1)

    def finished(self, plan: Plan, measured: Measured) -> Plan:
        """The plan with error bounds for its outputs and its tensors."""
        outputs = tuple(
            replace(o, error_bound=BOUND_DEVIATIONS * d, magnitude=m)
            for o, d, m in zip(plan.client.outputs, measured.outputs, self.magnitudes, strict=True)
        )
        tensors = tuple(
            replace(t, bound=BOUND_DEVIATIONS * measured.tensors.get(t.position, 0.0)) for t in plan.tensors
        )
        return replace(plan, client=replace(plan.client, outputs=outputs), tensors=tensors)
