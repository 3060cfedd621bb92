"""From a plan to a report: every number that is shown is computed here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log2

import numpy as np

from latticework.cost import CostModel, Estimate, estimate
from latticework.cost.shapes import stored_bytes
from latticework.cost.trips import instructions_run
from latticework.errors import UnsupportedError
from latticework.params import ModulusChain
from latticework.plan.keys import KeyUse
from latticework.plan.noise_walk import output_budgets
from latticework.plan.pack import PackMap
from latticework.plan.placing import INPUT
from latticework.plan.predict import Magnitude, predict
from latticework.plan.schema import ClientSpec, IndexInput, Plan, SecretInput, SourceLocation
from latticework.report.data import (
    ApproximationRow,
    Execution,
    InputRow,
    KeyRow,
    LayoutChoice,
    LayoutGroup,
    LayoutStep,
    LevelRow,
    Line,
    Moment,
    OutputRow,
    Security,
)
from latticework.report.families import family_of
from latticework.report.quantities import duration
from latticework.report.report import Report

MAX_NAMES = 4  # of results in one output
MAX_FOLLOWED = 1 << 18  # instructions of a run through which bounds are carried, loops turn by turn


def build_report(plan: Plan, model: CostModel | None = None, trips: Mapping[str, int] | None = None) -> Report:
    """The report of a plan.

    model  prices; the shipped table if not given
    trips  values of run-time trip counts by name; their limits if not given
    """
    model = model or CostModel.load()
    cost = estimate(plan, model, trips)
    execution = Execution(
        cost,
        tuple(_approximations(plan)),
        tuple(_layouts(plan)),
        _choice(plan),
        plan.circuit,
        tuple(_lines(plan, cost)),
        tuple(_timeline(cost)),
        sum(len(block.code) for block in plan.blocks),
        table_text(model),
    )
    worst = _worst_cases(plan)
    return _report(plan.client, execution, cost.key_uses, tuple(_plan_notes(plan, cost, model)), worst, _budgets(plan))


def _budgets(plan: Plan) -> list[float | None]:
    """The noise budgets to be expected of exact outputs."""
    if plan.chain.scheme != "bfv":
        return [None] * len(plan.client.outputs)
    return list(output_budgets(plan))


def build_client_report(spec: ClientSpec) -> Report:
    """The report of a client file: parameters, inputs, outputs and keys."""
    unknown = [None] * len(spec.outputs)
    return _report(spec, None, {}, (_error_note(spec),), unknown, unknown)


def _worst_cases(plan: Plan) -> list[float | None]:
    """What noise cannot exceed, for inputs anywhere in their ranges and as many iterations as are allowed."""
    known: list[Magnitude | int] = []
    if instructions_run(plan) > MAX_FOLLOWED:
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


def table_text(model: CostModel) -> str:
    """The cost table in a few words."""
    table = model.table
    cpu = table.machine.get("cpu", "an unnamed machine")
    threads = "1 thread" if table.threads == 1 else f"{table.threads} threads"
    return f"{table.source} on {cpu}, {table.machine.get('cores', '?')} cores, {threads}, {table.date}"


_BOUND_NOTE = (
    "Error bounds are against the program with its functions approximated; what approximating them itself changes is "
    "stated beside them. The noise model exceeds them as rarely as a normal number six standard deviations (2 in 10^9 "
    "elements). For every accepted input: by interval arithmetic over the accepted ranges and all run-time counts, and "
    "no value of the program leaves its modulus. For inputs like those of calibration: as drawn in simulations of "
    "these; nothing is proved then, and results of other inputs, though accepted, may be wrong. The worst case is what "
    "the noise of any accepted input cannot exceed, whatever its randomness, as long as no value leaves its modulus."
)


_BUDGET_NOTE = (
    "Results are exact modulo t as long as the noise in a ciphertext leaves some budget; decryption refuses what is "
    "less than 2 bits from being wrong. The budgets are what the noise model expects for inputs encrypted under the "
    "public key; parameters were chosen so that the chance of a refusal is about 2^-117. Whether results fit the "
    "integers modulo t is for the program to see to."
)


def _error_note(spec: ClientSpec) -> str:
    return _BUDGET_NOTE if spec.chain.scheme == "bfv" else _BOUND_NOTE


def _plan_notes(plan: Plan, cost: Estimate, model: CostModel) -> list[str]:
    notes = [
        f"Times are predicted, not measured: work counted from the plan, priced by the cost table {table_text(model)} "
        f"(table {model.table_hash[:12]}). They are for one thread of a quiet machine; "
        "another machine needs its own table.",
        f"The first run also encodes constants ({duration(cost.encode_seconds)}) and gets its memory from the system "
        f"({duration(cost.fresh_seconds)}, which kinds and lines leave out); this assumes that both stay. "
        f"Loading the keys takes {duration(cost.key_load_seconds)} once.",
        "Peak memory is live ciphertexts at the worst moment with that operation's scratch, plus all keys and all "
        "encoded constants; the process itself and the weights come on top.",
        _error_note(plan.client),
    ]
    for a in plan.approximations:
        if a.may_leave:
            notes.append(
                f"{a.function} at {_location(plan, a.location)} is approximated for arguments from {a.low:.4g} to "
                f"{a.high:.4g}. Inputs whose elements are each in the accepted range can together take the argument "
                "outside; then results are wrong. Give calibration data that cover what will be encrypted."
            )
    for name, value in cost.trips.items():
        notes.append(f"The run-time count {name} is taken as {value}.")
    for location in cost.unbounded:
        notes.append(f"The loop at {_location(plan, location)} has no limit: one trip of it is counted.")
    if any(step.op == "if" for step in cost.steps):
        notes.append("Of two branches the slower one is counted.")
    return notes


def _report(
    client: ClientSpec,
    execution: Execution | None,
    uses: dict[int, int],
    notes: tuple[str, ...],
    worst_cases: Sequence[float | None],
    budgets: Sequence[float | None],
) -> Report:
    chain, manifest = client.chain, client.manifest
    return Report(
        client.name,
        Security(chain.ring_degree, chain.log2_qp, manifest.limit_bits, chain.security_bits, chain.insecure),
        client.precision_bits,
        tuple(_levels(chain)),
        tuple(log2(p) for p in chain.special),
        chain.digits,
        tuple(_input(chain, spec) for spec in client.inputs),
        tuple(
            OutputRow(
                name, o.shape, str(o.pack), o.pack.slots, o.level, o.pack.count * stored_bytes(chain, o.level, 0, 2),
                o.error_bound, o.magnitude, o.shift, worst, o.pack.count, budget,
                o.usual_error or o.error_bound, o.reach is not None,
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
        execution,
        notes,
        chain.plain_modulus,
    )  # fmt: skip


def _output_names(client: ClientSpec) -> list[str]:
    """Outputs by the names of the user's results that they hold; of circuits these may be several."""
    ends = np.cumsum([output.pack.size for output in client.outputs])
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


