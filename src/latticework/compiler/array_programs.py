"""The front end of programs on arrays: traced, with samples of its inputs, and its functions as polynomials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any, ClassVar

from latticework.compiler.accuracy import SHARE, FunctionsTooDeepError, LevelLimits, with_pools
from latticework.compiler.accuracy.agreement import DegreeOptions
from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.assessment import Assessment
from latticework.compiler.batch_rows import least_rows
from latticework.compiler.bootstrap_options import obstacle, with_remedy
from latticework.compiler.bootstrapping import SPARE_BITS, most_levels_of
from latticework.compiler.bound_conditions import warn_of_gaps
from latticework.compiler.client_stages import (
    find_scalings,
    scaled_samples,
    stages_of,
    through_stages,
    with_scaled_columns,
    with_stages,
)
from latticework.compiler.degree_options import choose_degree_options
from latticework.compiler.encrypted_feedback import find_feedback, later_samples
from latticework.compiler.guessed_ranges import warn_of_guesses
from latticework.compiler.interval_warning import warn_of_leaving
from latticework.compiler.like_plans import LEAVE_OUT, is_laid_out_like
from latticework.compiler.options.compile_options import AUTO, CompileOptions
from latticework.compiler.pass_order import TENSOR_PASSES
from latticework.compiler.plan_without_keys import MOST_LEVELS
from latticework.compiler.program_lowering import Lowering
from latticework.compiler.recurrences import fold_module
from latticework.compiler.retraining.old_model import OldModel
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.compiler.too_deep import find_too_deep
from latticework.compiler.trace_arrays import to_polynomials, to_tensors
from latticework.errors import ApproximationWarning, LayoutError, LevelError, PrecisionError, UserError
from latticework.frontend import Program
from latticework.frontend.calibration.calibration_data import (
    Sample,
    assume_samples,
    repeated_rows,
    rows_given,
    samples_of,
)
from latticework.frontend.programs.batching import batch_of
from latticework.frontend.programs.owned import check_traced
from latticework.frontend.recording.annotations import Secret
from latticework.frontend.recording.tracing import user_line
from latticework.ir import Module, run_passes
from latticework.ir.lines import warn
from latticework.lazy_dataclass import dataclass
from latticework.model import Reference
from latticework.plan.client_steps import OwnerStages
from latticework.plan.parameters import MAX_RING_LOG2, Need, bootstrapping_rings, levels_held
from latticework.plan.schema.batch import Batch
from latticework.plan.schema.schema import ClientSpec, Plan

NARROW = 2  # reaches of functions by less than their margin come after so many
NARROW_MARGINS = (0.02, 0.01)  # where functions would not do with the levels of an old model's by the usual one
SHARES = (SHARE, 0.85, 0.97)  # of the budget for errors, for functions that have the levels of an old model's


@dataclass(frozen=True)
class SampledProgram:
    """A program on arrays that is traced, and samples of its inputs.

    program    with the scaling of its columns undone, where the client scales them
    stages     what the owner computes before encryption and after decryption
    data       for calibration as the program itself takes them; None: samples are stand-ins
    samples    those given, then what is fed to later runs;  num_given  how many of them are the former
    feedback  numbers of outputs that are an input of the next run -> the number of that input
    axis       of rows that the program has itself
    """

    program: Program
    module: Module
    stages: OwnerStages
    data: Any
    samples: list[Sample]
    num_given: int
    feedback: Mapping[int, int]
    axis: Batch | None


@dataclass
class ArrayLowering(Lowering):
    """A program on arrays, with polynomials in the place of its functions."""

    bootstraps_rows: ClassVar[bool] = True

    sampled: SampledProgram

    def narrow(self) -> ArrayLowering | None:
        """The same with functions that reach less far beyond calibration, and leave more of the errors for noise."""
        if self.old is None or not self.traced.fitted:
            return None
        with suppress(UserError):
            return replace(self, traced=_approximate(self.sampled, self.options, self.traced.narrowed + 1))
        return None

    def to_vectors(self) -> Vectors:
        """Lay the tensors out for the least time; where an old model has what its client sends, as that does."""
        usual = self._request().choose()
        old = self.old
        if old is None or any(is_laid_out_like(each, old.client) for each in usual.row_ways):
            return usual
        options = self.options.override(ring_degree=old.chain.ring_degree)
        with suppress(LayoutError):
            other = replace(self._request(), options=options).choose()
            if any(is_laid_out_like(each, old.client) for each in other.row_ways) or usual.slots > old.chain.slots:
                return other
        return usual

    def to_shallow_vectors(self) -> Vectors | None:
        """Lay the tensors out for as few levels as can be found."""
        return replace(self._request(), scarce_levels=True).choose()

    def to_vectors_of(self, ring_degree: int, residual: int) -> Vectors:
        """Lay the tensors out for the levels that bootstraps leave, and keep loops."""
        options = self.options.override(ring_degree=ring_degree)
        rows = least_rows(options.rows)
        return ArrayVectors(
            self.traced.module, options, residual=residual, keep_loops=True, feedback=self.traced.feedback, rows=rows
        ).choose()

    def find_too_deep(self) -> UserError | None:
        """Count the levels that any layout spends; with an old model its own error says more."""
        if self.options.like is not None:
            return None
        error = find_too_deep(f"program {self.program.name}", self.program.loc, self.traced.module, self.options)
        may_need_no_keys = self.options.rows is not None and error is not None and error.need.depth <= MOST_LEVELS
        return None if may_need_no_keys else error

    def fold_recurrences(self) -> ArrayLowering | None:
        """Fold loops that are linear in what is encrypted."""
        if not self.options.techniques.folded_recurrences:
            return None
        module = fold_module(self.traced.module, self.samples)
        if module is None:
            return None
        tidy = run_passes(module, TENSOR_PASSES, on_event=self.options.on_event)
        return replace(self, traced=replace(self.traced, module=tidy))

    def _request(self) -> ArrayVectors:
        """Ask for vectors without bootstraps."""
        rows = least_rows(self.options.rows)
        return ArrayVectors(self.traced.module, self.options, feedback=self.traced.feedback, rows=rows)

    @property
    def traced_module(self) -> Module:
        """The program on arrays, with its functions."""
        return self.sampled.module

    def retrace(self, module: Module, options: CompileOptions) -> ArrayLowering:
        """Approximate the functions of another program, on the same samples."""
        return lower_sampled(replace(self.sampled, module=module), options)

    def explain(self, error: UserError) -> UserError:
        """Add the part that max-pools have in levels and precision."""
        return with_pools(error, self.traced.stand_ins, self.sampled.program.operator_at)

    def finish(self, plan: Plan) -> Plan:
        """Add rows and the owner's steps, and warn of what the functions and bounds do not cover."""
        plan = replace(plan, client=self.describe_client(plan.client), changes=self.sampled.program.changes)
        plan = warn_of_leaving(plan, self.traced, self.options.expert.margin)
        warn_of_gaps(plan)
        return plan

    def describe_client(self, client: ClientSpec) -> ClientSpec:
        """The client's part with rows and the owner's steps."""
        sampled = self.sampled
        if sampled.axis is not None:
            few = 0
            if sampled.data is not None:
                few = repeated_rows(sampled.program, sampled.module, sampled.data, sampled.axis)
            client = replace(client, batch=replace(sampled.axis, calibrated=few))
        return with_stages(client, sampled.stages)

    @property
    def kept_notes(self) -> tuple[str, ...]:
        """Sentences on what was relaxed so that the program fits the old parameters."""
        if not NARROW <= self.traced.narrowed < NARROW + len(NARROW_MARGINS):
            return ()
        margin = self.options.expert.margin
        return (f"functions are approximated less far beyond calibration than margin={margin:g} says: levels are few",)

    def reference(self, vectors: Vectors) -> Reference:
        """Make the reference, with what measures its accuracy."""
        sampled = self.sampled
        given = [] if sampled.data is None else sampled.samples[: sampled.num_given]
        assessment = Assessment(
            sampled.module, vectors.placed, vectors.positions, self.traced.stand_ins, given, sampled.program.classes
        )
        return Reference(vectors.placed, vectors.positions, assessment)


