"""The first stages of programs on arrays: traced, calibrated, and their functions as polynomials."""

from __future__ import annotations

from collections.abc import Callable

from latticework.compiler.accuracy import LevelLimits, approximate_functions, loss, scores_of
from latticework.compiler.accuracy.agreement import FREE_DEGREES, DegreeOptions
from latticework.compiler.input_constraints import find_forms
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.pass_order import PARABOLA_PASSES
from latticework.compiler.passes.center_parabolas import find_foldable
from latticework.compiler.stage_results import TracedProgram
from latticework.compiler.tabulating import tabulate
from latticework.frontend import Program, calibrate, trace
from latticework.frontend.calibration.calibration_data import Sample
from latticework.frontend.calibration.softmax_choice import expand_softmax
from latticework.ir import Loc, Module, run_passes, verify


def to_tensors(program: Program, weights: object, example: object) -> Module:
    """Trace a program."""
    module = trace(program, weights, example)
    verify(module)
    return module


def to_polynomials(
    module: Module,
    samples: list[Sample],
    options: CompileOptions,
    *,
    room: LevelLimits | None = None,
    operator_at: Callable[[Loc], str] = lambda _loc: "",
    num_given: int | None = None,
    num_rows: int | None = None,
    assumed: bool = False,
    degrees: DegreeOptions = FREE_DEGREES,
) -> TracedProgram:
    """Calibrate a traced program, and put polynomials that are precise enough in the place of its functions.

    room         for levels in rings that may be taken
    operator_at  what an imported model calls what is computed at a place
    num_given    samples that the user gave; those after them are what is fed to later runs
    num_rows     of data that the user gave, where samples have some repeatedly
    assumed      the samples are stand-ins, so they say nothing about the ranges of functions
    degrees      what is asked of functions that have no degree of their own
    raises       as `accuracy.approximate_functions` and `accuracy.scores_of`
    """
    margin, labels = options.expert.margin, options.data.labels
    precision_bits, on_event = options.precision_bits, options.on_event
    module = expand_softmax(tabulate(module, samples[0]), samples, assumed=assumed, margin=margin)
    given = samples[:num_given]
    samples, held = degrees.hold_back(samples)
    calibrated = module if assumed else calibrate(module, samples, margin=margin, num_rows=num_rows)
    find = find_foldable if options.techniques.merged_maps else None
    exact, agreement = degrees.choose(calibrated, samples, held, find)
    found = approximate_functions(exact, samples, precision_bits, room, operator_at, degrees.least, degrees.share)
    made = calibrate(found.module, samples, margin=margin, assumed=True) if assumed else found.module
    scores = None if labels is None else scores_of(exact, made, given, labels)
    told = loss(found, precision_bits, degrees.share, scores, agreement) if found.is_lossy else ""
    tidy = run_passes(made, PARABOLA_PASSES, on_event=on_event)
    return TracedProgram(
        tidy, found.fitted, found.shifts.tolist(), found.effects.tolist(), told, scores, num_given=num_given,
        stand_ins=found.stand_ins, forms=find_forms(exact, found.stand_ins),
    )  # fmt: skip