def _key_order(use: KeyUse) -> tuple[bool, bool, int, int]:
    """Relinearisation, rotations by length, conjugation."""
    steps = use.steps or 0
    return use.spec.kind != "relin", use.steps is None, abs(steps), steps


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


def _input(chain: ModulusChain, spec: SecretInput | IndexInput) -> InputRow:
    if isinstance(spec, IndexInput):
        return InputRow(spec.name, (), "", 0, None, None, None, spec.limit, 0)
    fresh = spec.pack.count * stored_bytes(chain, spec.level, 0, 1)
    return InputRow(
        spec.name, spec.shape, str(spec.pack), spec.pack.slots, spec.level, spec.low, spec.high, None, fresh,
        spec.pack.count,
    )  # fmt: skip


def _place(plan: Plan, location: int) -> SourceLocation | None:
    return plan.locations[location] if location < len(plan.locations) else None


def _location(plan: Plan, location: int) -> str:
    """file:line, the folder left out."""
    place = _place(plan, location)
    if place is None or not place.file:
        return "unknown"
    return f"{place.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{place.line}"


def _source_text(plan: Plan, location: int) -> str:
    place = _place(plan, location)
    return place.text.strip() if place is not None else ""


def _approximations(plan: Plan) -> list[ApproximationRow]:
    return [
        ApproximationRow(
            a.function, _location(plan, a.location), _source_text(plan, a.location), a.low, a.high, a.degree,
            a.max_error,
        )
        for a in plan.approximations
    ]  # fmt: skip