def lower_arrays(program: Program, options: CompileOptions) -> ArrayLowering:
    """Trace a program on arrays, find samples of its inputs, and approximate its functions."""
    sampled = sample_program(program, options)
    if sampled.data is None:
        warn_of_guesses(program, sampled.stages)
    return lower_sampled(sampled, options)


def lower_sampled(sampled: SampledProgram, options: CompileOptions) -> ArrayLowering:
    """Approximate the functions of a program that is traced."""
    return ArrayLowering(sampled.program, _approximate(sampled, options), sampled.samples, options, sampled)


def sample_program(program: Program, options: CompileOptions) -> SampledProgram:
    """Trace a program, and find samples of its inputs: those given, or else stand-ins."""
    stages, given = stages_of(program, options.expert.owner), options.data
    example, calibrate = (through_stages(program, stages, data) for data in (given.example, given.calibrate))
    module = to_tensors(program, given.weights, example)
    check_traced(program, stages, module)
    feedback = find_feedback(program, module, options.expert.feed)
    data = calibrate if calibrate is not None else example
    axis = batch_of(module)
    samples = assume_samples(module) if data is None else samples_of(program, module, data, axis)
    scale = options.expert.scale_columns
    old = None if options.like is None else OldModel(options.like.plan)
    if data is not None and (scalings := find_scalings(program, module, samples, feedback, scale, stages)):
        if old is not None:
            scalings = [each.as_of(old, stages, samples) for each in scalings]
        shapes = {p.name: p.kind.shape for p in program.inputs if isinstance(p.kind, Secret)}
        for each in scalings:
            stages = stages.followed_by(each.name, shapes[each.name] or samples[0][each.name].shape, each.step)
        program, samples = with_scaled_columns(program, scalings), scaled_samples(samples, scalings)
        module = to_tensors(program, given.weights, example)
    later = later_samples(program, module, samples, feedback, options.expert.feed_runs)
    return SampledProgram(program, module, stages, data, samples + later, len(samples), feedback, axis)


