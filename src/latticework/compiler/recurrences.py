"""Whether linear recurrences are folded into matrices: both forms of a program are planned, and the quicker is taken.

A loop of hundreds of iterations would take minutes to be planned for that. It is not planned where its products alone
take longer than the matrices.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from latticework.compiler.levels.loops.executed import executions
from latticework.compiler.passes import fold_recurrences
from latticework.errors import UserError
from latticework.ir import INDEX, Module, interpret, run_passes
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.cost.weights import ckks_weights
from latticework.plan.schema.schema import Plan

WRITTEN_OUT = 512  # operations of loops, each counted in every iteration: with more, a loop is priced by its products
CHECKED = 4  # samples
TOLERANCE = 1e-12  # of the largest number of an output
_PRODUCTS = ("tensor.mul", "tensor.matmul", "tensor.conv2d")
Planned = TypeVar("Planned")


def fold_module(module: Module, samples: Sequence[Mapping[str, Any]]) -> Module | None:
    """The module with linear recurrences as matrices; None if it has none, or rounding would tell the two apart.

    samples  of its inputs, on which both are run
    """
    folded = run_passes(module, (fold_recurrences.PASS,))
    if folded is module:
        return None
    for sample in samples[:CHECKED]:
        for one, other in zip(interpret(module, sample), interpret(folded, sample), strict=True):
            size = float(np.max(np.abs(one), initial=0.0))
            if not np.isfinite(size) or float(np.max(np.abs(one - other), initial=0.0)) > TOLERANCE * size:
                return None
    return folded


def takes_longer_than(module: Module, plan: Plan, costs: CostModel, rows: int) -> bool:
    """Whether the products of a module's loops take longer than a plan without these loops, without a look at them.

    rows  that the plan computes in one run
    """
    # Loops of a number that is known at run time alone may run not at all: that is the least that others take.
    least = {name: 0 for name, value in zip(module.input_names, module.inputs, strict=True) if value.type is INDEX}
    runs = {op: count for op, count in executions(module, least).items() if count > 1 and op.results}
    if sum(runs.values()) <= WRITTEN_OUT or plan.chain.main.top < 1:
        return False
    products = sum(count for op, count in runs.items() if op.name in _PRODUCTS and op.result.is_secret)
    once = ckks_weights(plan.chain, 1, costs).public_product
    return products * once > estimate(plan, costs).warm_seconds / rows


def with_warnings(plan: Callable[[], Planned]) -> tuple[Planned | UserError, list[warnings.WarningMessage]]:
    """Return what is planned, or why nothing is, and what that warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return plan(), caught
        except UserError as error:
            return error, caught


def warn_again(caught: Sequence[warnings.WarningMessage]) -> None:
    """Warn of what was caught."""
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
