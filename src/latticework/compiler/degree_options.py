"""Options of a compilation about degrees of functions, and the decisions by which `agreement=` measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.accuracy.agreement import FREE_DEGREES, Compare, DegreeOptions, Outputs, same_largest
from latticework.approx.degrees import MAX_DEGREE
from latticework.errors import RangeError, UserError
from latticework.frontend import Circuit, Program
from latticework.interop.heir import HeirProgram
from latticework.ir import Module
from latticework.owner import OwnerStages
from latticework.owner.run import finish
from latticework.words.figures import write_value


def asked_degrees(program: Program | Circuit, degree: Any, agreement: Any, calibrate: Any) -> DegreeOptions:
    """UserError for what cannot be asked of degrees."""
    if degree is None and agreement is None:
        return FREE_DEGREES
    if not isinstance(program, Program) or isinstance(program, HeirProgram):
        raise UserError(
            f"compile: degree= and agreement= are for programs on arrays; {program.name} is none: leave them out",
            at=program.loc,
        )
    if degree is not None and agreement is not None:
        raise UserError("compile: agreement= chooses degrees, and degree= gives one for all; leave one of them out")
    if degree is not None:
        if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or not 1 <= degree <= MAX_DEGREE:
            raise RangeError(f"compile: degree={write_value(degree)}; give a whole number from 1 to {MAX_DEGREE}")
        return DegreeOptions(int(degree))
    is_number = isinstance(agreement, int | float | np.integer | np.floating) and not isinstance(agreement, bool)
    if not is_number or not 0.5 <= agreement <= 1:
        raise UserError(f"compile: agreement={write_value(agreement)}; give a share from 0.5 to 1, such as 0.995")
    if calibrate is None:
        raise UserError("compile: agreement= is measured on calibration samples; give calibrate=, some hundreds")
    return DegreeOptions(agreement=float(agreement))


def decisions(stages: OwnerStages, module: Module) -> Compare:
    """Whether the owner decides the same by the outputs; without such a step whether the largest number is the same."""
    deciding = next((each for each in stages.after if any(step.DECIDES for step in each.steps)), None)
    if deciding is None:
        return same_largest
    number = list(module.outputs).index(deciding.output)

    def compare(exact: Outputs, others: Outputs) -> npt.NDArray[np.bool_]:
        found = [np.ravel(finish(deciding, outputs[number], 0.0).value) for outputs in (exact, others)]
        return np.asarray(found[0] == found[1])

    return compare
