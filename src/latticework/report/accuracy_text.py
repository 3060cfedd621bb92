"""The report on accuracy as text of at most 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby

from latticework.report.accuracy_data import AccuracyColumn, AccuracyContents
from latticework.report.accuracy_lines import (
    FUNCTION_HEAD,
    LEAVING_HEAD,
    STEP_HEAD,
    VALUE_HEAD,
    function_row,
    functions_of,
    leaving_row,
    noise_row,
    step_row,
    value_row,
    values_shown,
    what_tables_mean,
)
from latticework.report.quantities import count, power_of_two, small
from latticework.report.text_table import WIDTH, clip, columns
from latticework.words.escaping import plain_text
from latticework.words.shown import count_noun

LISTED = 12  # numbers of rows
HEAD = ("", "rows", "score", "float", "agrees", "largest error", "of the largest")
MEANINGS = {
    "float": "the program itself",
    "approximated": "its functions as polynomials, no noise",
    "simulated": "with noise as modelled",
    "encrypted": "a client and a server",
}


def render_accuracy_text(report: AccuracyContents) -> str:
    """The whole report."""
    lines = [*_wrapped(title(report), ""), *_wrapped(decided(report), ""), ""]
    lines += columns(HEAD, [column_cells(report, c) for c in report.columns])
    lines += [line for note in column_notes(report) for line in _wrapped(note, "  ")]
    lines += ["", *_first_off(report)]
    lines += _lines(report)
    if report.unlike:
        lines += ["", "rows unlike calibration"]
        lines += [line for words in unlike_words(report) for line in _wrapped(words, "  ")]
    return "\n".join(line.rstrip() for line in map(plain_text, lines))


def _lines(report: AccuracyContents) -> list[str]:
    """Functions, what more of them would give, and values."""
    functions, found = functions_of(report), []
    if functions:
        rows = [_with_place(function_row(*pair)) for pair in functions]
        found += ["", "functions as polynomials, and what each does to results"]
        found += columns(_with_place(FUNCTION_HEAD), [*rows, _with_place(noise_row(report))])
        leaving = [_with_place(leaving_row(*pair)) for pair in functions]
        found += ["", "arguments that leave their intervals", *columns(_with_place(LEAVING_HEAD), leaving)]
        steps = [_with_place(row) for pair in functions if (row := step_row(*pair))]
        found += ["", "one step more of degree", *columns(_with_place(STEP_HEAD), steps)] if steps else []
        found += [line for said in what_tables_mean(report) for line in _wrapped(said, "  ")]
    shown = values_shown(report)
    if shown:
        more = "" if len(shown) == len(report.lines) else f", of {count(len(report.lines))} those that are off most"
        found += ["", f"largest errors of values{more}"]
        found += columns(_with_place(VALUE_HEAD), [_with_place(value_row(line)) for line in shown])
    return found


def _with_place(row: Sequence[str]) -> list[str]:
    """A row whose first two cells, what and where, are one."""
    return [f"{row[1]} {row[0]}".strip() if row[1] != "where" else row[0], *row[2:]]


def title(report: AccuracyContents) -> str:
    """What this is about."""
    rows = count_noun(report.rows, report.unit)
    return f"accuracy of {report.name} on {rows}, {report.precision_bits:g} bits asked for"


def decided(report: AccuracyContents) -> str:
    """What is compared and scored."""
    score = "no labels, so no score" if report.measure is None else f"score: {report.measure}"
    return f"compared: {report.decision}; {score}"


def column_cells(report: AccuracyContents, column: AccuracyColumn) -> list[str]:
    """A row of the table."""
    return [
        column.name,
        count(len(column.rows)),
        score_text(report, column.score),
        "" if column is report.columns[0] else score_text(report, column.float_score),
        "" if column.agreement is None else percent_text(column.agreement),
        "" if column is report.columns[0] else small(column.error),
        "" if column is report.columns[0] else power_of_two(column.relative),
    ]


def column_notes(report: AccuracyContents) -> list[str]:
    """What heads of the table mean, and which rows differ."""
    notes = [f"{c.name}: {MEANINGS[c.name]}" for c in report.columns if c.name in MEANINGS]
    notes += ["agrees: share of decisions that are those of the column above, on the rows that both have"]
    if report.measure:
        notes.append("float, beside a score: that of the program itself on the same rows")
    for column in report.columns:
        if column.differing:
            notes.append(f"{column.name}: {rows_text(report.unit, column.differing)} decided otherwise than above")
    return notes


def _first_off(report: AccuracyContents) -> list[str]:
    lines = []
    for column in report.columns[1:]:
        off = column.first_off
        if off is None:
            lines.append(f"  {column.name}: every result is as precise as was asked")
        else:
            lines += [clip(f"  {column.name}: first off at {off.where}: {off.text}", WIDTH)]
            lines += _wrapped(off_words(column), "    ")
    return ["first line after which results are less precise than was asked", *lines]


def off_words(column: AccuracyColumn) -> str:
    """What is wrong there."""
    off = column.first_off
    assert off is not None
    return (
        f"{off.name} is off by {small(off.error)}, which alone moves a result by {small(off.moves)}; "
        f"{small(off.allowed)} are allowed (row {off.row})"
    )


def unlike_words(report: AccuracyContents) -> list[str]:
    """Which rows are unlike calibration, and in what; of many that are refused, the first."""
    found = []
    for kind, several in groupby(report.unlike, key=lambda each: each.kind):
        group = list(several)
        shown = group[:LISTED] if kind == "refused" else group
        for each in shown:
            whose = "all rows" if kind == "constant" else rows_text(report.unit, each.rows)
            found.append(f"{whose}: {each.said}")
        if len(shown) < len(group):
            rest = tuple(row for each in group[len(shown) :] for row in each.rows)
            found.append(f"{rows_text(report.unit, rest)}: refused by clients, too")
    return found


def rows_text(unit: str, rows: tuple[int, ...]) -> str:
    """`row 3`, `rows 1, 2, 5 and 17 more`; all in a row as `rows 0 to 99`."""
    if len(rows) == 1:
        return f"{unit} {rows[0]}"
    if len(rows) > 2 and rows == tuple(range(rows[0], rows[-1] + 1)):
        return f"{unit}s {rows[0]} to {rows[-1]}"
    listed = ", ".join(map(str, rows[:LISTED]))
    return f"{unit}s {listed}" + (f" and {count(len(rows) - LISTED)} more" if len(rows) > LISTED else "")


def percent_text(part: float) -> str:
    """A share; 100 % only of all."""
    text = f"{100 * part:.4g} %"
    return text if part == 1.0 or not text.startswith("100 ") else "99.99 %"


def score_text(report: AccuracyContents, score: float | None) -> str:
    """A share of right decisions, or R^2."""
    if score is None:
        return ""
    return percent_text(score) if report.measure == "accuracy" else f"{score:.4f}"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(plain_text(text), WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
