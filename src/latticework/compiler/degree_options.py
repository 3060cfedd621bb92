"""Options of a compilation about degrees of functions, and what an owner makes of results that they are chosen by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.accuracy.agreement import FREE_DEGREES, DegreeOptions
from latticework.accuracy.goals import (
    Compare,
    FloatArray,
    NearResults,
    Outputs,
    Results,
    SameDecisions,
    first_output,
    same_largest,
)
from latticework.approx.degrees import MAX_DEGREE
from latticework.errors import RangeError, UserError
from latticework.ir import Module
from latticework.owner import OwnerStages
from latticework.owner.run import finish
from latticework.words.figures import write_value


@dataclass(frozen=True)
class AskedDegrees:
    """`degree=`, `agreement=` and `tolerance=`, of which at most one is given."""

    degree: int | tuple[int, ...] | None = None
    agreement: float | None = None
    tolerance: float | None = None

    @property
    def has_goal(self) -> bool:
        """Whether the loss is what was asked for."""
        return self.agreement is not None or self.tolerance is not None

    def options(self, stages: OwnerStages, module: Module) -> DegreeOptions:
        """For a program that is traced, and what its owner does with results."""
        if self.agreement is not None:
            return DegreeOptions(goal=SameDecisions(self.agreement, _decisions(stages, module)))
        if self.tolerance is not None:
            return DegreeOptions(goal=NearResults(self.tolerance, _numbers(stages, module)))
        return FREE_DEGREES if self.degree is None else DegreeOptions(self.degree)


def asked_degrees(degree: Any, agreement: Any, tolerance: Any, calibrate: Any) -> AskedDegrees:
    """UserError for what cannot be asked of degrees."""
    given = {"degree": degree, "agreement": agreement, "tolerance": tolerance}
    names = [f"{name}=" for name, value in given.items() if value is not None]
    if not names:
        return AskedDegrees()
    if len(names) > 1:
        raise UserError(
            "compile: agreement= and tolerance= choose degrees, and degree= gives them; of "
            f"{' and '.join(names)} leave all but one out"
        )
    if degree is not None:
        several = isinstance(degree, list | tuple) and len(degree) > 0
        if not all(_is_degree(each) for each in (degree if several else [degree])):
            raise RangeError(
                f"compile: degree={write_value(degree)}; give a whole number from 1 to {MAX_DEGREE}, or a list "
                "of them, one for every function"
            )
        return AskedDegrees(tuple(int(each) for each in degree) if several else int(degree))
    if agreement is not None and not (_is_number(agreement) and 0.5 <= agreement <= 1):
        raise UserError(f"compile: agreement={write_value(agreement)}; give a share from 0.5 to 1, such as 0.995")
    if tolerance is not None and not (_is_number(tolerance) and 0 < tolerance < np.inf):
        raise UserError(
            f"compile: tolerance={write_value(tolerance)}; give the largest error that results may have, a number "
            "above 0 in their own unit"
        )
    if calibrate is None:
        raise UserError(f"compile: {names[0]} is measured on calibration samples; give calibrate=, some hundreds")
    return AskedDegrees(None, *(None if each is None else float(each) for each in (agreement, tolerance)))


def _is_degree(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(1 <= value <= MAX_DEGREE)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _decisions(stages: OwnerStages, module: Module) -> Compare:
    """Whether the owner decides the same by the outputs; without such a step whether the largest number is the same."""
    deciding = next((each for each in stages.after if any(step.DECIDES for step in each.steps)), None)
    if deciding is None:
        return same_largest
    number = list(module.outputs).index(deciding.output)

    def compare(exact: Outputs, others: Outputs) -> npt.NDArray[np.bool_]:
        found = [np.ravel(finish(deciding, outputs[number], 0.0).value) for outputs in (exact, others)]
        return np.asarray(found[0] == found[1])

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
