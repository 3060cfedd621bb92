"""`lw.compile_ir`: a model from the text of a stage; and models that keep their stages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy.typing as npt

from latticework.compiler.collecting import collect_seldom
from latticework.compiler.outside_changes import OutsideChange
from latticework.compiler.pipeline import Compilation, finish_model
from latticework.compiler.same_results import compare_modules, compare_results
from latticework.compiler.stage_modules import StageModules
from latticework.compiler.stage_table import IrStage
from latticework.compiler.stage_text import StageTexts, read_stage
from latticework.errors import FormatError, IrError, UserError
from latticework.frontend.recording.tracing import user_line
from latticework.ir import Module
from latticework.ir.parser import FAULTS
from latticework.model import Model, keep_stages, stages_of
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.parameters import ModulusChain


@collect_seldom()
def compile_ir(
    text: str,
    model: Model,
    *,
    constants: Iterable[npt.ArrayLike] = (),
    changes_results: bool = False,
    name: str = "IR text",
) -> Model:
    """Go on from the text of a stage that `model.ir` wrote, edited or not, to another model.

    From a text as it was written comes the same plan. From an edited one comes a plan that is checked as every plan is,
    and names the edit: results are compared with those of the model, in the clear, and refused where they differ by
    more than the precision that was asked for; error bounds are found anew, and none counts as proved.

    text             of any stage; its first lines say which, and of what
    model            that it was written of: constants, calibration data, options and what clients do come from there
    constants        arrays that the text names beside those of the model, by `lw.ir.source_hash(array)`
    changes_results  other results are meant: for texts of stage "traced", after which all is found anew
    name             of the text, in messages
    raises           IrError with line and column for text that does not verify or changes results;
                     ParameterMismatchError for a text of something else; SecurityError for parameters that are not
                     secure; LevelError, ScaleError or PrecisionError where levels, scales or noise do not do
    """
    if not isinstance(text, str) or not isinstance(model, Model):
        raise IrError("compile_ir: give the text of a stage, and the model that it was written of")
    modules = modules_of(model)
    read = read_stage(text, modules, constants, name)
    if read.is_same:
        with user_line(modules.compilation.task.program.loc):
            made = modules.go_on(read.stage, read.module, read.chain, is_same=True)
        return model_of(made)
    return model_of(change(modules, read.stage, read.module, read.chain, "an edited text", changes_results))


def modules_of(model: Model) -> StageModules:
    """The stages that a model keeps; IrError, with what to do, where it keeps none."""
    kept = stages_of(model)
    assert isinstance(kept, StageTexts)
    return kept.modules


def _require_names(before: Module, after: Module, who: str) -> None:
    """IrError unless inputs and outputs keep names and order: clients have them, and results are compared by place."""
    ends = ("inputs", before.input_names, after.input_names), ("outputs", before.outputs, after.outputs)
    for what, was, now in ends:
        if list(was) != list(now):
            raise IrError(f"{who}: {what} were {', '.join(was)} and are {', '.join(map(str, now))}; they have to stay")


def model_of(compilation: Compilation) -> Model:
    """The model of a compilation, with its stages if they are to be kept."""
    model = finish_model(compilation)
    if compilation.task.options.expert.keep_ir:
        keep_stages(model, StageTexts(StageModules(compilation.silent())))
    return model


def change(
    modules: StageModules, stage: IrStage, module: Module, chain: ModulusChain, who: str, changes_results: bool
) -> Compilation:
    """Go on from a module that came from outside, and check what it makes of the program.

    raises  as `compile_ir`
    """
    if changes_results and stage.name != "traced":
        raise IrError(
            f"{who} after stage {stage.name}: results may change at stage traced alone; what comes later has error "
            "bounds and calibration of the program before it"
        )
    lowering, told = modules.compilation.lowering, f"{who} after stage {stage.name}"
    before, vectors = modules.find(stage), modules.row if stage.name == "vectors" else modules.vectors
    if before is not None:
        _require_names(before, module, told)
    try:
        if stage.is_of_slots and not modules.chain.plain_modulus and before is not None:
            compare_modules(before, module, vectors, lowering.samples, told, modules.plan.client.precision_bits)
        with user_line(modules.compilation.task.program.loc):
            made = modules.go_on(stage, module, chain, is_same=False)
        assert made.plan is not None
        read_plan(write_plan(made.plan) or b"")  # as strictly as a file from elsewhere
        moved = None if changes_results else compare_results(modules.plan, made.plan, lowering.samples, told)
    except FormatError as error:
        raise IrError(f"{told}: no valid plan comes of it: {error.message}", at=error.at) from error
    except UserError:
        raise
    except FAULTS as error:  # of constants that verify, and say what cannot be computed
        raise IrError(f"{told}: cannot be compiled: {type(error).__name__}: {error}") from error
    return replace(made, changes=(*modules.compilation.changes, OutsideChange(who, stage.name, moved)))
