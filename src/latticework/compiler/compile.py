"""lw.compile: from a program and data to a model."""

from __future__ import annotations

import inspect
from typing import Unpack

from latticework.compiler.accuracy.class_labels import number_labels
from latticework.compiler.client_stages import stages_of
from latticework.compiler.collecting import collect_seldom
from latticework.compiler.options.compile_keywords import CompileKeywords
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.describe import describe_options, make_signature
from latticework.compiler.options.option_checks import check_options
from latticework.compiler.outside_passes import compile_with_passes
from latticework.compiler.pipeline import Task, finish_model, plan_program
from latticework.frontend import Circuit, Program
from latticework.frontend.recording.annotations import Secret
from latticework.model import Model
from latticework.progress import shows_progress
from latticework.values.blas_threads import one_blas_thread
from latticework.values.inputs.column_names import take_columns
from latticework.values.inputs.frames_by_column import split_by_column


@shows_progress
@collect_seldom()
@one_blas_thread()
def compile(program: Program | Circuit, **options: Unpack[CompileKeywords]) -> Model:
    """Compile a program or a circuit to run on encrypted inputs.

    Options are keywords. Most programs need some of the first, and few need those of the second list.
    """
    given, columns = read_options(program, check_options(program, options))
    task = Task(program, given, columns)
    if given.expert.passes is None and not given.expert.keep_ir:
        return finish_model(plan_program(task))
    return compile_with_passes(task)


def read_options(
    program: Program | Circuit, options: CompileOptions
) -> tuple[CompileOptions, dict[str, tuple[str, ...]]]:
    """The options with data whose named columns are in order, and the names of columns by what the owner gives."""
    order, known, partial = [p.name for p in program.inputs], {}, frozenset[str]()
    data = {"calibrate": options.data.calibrate, "example": options.data.example}
    if isinstance(program, Program):
        stages = stages_of(program, options.expert.owner)
        order = stages.given_for(p.name for p in program.inputs if isinstance(p.kind, Secret))
        known = {**program.columns, **{each.name: each.columns for each in stages.given if each.columns}}
        partial = stages.partial
        data = {name: split_by_column(given, stages.column_each, name) or given for name, given in data.items()}
    calibrate, known = take_columns(known, order, data["calibrate"], "calibrate", partial=partial)
    example, known = take_columns(known, order, data["example"], "example", is_one_run=True, partial=partial)
    labels = number_labels(options.data.labels, program.classes if isinstance(program, Program) else ())
    return options.override(calibrate=calibrate, example=example, labels=labels), known


compile.__doc__ = f"{inspect.cleandoc(compile.__doc__ or '')}\n\n{describe_options()}"
compile.__signature__ = make_signature(compile)  # type: ignore[attr-defined]
