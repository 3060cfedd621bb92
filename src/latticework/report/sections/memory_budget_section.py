"""Section on a server under a budget of memory: its parts, keys over the time of a run, and time by budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from latticework.errors.shown import count_noun
from latticework.plan.analysis.memory_plan import BudgetPoint, MemoryPlan
from latticework.report.as_text import section_text
from latticework.report.blocks import (
    Drawing,
    FactList,
    Fold,
    Head,
    Heading,
    ReportBlock,
    Section,
    Table,
    Words,
    absent,
    code,
    place,
)
from latticework.report.budget_drawing import time_by_budget
from latticework.report.budget_records import KeyLine, UnderBudget, about
from latticework.report.figure_labels import Column, table
from latticework.report.quantities import count, duration, size
from latticework.report.residency_drawing import residency, runs

MOST_LINES = 12
OVER_TIME_SAID = "The first run of a server, and why rows of keys are in memory."
TOLD_AS_ONE = (
    "Of a loop that turns often, the turns between the first and the last are drawn as one, between the inner marks: "
    "as long as they are together, each moment the average of theirs."
)
CURVE_SAID = (
    "Predicted time of a run by the memory that the server is given: what is not kept of keys is read again, what is "
    "not kept of constants is encoded again. Later runs find in memory what the one before left there."
)


def budget_sections(found: UnderBudget | None) -> tuple[Section, ...]:
    """Nothing where no budget of memory was given."""
    return absent("under_budget") if found is None else (budget_section(found, "under_budget"),)


def budget_section(found: UnderBudget, key: str) -> Section:
    """Parts, both drawings, and tables of their numbers. key: of all of it in JSON."""
    made = found.shares
    blocks: list[ReportBlock] = [
        FactList(part_facts(found), data={key: memory_data(found)}),
        Words((" ".join(run_sentences(found.chosen)),)),
    ]
    if drawn := residency(found):
        bytes_read = Column("bytes read", row=lambda line: size(line.loads * made.keys.row_bytes), number=True)
        rest = f"{count(max(0, len(found.lines) - MOST_LINES))} more lines"
        blocks += [
            Heading("Over the time of a run"),
            Drawing(drawn),
            Words((_beside(found),), "soft"),
            table(
                "", KeyLine, found.lines, first=("text", "where"), after={"loads": bytes_read}, most=MOST_LINES,
                rest=rest, cut=MOST_LINES,
            ),
            Fold("The run in stretches", (_stretch_table(found),)),
        ]  # fmt: skip
    if drawn := time_by_budget(found):
        blocks += [Heading("Time by budget"), Words((CURVE_SAID,), "soft"), Drawing(drawn)]
    blocks.append(Fold("All budgets", (_curve_table(found.curve),)))
    return Section(
        "Keys in memory", tuple(blocks), f"with {size(made.budget_bytes)}, predicted for one thread and one reader"
    )


def part_facts(found: UnderBudget) -> tuple[tuple[str, str, str], ...]:
    """(part, bytes, what they are for) at the worst moment, and of all."""
    made, kept, keys = found.shares, found.shares.kept, found.shares.keys
    whole = f"{count(kept.whole)} kept whole, {count(kept.rounded)} as coefficients, {count(kept.anew)} made anew"
    slots = count_noun(keys.slots_used, "row")
    return (
        ("values", size(made.values), f"ciphertexts, plaintexts in use and scratch of {_runs(made)}"),
        ("tables", size(made.tables), "of the transforms"),
        ("constants", size(kept.bytes), f"of {size(made.all_constants)}: {whole} ({duration(kept.seconds)} a run)"),
        ("keys", size(keys.peak_bytes), f"of {size(keys.all_bytes)}: {slots} of {size(keys.row_bytes)}"),
        ("in all", size(made.peak_bytes), f"the smallest budget is {size(made.smallest)}{_set_by(found)}"),
    )


def _runs(made: MemoryPlan) -> str:
    if made.runs == 1:
        return "a run, at its worst moment"
    more = made.of_runs.bytes(made.runs) - made.of_runs.bytes(made.runs - 1)
    return f"{made.runs} runs at the worst moment of each, {size(more)} for one more"


def _set_by(found: UnderBudget) -> str:
    least = found.shares.least
    if least is None or found.least is None:
        return ""
    return f", where {found.least[0]} of {found.least[1]} reads {size(least.bytes)} of keys"


def run_sentences(point: BudgetPoint) -> tuple[str, ...]:
    """Sentences on what a run reads, and what it takes."""
    made, later = point.shares, point.later
    keys, reading = made.keys, made.keys.total
    about = "" if keys.is_exact else "about "
    waits = f"{count_noun(round(reading.stalls), 'wait')} of {duration(reading.stall_seconds)} together"
    read = f"read about {count_noun(later.loads, 'row')}" if later.loads else "read none"
    return (
        f"A run reads {about}{count_noun(keys.loads, 'row')} of keys, {size(keys.loaded_bytes)}, and uses "
        f"{count(round(reading.wanted))}; {waits}.",
        f"It takes {about}{duration(made.seconds)}, and {duration(made.resident_seconds)} with everything in memory.",
        f"That is the first run of a server. Later ones find rows in memory: they {read}, and take about "
        f"{duration(point.later_seconds)}.",
        f"There is room for {count_noun(made.most_runs, 'run')} at the same time.",
    )


def _beside(found: UnderBudget) -> str:
    """Explain how to read the drawing over time, and what is not in it."""
    said = [OVER_TIME_SAID]
    if any(loop.alike_end > loop.alike_start for loop in found.loops):
        said.append(TOLD_AS_ONE)
    if found.shares.kept.seconds > 0:
        said.append(f"The {duration(found.shares.kept.seconds)} that constants take to encode anew are not in it.")
    return " ".join(said)


_STRETCH_HEADS = (
    Head("from", True), Head("to", True), Head("line"), Head("where"), Head("bootstrap", True),
    Head("in memory at most", True), Head("rows read", True), Head("waits", True), Head("waiting", True),
)  # fmt: skip


def _stretch_table(found: UnderBudget) -> Table:
    """The numbers of the drawing, neighbours of one line and bootstrap together."""
    rows = tuple(
        (duration(start), duration(start + length), code(text) if where else "no key is read", place(where),
         "" if bootstrap is None else str(bootstrap + 1), size(max(one.most_bytes for one in inside)),
         about(sum(one.loads for one in inside)), about(sum(one.stalls for one in inside)),
         duration(sum(one.waiting for one in inside)))
        for (where, text, bootstrap), start, length, inside in runs(
            found.over_time, lambda one: (one.where, one.text, one.bootstrap)
        )
    )  # fmt: skip
    return Table(_STRETCH_HEADS, rows, cut=MOST_LINES)


_CURVE_HEADS = ("memory", "first run", "rows it reads", "later runs", "rows they read", "for keys", "for constants")


def _curve_table(curve: Sequence[BudgetPoint]) -> Table:
    """A row for each budget."""
    rows = tuple(
        (size(point.shares.budget_bytes), duration(point.shares.seconds), count(point.shares.keys.loads),
         duration(point.later_seconds), count(point.later.loads), size(point.shares.keys.peak_bytes),
         size(point.shares.kept.bytes))
        for point in curve
    )  # fmt: skip
    return Table(tuple(Head(label, True) for label in _CURVE_HEADS), rows)


def memory_text(found: UnderBudget) -> str:
    """The section as text; ends with a newline."""
    return section_text(budget_section(found, "memory"))


def memory_data(found: UnderBudget) -> dict[str, Any]:
    """The same as plain data, unrounded."""
    made, kept, keys = found.shares, found.shares.kept, found.shares.keys
    return {
        "budget_bytes": made.budget_bytes,
        "runs": made.runs,
        "most_runs": made.most_runs,
        "values": made.values,
        "tables": made.tables,
        "constants": {
            "budget_bytes": made.constants_bytes, "bytes": kept.bytes, "all_bytes": made.all_constants,
            "whole": kept.whole, "rounded": kept.rounded, "anew": kept.anew, "seconds": kept.seconds,
        },
        "keys": {
            "budget_bytes": keys.budget_bytes, "peak_bytes": keys.peak_bytes, "all_bytes": keys.all_bytes,
            "row_bytes": keys.row_bytes, "loads": keys.loads, "loaded_bytes": keys.loaded_bytes,
            "is_exact": keys.is_exact, "stalls": keys.total.stalls, "stall_seconds": keys.total.stall_seconds,
        },
        "peak_bytes": made.peak_bytes,
        "smallest_bytes": made.smallest,
        "set_by": None if found.least is None else dict(zip(("op", "where"), found.least, strict=True)),
        "seconds": made.seconds,
        "resident_seconds": made.resident_seconds,
        "lines": [asdict(line) for line in found.lines],
        "over_time": [asdict(stretch) for stretch in found.over_time],
        "key_loops": [asdict(loop) for loop in found.loops],
        "later": _later(found.chosen),
        "curve": [
            {"budget_bytes": each.shares.budget_bytes, "seconds": each.shares.seconds,
             "peak_bytes": each.shares.peak_bytes, "key_bytes": each.shares.keys.peak_bytes,
             "constant_bytes": each.shares.kept.bytes, "loads": each.shares.keys.loads,
             "stalls": each.shares.keys.total.stalls, "stall_seconds": each.shares.keys.total.stall_seconds,
             "later": _later(each)}
            for each in found.curve
        ],
    }  # fmt: skip


def _later(point: BudgetPoint) -> dict[str, Any]:
    """A later run."""
    reading = point.later.total
    return {
        "seconds": point.later_seconds, "loads": point.later.loads, "stalls": reading.stalls,
        "stall_seconds": reading.stall_seconds,
    }  # fmt: skip
