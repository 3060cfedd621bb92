"""The smallest scale that gives the precision asked for, found by simulating plans on calibration data.

The modelled error of a plan falls by one bit for every bit of scale, so one
plan at a guessed scale tells the scale that is needed; the final plan is
simulated again.  What holds for every input that clients accept, and for every
run-time integer, follows from intervals instead (`compiler/levels/value_bounds.py`): the room
that values need in the modulus, and the error bounds, wherever that is proved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from math import ceil, inf, isfinite, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy import SHARE, VANISHING, sizes_to_compare_with, without_rounding
from latticework.compiler.assemble import accepted_ranges, to_plan
from latticework.compiler.bound_conditions import Proofs
from latticework.compiler.codegen.bootstrap_plans import noise_of
from latticework.compiler.encrypted_feedback import follow_feedback
from latticework.compiler.input_constraints import CheckedForm
from latticework.compiler.levels import LevelPlan, loop_spending, spending
from latticework.compiler.levels.abstract_value import AbstractValue
from latticework.compiler.levels.known_slots import Draw
from latticework.compiler.levels.value_bounds import ChainNoise, ValueBounds, bound_values
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.techniques import LEAST_TIME, WATERLINE, Techniques
from latticework.compiler.polynomial_noise import polynomial_noise
from latticework.compiler.simulated_errors import Measure, Measured
from latticework.compiler.stage_results import Lowered, TracedProgram, Vectors
from latticework.compiler.too_deep import SpentLevels, too_deep
from latticework.compiler.vector_levels import emit_primitives, to_levels, to_primitives, with_small_outputs
from latticework.errors import LevelError, PrecisionError, RangeError, UserError
from latticework.frontend import Circuit, Program
from latticework.frontend.calibration.calibration_data import Sample
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.key_bands import with_key_bands
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.parameters import ModulusChain, Need, TooDeepError, build_chain, select_chain
from latticework.plan.parameters.step_noise import tail_deviations
from latticework.plan.schema.limits import check_encodable
from latticework.plan.schema.schema import Output, Plan
from latticework.values.packing.pack import PackMap

DRAWS = 3  # inputs by chance that tell which slots hold what clients check
FIRST_SCALE_BITS, MAX_SCALE_BITS = 40, 55
FIRST_RING = 1 << 14  # of the trial plan, unless vectors are longer
FIRST_HEADROOM_BITS = 56  # of the trial plan: values up to 2^54 fit
MAX_HEADROOM_BITS = 200  # beyond any chain
HEADROOM_MARGIN = 4.0  # values at the lowest level may be this much larger than in calibration, where nothing is proved
PROVED_MARGIN = 2.0  # over what is proved: two vectors may be packed as one inside of a linear map
TIGHT = 0.95  # part of that margin which has to be there: primes lie a little below powers of two
MOST_REACH = 2.0**12  # room is made for values so much larger than in calibration; for more if that takes no other ring
EXTRAPOLATED_REACH = 2.0**4  # the same where it is polynomials outside their range that are so large
USEFUL_BITS = 3  # of the largest result in calibration, that a proved bound has to leave right, else it is not used
UNSEEN_NOISE = 4.0  # times that of calibration, after bootstraps: products of values twice as large may go unmarked
ATTEMPTS = 4
OVERFLOWED_BITS = 2  # missing where noise, enlarged by polynomials outside their range, leaves no room
LEAST_SHARE = (1.0 - SHARE) / 2  # of the budget for errors, that noise has in any case
SMALLEST = 1e-300  # of what noise may be: products of smaller numbers vanish


@dataclass
class Sizes:
    """The largest value seen in a plan, as one at the lowest level takes as large a part of the modulus."""

    plan: Plan
    largest: float = 1e-300

    def note(self, register: int, value: npt.NDArray[Any]) -> None:
        """A value of the plan."""
        kind, chain = self.plan.kind(register), self.plan.chain
        if isinstance(kind, CipherKind):
            if kind.track or kind.level < chain.floor:
                return  # inside of a bootstrap
            above = log2(chain.modulus(kind.level)) - log2(chain.modulus(chain.floor))
            size = float(np.max(np.abs(value))) * kind.scale / chain.main.scales[chain.floor]
            self.largest = max(self.largest, size * 2.0 ** -min(above, 1000.0))


@dataclass
class PrecisionSearch:
    """Builds plans of one program for different scales and measures their modelled error."""

    program: Program | Circuit
    traced: TracedProgram
    vectors: Vectors
    samples: list[Sample]
    options: CompileOptions

    @property
    def precision_bits(self) -> float:
        """Bits that every output is to have, relative to the largest."""
        return self.options.precision_bits

    @property
    def techniques(self) -> Techniques:
        """Techniques that the plans may use."""
        return self.options.techniques

    @cached_property
    def measure(self) -> Measure:
        """The simulations by which plans are measured."""
        return Measure(self.vectors, self.samples)

    @cached_property
    def levels(self) -> LevelPlan:
        """Return the decisions about levels; chains are chosen by how many levels they take."""
        return to_levels(self.vectors, self.techniques, self.options.costs)

    @property
    def late(self) -> PrecisionSearch:
        """The same for values that come down where they meet lower ones."""
        return replace(self, options=self.options.override(techniques=replace(self.techniques, rescaling=WATERLINE)))

    @property
    def depth(self) -> int:
        """Levels that a chain has to have."""
        return self.levels.depth + self.options.expert.spare_levels

    def best(self, *, enlarging: bool = True) -> Plan:
        """The plan with the smallest scale that reaches the precision, on the smallest ring that holds it.

        enlarging  whether outputs may have a scale of their own: small ones are computed larger, if that helps
        raises  LayoutError or LevelError if no ring is large enough; PrecisionError if no scale is
        """
        try:
            return self._best(enlarging=enlarging)
        except TooDeepError as error:
            what = "circuit" if isinstance(self.program, Circuit) else "program"
            lines = spending(self.vectors.flat or self.vectors.module)
            spent = SpentLevels(error.need, lines, loop_spending(self.vectors.module, lines))
            raise too_deep(
                spent, f"{what} {self.program.name}", self.program.loc,
                precision_bits=self.precision_bits, ring_degree=self.options.ring_degree,
                security_bits=self.options.parameters.security_bits,
            ) from None  # fmt: skip

    def _best(self, *, enlarging: bool) -> Plan:
        wanted = self.options.parameters

        @cache
        def chain_for(scale_bits: int, headroom_bits: int) -> ModulusChain:
            need = Need(self.depth, self.vectors.slots, scale_bits, headroom_bits)
            try:
                return select_chain(
                    need, ring_degree=wanted.ring_degree, security_bits=wanted.security_bits, insecure=wanted.insecure
                )
            except TooDeepError:
                raise
            except UserError as error:
                raise type(error)(error.message, at=self.program.loc) from None

        if enlarging:
            vectors = with_small_outputs(self.vectors, self.magnitudes, self.options.on_event)
            with suppress(UserError):
                if vectors is not self.vectors:
                    return replace(self, vectors=vectors).best(enlarging=False)
        smallest = chain_for(0, 0)  # depth and width that fit at no scale are refused before any plan is built

        def search(among: PrecisionSearch) -> Plan:
            return among.on_smallest(chain_for, wanted.ring_degree or FIRST_RING, wanted.security_bits)

        if not self.levels.is_lowered or self.techniques.rescaling != LEAST_TIME:
            return search(self)
        plans: list[Plan] = []
        with suppress(PrecisionError):
            plans.append(search(self))
            if _size(plans[0].chain) == _size(smallest):
                return plans[0]
        try:  # what is computed lower has other noise, and a scale of a few bits less may do with a smaller ring
            plans.append(search(self.late))
        except PrecisionError:
            if not plans:
                raise
        return min(plans, key=lambda plan: estimate(plan, self.options.costs).warm_seconds)

    def on_smallest(self, chain_for: Callable[[int, int], ModulusChain], ring_degree: int, security_bits: int) -> Plan:
        """The plan with the smallest scale that reaches the precision.

        chain_for  the chain for bits of scale and of headroom
        """
        plan, bounds, measured, largest = self.probe(ring_degree, security_bits)
        scale_bits = FIRST_SCALE_BITS + max(self.missing_bits(measured, plan.chain), bounds.short_bits)
        most = EXTRAPOLATED_REACH if bounds.leaving else MOST_REACH
        usual, least = (self.headroom_bits(plan, largest, outputs, most) for outputs in (bounds.outputs, []))
        for left in reversed(range(ATTEMPTS)):
            if scale_bits > MAX_SCALE_BITS:
                less = self.precision_bits - (scale_bits - MAX_SCALE_BITS)
                ask = f"ask for precision_bits={less:g}, or where" if less >= 1 else "where"
                raise PrecisionError(
                    f"compile: precision_bits={self.precision_bits:g} would need a scale of 2^{scale_bits}; at most "
                    f"2^{MAX_SCALE_BITS} is possible: {ask} values in between are small, such as products of secrets "
                    "of 1e-6, give the secrets multiplied by a public number, so that they come near 1",
                    at=self.program.loc,
                )
            try:
                chain_for(scale_bits, usual)
            except LevelError:  # the ring that was asked for, or the largest, may have room for calibration alone
                usual = least
            lowered = self.lower(
                self.choose_headroom(chain_for, scale_bits, usual, bounds.size, self.proof_bits(plan, bounds))
            )
            plan, bounds = self.plan_lowered(lowered)
            quicker = self.plan_by_level(plan, lowered)
            if quicker is not None:
                return quicker
            try:
                measured, missing = self.measure_missing(plan, bounds)
            except RangeError:  # there is room for what the trial plan reached, which has less noise
                if not left:
                    raise
                missing = OVERFLOWED_BITS
            if missing <= 0 and (not left or self.withstands_noise(plan, measured)):
                return self.add_error_bounds(plan, measured, bounds)
            missing = max(missing, 1)
            scale_bits = max(scale_bits, round(log2(plan.chain.main.scales[-1]))) + missing
        raise PrecisionError(
            f"compile: precision_bits={self.precision_bits:g} is not reached: {missing} bits are missing at a scale of "
            f"2^{scale_bits - missing}; ask for less",
            at=self.program.loc,
        )

    def plan_by_level(self, plan: Plan, lowered: Lowered) -> Plan | None:
        """The plan with keys that are cut by level, if that is quicker and it is precise enough; None if not.

        lowered  the primitives that the plan is of
        """
        chain = with_key_bands(plan, self.options.costs)
        if chain is None:
            return None
        plan, bounds = self.plan_lowered(emit_primitives(lowered.module, lowered, chain))
        try:
            measured, missing = self.measure_missing(plan, bounds)
        except RangeError:
            return None
        if missing > 0 or not self.withstands_noise(plan, measured):
            return None
        return self.add_error_bounds(plan, measured, bounds)

    def withstands_noise(self, plan: Plan, measured: Measured) -> bool:
        """Whether a plan has room for noise of many deviations, which is certain where it has no polynomials."""
        return not plan.approximations or self.measure.withstands(plan, measured)

    def measure_missing(self, plan: Plan, bounds: ValueBounds) -> tuple[Measured, int]:
        """Measure a plan, and count the bits of precision that it misses.

        raises  RangeError where values of a simulation, noise included, leave the modulus
        """
        measured = self.measure.measure(plan)
        return measured, max(self.missing_bits(measured, plan.chain), bounds.short_bits)

    def probe(self, ring_degree: int, security_bits: int) -> tuple[Plan, ValueBounds, Measured, float]:
        """Measure a plan at a guessed scale: with what its values can be, its noise, and the largest value seen.

        Which samples later plans are measured on is settled by it.
        """
        degree = max(ring_degree, 2 * self.vectors.slots)
        need = Need(self.depth, self.vectors.slots, FIRST_SCALE_BITS, FIRST_HEADROOM_BITS)
        plan, bounds = self.plan(build_chain(degree, need, 2, security_bits, insecure=True))
        sizes = Sizes(plan)
        return plan, bounds, self.measure.measure(plan, sizes.note), sizes.largest

    def proof_bits(self, plan: Plan, value_bounds: ValueBounds) -> list[int]:
        """Scales at which proved bounds would be as small as was asked for, or at least of use; the largest first."""
        at = round(log2(plan.chain.main.scales[-1]))
        deviations = self.deviations(plan.chain)
        rows = zip(plan.client.outputs, self.magnitudes, value_bounds.outputs, strict=True)
        bounds = [
            log2(max(_largest(held.largest_error(deviations), output), 1e-300) / magnitude)
            for output, magnitude, held in rows
            if held is not None and magnitude > self.vanishing
        ]
        if not bounds or value_bounds.proved.count(None) == len(value_bounds.proved):
            return []
        best, least = (at + ceil(max(bounds) + bits) for bits in (max(self.precision_bits, USEFUL_BITS), USEFUL_BITS))
        return sorted({best, (best + least) // 2, least}, reverse=True)

    def choose_headroom(
        self, chain_for: Callable[[int, int], ModulusChain], scale_bits: int, usual: int, size: float, proofs: list[int]
    ) -> ModulusChain:
        """The chain with room for all that accepted inputs can give, at a scale that proves a bound, if that is cheap.

        Cheap is what takes no larger ring and no more digits a key switch, and for a scale no further primes. Where no
        error bound can be proved room is made too, since what wraps around may be small and only what is large is
        marked; but only if it takes no prime more.

        usual  headroom for inputs like those of calibration;  size  what is proved, inf if nothing is
        """
        chain = chain_for(scale_bits, usual)
        proved = max(2, ceil(log2(max(PROVED_MARGIN * size, 1.0))) + 1) if isfinite(size) else MAX_HEADROOM_BITS
        proved = max(proved, usual) if self.options.expert.spare_levels else proved

        def with_room(bits: int) -> ModulusChain | None:
            try:
                return chain_for(bits, proved) if proved < MAX_HEADROOM_BITS else None
            except UserError:
                return None

        roomy = with_room(scale_bits)
        if roomy is None:
            return chain
        sharper = [with_room(bits) for bits in proofs if scale_bits < bits <= MAX_SCALE_BITS]
        fitting = [c for c in sharper if c is not None and _size(c) <= _size(roomy)]
        proves = bool(proofs) and proofs[-1] <= scale_bits
        if proves or fitting:
            is_cheap = _size(roomy)[:2] <= _size(chain)[:2] or (proves and proved <= usual + log2(MOST_REACH))
        else:
            is_cheap = _size(roomy) <= _size(chain)
        return (fitting or [roomy])[0] if is_cheap else chain

    def plan_of(self, lowered: Lowered, before: Lowered, *, alone: bool) -> Plan:
        """The plan of primitives that are given, on their chain.

        before  those of the vectors, which take as little room as was made
        alone   whether the chain was chosen for this program, by plans that were measured before
        raises  LevelError or PrecisionError if they do not do on it
        """
        wanted = self.options.parameters
        if alone:
            self.probe(wanted.ring_degree or FIRST_RING, wanted.security_bits)
        trial = self.try_code(lowered)
        if not trial.holds_values and trial.headroom_bits > self.try_code(before).headroom_bits:
            room = log2(room_above_scale(trial.plan.chain))
            raise LevelError(
                f"compile: values of {trial.headroom_bits} bits do not fit the modulus, whose lowest level has room "
                f"for {room:.0f}: they are computed too low, or too large",
                at=self.program.loc,
            )
        if trial.noisy_bits > 0:
            raise PrecisionError(
                f"compile: precision_bits={self.precision_bits:g} is not reached by code that was changed: "
                f"{trial.noisy_bits} bits are missing",
                at=self.program.loc,
            )
        return self.add_error_bounds(trial.plan, trial.measured, trial.found)

    def tried_on(self, chain: ModulusChain) -> Trial:
        """The plan on a chain, whatever its precision."""
        return self.try_code(self.lower(chain))

    def try_code(self, lowered: Lowered) -> Trial:
        """The plan of primitives, whatever its precision."""
        chain = lowered.code.chain
        plan, bounds = self.plan_lowered(lowered)
        sizes = Sizes(plan)
        measured = self.measure.measure(plan, sizes.note)
        headroom, least = (self.headroom_bits(plan, sizes.largest, reached) for reached in (bounds.outputs, []))
        noisy = self.missing_bits(measured, chain)
        return Trial(plan, measured, bounds, max(noisy, bounds.short_bits), headroom, noisy, least)

    def on(self, chain: ModulusChain) -> Plan:
        """The plan on given parameters.

        raises  LevelError or PrecisionError if they do not do
        """
        trial = self.tried_on(chain)
        missing, wanted, room = trial.missing_bits, trial.headroom_bits, log2(room_above_scale(chain))
        if not trial.holds_values:
            raise LevelError(
                f"compile: values of {wanted} bits do not fit the parameters that are shared, whose lowest level has "
                f"room for {room:.0f}; scale the outputs down, or compile the first circuit for larger values",
                at=self.program.loc,
            )
        if missing > 0 and self.levels.is_lowered:
            return self.late.on(chain)
        if missing > 0:
            raise PrecisionError(
                f"compile: precision_bits={self.precision_bits:g} is not reached on the parameters that are shared: "
                f"{missing} bits are missing; ask for less here, or for more of the first circuit",
                at=self.program.loc,
            )
        return self.add_error_bounds(trial.plan, trial.measured, trial.found)

    def plan(self, chain: ModulusChain) -> tuple[Plan, ValueBounds]:
        """The plan for a chain, without error bounds, and what its values can be."""
        return self.plan_lowered(self.lower(chain))

    def lower(self, chain: ModulusChain) -> Lowered:
        """Write the primitives of the vectors for a chain."""
        costs, on_event = self.options.costs, self.options.on_event
        held = self.options.held_keys
        return to_primitives(self.levels, chain, on_event, costs=costs, techniques=self.techniques, held=held)

    def plan_lowered(self, lowered: Lowered) -> tuple[Plan, ValueBounds]:
        """The plan of primitives, without error bounds, and what its values can be."""
        bounds = self.bound_values(lowered, lowered.code.chain)
        plan = to_plan(
            self.program.name, self.traced, self.vectors, lowered, self.samples, self.precision_bits, bounds.leaving,
            tuple(self.forms[number].constraint for number in sorted(bounds.assumed)),
        )  # fmt: skip
        return plan, bounds

    def bound_values(self, lowered: Lowered, chain: ModulusChain) -> ValueBounds:
        """Bound values for inputs anywhere in the ranges that clients accept, and any run-time integers."""
        accepted = accepted_ranges(self.vectors.placed, self.samples, self.vectors.stated)
        boxes: list[Any] = []
        for name, pack in zip(self.vectors.placed.input_names, self.vectors.inputs, strict=True):
            if pack is None:
                boxes.append(max(int(sample[name]) for sample in self.samples))
            else:
                boxes.append(tuple(pack.pack(np.full(pack.shape, end)) for end in accepted[name]))
        noise = ChainNoise(
            chain, self.deviations(chain), polynomial_noise(chain), lowered.choices,
            noise_of(chain) if chain.bootstrap is not None else None,
        )  # fmt: skip
        follow = partial(
            bound_values, lowered.managed, boxes, noise,
            elements={number: element_slots(tensor.pack) for number, tensor in enumerate(self.vectors.tensors)},
        )  # fmt: skip
        result = follow()
        if self.forms and result.leaving:  # what intervals of inputs do not hold, constraints on them may
            result = follow(draws=self.draws(accepted))
        circuit = self.vectors.circuit
        if circuit is not None and any(argument.linked is not None for argument in circuit.arguments):
            result.size = inf  # of ciphertexts of other circuits, noise and what lies beside their lanes are not known
        return result

    @cached_property
    def forms(self) -> tuple[CheckedForm, ...]:
        """Arguments that clients can hold within their ranges; not of inputs that come as results of earlier runs."""
        fed = {self.vectors.placed.input_names[number] for number in self.vectors.feedback.values()}
        return tuple(form for form in self.traced.forms if form.constraint.input not in fed)

    def draws(self, accepted: Mapping[str, tuple[float, float]]) -> list[Draw]:
        """Inputs by chance, and those arguments."""
        if not self.forms:
            return []
        rng, result, rows = np.random.default_rng(0), [], self.vectors.rows > 1
        placed = self.vectors.placed
        for _ in range(DRAWS):
            inputs: list[Any] = []
            arrays = {}
            for name, pack in zip(placed.input_names, self.vectors.inputs, strict=True):
                if pack is None:
                    inputs.append(max(int(sample[name]) for sample in self.samples))
                else:
                    array = arrays[name] = rng.uniform(*accepted[name], pack.shape)
                    inputs.append((pack.pack(array),) * 2)
            shapes = {name: array.shape[rows:] for name, array in arrays.items()}
            parts = [f.arguments(arrays[f.constraint.input], shapes[f.constraint.input]) for f in self.forms]
            numbers = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
            result.append(Draw(inputs, np.concatenate(parts), numbers))
        return result

    def deviations(self, chain: ModulusChain) -> float:
        """Standard deviations of the noise of the worst element that are an error bound."""
        return tail_deviations(chain.slots // self.vectors.slots)

    def missing_bits(self, measured: Measured, chain: ModulusChain) -> int:
        """Bits by which the modelled noise exceeds what is left for it (negative: bits to spare).

        raises  PrecisionError where errors exceed all numbers
        """
        pairs = zip(self.noise_budgets, self.magnitudes, strict=True)
        least = min((left for left, magnitude in pairs if magnitude > self.vanishing), default=1.0)
        if least < SMALLEST:
            raise PrecisionError(
                f"compile: an output is at most {max(self.magnitudes):.1g} for all calibration data, and 2^-"
                f"{self.precision_bits:g} of one is below {SMALLEST:g}, which numbers do not reach; multiply inputs or "
                "weights by a public number",
                at=self.program.loc,
            )
        needed = [
            log2(max(self.deviations(chain) * deviation, 1e-300) / left)
            for deviation, magnitude, left in zip(measured.outputs, self.magnitudes, self.noise_budgets, strict=True)
            if magnitude > self.vanishing or self.is_zero
        ]
        if not all(map(isfinite, needed)):
            raise PrecisionError(
                "compile: errors grow without end: every product takes those of its factors along, so that the "
                "smallest one at the beginning exceeds all numbers at the end; write fewer products or iterations one "
                "after another",
                at=self.program.loc,
            )
        return ceil(max(needed))

    @cached_property
    def noise_budgets(self) -> list[float]:
        """Return how far noise may move every output: what errors of functions leave of 2^-precision_bits.

        All of it where degrees that the user gave lose more than that, so that noise adds little to the loss.
        """
        whole = [2.0**-self.precision_bits * size for size in sizes_to_compare_with(self.magnitudes, self.samples)]
        if self.traced.is_lossy:
            return whole
        share = 0.0 if self.options.like is not None else LEAST_SHARE
        return [max(w - e, share * w) for w, e in zip(whole, self.traced.effects, strict=True)]

    @property
    def vanishing(self) -> float:
        """Outputs of at most this magnitude have no relative precision."""
        return VANISHING * max(self.magnitudes)

    @property
    def is_zero(self) -> bool:
        """Whether every output is 0 on all calibration data."""
        return not any(self.magnitudes)

    @cached_property
    def magnitudes(self) -> list[float]:
        """Largest magnitude of every output over all calibration data; 0 of what only rounding keeps from 0."""
        values = self.vectors.placed.body.terminator.operands
        seen = [v.origin.max_abs if v.origin and v.origin.max_abs else 0.0 for v in values]
        sizes = [max(pair) for pair in zip(seen, self.measure.magnitudes, strict=True)]
        return without_rounding(self.vectors.placed, self.samples, sizes)

    def headroom_bits(
        self, plan: Plan, largest: float, reached: Sequence[AbstractValue | None], most: float = MOST_REACH
    ) -> int:
        """Bits of q0 above the scale with room for the largest value seen, at every level, a sign and a margin.

        reached  what outputs can be for accepted inputs, up to `most` times what they were; none to leave that out
        """
        scales = plan.chain.main.scales
        shares = [o.scale / scales[o.level] for o in plan.client.outputs]  # of a value, in its vector
        magnitudes = [m * share for m, share in zip(self.magnitudes, shares, strict=True)]
        largest = HEADROOM_MARGIN * max(largest, *magnitudes)
        for output, share, magnitude, held in zip(plan.client.outputs, shares, magnitudes, reached, strict=False):
            if held is not None:
                largest = max(largest, min(share * _largest(held.size, output), most * magnitude))
        return max(2, ceil(log2(largest)) + 1)

    def add_error_bounds(self, plan: Plan, measured: Measured, value_bounds: ValueBounds) -> Plan:
        """The plan with error bounds for its outputs and its tensors.

        raises  RangeError if inputs are accepted that clients cannot encode
        """
        check_encodable(plan.client, self.program.loc)
        chain, deviations = plan.chain, self.deviations(plan.chain)
        is_proved = _holds_proved(value_bounds, chain)
        unseen = 1.0 if chain.bootstrap is None else UNSEEN_NOISE
        outputs = []
        proofs = Proofs(
            self.traced.module, self.traced.fitted, value_bounds,
            lambda held, number: _largest(held.largest_error(deviations), plan.client.outputs[number]),
        )  # fmt: skip
        rows = zip(plan.client.outputs, measured.outputs, self.magnitudes, value_bounds.proved, strict=True)
        for number, (output, deviation, magnitude, held) in enumerate(rows):
            usual = deviations * deviation + output.approximation
            bound = unseen * deviations * deviation + output.approximation
            bounded = replace(output, error_bound=bound, magnitude=magnitude, usual_error=usual)
            if self.traced.fitted:
                bounded = replace(bounded, conditions=proofs.conditions(number))
            if is_proved and held is not None:
                own = max(_largest(held.largest_error(deviations), output), proofs.bound(number))
                proved, size = max(own, usual), _largest(held.size, output)
                if proved <= magnitude * 2.0**-USEFUL_BITS:
                    bounded = replace(bounded, error_bound=proved, reach=max(size, magnitude))
            outputs.append(bounded)
        tensors = []
        for t in plan.tensors:
            usual = deviations * measured.tensors.get(t.position, 0.0)
            tensors.append(
                replace(t, bound=max(usual, value_bounds.tensors.get(t.position, 0.0) if is_proved else 0.0))
            )
        feeding = follow_feedback(self.vectors, self.samples, self.traced.num_given)
        client = replace(plan.client, outputs=tuple(outputs), feeding=feeding)
        return replace(plan, client=client, tensors=tuple(tensors))


@dataclass(frozen=True)
class Trial:
    """A plan on one chain, and what is known of it.

    missing_bits   of precision; negative: to spare. Noise beside kinks counts as large as it is proved to be at most
    headroom_bits  that values take of the modulus above the scale, at the lowest level
    noisy_bits     missing by the noise that was simulated, which functions with kinks were computed with
    least_headroom_bits  for inputs like those of calibration: of others no bound is proved then
    """

    plan: Plan
    measured: Measured
    found: ValueBounds
    missing_bits: int
    headroom_bits: int
    noisy_bits: int
    least_headroom_bits: int

    @property
    def holds_values(self) -> bool:
        """Whether the modulus holds the values."""
        return self.is_proved or self.headroom_bits <= log2(room_above_scale(self.plan.chain)) + 1

    @property
    def is_proved(self) -> bool:
        """Whether it holds all that accepted inputs can give, by proof."""
        return _holds_proved(self.found, self.plan.chain)


def room_above_scale(chain: ModulusChain) -> float:
    """The modulus over the scale, at the lowest level of programs."""
    return chain.modulus(chain.floor) / chain.main.scales[chain.floor]


def _holds_proved(found: ValueBounds, chain: ModulusChain) -> bool:
    """Whether the modulus holds values as large as they are proved to be at most."""
    return 2.0 * TIGHT * PROVED_MARGIN * found.size <= room_above_scale(chain)


def _size(chain: ModulusChain) -> tuple[int, int, int]:
    """The sizes of a chain that the time of operations depends on."""
    return chain.ring_degree, len(chain.digits), len(chain.primes) + len(chain.special)


def element_slots(pack: PackMap) -> npt.NDArray[np.bool_]:
    """Slots (count, slots) that hold elements of a tensor."""
    return (pack.element_of_slot() >= 0).reshape(pack.count, pack.slots)


def _largest(slots: npt.NDArray[np.float64], output: Output) -> float:
    """The largest number in slots that hold elements of an output."""
    held = element_slots(output.pack)
    return float(np.max(np.broadcast_to(slots, held.shape), where=held, initial=0.0))