def _approximate(sampled: SampledProgram, options: CompileOptions, narrowed: int = 0) -> TracedProgram:
    """The program with polynomials in the place of its functions; a warning where degrees that it gives lose much.

    narrowed  as of `_approximate_like`, where there is an old model
    """
    program, module, data = sampled.program, sampled.module, sampled.data
    old = None if options.like is None else OldModel(options.like.plan)
    with user_line(program.loc):
        degrees = choose_degree_options(options, sampled.stages, module)
        approximate = partial(
            to_polynomials, module, sampled.samples, num_given=sampled.num_given,
            room=_level_limits(options) if old is None else _old_limits(old),
            num_rows=None if data is None else rows_given(program, module, data, sampled.axis),
            assumed=data is None, operator_at=program.operator_at,
        )  # fmt: skip
        try:
            if old is None:
                traced = approximate(options=options, degrees=degrees)
            else:
                traced = _approximate_like(approximate, options, degrees, old, narrowed)
        except FunctionsTooDeepError as error:
            if old is not None:
                raise LevelError(f"{error.message}; or {LEAVE_OUT}", at=error.at) from None
            raise with_remedy(error, options, obstacle(options.parameters)) from None
    precision = options.precision
    if traced.is_lossy and precision.agreement is None and precision.tolerance is None:
        warn(traced.loss, ApproximationWarning)
    return replace(traced, feedback=sampled.feedback)


def _approximate_like(
    approximate: Callable[..., TracedProgram],
    options: CompileOptions,
    degrees: DegreeOptions,
    old: OldModel,
    narrowed: int,
) -> TracedProgram:
    """Approximate functions by polynomials that spend the levels of an old model's; if need be for more of the errors.

    Then no further beyond calibration than the old model's reach, then by small margins, which the plan says. Where
    that is not enough they take what levels they need: others may do with less.

    narrowed  how many of these reaches are left out, as noise had no room beside what functions take by them
    """
    least = replace(degrees, least=tuple(old.degrees()))
    within = replace(least, intervals=old.intervals())
    margins = (min(options.expert.margin, margin) for margin in NARROW_MARGINS)
    reaches = [
        (options, least, SHARES[:2]),
        (options, within, SHARES[:1]),
        *((options.override(margin=margin), least, SHARES) for margin in margins),
    ]
    for number, (asked, each, shares) in enumerate(reaches):
        for share in shares if number >= narrowed else ():
            with suppress(PrecisionError, FunctionsTooDeepError):
                return replace(approximate(options=asked, degrees=replace(each, share=share)), narrowed=number)
    if narrowed:
        raise PrecisionError("compile: functions are not precise enough by polynomials that reach less far")
    return replace(approximate(options=options, degrees=degrees), narrowed=len(reaches))


def _old_limits(old: OldModel) -> LevelLimits:
    """Levels that polynomials may spend on the chain of an old model."""
    if old.chain.bootstrap is not None:
        return LevelLimits(None, old.levels, old.levels)
    return LevelLimits(old.levels, old.levels)


def _level_limits(options: CompileOptions) -> LevelLimits | None:
    """Levels that polynomials may spend in the rings that may be taken; None: any number."""
    ring, bits, chosen = options.ring_degree, options.precision_bits, options.chosen_set
    plain = levels_held(Need(0, 1, ceil(bits), 2), ring or 1 << MAX_RING_LOG2, options.parameters.security_bits)
    if chosen is not None:
        return None
    if options.bootstrap == AUTO and obstacle(options.parameters) is None:
        rings = [ring] if ring is not None else bootstrapping_rings()
        return LevelLimits(None, plain, max(most_levels_of(bits + SPARE_BITS, ring) for ring in rings))
    return None if options.parameters.insecure and ring is not None else LevelLimits(plain, plain)