def _layouts(plan: Plan) -> list[LayoutGroup]:
    """Layouts in order of first appearance, each with the tensors that have it; not tables of single places."""
    named = [(spec.name, spec.pack) for spec in plan.client.secret_inputs]
    named += [(tensor.name, tensor.pack) for tensor in plan.tensors]
    named += [(output.name, output.pack) for output in plan.client.outputs]
    tensors: dict[PackMap, list[str]] = defaultdict(list)
    for name, pack in named:
        if not pack.table:
            tensors[pack].append(name)
    return [LayoutGroup(tuple(dict.fromkeys(names)), pack.shape, str(pack), pack) for pack, names in tensors.items()]


def _choice(plan: Plan) -> LayoutChoice | None:
    if plan.placing is None:
        return None
    steps: list[LayoutStep] = []
    for s in plan.placing.steps:
        step = LayoutStep(
            (s.name,), s.operation, _location(plan, s.location), _source_text(plan, s.location), s.pack.shape,
            str(s.pack), s.pack.count, s.box, s.seconds, s.levels,
            tuple((c.operand, c.way, c.recipes, c.seconds) for c in s.conversions), s.other, s.behind,
        )  # fmt: skip
        if steps and _stays(steps[-1], step):
            last = steps.pop()
            step = replace(
                step, names=(*last.names, s.name), box=last.box, seconds=last.seconds + s.seconds,
                levels=last.levels + s.levels, conversions=last.conversions,
            )  # fmt: skip
        steps.append(step)
    return LayoutChoice(plan.placing.explored, plan.placing.bits_a_second, tuple(steps), plan.placing.endings)


def _stays(last: LayoutStep, step: LayoutStep) -> bool:
    """Whether an operation of the same line leaves a tensor as it lay, so that both are shown as one."""
    if INPUT in (last.operation, step.operation) or step.conversions or step.box:
        return False
    return (last.where, last.text, last.shape, last.layout) == (step.where, step.text, step.shape, step.layout)


def _lines(plan: Plan, cost: Estimate) -> list[Line]:
    """Lines of the program by descending time."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    families: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    first: dict[tuple[str, str], int] = {}
    for step in cost.steps:
        line = (_location(plan, step.location), _source_text(plan, step.location))
        first.setdefault(line, step.location)
        seconds[line] += step.seconds
        families[line][family_of(step.op)] += step.seconds
    found = [Line(first[line], *line, seconds[line], dict(families[line])) for line in first if seconds[line] > 0]
    return sorted(found, key=lambda line: -line.seconds)


def _timeline(cost: Estimate) -> list[Moment]:
    """Steps that take time, like neighbours merged."""
    found: list[Moment] = []
    for step in cost.steps:
        if step.seconds <= 0:
            continue
        moment = Moment(family_of(step.op), step.op, step.level, step.location, step.seconds, step.times, 1)
        if found and _alike(found[-1], moment):
            last = found.pop()
            op = last.op if moment.op in last.op.split(", ") else f"{last.op}, {moment.op}"
            moment = Moment(
                last.family, op, last.level, last.location, last.seconds + step.seconds, last.trips,
                last.instructions + 1,
            )  # fmt: skip
        found.append(moment)
    return found


def _alike(a: Moment, b: Moment) -> bool:
    return (a.family, a.level, a.location, a.trips) == (b.family, b.level, b.location, b.trips)
