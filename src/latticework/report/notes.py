"""Notes on what the numbers of a report rest on, in sentences."""

from __future__ import annotations

from latticework.errors.escaping import plain_text
from latticework.plan.analysis.estimate import CostEstimate
from latticework.plan.cost import CostModel
from latticework.plan.schema.conditions import condition_words
from latticework.plan.schema.schema import Approximation, ClientSpec, Plan
from latticework.report.quantities import leaving_text, real
from latticework.report.source_places import where_text


def table_text(model: CostModel) -> str:
    """The cost table in a few words."""
    table = model.table
    cpu = table.machine.get("cpu", "an unnamed machine")
    threads = "1 thread" if table.threads == 1 else f"{table.threads} threads"
    adapted = f"; {table.adapted}" if table.adapted else ""
    return f"{table.source} on {cpu}, {table.machine.get('cores', '?')} cores, {threads}, {table.date}{adapted}"


_BOUND_NOTE = (
    "Error bounds are against the program itself, its functions exact: what approximating them takes is part of them, "
    "by their largest errors on the ranges stated. The noise model exceeds them as rarely as a normal number six "
    "standard deviations (2 in 10^9 elements). For every accepted input: by interval arithmetic over the accepted "
    "ranges and all run-time counts; no argument of a function leaves its range then, and no value of the program its "
    "modulus. For inputs like those of calibration: as drawn in simulations of these, and of functions that are off by "
    "as much as they can be; nothing is proved then, and results of other inputs, though accepted, may be wrong. Where "
    "compilation was given no data, calibration is on numbers from -1 to 1, or what a function is stated for. The "
    "worst noise is what that of any accepted input cannot exceed, whatever its randomness, as long as no value leaves "
    "its modulus."
)


_BUDGET_NOTE = (
    "Results are exact modulo t as long as the noise in a ciphertext leaves some budget; decryption refuses what is "
    "less than 2 bits from being wrong. The budgets are what the noise model expects for inputs encrypted under the "
    "public key; parameters were chosen so that the chance of a refusal is about 2^-117. Whether results fit the "
    "integers modulo t is for the program to see to."
)


def error_notes(spec: ClientSpec) -> list[str]:
    """Notes on what errors are measured against, how exact results can fail, and what has to hold for bounds."""
    by_words: dict[str, list[str]] = {}
    for name, conditions in spec.result_conditions():
        if conditions:
            by_words.setdefault(condition_words(conditions), []).append(plain_text(name))
    return [
        _BUDGET_NOTE if spec.chain.scheme == "bfv" else _BOUND_NOTE,
        *(f"The error bound of {', '.join(names)} {words}. Nothing tells." for words, names in by_words.items()),
    ]


def client_notes(spec: ClientSpec) -> list[str]:
    """Notes for users of a client file: on errors, on rows that are refused, on rows that go together."""
    return [*error_notes(spec), *_row_notes(spec), *_constraint_notes(spec)]


def plan_notes(plan: Plan, cost: CostEstimate, model: CostModel) -> list[str]:
    """Everything that a reader of the report has to know."""
    notes = [
        *plan.changes,
        f"Times are predicted, not measured: work counted from the plan, priced by the cost table {table_text(model)} "
        f"(table {model.table_hash[:12]}). They are for one thread of a quiet machine"
        f"{'' if model.table.adapted else '; another machine needs its own table'}.",
        "Later runs are all but the first one of a server. The first also encodes the constants and gets its memory "
        "from the system; this assumes that both stay.",
        "Time is booked to the line that causes it: relinearizing and rescaling to the line of the product, a change "
        "of layout or level to the line that wants it. Work that is done for several lines at once is shared out by "
        "what each would take alone. So lines, like kinds, add up to a later run, and what they add to the first run "
        "to the encoding of constants.",
        "Peak memory is live ciphertexts at the worst moment with that operation's scratch, plus all keys and all "
        "encoded constants; the process itself and the weights come on top.",
        *error_notes(plan.client),
    ]
    notes += _row_notes(plan.client)
    for a in plan.approximations:
        if a.may_leave:
            notes.append(
                f"{a.function} at {where_text(plan.locations[a.location])} is approximated for arguments from "
                f"{real(a.low)} to {real(a.high)}. Inputs whose elements are each in the accepted range can together "
                f"take the argument outside; then results are wrong. {_leaving_note(a)} Give calibration data that "
                "cover what will be encrypted."
            )
    notes += _constraint_notes(plan.client)
    for name, value in cost.trips.items():
        notes.append(f"The run-time count {name} is taken as {value}.")
    for location in cost.unbounded:
        notes.append(f"The loop at {where_text(plan.locations[location])} has no limit: one trip of it is counted.")
    if any(step.op == "if" for step in cost.steps):
        notes.append("Of two branches the slower one is counted.")
    return notes


def _constraint_notes(spec: ClientSpec) -> list[str]:
    """Notes on rows that clients refuse though each of their elements is in its range."""
    notes = []
    for constraint in spec.constraints:
        count = len(constraint.elements)
        notes.append(
            f"Clients refuse rows in which what {constraint.function} in {constraint.place} takes of "
            f"{constraint.input} leaves {real(constraint.low)} to {real(constraint.high)}: that of "
            f"{'1 element or sum' if count == 1 else f'{count} elements or sums'}."
        )
    return notes


def _leaving_note(a: Approximation) -> str:
    """Note how often arguments leave the interval, where calibration tells."""
    if a.leaving is None:
        return (
            "How often is not known: calibration has fewer than 16 runs. Of n runs about 2 in n + 1 others go beyond "
            "what all of them reach."
        )
    channel = ", or out of the part of it that its channel has a polynomial for" if a.form else ""
    often = leaving_text(a.may_leave, a.leaving)
    return (
        f"Of inputs like those of calibration, {often} is estimated to do so{channel}, by their tails: it may be up to "
        "some four times as many, and more where tails are heavier than exponential."
    )


def _row_notes(spec: ClientSpec) -> list[str]:
    """Notes on inputs that may have any number of rows, and how many rows go together."""
    batch, notes = spec.batch, []
    if spec.chain.has_wide_integers:
        moduli = spec.chain.plain_moduli
        notes.append(
            f"It is computed modulo {len(moduli)} primes of up to {moduli[0].bit_length()} bits, the plaintext moduli, "
            "on ciphertexts of their own; times and sizes are those of all."
        )
    if spec.rows > 1:
        notes.append(
            f"A run computes up to {spec.rows} inputs side by side in the slots, each apart from the others; times and "
            "sizes are those of one run, however many it holds. In layouts axis 0 counts them."
        )
    if batch is None or not batch.inputs:
        return notes
    notes.append(
        f"{' and '.join(batch.inputs)} may have any number of rows: they are computed {batch.rows * spec.rows} in a "
        "run, each alike and apart from the others. Times and sizes are those of one run."
    )
    if batch.calibrated:
        notes.append(
            f"Calibration had {batch.calibrated} rows, fewer than the {batch.rows} of a run: they were repeated."
        )
    return notes
