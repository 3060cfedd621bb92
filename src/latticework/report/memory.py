"""What a server holds under a budget of memory, in words and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from latticework.analysis.memory_plan import BudgetPoint, MemoryPlan
from latticework.report.data import KeyLine, UnderBudget
from latticework.report.quantities import count, duration, size
from latticework.report.text_table import columns
from latticework.words.shown import count_noun

MOST_LINES = 12
HEADS = ("line", "rows used", "rows read", "bytes read", "waits", "waiting")
CURVE_HEADS = ("memory", "first run", "rows it reads", "later runs", "rows they read", "for keys", "for constants")


def memory_text(found: UnderBudget) -> str:
    """A page; ends with a newline."""
    made = found.shares
    facts = part_facts(found)
    width = max(len(held) for _, held, _ in facts)
    lines = [f"Memory, with {size(made.budget_bytes)} (predicted)"]
    lines += [f"  {name:<10}  {held:>{width}}  {words}" for name, held, words in facts]
    lines += ["", *(f"  {sentence}" for sentence in run_sentences(found.chosen))]
    rows = key_line_rows(found.lines[:MOST_LINES], made.keys.row_bytes)
    if rows:
        lines += ["", "Where keys are read", *columns(HEADS, rows)]
    lines += ["", "Time of a run by memory", *columns(CURVE_HEADS, curve_rows(found.curve))]
    return "\n".join(lines) + "\n"


def part_facts(found: UnderBudget) -> list[tuple[str, str, str]]:
    """(part, bytes, what they are for) at the worst moment, and of all."""
    made, kept, keys = found.shares, found.shares.kept, found.shares.keys
    whole = f"{count(kept.whole)} kept whole, {count(kept.rounded)} as coefficients, {count(kept.anew)} made anew"
    slots = count_noun(keys.slots_used, "row")
    return [
        ("values", size(made.values), f"ciphertexts, plaintexts in use and scratch of {_runs(made)}"),
        ("tables", size(made.tables), "of the transforms"),
        ("constants", size(kept.bytes), f"of {size(made.all_constants)}: {whole} ({duration(kept.seconds)} a run)"),
        ("keys", size(keys.peak_bytes), f"of {size(keys.all_bytes)}: {slots} of {size(keys.row_bytes)}"),
        ("in all", size(made.peak_bytes), f"the smallest budget is {size(made.smallest)}{_set_by(found)}"),
    ]


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
    """What a run reads, and what it takes."""
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


def key_line_rows(lines: Sequence[KeyLine], row_bytes: int) -> list[list[str]]:
    """A row for each line that reads keys."""
    return [
        [f"{line.where}  {line.text}", count(round(line.used)), count(round(line.loads)), size(line.loads * row_bytes),
         count(round(line.stalls)), duration(line.stall_seconds) if line.stalls else ""]
        for line in lines
    ]  # fmt: skip


def curve_rows(curve: Sequence[BudgetPoint]) -> list[list[str]]:
    """A row for each budget."""
    return [
        [size(point.shares.budget_bytes), duration(point.shares.seconds), count(point.shares.keys.loads),
         duration(point.later_seconds), count(point.later.loads), size(point.shares.keys.peak_bytes),
         size(point.shares.kept.bytes)]
        for point in curve
    ]  # fmt: skip


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
