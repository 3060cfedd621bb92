"""A circuit of scalars: what it takes, the ways to compute it, and its schedule on lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latticework.errors.escaping import html_text
from latticework.plan.schema.circuit_schedule import MAX_LANES, CircuitRecord, CircuitStrategy
from latticework.report.blocks import Cell, Drawing, Fold, Head, ReportBlock, Section, SideBySide, Table, Words, absent
from latticework.report.circuit_words import METHODS, count_rows, input_rows, method_text, output_rows, runs, step_text
from latticework.report.figure_labels import Column, describe, number, table
from latticework.report.lane_drawing import KINDS, drawing
from latticework.report.quantities import count, share

FIRST_STEPS = 60  # a page folds the rest away, a text leaves it out
MAX_LISTED = 40
_COLUMNS = 34  # of an instruction; its lanes follow


def circuit_sections(circuit: CircuitRecord | None) -> tuple[Section, ...]:
    """Counts, ways and formulas; then the schedule, and where inputs and outputs lie."""
    if circuit is None:
        return absent("circuit")
    heads = (Head("operation"), *(Head(label, True) for label in ("scalar, as written", "scalar, shared", "vector")))
    left_out = len(circuit.formulas) - MAX_LISTED
    blocks = (
        Table(heads, tuple(map(tuple, count_rows(circuit))), data={"circuit": circuit}),
        way_table(circuit),
        Words(circuit.formulas[:MAX_LISTED], "code"),
        *_more(left_out, "lines"),
    )
    parts = (Section("Circuit", blocks, method_text(circuit)),)
    return parts if not circuit.steps else (*parts, _schedule(circuit))


def way_table(circuit: CircuitRecord) -> Table:
    """Every way that was priced, the fastest first, compared with the chosen one."""
    ways = sorted(circuit.ways, key=lambda way: way.seconds)
    chosen = next((way.seconds for way in ways if way.chosen), 0.0)
    columns = describe(
        CircuitStrategy,
        name=Column("way", lambda name: METHODS.get(name, name)),
        seconds=number("time with sending", lambda seconds: share(seconds, chosen)),
        sending=Column("of that sending", row=lambda way: share(way.sending, way.seconds), number=True),
        chosen=Column("", lambda is_chosen: "chosen" if is_chosen else ""),
    )
    return table("", CircuitStrategy, ways if len(ways) > 1 else (), columns=columns)


def _schedule(circuit: CircuitRecord) -> Section:
    lanes = f"; the first {MAX_LANES} of them" if circuit.num_lanes > MAX_LANES else ""
    steps, blocks = len(circuit.steps), list[ReportBlock]()
    first = min(FIRST_STEPS, steps)
    blocks.append(Drawing(_legend(circuit) + drawing(circuit, 0, first), tuple(_instructions(circuit, first))))
    if steps > first:
        blocks.append(Fold(f"The next {steps - first} instructions", (Drawing(drawing(circuit, first, steps)),)))
    blocks += _more(circuit.num_steps - steps, "instructions")
    blocks.append(
        SideBySide(
            (
                _vector_table("Lanes of inputs", input_rows(circuit)),
                _vector_table("Lanes of outputs", output_rows(circuit)),
            )
        )
    )
    return Section(
        "Schedule", tuple(blocks), f"one row a vector instruction, and the lanes of its result that are read{lanes}"
    )


def _legend(circuit: CircuitRecord) -> str:
    present = {step.op for step in circuit.steps}
    items = "".join(
        f'<span><i class="dot {classes}"></i>{html_text(said)}</span>'
        for op, (classes, said) in KINDS.items()
        if op in present
    )
    return f'<div class="key lanes-key">{items}</div>'


def _instructions(circuit: CircuitRecord, first: int) -> Iterator[str]:
    """A line for each of the first instructions, with its lanes; stages apart."""
    stage = circuit.steps[0].stage
    for number_of, step in enumerate(circuit.steps[:first]):
        if step.stage != stage:
            yield "·" * _COLUMNS
            stage = step.stage
        yield f"{step_text(number_of, step).ljust(_COLUMNS)}  {runs(lane for lane, _ in step.lanes)}"
    if circuit.num_steps > first:
        yield f"and {count(circuit.num_steps - first)} instructions more"


def _vector_table(title: str, listed: Sequence[tuple[str, str]]) -> Table:
    rows = tuple((Cell(vector, "code"), Cell("", asides=(("", held, "code"),))) for vector, held in listed)
    rest = f"{count(len(rows) - MAX_LISTED)} vectors more"
    return Table((Head(title), Head("lane: value")), rows, most=MAX_LISTED, rest=rest, cut=MAX_LISTED)


def _more(left_out: int, what: str) -> tuple[Words, ...]:
    return (Words((f"and {count(left_out)} {what} more",), "soft"),) if left_out > 0 else ()
