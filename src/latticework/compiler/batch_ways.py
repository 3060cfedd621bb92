"""The ways to compute the rows of a batch in one run, and the one that `compile(objective=)` prefers.

Rows lie side by side in the vectors of one row, or a ciphertext holds one number of every row. Which is better depends
on keys and bytes too, which layouts do not tell, so plans are compared. What is far behind by the time of its layouts
has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from warnings import WarningMessage

from latticework.compiler.options.compile_options import BYTES, THROUGHPUT, CompileOptions
from latticework.compiler.recurrences import warn_again, with_warnings
from latticework.compiler.stage_results import Vectors
from latticework.errors import UserError
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import CostEstimate, estimate
from latticework.plan.schema.batch import RowsChoice, RowsWay
from latticework.plan.schema.schema import Plan

WORTH_OF_KEYS = 1.25  # that a plan without keys may take longer: none are made, sent, kept or loaded
FAR_BEHIND = 4.0  # times the seconds of another by their layouts


@dataclass(frozen=True)
class _Tried:
    """A way that was tried.

    price  by the objective; infinite without a plan
    """

    way: RowsWay
    price: float = inf
    made: tuple[Vectors, Plan] | None = None
    error: UserError | None = None
    warnings: Sequence[WarningMessage] = ()


def plan_rows_best(
    ways: Sequence[Vectors], options: CompileOptions, plan_of: Callable[[Vectors], tuple[Vectors, Plan]]
) -> tuple[Vectors, Plan]:
    """Plan rows of a batch in each of the ways, and take what the objective prefers; its plan tells of all of them.

    plan_of  makes the vectors of all rows, and their plan, of the vectors of one
    raises   the error of the quickest way by its layouts, where none has a plan
    """
    if len(ways) == 1:
        return plan_of(ways[0])
    tried, least = list[_Tried](), inf
    for way in sorted(ways, key=lambda way: way.seconds):
        behind = way.seconds / least if least > 0 else 1.0
        tried.append(_try_way(way, options, plan_of, behind))
        least = min(least, inf if tried[-1].made is None else way.seconds)
    best = min(tried, key=lambda each: each.price)
    warn_again(best.warnings)
    if best.made is None:
        raise next(each.error for each in tried if each.error is not None)
    told = tuple(replace(each.way, chosen=each is best) for each in tried)
    vectors, plan = best.made
    return vectors, replace(plan, rows_choice=RowsChoice(options.objective, options.bits_a_second, told))


def price_plan(plan: Plan, cost: CostEstimate, options: CompileOptions) -> float:
    """The number that the objective makes small: seconds of a later run with its sending, or seconds of a row without,
    to which keys add a part; or bytes of a row, with keys."""
    sent = cost.bytes.inputs_fresh + cost.bytes.outputs
    if options.objective == BYTES:
        return (cost.bytes.keys_stored + sent) / plan.client.rows
    worth = WORTH_OF_KEYS if plan.keys else 1.0
    if options.objective == THROUGHPUT:
        return worth * cost.warm_seconds / plan.client.rows
    return worth * (cost.warm_seconds + 8 * sent / options.bits_a_second)


def _try_way(
    way: Vectors, options: CompileOptions, plan_of: Callable[[Vectors], tuple[Vectors, Plan]], behind: float
) -> _Tried:
    """Plan a way, unless it is far behind one that has a plan."""
    if behind > FAR_BEHIND and options.objective != BYTES:
        return _Tried(RowsWay(way.slots, behind=behind))
    made, warnings = with_warnings(partial(plan_of, way))
    if isinstance(made, UserError):
        return _Tried(RowsWay(way.slots, refused=made.message), error=made, warnings=warnings)
    plan = made[1]
    cost = estimate(plan, options.costs)
    told = RowsWay(
        way.slots, plan.client.rows, plan.chain.ring_degree, len(plan.client.manifest.uses), cost.bytes.keys_stored,
        cost.bytes.inputs_fresh, cost.bytes.outputs, cost.warm_seconds,
    )  # fmt: skip
    return _Tried(told, price_plan(plan, cost, options), made, warnings=warnings)
