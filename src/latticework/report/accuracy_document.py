"""The report on accuracy: its sections in the order in which they are read.

Its JSON form has every figure of the text, unrounded. Keys stay; later versions may add some. What does not apply
is null, and so are numbers that are not finite.

  format          version of this description: 1
  name            of the program;  precision_bits  asked for
  rows            of the data, numbered from 0;  unit  "row", or "run" of the program
  measure         of scores: "accuracy" or "R^2"; null without labels
  decision        what is compared, in words;  tolerance  within which numbers agree
  seed            of the simulated noise
  refused         numbers of the rows that clients refuse, or of which the program itself has no finite result
  columns         float, approximated, simulated, encrypted: name, rows (numbers), score, float_score (of the program
                  itself on these rows), agreement (with the column before), differing (numbers of rows), error
                  (largest), relative (to the largest output of calibration), first_off (null, or where, text, name,
                  error, moves, allowed, row)
  lines           values in program order: where, text, name, low, high (reached by the program itself), calibrated
                  (largest magnitude), errors (approximated, simulated, encrypted), function: null, or function, low,
                  high (of arguments), interval, counts (of arguments by equal parts of it), outside (rows), may_leave,
                  leaving (estimated share of inputs), degree (of each polynomial in a row), given, max_error,
                  reached_error, effect (on results, to the largest of calibration), share, step (null, or degree,
                  max_error, levels, products, seconds, larger_ring)
  noise_effect, noise_share  of encryption;  effect_runs  that effects were looked for in
  unlike          rows that are unlike calibration: kind, rows, said
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from latticework.errors.shown import count_noun
from latticework.report.accuracy_data import AccuracyColumn, AccuracyContents
from latticework.report.accuracy_drawing import histograms
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
    step_row,
    value_row,
    values_shown,
    what_tables_mean,
)
from latticework.report.blocks import (
    Bar,
    Cell,
    Document,
    Drawing,
    FactList,
    Fold,
    Head,
    Heading,
    ReportBlock,
    Section,
    Table,
    Words,
    code,
    place,
)
from latticework.report.figure_labels import Column, number, table
from latticework.report.quantities import count, percent_text, power_of_two, small

LISTED = 12  # numbers of rows
MAX_VALUES = 12  # that a page shows without being asked for


def accuracy_document(report: AccuracyContents) -> Document:
    """All of it."""
    rows = count_noun(report.rows, report.unit)
    return Document(
        report.name,
        f"accuracy on {rows}",
        f"accuracy of {report.name} · latticework report",
        f"accuracy of {report.name} on {rows}, {report.precision_bits:g} bits asked for",
        "",
        _figures(report),
        (_columns(report), _first_off(report), _functions(report), _values(report), _unlike(report)),
    )


def _figures(report: AccuracyContents) -> FactList:
    """The key figures, as a list of facts."""
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
        said = f"of {least.name} with {before} results, at the least"
        items += [
            ("Agreement", percent_text(least.agreement or 0.0), said),
            (
                "Largest error",
                small(worst.error),
                f"{power_of_two(worst.relative)} of the largest result, {worst.name}",
            ),
        ]
    if report.refused:
        items.append(("Rows left out", count(len(report.refused)), f"of {count(report.rows)}: see the end"))
    known = ("name", "precision_bits", "rows", "unit", "measure", "decision", "tolerance", "seed", "refused")
    return FactList(tuple(items), data={name: getattr(report, name) for name in known})


def _columns(report: AccuracyContents) -> Section:
    first = report.columns[0] if report.columns else None

    def later(label: str, written: Callable[[AccuracyColumn], str]) -> Column:
        return Column(label, row=lambda c: "" if c is first else written(c), number=True)

    def bar(part: float | None, colour: str) -> Cell | str:
        return "" if part is None else Cell(bar=Bar({colour: min(max(part, 0.0), 1.0)}, 1.0))

    shown = {
        "score": number("score", lambda score: score_text(report, score)),
        "float_score": later("float", lambda c: score_text(report, c.float_score)),
        "error": later("largest error", lambda c: small(c.error)),
        "relative": later("of the largest", lambda c: power_of_two(c.relative)),
    }
    bars = {
        "score": Column("", row=lambda c: bar(c.score, "switch")),
        "agreement": Column("", row=lambda c: bar(c.agreement, "add")),
    }
    ways = table("columns", AccuracyColumn, report.columns, replaced=shown, after=bars)
    score = "no labels, so no score" if report.measure is None else f"score: {report.measure}"
    within = "" if report.tolerance is None else f", within {small(report.tolerance)}"
    said = f"compared: {report.decision}{within}; {score}; noise drawn with seed {report.seed}"
    return Section("Four ways to compute it", (ways, Words(_column_notes(report), "list")), said)


def _column_notes(report: AccuracyContents) -> tuple[str, ...]:
    """Notes that explain the table's heads, and name the rows that differ."""
    notes = ["agrees: share of decisions that are those of the column above, on the rows that both have"]
    if report.measure:
        notes.append("float, beside a score: that of the program itself on the same rows")
    for column in report.columns:
        if column.differing:
            notes.append(f"{column.name}: {rows_text(report.unit, column.differing)} decided otherwise than above")
    return tuple(notes)


