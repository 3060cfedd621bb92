"""The part of a page that shows a circuit: what it takes, and its schedule as a drawing of lanes over time."""

from __future__ import annotations

from latticework.plan.circuits import MAX_LANES, CircuitRecord
from latticework.report.circuit_words import WAY_HEADS, count_rows, input_rows, method_text, output_rows, way_rows
from latticework.report.lane_drawing import KINDS, drawing
from latticework.report.markup import code, section, table, whole
from latticework.report.quantities import count
from latticework.words.escaping import html_text

FIRST_STEPS = 60  # the rest is folded away
MAX_LISTED = 40


def lanes(circuit: CircuitRecord) -> str:
    """Counts, the drawing, and where inputs and outputs lie."""
    rows = [[html_text(name), *numbers] for name, *numbers in count_rows(circuit)]
    heads: tuple[str, ...] = ("operation", "scalar, as written", "scalar, shared", "vector")
    if circuit.vector is None:
        rows, heads = [row[:-1] for row in rows], heads[:-1]
    counts = table(heads, rows, numbers=(1, 2, 3), narrow=True)
    parts = [section("Circuit", counts + _ways(circuit) + _formulas(circuit), method_text(circuit))]
    if circuit.steps:
        parts.append(_schedule(circuit))
        parts.append(
            '<div class="columns">'
            + _list_held("Lanes of inputs", input_rows(circuit))
            + _list_held("Lanes of outputs", output_rows(circuit))
            + "</div>"
        )
    return "".join(parts)


def _ways(circuit: CircuitRecord) -> str:
    if len(circuit.ways) < 2:
        return ""
    rows = [[html_text(name), *numbers, whole(chosen)] for name, *numbers, chosen in way_rows(circuit)]
    return "<br>" + table(WAY_HEADS, rows, numbers=(1, 2), narrow=True, stacked=True)


def _formulas(circuit: CircuitRecord) -> str:
    if not circuit.formulas:
        return ""
    shown = "<br>".join(code(line) for line in circuit.formulas[:MAX_LISTED])
    return f'<p style="margin-top:14px">{shown}{_more(len(circuit.formulas) - MAX_LISTED, "lines")}</p>'


def _schedule(circuit: CircuitRecord) -> str:
    first = drawing(circuit, 0, min(FIRST_STEPS, len(circuit.steps)))
    rest = ""
    if len(circuit.steps) > FIRST_STEPS:
        others = drawing(circuit, FIRST_STEPS, len(circuit.steps))
        rest = f"<details><summary>The next {len(circuit.steps) - FIRST_STEPS} instructions</summary>{others}</details>"
    present = {step.op for step in circuit.steps}
    items = "".join(
        f'<span><i class="dot {classes}"></i>{html_text(said)}</span>'
        for op, (classes, said) in KINDS.items()
        if op in present
    )
    left_out = _more(circuit.num_steps - len(circuit.steps), "instructions")
    first_lanes = f"; the first {MAX_LANES} of them" if circuit.num_lanes > MAX_LANES else ""
    note = f"time downwards, one row a vector instruction; lanes to the right, those that are read{first_lanes}"
    return section("Schedule", f'<div class="key lanes-key">{items}</div>{first}{rest}{left_out}', note)


def _list_held(title: str, listed: list[tuple[str, str]]) -> str:
    rows = [[code(vector), f'<span class="code">{html_text(held)}</span>'] for vector, held in listed[:MAX_LISTED]]
    return section(title, table(("vector", "lane: value"), rows) + _more(len(listed) - MAX_LISTED, "vectors"))


def _more(number: int, what: str) -> str:
    return f'<p class="soft">and {count(number)} {what} more</p>' if number > 0 else ""
