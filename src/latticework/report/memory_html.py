"""Keys in memory under a budget, as a section of the page: facts, both drawings, and tables of their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.report.budget_drawing import time_by_budget
from latticework.report.data import KeyLine, UnderBudget
from latticework.report.markup import code, facts, fold, section, table
from latticework.report.memory import CURVE_HEADS, HEADS, curve_rows, key_line_rows, part_facts, run_sentences
from latticework.report.quantities import count, duration, size
from latticework.report.residency_drawing import residency, runs
from latticework.words.escaping import html_text

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


def keys_in_memory(found: UnderBudget) -> str:
    """The section."""
    made = found.shares
    parts = [facts(part_facts(found)), f"<p>{html_text(' '.join(run_sentences(found.chosen)))}</p>"]
    if drawn := residency(found):
        parts += ["<h3>Over the time of a run</h3>", drawn]
        parts.append(f'<p class="soft">{html_text(_beside(found))}</p>')
        parts += [_lines(found.lines, made.keys.row_bytes), fold("The run in stretches", _stretches(found))]
    if drawn := time_by_budget(found):
        rows = [[html_text(cell) for cell in row] for row in curve_rows(found.curve)]
        listed = table(CURVE_HEADS, rows, numbers=range(7), stacked=True)
        parts += ["<h3>Time by budget</h3>", f'<p class="soft">{CURVE_SAID}</p>', drawn, fold("All budgets", listed)]
    note = f"with {size(made.budget_bytes)}, predicted for one thread and one reader"
    return section("Keys in memory", "".join(parts), note)


def _beside(found: UnderBudget) -> str:
    """How to read the drawing over time, and what is not in it."""
    said = [OVER_TIME_SAID]
    if any(loop.alike_end > loop.alike_start for loop in found.loops):
        said.append(TOLD_AS_ONE)
    if found.shares.kept.seconds > 0:
        said.append(f"The {duration(found.shares.kept.seconds)} that constants take to encode anew are not in it.")
    return " ".join(said)


def _lines(lines: Sequence[KeyLine], row_bytes: int) -> str:
    head = ("line", "where", *HEADS[1:])
    rows = [
        [code(line.text or "(no source)"), html_text(line.where), *map(html_text, row[1:])]
        for line, row in zip(lines, key_line_rows(lines, row_bytes), strict=True)
    ]
    listed = table(head, rows[:MOST_LINES], numbers=range(2, 7), stacked=True)
    others = rows[MOST_LINES:]
    if others:
        listed += fold(f"{count(len(others))} more lines", table(head, others, numbers=range(2, 7), stacked=True))
    return listed


def _stretches(found: UnderBudget) -> str:
    """The numbers of the drawing, neighbours of one line and bootstrap together."""
    head = ("from", "to", "line", "where", "bootstrap", "in memory at most", "rows read", "waits", "waiting")
    rows = [
        [duration(start), duration(start + length), code(text) if where else "no key is read", html_text(where),
         "" if bootstrap is None else str(bootstrap + 1),
         size(max(one.most_bytes for one in inside)), count(round(sum(one.loads for one in inside))),
         count(round(sum(one.stalls for one in inside))), duration(sum(one.waiting for one in inside))]
        for (where, text, bootstrap), start, length, inside in runs(
            found.over_time, lambda one: (one.where, one.text, one.bootstrap)
        )
    ]  # fmt: skip
    return table(head, rows, numbers=(0, 1, *range(4, 9)), stacked=True)
