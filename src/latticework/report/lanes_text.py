"""The part of a text report that tells a circuit's schedule."""

from __future__ import annotations

from textwrap import wrap

from latticework.plan.circuits import CircuitRecord
from latticework.report.circuit_words import (
    WAY_HEADS,
    count_rows,
    input_rows,
    method_text,
    output_rows,
    runs,
    step_text,
    way_rows,
)
from latticework.report.quantities import count
from latticework.report.text_table import columns

MAX_LISTED = 60
MAX_FORMULAS = 20
_COLUMNS = 34  # of an instruction; its lanes follow


def lanes_text(circuit: CircuitRecord, width: int) -> list[str]:
    """Counts, instructions with their lanes, and where inputs and outputs lie."""
    lines = ["", f"Circuit ({method_text(circuit)})"]
    rows = count_rows(circuit)
    heads = ("", "as written", "needed", "vector")
    wide = max(len(row[0]) for row in [*rows, [""]])
    lines += [f"  {a.ljust(wide)}  {b:>10}  {c:>10}  {d:>10}" for a, b, c, d in [heads, *rows]]
    ways = way_rows(circuit)
    if ways:
        lines += ["", *columns(WAY_HEADS, ways)]
    if circuit.formulas:
        lines.append("")
        for formula in circuit.formulas[:MAX_FORMULAS]:
            lines += wrap(formula, width, initial_indent="  ", subsequent_indent="      ")
        lines += _more(len(circuit.formulas) - MAX_FORMULAS, "lines")
    if not circuit.steps:
        return lines
    lines += ["", "Schedule (vector instructions, and the lanes of theirs that are read)"]
    stage = circuit.steps[0].stage
    for number, step in enumerate(circuit.steps[:MAX_LISTED]):
        if step.stage != stage:
            lines.append("  " + "·" * _COLUMNS)
            stage = step.stage
        lines.append(f"  {step_text(number, step).ljust(_COLUMNS)}  {runs(lane for lane, _ in step.lanes)}")
    lines += _more(circuit.num_steps - MAX_LISTED, "instructions")
    for title, listed in (("Lanes of inputs", input_rows(circuit)), ("Lanes of outputs", output_rows(circuit))):
        lines += ["", title]
        for vector, held in listed[:MAX_LISTED]:
            lines += wrap(f"{vector}: {held}", width, initial_indent="  ", subsequent_indent="      ")
        lines += _more(len(listed) - MAX_LISTED, "vectors")
    return lines


def _more(number: int, what: str) -> list[str]:
    return [f"  and {count(number)} {what} more"] if number > 0 else []
