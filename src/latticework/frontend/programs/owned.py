"""Whether what the owner computes fits a program."""

from __future__ import annotations

from collections.abc import Mapping

from latticework.errors import UserError
from latticework.frontend.programs.array_program import Program
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.module import Module
from latticework.plan.client_steps.stages import OwnerStages
from latticework.plan.client_steps.step import Shape
from latticework.tensor.ops.base import shape_of


def check_stages(
    program: Program, stages: OwnerStages, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]
) -> None:
    """UserError for steps that do not fit a program with encrypted inputs and outputs of these shapes."""
    try:
        stages.check(inputs, outputs)
    except ValueError as error:
        raise UserError(f"program {program.name}: steps of the owner: {error}", at=program.loc) from None


def check_traced(program: Program, stages: OwnerStages, module: Module) -> None:
    """The same of the program as it was traced."""
    inputs = zip(module.input_names, module.inputs, strict=True)
    outputs = zip(module.outputs, module.body.terminator.operands, strict=True)
    check_stages(
        program,
        stages,
        {name: value.type.shape for name, value in inputs if isinstance(value.type, TensorType)},
        {name: shape_of(value) for name, value in outputs},
    )
