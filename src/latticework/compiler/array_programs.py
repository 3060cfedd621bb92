"""lw.compile for programs on arrays: from a traced program and samples to a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from latticework.compiler.accuracy import FunctionsTooDeepError, LevelRoom, with_pools
from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.assessment import Assessment
from latticework.compiler.batch_rows import least_rows, planned_for_rows
from latticework.compiler.bootstrap_options import obstacle, with_remedy
from latticework.compiler.bootstrapping import SPARE_BITS, BootstrapSearch, quickest
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
from latticework.compiler.encrypted_feedback import find_fed, later_samples
from latticework.compiler.interval_warning import warn_of_leaving
from latticework.compiler.options.compile_options import AUTO, CompileOptions
from latticework.compiler.precision import PrecisionSearch
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.compiler.trace_arrays import to_polynomials, to_tensors
from latticework.errors import ApproximationWarning, LevelError, PrecisionError
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
from latticework.ir import Module
from latticework.ir.lines import warn
from latticework.model import Model, Reference
from latticework.plan.client_steps import OwnerStages
from latticework.plan.parameters import MAX_RING_LOG2, Need, bootstrapping_rings, levels_held, most_levels_left
from latticework.plan.schema.batch import Batch
from latticework.plan.schema.schema import Plan


@dataclass(frozen=True)
class SampledProgram:
    """A program on arrays that is traced, and samples of its inputs.

    program    with the scaling of its columns undone, where the client scales them
    stages     what the owner computes before encryption and after decryption
    data       for calibration as the program itself takes them; None: samples are stand-ins
    samples    those given, then what is fed to later runs;  num_given  how many of them are the former
    fed        numbers of outputs that are an input of the next run -> the number of that input
    axis       of rows that the program has itself
    """

    program: Program
    module: Module
    stages: OwnerStages
    data: Any
    samples: list[Sample]
    num_given: int
    fed: Mapping[int, int]
    axis: Batch | None


def compile_arrays(program: Program, options: CompileOptions) -> Model:
    """A program on arrays, without bootstraps or with them."""
    sampled = _trace(program, options)
    traced = _approximate(sampled, options)
    search = ArraySearch(sampled.program, traced, sampled.samples, options)
    refreshed = BootstrapSearch(sampled.program, traced, sampled.samples, options)
    try:
        vectors, plan = quickest(search.best, refreshed)
    except (LevelError, PrecisionError) as error:
        raise with_pools(error, traced.stand_ins, program.operator_at) from None
    if sampled.axis is not None:
        few = 0
        if sampled.data is not None:
            few = repeated_rows(sampled.program, sampled.module, sampled.data, sampled.axis)
        plan = replace(plan, client=replace(plan.client, batch=replace(sampled.axis, calibrated=few)))
    plan = replace(plan, client=with_stages(plan.client, sampled.stages), changes=program.changes)
    plan = warn_of_leaving(plan, traced, options.expert.margin)
    warn_of_gaps(plan)
    given = [] if sampled.data is None else sampled.samples[: sampled.num_given]
    assessment = Assessment(sampled.module, vectors.placed, vectors.positions, traced.stand_ins, given)
    reference = Reference(vectors.placed, vectors.positions, assessment)
    return Model(plan, reference, options.costs, allow_insecure=options.parameters.insecure)


def _trace(program: Program, options: CompileOptions) -> SampledProgram:
    """Trace a program, and find samples of its inputs: those given, or else stand-ins."""
    stages, given = stages_of(program, options.expert.owner), options.data
    example, calibrate = (through_stages(program, stages, data) for data in (given.example, given.calibrate))
    module = to_tensors(program, given.weights, example)
    check_traced(program, stages, module)
    fed = find_fed(program, module, options.expert.feed)
    data = calibrate if calibrate is not None else example
    axis = batch_of(module)
    samples = assume_samples(module) if data is None else samples_of(program, module, data, axis)
    scale = options.expert.scale_columns
    if data is not None and (scalings := find_scalings(program, module, samples, fed, scale)):
        shapes = {p.name: p.kind.shape for p in program.inputs if isinstance(p.kind, Secret)}
        for each in scalings:
            stages = stages.followed_by(each.name, shapes[each.name] or samples[0][each.name].shape, each.step)
        program, samples = with_scaled_columns(program, scalings), scaled_samples(samples, scalings)
        module = to_tensors(program, given.weights, example)
    later = later_samples(program, module, samples, fed, options.expert.feed_runs)
    return SampledProgram(program, module, stages, data, samples + later, len(samples), fed, axis)


def _approximate(sampled: SampledProgram, options: CompileOptions) -> TracedProgram:
    """The program with polynomials in the place of its functions; a warning where degrees that it gives lose much."""
    program, module, data = sampled.program, sampled.module, sampled.data
    with user_line(program.loc):
        degrees = choose_degree_options(options, sampled.stages, module)
        try:
            traced = to_polynomials(
                module, sampled.samples, options, room=_level_room(options), num_given=sampled.num_given,
                num_rows=None if data is None else rows_given(program, module, data, sampled.axis),
                assumed=data is None, degrees=degrees, operator_at=program.operator_at,
            )  # fmt: skip
        except FunctionsTooDeepError as error:
            raise with_remedy(error, options) from None
    precision = options.precision
    if traced.is_lossy and precision.agreement is None and precision.tolerance is None:
        warn(traced.loss, ApproximationWarning)
    return replace(traced, fed=sampled.fed)


def _level_room(options: CompileOptions) -> LevelRoom | None:
    """Levels that polynomials may spend in the rings that may be taken; None: any number."""
    ring, bits, chosen = options.ring_degree, options.precision_bits, options.chosen_set
    plain = levels_held(Need(0, 1, ceil(bits), 2), ring or 1 << MAX_RING_LOG2, options.parameters.security_bits)
    if chosen is not None:
        return None
    if options.bootstrap == AUTO and obstacle(options.parameters) is None:
        rings = [ring] if ring is not None else bootstrapping_rings()
        return LevelRoom(None, plain, max(most_levels_left(bits + SPARE_BITS, ring) for ring in rings))
    return None if options.parameters.insecure and ring is not None else LevelRoom(plain, plain)


@dataclass(frozen=True)
class ArraySearch:
    """The best plan of a program without bootstraps."""

    program: Program
    traced: TracedProgram
    samples: list[Sample]
    options: CompileOptions

    def best(self) -> tuple[Vectors, Plan]:
        """The plan and its vectors, which spend few levels where a program fits no ring otherwise."""
        vectors = self._lay_out(scarce_levels=False)
        try:
            return self._plan(vectors)
        except LevelError:
            scarce = self._lay_out(scarce_levels=True)
            if scarce.depth >= vectors.depth:
                raise
            return self._plan(scarce)

    def _lay_out(self, *, scarce_levels: bool) -> Vectors:
        rows = least_rows(self.options.rows)
        return ArrayVectors(
            self.traced.module, self.options, scarce_levels=scarce_levels, fed=self.traced.fed, rows=rows
        ).choose()

    def _plan(self, vectors: Vectors) -> tuple[Vectors, Plan]:
        if self.options.rows is None:
            return vectors, self._plan_of(vectors)
        return planned_for_rows(self.program, vectors, self.options, self._plan_of)

    def _plan_of(self, vectors: Vectors) -> Plan:
        return PrecisionSearch(self.program, self.traced, vectors, self.samples, self.options).best()
