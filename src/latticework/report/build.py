"""From a plan to a report: every number that is shown is computed here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log2, prod

import numpy as np

from latticework.analysis.bounds import Magnitude, predict
from latticework.analysis.estimate import estimate
from latticework.analysis.noise import output_budgets
from latticework.analysis.trips import instructions_run
from latticework.cost import ClientCosts, CostModel, client_costs
from latticework.cost.client import stored_bytes
from latticework.errors import UnsupportedError
from latticework.packing.keys import KeyUse
from latticework.packing.pack import PackMap
from latticework.params import ModulusChain
from latticework.plan.conditions import condition_words
from latticework.plan.placing import INPUT
from latticework.plan.schema import ClientSpec, IndexInput, Plan, SecretInput
from latticework.report.bootstraps import bootstrapping
from latticework.report.carried import carried_levels
from latticework.report.data import (
    ApproximationRow,
    Execution,
    InputRow,
    KeyRow,
    LayoutChoice,
    LayoutEnding,
    LayoutGroup,
    LayoutStep,
    LevelRow,
    LevelUse,
    OutputRow,
    RowCosts,
    Security,
)
from latticework.report.layout_words import layout_words
from latticework.report.lines import lines_of, moments_of, where_text
from latticework.report.notes import error_notes, plan_notes, table_text
from latticework.report.owner_work import owner_work
from latticework.report.report import Report
from latticework.report.under_budget import under_budget

MAX_NAMES = 4  # of results in one output
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

    model   prices; the shipped table if not given
    trips   values of run-time trip counts by name; their limits if not given
    memory  a budget such as "2GB": then it says, too, what a server holds under it
    runs    at the same time, that the budget has to have room for
    raises  UserError for a budget that is no amount; BudgetError for one that is too small
    """
    model = model or CostModel.load()
    cost = estimate(plan, model, trips)
    execution = Execution(
        cost,
        tuple(_approximations(plan)),
        tuple(_layouts(plan)),
        _choice(plan),
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
    )
    worst = _worst_cases(plan)
    notes = tuple(plan_notes(plan, cost, model))
    return _report(plan.client, model, execution, cost.key_uses, notes, worst, _budgets(plan))


def _budgets(plan: Plan) -> list[float | None]:
    """The noise budgets to be expected of exact outputs."""
    if plan.chain.scheme != "bfv":
        return [None] * len(plan.client.outputs)
    return list(output_budgets(plan))


def build_client_report(spec: ClientSpec) -> Report:
    """The report of a client file: parameters, inputs, outputs and keys."""
    unknown = [None] * len(spec.outputs)
    return _report(spec, CostModel.load(), None, {}, tuple(error_notes(spec)), unknown, unknown)


def _worst_cases(plan: Plan) -> list[float | None]:
    """What noise cannot exceed, for inputs anywhere in their ranges and as many iterations as are allowed."""
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
    uses: dict[int, int],
    notes: tuple[str, ...],
    worst_cases: Sequence[float | None],
    budgets: Sequence[float | None],
) -> Report:
    chain, manifest, taken = client.chain, client.manifest, client_costs(client, model)
    return Report(
        client.name,
        Security(chain.ring_degree, chain.log2_qp, manifest.limit_bits, chain.security_bits, chain.insecure),
        client.precision_bits,
        _level_use(client),
        tuple(_levels(chain)),
        tuple(log2(p) for p in chain.special),
        chain.digits,
        tuple(_input(client, spec) for spec in client.inputs),
        tuple(
            OutputRow(
                name, o.shape, str(o.pack), o.pack.slots, o.level, o.pack.count * stored_bytes(chain, o.level, 0, 2),
                o.error_bound, o.magnitude, o.shift, worst, o.pack.count, budget,
                o.usual_error or o.error_bound, o.is_proved, layout_words(o.pack), o.approximation,
                condition_words(o.conditions),
            )
            for name, o, worst, budget in zip(_output_names(client), client.outputs, worst_cases, budgets, strict=True)
        ),
        tuple(
            KeyRow(
                _key_kind(use.spec.kind, use.steps), use.steps, use.spec.level,
                uses.get(i, 0) if execution is not None else use.count,
                manifest.bytes_stored[i], manifest.bytes_resident[i], manifest.log2_qp[i],
            )
            for i, use in sorted(enumerate(manifest.uses), key=lambda item: _key_order(item[1]))
        ),
        taken,
        execution,
        notes,
        chain.plain_modulus,
        owner_work(client),
        _row_costs(client, taken, None if execution is None else execution.estimate.warm_seconds),
    )  # fmt: skip


def _row_costs(spec: ClientSpec, taken: ClientCosts, run: float | None) -> RowCosts | None:
    """A run's shares of one row; None where it holds but one input of the program."""
    if spec.rows == 1:
        return None
    count = spec.rows * (spec.batch.rows if spec.batch is not None and spec.batch.inputs else 1)
    seconds = taken.encrypt_seconds / count, taken.decrypt_seconds / count
    sizes = taken.input_bytes / count, taken.result_bytes / count
    return RowCosts(count, None if run is None else run / count, *seconds, *sizes)


def _output_names(client: ClientSpec) -> list[str]:
    """Outputs by the names of the user's results that they hold; of circuits these may be several."""
    ends = np.cumsum([prod(output.shape) for output in client.outputs])
    held: list[list[str]] = [[] for _ in client.outputs]
    for result in client.results:
        for number in np.unique(np.searchsorted(ends, result.elements, side="right")):
            held[number].append(result.name)
    more = [["..."] if len(names) > MAX_NAMES else [] for names in held]
    listed = zip(client.outputs, held, more, strict=True)
    return [", ".join(names[:MAX_NAMES] + rest) or output.name for output, names, rest in listed]


