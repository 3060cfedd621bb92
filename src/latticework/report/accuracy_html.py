"""The report on accuracy as HTML, with pictures."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.report.accuracy_data import AccuracyColumn, AccuracyContents
from latticework.report.accuracy_drawing import bar, histogram
from latticework.report.accuracy_lines import (
    FUNCTION_HEAD,
    LEAVING_HEAD,
    NOISE,
    STEP_HEAD,
    VALUE_HEAD,
    function_row,
    functions_of,
    leaving_row,
    noise_row,
    part_text,
    span_text,
    step_row,
    value_row,
    values_shown,
    what_tables_mean,
)
from latticework.report.accuracy_text import (
    MEANINGS,
    column_notes,
    decided,
    off_words,
    percent_text,
    score_text,
    unlike_words,
)
from latticework.report.markup import code, facts, fold, section, table
from latticework.report.page import fragment, page
from latticework.report.quantities import count, power_of_two, small
from latticework.words.escaping import html_text
from latticework.words.shown import count_noun

MAX_VALUES = 12  # that are shown without being asked for


def render_accuracy_page(report: AccuracyContents) -> str:
    """The whole page."""
    return page(f"accuracy of {report.name} · latticework report", render_accuracy_fragment(report))


def render_accuracy_fragment(report: AccuracyContents) -> str:
    """The report for a notebook cell."""
    rows = count_noun(report.rows, report.unit)
    parts = [f"<header><h1>{html_text(report.name)}</h1><p>accuracy on {html_text(rows)}</p></header>"]
    parts += [_figures(report), _columns(report), _first_off(report), _functions(report), _values(report)]
    if report.unlike:
        said = "".join(f"<li>{html_text(words)}</li>" for words in unlike_words(report))
        parts.append(section("Rows unlike calibration", f'<ul class="notes">{said}</ul>'))
    return fragment(parts)


def _figures(report: AccuracyContents) -> str:
    """What one wants to know first."""
    items = [("Precision asked for", f"{report.precision_bits:g} bits", "of the largest result in calibration")]
    if report.measure is not None:
        scores = [c for c in report.columns if c.score is not None and c.name != "encrypted"][-1:]
        items += [
            (f"Score ({report.measure})", score_text(report, c.score),
             f"{c.name}; the program itself {score_text(report, c.float_score)} on these rows")
            for c in scores
        ]  # fmt: skip
    agreeing = [c for c in report.columns if c.agreement is not None]
    if agreeing:
        least = min(agreeing, key=lambda c: c.agreement or 0.0)
        worst = max(agreeing, key=lambda c: c.relative)
        before = report.columns[report.columns.index(least) - 1].name
        items += [
            ("Agreement", percent_text(least.agreement or 0.0), f"of {least.name} with {before} results, at the least"),
            (
                "Largest error",
                small(worst.error),
                f"{power_of_two(worst.relative)} of the largest result, {worst.name}",
            ),
        ]
    refused = len(report.refused)
    if refused:
        items.append(("Rows left out", count(refused), f"of {count(report.rows)}: see the end"))
    return facts(items)


def _columns(report: AccuracyContents) -> str:
    head = ("column", "rows", "score", "", "float", "agrees", "", "largest error", "of the largest")
    rows = [_column_row(report, c) for c in report.columns]
    drawn = table(head, rows, numbers=(1, 2, 4, 5, 7, 8), stacked=True)
    notes = "".join(f"<li>{html_text(note)}</li>" for note in column_notes(report)[len(report.columns) :])
    return section("Four ways to compute it", drawn + _notes(notes), decided(report))


def _column_row(report: AccuracyContents, column: AccuracyColumn) -> list[str]:
    is_first = column is report.columns[0]
    meaning = MEANINGS.get(column.name, "")
    return [
        f'{html_text(column.name)}<br><span class="soft">{html_text(meaning)}</span>', count(len(column.rows)),
        score_text(report, column.score), bar(column.score, "switch"),
        "" if is_first else score_text(report, column.float_score),
        "" if column.agreement is None else percent_text(column.agreement), bar(column.agreement, "add"),
        "" if is_first else small(column.error), "" if is_first else html_text(power_of_two(column.relative)),
    ]  # fmt: skip


def _first_off(report: AccuracyContents) -> str:
    rows = []
    for column in report.columns[1:]:
        off = column.first_off
        if off is None:
            rows.append([html_text(column.name), "", "", "every result is as precise as was asked"])
        else:
            words = html_text(off_words(column))
            rows.append([html_text(column.name), code(off.text), html_text(off.where), words])
    if not rows:
        return ""
    note = "after which results are less precise than was asked"
    return section("First line that is off", table(("column", "line", "where", ""), rows, stacked=True), note)


def _functions(report: AccuracyContents) -> str:
    functions = functions_of(report)
    if not functions:
        return ""
    bars = [[code(line.text), html_text(line.where), html_text(f.function), bar(f.share, "product"),
             part_text(f.share)] for line, f in functions]  # fmt: skip
    bars.append([NOISE, "", "", bar(report.noise_share, "other"), part_text(report.noise_share)])
    drawn = table(("line", "where", "function", "", "share"), bars, numbers=(4,), stacked=True)
    rows = [_cells(function_row(*pair)[:-1]) for pair in functions] + [_cells(noise_row(report)[:-1])]
    listed = table(FUNCTION_HEAD[:-1], rows, numbers=range(2, 8), stacked=True)
    leaving = [_cells(leaving_row(*pair)) for pair in functions]
    listed += "<h3>Arguments that leave their intervals</h3>"
    listed += table(LEAVING_HEAD, leaving, numbers=range(2, 5), stacked=True)
    steps = [_cells(row) for pair in functions if (row := step_row(*pair))]
    more = table(STEP_HEAD, steps, numbers=range(2, 8), stacked=True) if steps else ""
    said = "".join(f"<li>{html_text(words)}</li>" for words in what_tables_mean(report))
    body = drawn + _histograms(report) + "<h3>Polynomials</h3>" + listed
    body += f"<h3>One step more of degree</h3>{more}" if more else ""
    return section(
        "Where it loses", body + _notes(said),
        "share of the error by line: each function alone as its polynomial, and the noise",
    )  # fmt: skip


def _histograms(report: AccuracyContents) -> str:
    figures = []
    for line, function in functions_of(report):
        reach = f"arguments reach {span_text(function.low, function.high)}"
        outside = f", outside in {count_noun(function.outside, 'row')}" if function.outside else ""
        figures.append(
            f"<figure><figcaption>{html_text(function.function)} "
            f'<span class="soft">{html_text(line.where)}<br>{html_text(reach + outside)}</span></figcaption>'
            f"{histogram(function)}</figure>"
        )
    return f'<h3>Arguments over the intervals of their polynomials</h3><div class="grids">{"".join(figures)}</div>'


def _values(report: AccuracyContents) -> str:
    shown = values_shown(report)
    if not shown:
        return ""
    drawn = table(VALUE_HEAD, [_cells(value_row(line)) for line in shown], numbers=range(2, 7), stacked=True)
    note = "largest difference from the program itself"
    if len(shown) < len(report.lines):
        note += f", of {count(len(report.lines))} values those that are off most"
    body = drawn if len(shown) <= MAX_VALUES else fold(count_noun(len(shown), "value"), drawn)
    return section("Errors of values", body, note)


def _notes(items: str) -> str:
    return f'<div class="under"><ul class="notes">{items}</ul></div>'


def _cells(row: Sequence[str]) -> list[str]:
    return [html_text(cell) for cell in row]
