"""Building of a report from a plan: every number that is shown is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2, prod

from latticework.errors import UnsupportedError
from latticework.plan.analysis.bfv_noise_domain import output_budgets
from latticework.plan.analysis.error_bounds import Magnitude, predict
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.trip_counts import instructions_run
from latticework.plan.cost import CostModel, client_costs
from latticework.plan.machine.shown_prices import shown_costs
from latticework.plan.parameters.chain_without_keys import has_public_key
from latticework.plan.schema.schema import ClientSpec, IndexInput, Plan
from latticework.report.carried import carried_levels
from latticework.report.data import Execution
from latticework.report.notes import client_notes, plan_notes, table_text
from latticework.report.report import Report
from latticework.report.sections.approximations_section import approximation_rows
from latticework.report.sections.bootstrap_section import bootstrapping
from latticework.report.sections.chain_section import level_rows, level_use
from latticework.report.sections.head_section import Security, row_costs
from latticework.report.sections.interface_section import argument_rows, input_row, output_rows
from latticework.report.sections.key_section import key_rows
from latticework.report.sections.layout_choice_section import layout_choice
from latticework.report.sections.layouts_section import layout_groups
from latticework.report.sections.owner_section import owner_work
from latticework.report.time_by_line import lines_of, moments_of
from latticework.report.under_budget import under_budget

MAX_FOLLOWED = 1 << 18  # instructions of a run through which bounds are carried, loops turn by turn


def build_report(
    plan: Plan,
    model: CostModel | None = None,
    trips: Mapping[str, int] | None = None,
    *,
    memory: str | int | None = None,
    runs: int = 1,
) -> Report:
    """The report of a plan.

    model   prices; those of this machine if not given, or if they are those of the package
    trips   values of run-time trip counts by name; their limits if not given
    memory  a budget such as "2GB": then it says, too, what a server holds under it
    runs    at the same time, that the budget has to have room for
    raises  UserError for a budget that is no amount; BudgetError for one that is too small
    """
    model = shown_costs(model)
    cost = estimate(plan, model, trips)
    execution = Execution(
        cost,
        approximation_rows(plan),
        layout_groups(plan),
        layout_choice(plan),
        plan.circuit,
        tuple(lines_of(plan, cost)),
        tuple(moments_of(plan, cost)),
        sum(len(block.code) for block in plan.blocks),
        table_text(model),
        plan.loss,
        plan.scores,
        bootstrapping(plan, cost.bootstraps),
        carried_levels(plan),
        None if memory is None else under_budget(plan, memory, model, trips, runs=runs),
        plan.kept,
        plan.rows_choice,
    )
    worst = _worst_cases(plan)
    notes = tuple(plan_notes(plan, cost, model))
    return _report(plan.client, model, execution, cost.key_uses, notes, worst, _budgets(plan))


def _budgets(plan: Plan) -> list[float | None]:
    """The noise budgets to be expected of exact outputs."""
    if plan.chain.scheme != "bfv":
        return [None] * len(plan.client.outputs)
    return list(output_budgets(plan, public_key=has_public_key(plan.chain)))


def build_client_report(spec: ClientSpec) -> Report:
    """The report of a client file: parameters, inputs, outputs and keys."""
    unknown = [None] * len(spec.outputs)
    return _report(spec, shown_costs(), None, None, tuple(client_notes(spec)), unknown, unknown)


def _worst_cases(plan: Plan) -> list[float | None]:
    """Bounds of the noise of each output, for inputs anywhere in their ranges and as many iterations as are allowed."""
    known: list[Magnitude | int] = []
    if instructions_run(plan, into_bootstraps=False) > MAX_FOLLOWED:
        return [None] * len(plan.client.outputs)
    for spec in plan.client.inputs:
        if isinstance(spec, IndexInput):
            if spec.limit is None:
                return [None] * len(plan.client.outputs)
            known.append(spec.limit)
        else:
            peak = max(abs(spec.low), abs(spec.high))
            known.append(Magnitude(peak, peak))
    try:
        bounds = predict(plan, known, public_key=True)
    except UnsupportedError:
        return [None] * len(plan.client.outputs)
    return [bound.worst for bound in bounds]


def _report(
    client: ClientSpec,
    model: CostModel,
    execution: Execution | None,
    uses: Mapping[int, int] | None,
    notes: tuple[str, ...],
    worst_cases: Sequence[float | None],
    budgets: Sequence[float | None],
) -> Report:
    chain, manifest, taken = client.chain, client.manifest, client_costs(client, model)
    return Report(
        client.name,
        Security(chain.ring_degree, chain.log2_qp, manifest.limit_bits, chain.security_bits, chain.insecure),
        client.precision_bits,
        level_use(client),
        level_rows(chain),
        tuple(log2(p) for p in chain.special),
        chain.digits,
        tuple(input_row(client, spec) for spec in client.inputs),
        output_rows(client, worst_cases, budgets),
        key_rows(client, uses),
        taken,
        execution,
        notes,
        prod(chain.plain_moduli),
        owner_work(client),
        row_costs(client, taken, None if execution is None else execution.estimate.warm_seconds),
        argument_rows(client),
    )
