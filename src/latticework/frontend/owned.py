"""Whether what the owner computes fits a program."""

from __future__ import annotations

from latticework.dialects.tensor import TensorType
from latticework.errors import UserError
from latticework.frontend.program import Program
from latticework.ir.module import Module
from latticework.ops.base import shape_of
from latticework.owner.stages import OwnerStages


def check_stages(program: Program, stages: OwnerStages, module: Module) -> None:
    """UserError for steps that do not fit the program."""
    inputs = zip(module.input_names, module.inputs, strict=True)
    outputs = zip(module.outputs, module.body.terminator.operands, strict=True)
    try:
        stages.check(
            {name: value.type.shape for name, value in inputs if isinstance(value.type, TensorType)},
            {name: shape_of(value) for name, value in outputs},
        )
    except ValueError as error:
        raise UserError(f"program {program.name}: steps of the owner: {error}", at=program.loc) from None
