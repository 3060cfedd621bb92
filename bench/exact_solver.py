"""CP-SAT of OR-tools, run so that the same model gives the same answer: one thread, work limited instead of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from latticework.errors import MissingPackageError


def cp_model() -> Any:
    """OR-tools' module of that name. MissingPackageError where it is not installed."""
    try:
        from ortools.sat.python import cp_model as module
    except ImportError as error:
        raise MissingPackageError(
            "exact models need OR-tools, which is not installed; pip install 'latticework[exact]'"
        ) from error
    return module


@dataclass(frozen=True)
class Answer:
    """Result of a run of the solver.

    value       objective of the solution, None if there is none
    bound       proved: no solution is below
    is_optimal  proved: value equals the bound
    solver      gives the values of variables
    """

    value: int | None
    bound: int
    is_optimal: bool
    solver: Any


def solve(model: Any, effort: float, seed: int) -> Answer:
    """Minimise for at most `effort` units of work; a unit is about a second."""
    module = cp_model()
    solver = module.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = effort
    status = solver.solve(model)
    is_solved = status in (module.OPTIMAL, module.FEASIBLE)
    # Objectives are integers, so a bound of 3.2 is one of 4; the margin is for rounding in the solver.
    bound = int(-(-(solver.best_objective_bound - 1e-6) // 1)) if status != module.MODEL_INVALID else 0
    return Answer(round(solver.objective_value) if is_solved else None, bound, status == module.OPTIMAL, solver)