def _first_off(report: AccuracyContents) -> Section:
    rows: list[tuple[Cell | str, ...]] = []
    for column in report.columns[1:]:
        off = column.first_off
        if off is None:
            rows.append((column.name, "", "", _below("every result is as precise as was asked")))
        else:
            rows.append((column.name, code(off.text), place(off.where), _below(_off_words(column))))
    heads = tuple(map(Head, ("column", "line", "where", "")))
    return Section(
        "First line that is off" if rows else "", (Table(heads, tuple(rows)),),
        "after which results are less precise than was asked",
    )  # fmt: skip


def _below(text: str) -> Cell:
    return Cell("", asides=(("", text, ""),))


def _off_words(column: AccuracyColumn) -> str:
    """Describe the first value that is off in a column."""
    off = column.first_off
    assert off is not None
    return (
        f"{off.name} is off by {small(off.error)}, which alone moves a result by {small(off.moves)}; "
        f"{small(off.allowed)} are allowed (row {off.row})"
    )


def _functions(report: AccuracyContents) -> Section:
    functions = functions_of(report)
    shares: list[tuple[Cell | str, ...]] = [
        (code(line.text), place(line.where), f.function, _share(f.share, "product"), part_text(f.share))
        for line, f in functions
    ]
    shares.append((NOISE, "", "", _share(report.noise_share, "other"), part_text(report.noise_share)))
    heads = (Head("line"), Head("where"), Head("function"), Head(""), Head("share", is_number=True))
    rows = [function_row(*pair) for pair in functions] + [noise_row(report)]
    steps = [row for pair in functions if (row := step_row(*pair))]
    known = ("noise_effect", "noise_share", "effect_runs")
    data = {name: getattr(report, name) for name in known}
    if not functions:
        return Section("", (Words((), data=data),))
    blocks: tuple[ReportBlock, ...] = (
        Table(heads, tuple(shares), data=data),
        Heading("Arguments over the intervals of their polynomials"),
        Drawing(histograms(functions)),
        Heading("Polynomials"),
        _number_table(FUNCTION_HEAD, rows),
        Heading("Arguments that leave their intervals"),
        _number_table(LEAVING_HEAD, [leaving_row(*pair) for pair in functions]),
        *((Heading("One step more of degree"), _number_table(STEP_HEAD, steps)) if steps else ()),
        Words(tuple(what_tables_mean(report)), "list"),
    )
    note = "share of the error by line: each function alone as its polynomial, and the noise"
    return Section("Where it loses", blocks, note)


def _share(part: float, colour: str) -> Cell:
    return Cell(bar=Bar({colour: part}, 1.0))


def _number_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Rows of a name, a place, and numbers."""
    heads = tuple(Head(label, i > 1) for i, label in enumerate(head))
    return Table(heads, tuple((row[0], place(row[1]), *row[2:]) for row in rows))


def _values(report: AccuracyContents) -> Section:
    shown = values_shown(report)
    drawn = _number_table(VALUE_HEAD, [value_row(line) for line in shown])
    note = "largest difference from the program itself"
    if len(shown) < len(report.lines):
        note += f", of {count(len(report.lines))} values those that are off most"
    block = drawn if len(shown) <= MAX_VALUES else Fold(count_noun(len(shown), "value"), (drawn,))
    return Section("Errors of values" if shown else "", (block, Words((), data={"lines": report.lines})), note)


def _unlike(report: AccuracyContents) -> Section:
    words = Words(tuple(unlike_words(report)), "list", data={"unlike": report.unlike})
    return Section("Rows unlike calibration" if report.unlike else "", (words,))


def unlike_words(report: AccuracyContents) -> list[str]:
    """Describe the rows that are unlike calibration, and in what; of many that are refused, the first."""
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


def score_text(report: AccuracyContents, score: float | None) -> str:
    """A share of right decisions, or R^2."""
    if score is None:
        return ""
    return percent_text(score) if report.measure == "accuracy" else f"{score:.4f}"
