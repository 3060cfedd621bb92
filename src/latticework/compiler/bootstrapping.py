"""Programs on chains with bootstraps: which chain, where bootstraps stand, and how often an error is bootstrapped too.

Chains come from the stored sets and from sets planned for the program, in the rings that hold its vectors. On each the
bootstraps are placed, which says what it takes, and the quickest whose bootstraps may be precise enough is simulated;
where bits are missing, the quickest of those that have so many more is next. Bootstraps of two iterations are as
precise as the scale of a set allows, for about twice the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from math import ceil, inf
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy.levels import least_levels, spends_endlessly
from latticework.compiler.batch_rows import rows_in_ring, with_rows
from latticework.compiler.bootstrap_prices import BootstrapPrices, program_seconds, rough_seconds
from latticework.compiler.levels import keep_whole_origins
from latticework.compiler.levels.bootstrap_ranges import Ranges, find_ranges, outgrown_error
from latticework.compiler.levels.depth import is_public, spent_by
from latticework.compiler.levels.loops.plan_loops import plan_loops
from latticework.compiler.levels.place_bootstrap import place_bootstraps
from latticework.compiler.levels.refresh_ends import refresh_ends
from latticework.compiler.levels.refresh_reasons import state_reasons
from latticework.compiler.levels.unroll import has_loops
from latticework.compiler.like_plans import plan_as_stated
from latticework.compiler.options.compile_options import NEVER, CompileOptions
from latticework.compiler.precision import PrecisionSearch, Trial, element_slots
from latticework.compiler.program_lowering import Lowering
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.compiler.vector_levels import with_small_outputs
from latticework.errors import LayoutError, LevelError, PrecisionError, UserError
from latticework.errors.shown import count_noun
from latticework.frontend import Circuit, Program
from latticework.frontend.calibration.calibration_data import Sample, choose_evenly, telling_samples
from latticework.ir import PassEvent
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.parameters import (
    BOOTSTRAP_SETS,
    MAX_RING_LOG2,
    BootstrapSet,
    ModulusChain,
    Need,
    bootstrap_chain,
    bootstrapping_rings,
    levels_held,
    most_levels_left,
    plan_bootstrap_set,
)
from latticework.plan.parameters.bootstrap_planning import set_precision_bits
from latticework.plan.schema.considered_chains import WeighedChain
from latticework.plan.schema.schema import Plan
from latticework.values.packing.interleaved_rows import pack_rows
from latticework.values.packing.pack import PackMap

RANGED_SAMPLES = 16  # on which values are looked at, for their ranges, beside those with the largest tensors
GLANCED_SAMPLES = 4  # that are enough for a guess whether bootstraps pay
LEAST_TRANSFORMS, TRANSFORMS_A_LEVEL = 7400, 1400  # of rows, that a bootstrap takes in any set, and for each level left
LEAST_LIMBS = 3  # at the floor of any set
COMPARED = 2  # chains on which bootstraps are placed, of those that promise to be quickest
WAYS = 3  # in which a program is cut into parts between bootstraps, that sets are planned for
SPARE_BITS = 1  # of bootstraps over the precision of outputs, below which a set is not tried
PLACING = "place-bootstraps"  # in what is told to those who listen
_ITERATIONS = {1: "one iteration", 2: "two"}


class ChainOption(NamedTuple):
    """A way to bootstrap.

    bits  precision of its bootstraps, rms of slots in [-1, 1]; not needed of the only set
    """

    chosen: BootstrapSet
    iterations: int
    bits: float

    @property
    def ring(self) -> int:
        """Its ring degree."""
        return 1 << self.chosen.log2_degree


@dataclass(frozen=True)
class ChainCandidate:
    """A program on the chain of an option, with its bootstraps.

    seconds  predicted, of a run whose constants are encoded
    """

    option: ChainOption
    vectors: Vectors
    seconds: float

    @property
    def chain(self) -> ModulusChain:
        """Its modulus chain."""
        return bootstrap_chain(self.option.chosen)


@dataclass
class BootstrapSearch:
    """The quickest chain with bootstraps on which a program is precise enough."""

    lowering: Lowering

    @property
    def program(self) -> Program | Circuit:
        """The program as its user wrote it."""
        return self.lowering.program

    @property
    def traced(self) -> TracedProgram:
        """The program that runs beside the plan."""
        return self.lowering.traced

    @property
    def samples(self) -> list[Sample]:
        """Samples of its inputs, on which values are measured."""
        return self.lowering.bootstrap_samples[0]

    @property
    def asked(self) -> CompileOptions:
        """The options of the compilation; `options` are ways to bootstrap."""
        return self.lowering.options

    @property
    def precision_bits(self) -> float:
        """Bits that every output is to have, relative to the largest."""
        return self.asked.precision_bits

    @property
    def costs(self) -> CostModel:
        """Cost model of operations."""
        return self.asked.costs

    @property
    def chosen(self) -> BootstrapSet | None:
        """The only set, if the user named one, or an old model has one."""
        return self.lowering.chosen_set

    @property
    def is_allowed(self) -> bool:
        """Whether the program may bootstrap, and can with what is asked for."""
        old = self.lowering.old
        may = old is None or old.chain.bootstrap is not None
        return may and self.asked.bootstrap != NEVER and self.lowering.bootstrap_obstacle is None

    def best(self) -> tuple[Vectors, Plan]:
        """Vectors with their bootstraps, and the plan.

        raises  LevelError where no chain has the levels; PrecisionError with the bits that were reached;
                RangeError for values that grow beyond what can be bootstrapped
        """
        reached: list[str] = []
        tried: set[ChainOption] = set()
        measured: dict[ChainOption, float] = {}
        wanted, shallow = self.precision_bits + SPARE_BITS, ""
        simulated: tuple[ChainCandidate, Trial] | None = None  # precise enough, though it is not proved beside kinks
        while True:
            try:
                first = self.quickest_candidate([option for option in self.options(wanted) if option not in tried])
            except LevelError as error:  # more precise ones leave too few levels
                if not reached:
                    raise
                first, shallow = None, error.message
            if first is None and simulated is None:
                raise self._imprecise(reached, shallow)
            if first is None and simulated is not None:
                first, trial = simulated
                return self._finish_plan(first, trial, measured)
            assert first is not None
            trial = self._precision(first.vectors).tried_on(first.chain)
            if trial.missing_bits <= 0 and trial.holds_values:
                return self._finish_plan(first, trial, measured)
            if trial.noisy_bits <= 0 and trial.holds_values and simulated is None:
                simulated = first, trial
            tried.add(first.option)
            bits = measured[first.option] = self.precision_bits - trial.missing_bits
            reached.append(f"{bits:g} by {first.option.chosen.name} with {_ITERATIONS[first.option.iterations]}")
            wanted = max(wanted, first.option.bits + trial.missing_bits)

    def _finish_plan(
        self, first: ChainCandidate, trial: Trial, measured: Mapping[ChainOption, float]
    ) -> tuple[Vectors, Plan]:
        search = self._precision(first.vectors)
        plan = search.add_error_bounds(trial.plan, trial.measured, trial.found)
        if self.lowering.old is not None:
            plan = plan_as_stated(search, self.lowering.old, self.lowering.describe_client) or plan
        return first.vectors, replace(plan, weighed=self._considered_chains(first.option, measured))

    def option_of(self, vectors: Vectors, chain: ModulusChain) -> ChainOption:
        """The option by which vectors have their bootstraps on a chain."""
        wanted = chain, vectors.iterations
        return next(each for each in self._candidates if (bootstrap_chain(each.chosen), each.iterations) == wanted)

    def place_on(self, option: ChainOption, vectors: Vectors) -> Vectors:
        """Place bootstraps in vectors that have none, for the chain of an option.

        raises  as `with_bootstraps`
        """
        vectors = self._enlarge(vectors)
        samples, runs = self.lowering.bootstrap_samples
        return with_bootstraps(vectors, replace(ranges_of(vectors, samples), runs=runs), self.prices(option, vectors))

    def _enlarge(self, vectors: Vectors) -> Vectors:
        """Vectors whose small outputs are computed larger, and that keep their loops."""
        sizes = self._precision(vectors).magnitudes
        return with_small_outputs(vectors, sizes, self.asked.on_event, keep_loops=True)

    def may_be_quicker(self, vectors: Vectors, plan: Plan) -> bool:
        """Whether the program, as it is laid out for its plan without bootstraps, is predicted to be quicker with some.

        Most programs are done in less time than a bootstrap takes at least, and are not looked at further.
        """
        rings = [ring for ring in self.rings() if ring >= 2 * vectors.slots]
        if plan.chain.ring_degree < bootstrapping_rings()[0] or not rings:
            return False
        taken = estimate(plan, self.costs).warm_seconds
        rings = [ring for ring in rings if self.least_seconds(ring, vectors.depth, taken, plan.chain) < taken]
        if not rings:
            return False
        module, trips = vectors.flat or vectors.module, self.trips(vectors)
        plain = BootstrapPrices(self.costs, plan.chain, vectors.slots, self.asked.techniques)
        seconds = program_seconds(module, plain, trips)  # by the same prices as what it is compared with
        ranked = self.rank_options(vectors, [option for option in self.options(like=vectors) if option.ring in rings])
        if not ranked or ranked[0][0] >= seconds:
            return False
        with suppress(UserError):
            prices = self.prices(ranked[0][1], vectors)
            some = [self.samples[i] for i in choose_evenly(len(self.samples), GLANCED_SAMPLES)]
            made = with_bootstraps(vectors, ranges_of(vectors, some), prices)
            return program_seconds(made.flat or made.module, prices, trips) < seconds
        return False

    def is_endless(self) -> bool:
        """Whether it is plain that copies of loops would spend more levels than the largest ring holds, or any."""
        module = self.traced.module
        need = Need(1, 1, ceil(self.precision_bits), 2)
        return (
            least_levels(module, {}) > levels_held(need, 1 << MAX_RING_LOG2, self.asked.parameters.security_bits)
            or spends_endlessly(module)
        )  # fmt: skip

    def least_seconds(self, ring: int, depth: int, seconds: float, plain: ModulusChain) -> float:
        """Less than what a program takes in a ring, cut into two parts or more: its bootstraps, and the rest of it.

        seconds  on a chain without bootstraps;  plain  that chain. With fewer limbs operations take less in proportion
        """
        row = self.costs.unit_seconds("ntt", ring) * self.costs.bootstrap_ratio(ring, real=True)
        found = []
        for parts in range(max(2, ceil(depth / max(most_levels_left(0.0, ring), 1))), depth + 1):
            left = ceil(depth / parts)
            refreshing = row * ((parts - 1) * LEAST_TRANSFORMS + (depth - left) * TRANSFORMS_A_LEVEL)
            work = seconds * (left / 2 + LEAST_LIMBS) / (depth / 2 + 1) * ring / plain.ring_degree
            found.append(refreshing + work)
        return min(found, default=inf)

    def trips(self, vectors: Vectors) -> dict[str, int]:
        """The largest run-time integers of calibration."""
        return {name: max(int(sample[name]) for sample in self.samples) for name in _integers(vectors)}

    def _imprecise(self, reached: Sequence[str], shallow: str) -> PrecisionError:
        said = ", ".join(reached[-2:]) or "no set has bootstraps of so many bits"
        return PrecisionError(
            f"compile: precision_bits={self.precision_bits:g} is not reached with bootstraps: {said}; ask for less"
            + ("" if self.chosen is None else ", or for another bootstrap_set")
            + (f". Where bootstraps are more precise, levels are too few: {shallow}" if shallow else "")
            + f". Precision is that {self.lowering.bootstrap_samples[1]}",
            at=self.program.loc,
        )

    def _considered_chains(self, taken: ChainOption, measured: Mapping[ChainOption, float]) -> tuple[WeighedChain, ...]:
        """All options that had a price, the quickest first; none where there was no choice.

        measured  bits of those that are not precise enough
        """
        seconds = self._rough | {option: made.seconds for option, made in self._candidates.items()}
        if len(seconds) < 2:
            return ()
        weighed = [
            WeighedChain(
                option.chosen.name, option.iterations, option.ring, option.chosen.residual, taking,
                option in self._candidates, measured.get(option), option == taken,
            )
            for option, taking in seconds.items()
        ]  # fmt: skip
        return tuple(sorted(weighed, key=lambda each: (each.seconds, each.name, each.iterations)))

    # -- candidates ------------------------------------------------------------------------------

    def rings(self) -> list[int]:
        """Ring degrees that are looked at, the smallest first."""
        if self.chosen is not None:
            return [1 << self.chosen.log2_degree]
        if self.asked.ring_degree is not None:
            return [self.asked.ring_degree]
        rings = [ring for ring in bootstrapping_rings() if self.lowering.fits_ring(ring)]
        return [ring for ring in rings[:-1] if self._has_room(ring)] + rings[-1:]

    def _has_room(self, ring: int) -> bool:
        """Whether a ring has room for the rows of a batch, if there is one."""
        if self.asked.rows is None:
            return True
        try:
            return bool(self.laid_out(ring))
        except LayoutError:
            return False

    def options(self, wanted_bits: float | None = None, like: Vectors | None = None) -> list[ChainOption]:
        """Sets whose bootstraps are so precise, with two iterations where one is not enough.

        like  vectors of the program that are there already; None: as they are laid out for bootstraps
        """
        if self.chosen is not None:
            return [ChainOption(self.chosen, iterations, 0.0) for iterations in (1, 2)]
        wanted = self.precision_bits + SPARE_BITS if wanted_bits is None else wanted_bits
        usual, found = like or self.usual, list[ChainOption]()
        depth = usual.depth
        steepest = max((spent_by(op) for op in (usual.flat or usual.module).walk()), default=1)
        for ring in self.rings():
            sets = _stored_sets(ring)
            fewest = max(2, ceil(depth / max(most_levels_left(wanted, ring), 1)))
            for parts in range(fewest, fewest + WAYS):
                with suppress(LevelError):
                    sets.append(plan_bootstrap_set(max(1, steepest, ceil(depth / parts)), wanted, ring))
            for chosen in sets:
                found += _fewest_iterations(chosen, wanted)
        return found

    def rank_options(self, vectors: Vectors, options: Sequence[ChainOption]) -> list[tuple[float, ChainOption]]:
        """Rank chains by the approximate seconds that vectors take, the quickest first."""
        module, trips = vectors.flat or vectors.module, self.trips(vectors)
        rough = [rough_seconds(module, vectors.depth, self.prices(option, vectors), trips) for option in options]
        return sorted(zip(rough, options, strict=True), key=lambda each: (each[0], each[1].chosen.name))

    def prices(self, option: ChainOption, vectors: Vectors) -> BootstrapPrices:
        """Prices of vectors on a chain."""
        chain = bootstrap_chain(option.chosen)
        return BootstrapPrices(self.costs, chain, vectors.slots, self.asked.techniques, option.iterations)

    def quickest_candidate(self, options: Sequence[ChainOption]) -> ChainCandidate | None:
        """The quickest of the chains that promise to be; of a set that the user named with as few iterations as can be.

        raises  LevelError of the set that leaves most levels, where none has enough
        """
        if not options:
            return None
        found: list[ChainCandidate] = []
        refused: list[tuple[int, LevelError]] = []
        ordered = list(options[:1])
        if not self.chosen:
            ranked = self.rank_options(self.usual, options)
            self._rough |= {option: rough for rough, option in ranked}
            ordered = [option for _, option in ranked]
        possible = [option for option in ordered if option.chosen.residual >= self._steepest]  # in any layout
        for option in possible or [max(ordered, key=lambda option: option.chosen.residual)]:
            try:
                found.append(self.candidate(option))
            except LevelError as error:
                refused.append((option.chosen.residual, error))
            if len(found) == COMPARED:
                break
        if not found:
            raise max(refused, key=lambda each: each[0])[1]
        return min(found, key=lambda candidate: candidate.seconds)

    @property
    def _steepest(self) -> int:
        """The most levels that an operation on secrets spends at once."""
        module = self.usual.flat or self.usual.module
        return max((spent_by(op) for op in module.walk() if not is_public(op)), default=0)

    def candidate(self, option: ChainOption) -> ChainCandidate:
        """A program on the chain of a set."""
        if option not in self._candidates:
            vectors = self.laid_out(option.ring)
            prices, ranges = self.prices(option, vectors), self.ranges(option.ring)
            started = perf_counter()
            made = with_bootstraps(vectors, ranges, prices)
            self.tell(vectors, made, started)
            seconds = program_seconds(made.flat or made.module, prices, self.trips(vectors))
            self._candidates[option] = ChainCandidate(option, made, seconds)
        return self._candidates[option]

    def tell(self, before: Vectors, after: Vectors, started: float) -> None:
        """Whoever listens, that bootstraps have been placed."""
        if self.asked.on_event is not None:
            ended = perf_counter()
            ops, more = (sum(1 for _ in (vectors.flat or vectors.module).walk()) for vectors in (before, after))
            self.asked.on_event(PassEvent(PLACING, ops, more, started, ended))

    _candidates: dict[ChainOption, ChainCandidate] = field(default_factory=dict)
    _rough: dict[ChainOption, float] = field(default_factory=dict)
    _laid_out: dict[int, Vectors] = field(default_factory=dict)
    _ranges: dict[int, Ranges] = field(default_factory=dict)

    @property
    def usual(self) -> Vectors:
        """The program as vectors for the smallest ring."""
        return self.laid_out(self.rings()[0])

    def laid_out(self, ring: int) -> Vectors:
        """The program as vectors for a ring, without bootstraps."""
        if ring not in self._laid_out:
            usual = self.chosen or next(s for s in BOOTSTRAP_SETS.values() if 1 << s.log2_degree == ring)
            vectors = self.lowering.to_vectors_of(ring, usual.residual)
            self._laid_out[ring] = self._enlarge(self._with_rows(vectors, ring))
        return self._laid_out[ring]

    def _with_rows(self, vectors: Vectors, ring: int) -> Vectors:
        """Vectors of one row as those of the rows of a batch, if there is one.

        raises  LayoutError where a ring has no room for so many
        """
        wanted = self.asked.rows
        if wanted is None:
            return vectors
        rows, slots = rows_in_ring(vectors, wanted, ring), count_noun(vectors.slots, "slot")
        if not rows:
            raise LayoutError(
                f"compile: batch={wanted}: a row of {self.program.name} takes {slots} where it is bootstrapped, and "
                f"ring_degree={ring} has {ring // 2}: give batch={ring // 2 // vectors.slots} or less; more rows than "
                "that are several runs",
                at=self.program.loc,
            )
        return with_rows(vectors, rows, self.asked.on_event)

    def ranges(self, ring: int) -> Ranges:
        """How large values are on calibration data."""
        if ring not in self._ranges:
            samples, runs = self.lowering.bootstrap_samples
            self._ranges[ring] = replace(ranges_of(self.laid_out(ring), samples), runs=runs)
        return self._ranges[ring]

    def _precision(self, vectors: Vectors) -> PrecisionSearch:
        return PrecisionSearch(self.program, self.traced, vectors, self.samples, self.asked)


def _stored_sets(ring: int) -> list[BootstrapSet]:
    """The secure sets of a ring that any program may take."""
    return [s for s in BOOTSTRAP_SETS.values() if 1 << s.log2_degree == ring and not s.insecure]


def _fewest_iterations(chosen: BootstrapSet, wanted_bits: float) -> list[ChainOption]:
    """The set with as few iterations as are so precise; nothing if two are not enough."""
    bits = [(n, set_precision_bits(chosen, n) or 0.0) for n in (1, 2)]
    return [ChainOption(chosen, n, b) for n, b in bits if b >= wanted_bits][:1]


def most_levels_of(wanted_bits: float, ring: int) -> int:
    """The most levels that any bootstrap leaves that is so precise, of sets stored or planned for a ring."""
    stored = [s.residual for s in _stored_sets(ring) if _fewest_iterations(s, wanted_bits)]
    return max(most_levels_left(wanted_bits, ring), *stored, 0)


def _integers(vectors: Vectors) -> list[str]:
    """Names of run-time integers."""
    inputs = zip(vectors.placed.input_names, vectors.inputs, strict=True)
    return [name for name, pack in inputs if pack is None]


def _pack(pack: PackMap, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The vectors of an input; of rows of a batch, all of the same."""
    return pack_rows(pack, np.shape(value), value)


