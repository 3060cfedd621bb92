"""Options of a compilation about degrees of functions, and what an owner makes of results that they are chosen by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy.agreement import FREE_DEGREES, DegreeOptions
from latticework.compiler.accuracy.goals import (
    Compare,
    FloatArray,
    NearResults,
    Outputs,
    Results,
    SameDecisions,
    first_output,
    same_largest,
)
from latticework.compiler.options.compile_options import CompileOptions
from latticework.errors import UserError
from latticework.ir import Module
from latticework.plan.client_steps import OwnerStages
from latticework.plan.client_steps.run_steps import finish


def choose_degree_options(options: CompileOptions, stages: OwnerStages, module: Module) -> DegreeOptions:
    """Return what degree=, agreement= or tolerance= ask of degrees, for a program that is traced.

    stages  what its owner does with results
    raises  UserError as `_numbers`
    """
    degree, precision = options.expert.degree, options.precision
    if precision.agreement is not None:
        return DegreeOptions(goal=SameDecisions(float(precision.agreement), _decisions(stages, module)))
    if precision.tolerance is not None:
        return DegreeOptions(goal=NearResults(float(precision.tolerance), _numbers(stages, module)))
    if degree is None:
        return FREE_DEGREES
    return DegreeOptions(tuple(int(each) for each in degree) if isinstance(degree, Sequence) else int(degree))


def _decisions(stages: OwnerStages, module: Module) -> Compare:
    """Whether the owner decides the same by the outputs; without such a step whether the largest number is the same."""
    deciding = next((each for each in stages.after if any(step.DECIDES for step in each.steps)), None)
    if deciding is None:
        return same_largest
    number = list(module.outputs).index(deciding.output)

    def compare(exact: Outputs, others: Outputs) -> npt.NDArray[np.bool_]:
        decided = [np.ravel(finish(deciding, outputs[number], 0.0).value) for outputs in (exact, others)]
        return np.asarray(decided[0] == decided[1])

    return compare


def _numbers(stages: OwnerStages, module: Module) -> Results:
    """Numbers of the first output as the owner gets them.

    raises  UserError if the owner makes decisions of it
    """
    name = next(iter(module.outputs))
    after = next((each for each in stages.after if each.output == name), None)
    if after is None:
        return first_output
    if any(step.DECIDES for step in after.steps):
        raise UserError(
            f"compile: tolerance= is for numbers, and the owner makes decisions of {name}; ask for agreement=, a share "
            "of them"
        )

    def results(outputs: Outputs) -> FloatArray:
        return np.asarray(finish(after, outputs[0], 0.0).value, dtype=np.float64)

    return results