def _key_kind(kind: str, steps: int | None) -> str:
    named = {"relin": "relinearisation", "to_sparse": "to the sparse secret", "to_dense": "from the sparse secret"}
    if kind in named:
        return named[kind]
    return "conjugation" if steps is None else "rotation"


def _key_order(use: KeyUse) -> tuple[int, int, int, int]:
    """Relinearisation, rotations by length, conjugation, to the sparse secret and back; high levels first."""
    kinds = [_key_kind("relin", None), _key_kind("galois", 1), _key_kind("galois", None)]
    kinds += [_key_kind("to_sparse", None), _key_kind("to_dense", None)]
    steps = use.steps or 0
    return kinds.index(_key_kind(use.spec.kind, use.steps)), abs(steps), steps, -use.spec.level


def _level_use(client: ClientSpec) -> LevelUse:
    top = client.chain.main.top
    first = max((i.level for i in client.secret_inputs), default=top)
    refreshed = top - client.chain.floor if client.chain.bootstrap is not None else None
    return LevelUse(first, first - client.levels_spent, top, refreshed)


def _levels(chain: ModulusChain) -> list[LevelRow]:
    """Levels of the main track from the top down."""
    track = chain.main
    digit_of = {limb: number for number, digit in enumerate(chain.digits) for limb in digit}
    return [
        LevelRow(
            level,
            track.groups[level],
            tuple(log2(p) for p in chain.limb_primes(track.groups[level])),
            track.scales[level],
            log2(chain.modulus(level)),
            tuple(dict.fromkeys(digit_of[limb] for limb in track.groups[level])),
        )
        for level in range(track.top, -1, -1)
    ]


def _input(client: ClientSpec, spec: SecretInput | IndexInput) -> InputRow:
    chain = client.chain
    if isinstance(spec, IndexInput):
        return InputRow(spec.name, (), "", 0, None, None, None, spec.limit, 0)
    fresh = spec.pack.count * stored_bytes(chain, spec.level, 0, 1)
    number = client.secret_inputs.index(spec)
    spans = [(spec.low if a.low is None else a.low, spec.high if a.high is None else a.high, a.bits)
             for a in client.arguments if a.input == number]  # fmt: skip
    low, high, bits = spans[0] if len(set(spans)) == 1 else (spec.low, spec.high, 0)
    return InputRow(
        spec.name, spec.shape, str(spec.pack), spec.pack.slots, spec.level, low, high, None, fresh, spec.pack.count,
        layout_words(spec.pack), bits,
    )  # fmt: skip


def _location(plan: Plan, location: int) -> str:
    return where_text(plan.locations[location])


def _source_text(plan: Plan, location: int) -> str:
    return plan.locations[location].text.strip()


def _approximations(plan: Plan) -> list[ApproximationRow]:
    return [
        ApproximationRow(
            a.function, _location(plan, a.location), _source_text(plan, a.location), a.low, a.high, a.degree,
            a.max_error, a.given, a.form, a.may_leave, a.leaving,
        )
        for a in plan.approximations
    ]  # fmt: skip


def _layouts(plan: Plan) -> list[LayoutGroup]:
    """Layouts in order of first appearance, each with the tensors that have it; not tables of single places."""
    named = [(spec.name, spec.pack) for spec in plan.client.secret_inputs]
    named += [(tensor.name, tensor.pack) for tensor in plan.tensors]
    named += [(step.name, step.pack) for step in (() if plan.placing is None else plan.placing.steps)]
    named += [(output.name, output.pack) for output in plan.client.outputs]
    tensors: dict[PackMap, list[str]] = defaultdict(list)
    for name, pack in named:
        if not pack.table:
            tensors[pack].append(name)
    return [LayoutGroup(tuple(dict.fromkeys(names)), pack.shape, str(pack), pack) for pack, names in tensors.items()]


def _choice(plan: Plan) -> LayoutChoice | None:
    if plan.placing is None:
        return None
    chosen = next((e for e in plan.placing.endings if e.chosen), None)
    expected = chosen.seconds if chosen is not None else 0.0
    steps: list[LayoutStep] = []
    for s in plan.placing.steps:
        step = LayoutStep(
            (s.name,), s.operation, _location(plan, s.location), _source_text(plan, s.location), s.pack.shape,
            str(s.pack), s.pack.count, s.box, tuple((c.operand, c.way, c.recipes) for c in s.conversions),
            s.other, s.behind / expected if expected > 0 else 0.0,
        )  # fmt: skip
        if steps and _stays(steps[-1], step):
            last = steps.pop()
            step = replace(
                step, names=(*last.names, s.name), box=last.box, conversions=last.conversions,
            )  # fmt: skip
        steps.append(step)
    endings = (
        ()
        if chosen is None or expected <= 0
        else tuple(
            LayoutEnding(
                e.seconds / expected - 1, e.levels - chosen.levels, e.ciphertexts - chosen.ciphertexts, e.chosen
            )
            for e in plan.placing.endings
        )
    )
    return LayoutChoice(plan.placing.explored, plan.placing.bits_a_second, tuple(steps), endings)


def _stays(last: LayoutStep, step: LayoutStep) -> bool:
    """Whether an operation of the same line leaves a tensor as it lay, so that both are shown as one."""
    if INPUT in (last.operation, step.operation) or step.conversions or step.box:
        return False
    return (last.where, last.text, last.shape, last.layout) == (step.where, step.text, step.shape, step.layout)
