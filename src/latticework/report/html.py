"""A report as HTML."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from latticework.analysis.estimate import CostEstimate
from latticework.report.bars import legend, stacked_bar
from latticework.report.bootstraps import HEADS as BOOTSTRAP_HEADS
from latticework.report.bootstraps import (
    WEIGHED_HEADS,
    bootstrap_rows,
    bootstrap_words,
    loop_lines,
    weighed_rows,
    why_lines,
)
from latticework.report.carried_drawing import drawings
from latticework.report.data import Bootstrapping, Contents, Execution, InputRow, KeyRow, Line, Operation, OutputRow
from latticework.report.lanes import lanes
from latticework.report.layout_choice import layout_choice
from latticework.report.layout_words import LEGEND, layout_words
from latticework.report.markup import code, facts, fold, layout, section, table, whole
from latticework.report.memory_html import keys_in_memory
from latticework.report.owner_work import owner_html
from latticework.report.page import fragment, page
from latticework.report.quantities import (
    LEAVING,
    as_digits,
    count,
    duration,
    leaving_text,
    power_of_two,
    real,
    relative_bits,
    shape,
    share,
    size,
    small,
)
from latticework.report.slot_grid import slot_grid
from latticework.report.timeline import timeline
from latticework.report.wording import (
    CLIENT_HEADS,
    approximation_words,
    bits_text,
    client_rows,
    degree_text,
    error_rows,
    family_rows,
    family_seconds,
    insecure_warning,
    is_broken_down,
    key_text,
    level_use_text,
    levels_of_line,
    operation_rows,
    precision_text,
    row_text,
    spent_text,
    time_rows,
)
from latticework.words.escaping import html_text

MAX_LISTED_KEYS = 12
MAX_LISTED_LINES = 24


def render_page(report: Contents) -> str:
    """The whole page."""
    return page(f"{report.name} · latticework report", render_fragment(report))


def render_fragment(report: Contents) -> str:
    """The report for a notebook cell."""
    parts = [_title(report), _figures(report), _interface(report)]
    parts += [] if report.owner is None else [owner_html(report.owner)]
    if report.execution is not None:
        parts += _execution(report.execution)
    parts += [_client(report), _keys(report), _chain(report)]
    notes = "".join(f"<li>{html_text(note)}</li>" for note in report.notes)
    parts.append(section("Notes", f'<ul class="notes">{notes}</ul>'))
    return fragment(parts)


def _title(report: Contents) -> str:
    banner = ""
    if report.security.insecure:
        banner = f'<div class="alarm" role="alert">{html_text(insecure_warning(report.security))}</div>'
    return f"<header><h1>{html_text(report.name)}</h1><p>compiled to run on encrypted data</p></header>{banner}"


def _figures(report: Contents) -> str:
    """What one wants to know first."""
    security = report.security
    limit = "no known limit" if security.limit_bits is None else f"limit {security.limit_bits}"
    verdict = "INSECURE" if security.insecure else f"{security.bits}-bit"
    items = [
        ("Security", verdict, f"N = {count(security.ring_degree)}, log₂ QP = {security.log2_qp:.1f}, {limit}"),
        (
            "Precision",
            "exact" if report.plain_modulus else _worst_bits(report),
            precision_text(report).removeprefix("exact, "),
        ),
    ]
    if report.execution is not None:
        cost = report.execution.estimate
        items += [
            (
                "Predicted time",
                f"{duration(cost.warm_seconds)} later runs",
                f"{duration(cost.first_seconds)} first run",
            ),
            ("Predicted peak memory", size(cost.memory.total), f"keys {size(cost.memory.keys)} of it"),
        ]
    if report.row is not None:
        items.append(("A row", f"1 of {count(report.row.count)} in a run", row_text(report.row)))
    stored, resident = (sum(k.stored_bytes for k in report.keys), sum(k.resident_bytes for k in report.keys))
    items += [
        ("Evaluation keys", str(len(report.keys)), f"{size(stored)} to send, {size(resident)} in memory"),
        _level_figure(report),
    ]  # fmt: skip
    return facts(items)


def _level_figure(report: Contents) -> tuple[str, str, str]:
    primes = f"{sum(len(r.limbs) for r in report.levels)} primes and {len(report.special_bits)} special"
    if report.plain_modulus:
        return "Modulus", f"{report.levels[0].log2_modulus:.0f} bits", primes
    return "Levels", spent_text(report.level_use), f"{level_use_text(report.level_use)}: {primes}"


def _worst_bits(report: Contents) -> str:
    bits = [relative_bits(o.usual_error, o.magnitude) for o in report.outputs]
    known = [b for b in bits if b is not None]
    return bits_text(min(known)) if known else "not known"


def _interface(report: Contents) -> str:
    inputs = []
    for i in report.inputs:
        if i.low is None or i.high is None:
            limit = "any" if i.limit is None else f"0 to {count(i.limit)}"
            inputs.append([code(i.name), "public integer", "", "", "", limit, ""])
        else:
            span = f"{real(i.low)} to {real(i.high)}{as_digits(i.bits)}"
            inputs.append(
                [code(i.name), whole(shape(i.shape)), _lying(i), slots(i), _level(report, i), span, size(i.bytes)]
            )
    head = ("input", "shape", "layout", "slots", "level", "range accepted", "sent")
    outputs = [
        [code(o.name), whole(shape(o.shape)), _lying(o), slots(o), _level(report, o), _errors(report, o),
         size(o.bytes)]
        for o in report.outputs
    ]  # fmt: skip
    out_head = ("output", "shape", "layout", "slots", "level", "error", "sent")
    body = table(head, inputs, numbers=(3, 4, 5, 6), stacked=True) + "<br>"
    return section("Inputs and outputs", body + table(out_head, outputs, numbers=(3, 4, 6), stacked=True))


def _lying(row: InputRow | OutputRow) -> str:
    return f'{layout(row.layout)}<br><span class="soft">{html_text(row.words)}</span>'


def _level(report: Contents, row: InputRow | OutputRow) -> str:
    """The level of a ciphertext; those of exact integers have none."""
    return "" if report.plain_modulus else str(row.level)


def _errors(report: Contents, output: OutputRow) -> str:
    rows = [(what.removeprefix("error, "), how_much) for what, how_much in error_rows(report, output)]
    return "<br>".join(f'{html_text(said)} <span class="soft">{html_text(what)}</span>' for what, said in rows)


def slots(row: InputRow | OutputRow) -> str:
    """Slots of a vector, and how many vectors if there are several."""
    return count(row.slots) if row.vectors == 1 else f"{count(row.vectors)} \N{MULTIPLICATION SIGN} {count(row.slots)}"


def _execution(execution: Execution) -> list[str]:
    parts = [_timeline(execution), _time(execution)]
    if execution.bootstraps is not None:
        parts.append(_bootstraps(execution.bootstraps, execution.estimate.warm_seconds))
    if execution.approximations:
        rows = [
            [html_text(a.function), code(a.text), html_text(a.where), f"{real(a.low)} to {real(a.high)}",
             degree_text(a), small(a.max_error), leaving_text(a.may_leave, a.leaving)]
            for a in execution.approximations
        ]  # fmt: skip
        head = ("function", "line", "where", "range", "degree", "max error", LEAVING)
        said = "".join(f"<p>{html_text(text)}</p>" for text in approximation_words(execution))
        parts.append(
            section(
                "Approximations",
                table(head, rows, numbers=(3, 4, 5, 6), stacked=True) + said,
                "functions replaced by polynomials",
            )
        )
    if execution.circuit is not None:
        parts.append(lanes(execution.circuit))
    if execution.layouts:
        parts.append(_layouts(execution))
    if execution.choice is not None:
        parts.append(layout_choice(execution.choice))
    operations = table(
        ("operation", "count"), [[html_text(n), count(v)] for n, v in operation_rows(execution.estimate.counts)],
        numbers=(1,),
    )  # fmt: skip
    memory = execution.estimate.memory
    kinds = (("ciphertexts and scratch", memory.values), ("keys", memory.keys), ("constants", memory.constants))
    used = table(
        ("part", "at peak"), [[html_text(name), size(part)] for name, part in kinds], numbers=(1,),
        foot=("total", size(memory.total)),
    )  # fmt: skip
    both = section("Operations", operations, f"{count(execution.instructions)} instructions") + section("Memory", used)
    parts.append(f'<div class="columns">{both}</div>')
    if execution.under_budget is not None:
        parts.append(keys_in_memory(execution.under_budget))
    return parts


def _bootstraps(found: Bootstrapping, whole: float) -> str:
    rows = [[code(text), *map(html_text, rest)] for text, *rest in bootstrap_rows(found, whole)]
    foot = ("total", "", "", "", count(sum(row.times for row in found.calls)), duration(found.seconds),
            share(found.seconds, whole), "", "")  # fmt: skip
    listed = table(BOOTSTRAP_HEADS, rows, numbers=range(4, 9), foot=foot, stacked=True)
    said = "".join(f"<li>{html_text(why)}</li>" for why in why_lines(found) + loop_lines(found))
    words = f"<p>{html_text(bootstrap_words(found, whole))}</p>"
    compared = [[html_text(cell) for cell in row] for row in weighed_rows(found)]
    weighed = table(WEIGHED_HEADS, compared, numbers=range(2, 6), stacked=True) if compared else ""
    return section("Bootstraps", listed + f"<ul>{said}</ul>" * bool(said) + words + weighed, "of later runs")


def _timeline(execution: Execution) -> str:
    drawing = timeline(execution)
    if not drawing:
        return ""
    families = {m.family for m in execution.timeline}
    levels = {m.level for m in execution.timeline if m.level is not None}
    title = "Levels over predicted time" if len(levels) > 1 else "Operations over predicted time"
    return section(title, drawing + legend(families) + drawings(execution.loops), "of later runs")


def _time(execution: Execution) -> str:
    cost = execution.estimate
    foot = ("total", "", "", "", duration(cost.warm_seconds), share(cost.warm_seconds, cost.warm_seconds),
            duration(cost.encode_seconds))  # fmt: skip
    shown, others = execution.lines[:MAX_LISTED_LINES], execution.lines[MAX_LISTED_LINES:]
    lines = _lines(shown, execution, foot)
    if others:
        summary = f"{count(len(others))} more lines, {duration(sum(line.seconds for line in others))} of it"
        lines += fold(summary, _lines(others, execution))
    kinds = [
        [f'<i class="dot b-{family}"></i>{html_text(name)}', time, part]
        for family, name, time, part in family_rows(execution)
    ]
    runs = [[html_text(name), duration(seconds)] for name, seconds in time_rows(cost)]
    both = table(("of", "time"), runs, numbers=(1,)) + table(
        ("kind of operation", "time", "share"), kinds, numbers=(1, 2), foot=("total", foot[4], foot[5])
    )
    bar = stacked_bar(family_seconds(execution), cost.warm_seconds, "bar stack")
    body = bar + lines + f'<div class="columns pair">{both}</div>'
    return section("Predicted time", body, "of later runs, on one thread")


def _lines(lines: Sequence[Line], execution: Execution, foot: Sequence[str] = ()) -> str:
    """Lines of the program with what is booked to them, long ones by operation."""
    cost, rows, inner = execution.estimate, list[list[str]](), list[int]()
    longest = max((line.seconds for line in execution.lines), default=0.0)
    for line in lines:
        bar = stacked_bar(line.by_family, longest) if line.seconds else ""
        text = code(line.text or "(no source)")
        rows.append([text, html_text(line.where), bar, *_book(line, cost)])
        for operation in line.operations if is_broken_down(line, execution) else ():
            inner.append(len(rows))
            rows.append([code(operation.text), "", "", *_book(operation, cost)])
    head = ("line", "where", "", "levels", "time", "share", "first run adds")
    return table(head, rows, numbers=(4, 5, 6), foot=foot, stacked=True, inner=inner)


def _book(item: Line | Operation, cost: CostEstimate) -> list[str]:
    time, adds = duration(item.seconds), duration(item.encode_seconds) if item.encode_seconds else ""
    return [levels_of_line(item.levels), time, share(item.seconds, cost.warm_seconds), adds]


def _layouts(execution: Execution) -> str:
    figures = []
    for i, group in enumerate(execution.layouts):
        names = ", ".join(group.tensors)
        figures.append(
            f"<figure><figcaption>{layout(group.layout)}<br><span>{shape(group.shape)}</span> "
            f'<span class="soft">{html_text(names)}<br>{html_text(layout_words(group.pack))}</span></figcaption>'
            f"{slot_grid(group.pack, f'lw-hatch-{i}')}</figure>"
        )
    note = "slots row by row, coloured from the first to the last element shown; hatched or empty ones hold none"
    legend_text = f'<p class="soft">{html_text(LEGEND)}</p>'
    return section("Layouts", f'{legend_text}<div class="grids">{"".join(figures)}</div>', note)


def _client(report: Contents) -> str:
    rows = [[*row] for row in client_rows(report.client)]
    steps = table(CLIENT_HEADS, rows, numbers=range(1, 4), stacked=True)
    return section("Client", steps, "predicted for one thread and one run")


def _keys(report: Contents) -> str:
    security = report.security
    note = (
        "" if security.insecure or security.limit_bits is None else f"log₂ QP of each is at most {security.limit_bits}"
    )
    total = (count(sum(k.uses for k in report.keys)), "", size(sum(k.stored_bytes for k in report.keys)),
             size(sum(k.resident_bytes for k in report.keys)))  # fmt: skip
    rows = [[html_text(key_text(k)), str(k.level), *_key_cells([k])] for k in report.keys]
    columns = ("uses", "log₂ QP", "stored", "in memory")
    every = table(("key", "level", *columns), rows, numbers=range(1, 6), foot=("total", "", *total), stacked=True)
    if len(report.keys) <= MAX_LISTED_KEYS:
        return section("Evaluation keys", every, note)
    groups: dict[tuple[str, int], list[KeyRow]] = defaultdict(list)
    for key in report.keys:
        groups[key.kind, key.level].append(key)
    kinds = list(dict.fromkeys(key.kind for key in report.keys))
    ordered = sorted(groups.items(), key=lambda item: (kinds.index(item[0][0]), -item[0][1]))
    rows = [[html_text(kind), str(level), str(len(keys)), *_key_cells(keys)] for (kind, level), keys in ordered]
    foot = ("total", "", str(len(report.keys)), *total)
    listed = fold(f"All {len(report.keys)} keys", every)
    by_kind = table(("kind", "level", "keys", *columns), rows, numbers=range(1, 7), foot=foot, stacked=True)
    return section("Evaluation keys", by_kind + listed, note)


def _key_cells(keys: list[KeyRow]) -> list[str]:
    return [
        count(sum(k.uses for k in keys)),
        f"{max(k.log2_qp for k in keys):.0f}",
        size(sum(k.stored_bytes for k in keys)),
        size(sum(k.resident_bytes for k in keys)),
    ]


def _chain(report: Contents) -> str:
    rows = [
        [f"level {row.level}", "".join(f'<span class="chip">q<sub>{limb}</sub> {bits:.2f}</span>'
         for limb, bits in zip(row.limbs, row.prime_bits, strict=True)),
         _power(row.scale), f"{row.log2_modulus:.1f}", ", ".join(map(str, row.digits))]
        for row in report.levels
    ]  # fmt: skip
    head = ("", "primes, bits", "scale", "log₂ Q", "digit")
    special = "".join(
        f'<span class="chip">p<sub>{i}</sub> {bits:.2f}</span>' for i, bits in enumerate(report.special_bits)
    )
    under = f'<p class="under">Special primes {special}</p>'
    note = f"{len(report.digits)} key-switching digits" if len(report.digits) != 1 else "one key-switching digit"
    return section("Modulus chain", table(head, rows, numbers=(2, 3, 4), stacked=True) + under, note)


def _power(value: float) -> str:
    base, _, exponent = power_of_two(value).partition("^")
    return f"{base}<sup>{exponent}</sup>" if exponent else base