def ranges_of(vectors: Vectors, samples: Sequence[Sample]) -> Ranges:
    """How large the values of a program are on some of the samples, those with its largest tensors among them."""
    assert vectors.flat is not None
    runs = []
    for sample in (samples[i] for i in telling_samples(vectors.placed, samples, RANGED_SAMPLES, vectors.sizes)):
        packed = zip(vectors.placed.input_names, vectors.inputs, strict=True)
        runs.append({name: sample[name] if pack is None else _pack(pack, sample[name]) for name, pack in packed})
    held = {number: element_slots(tensor.pack) for number, tensor in enumerate(vectors.tensors)}
    return find_ranges(vectors.flat, runs, held)


def with_bootstraps(vectors: Vectors, ranges: Ranges, prices: BootstrapPrices) -> Vectors:
    """Vectors with bootstraps where they take the least time on a chain.

    raises  LevelError at an operation that the chain has not the levels for; RangeError for a value that grows beyond
            what can be bootstrapped
    """
    assert vectors.flat is not None
    place = plan_loops if has_loops(vectors.flat) else place_bootstraps
    try:
        placed = place(vectors.flat, prices.residual, prices, ranges.exponents, iterations=prices.iterations)
    except LevelError:
        error = outgrown_error(ranges, list(ranges.outgrown))
        if error is not None:
            raise error from None
        raise
    if vectors.feedback:
        ends = {
            number: ranges.exponents.get(vectors.flat.body.terminator.operands[number]) for number in vectors.feedback
        }
        placed = refresh_ends(placed, vectors.feedback, prices.residual, ends, iterations=prices.iterations)
    keep_whole_origins(vectors.flat, placed)
    placed = state_reasons(placed, prices.residual)
    return replace(vectors, flat=placed, residual=prices.residual, depth=prices.residual, iterations=prices.iterations)
