"""A warning where nothing says how large the inputs of a fitted estimator are: neither data nor the estimator."""

from __future__ import annotations

from latticework.compiler.assemble import INPUT_MARGIN
from latticework.errors import RangeWarning
from latticework.frontend import Program
from latticework.ir.lines import warn
from latticework.plan.client_steps import Beside, Columns, Normalise, OneHot, OwnerStages, Reshape
from latticework.plan.client_steps.stages import Steps

_END = 1 + 2 * INPUT_MARGIN  # of what clients take, where inputs are taken to lie between -1 and 1


def warn_of_guesses(program: Program, stages: OwnerStages) -> None:
    """Warn that inputs are taken to lie in [-1, 1], where the owner's steps do not see to that."""
    bounded = {
        stage.input for stage in stages.before
        if all(_is_within_one((*piece.steps, *stage.steps)) for piece in stage.pieces)
    }  # fmt: skip
    if program.is_fitted and any(each.name not in bounded for each in program.inputs):
        warn(
            f"compile: without calibrate= nothing says how large the numbers given to {program.name} are: they are "
            f"taken to lie between -1 and 1, and clients refuse rows with others (beyond {_END:g}); give calibrate="
            "rows like those that will be encrypted, in the units of the table",
            RangeWarning,
        )


def _is_within_one(steps: Steps) -> bool:
    """Whether numbers that steps make lie in [-1, 1], whatever they are given."""
    for step in reversed(steps):
        if isinstance(step, Beside):
            return all(map(_is_within_one, step.branches))
        if not isinstance(step, Columns | Reshape):
            return isinstance(step, OneHot | Normalise)
    return False
