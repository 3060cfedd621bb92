"""A report as text, at most 100 columns wide."""

from __future__ import annotations

from textwrap import wrap

from latticework.plan.placing import INPUT
from latticework.report.bootstraps import HEADS as BOOTSTRAP_HEADS
from latticework.report.bootstraps import (
    WEIGHED_HEADS,
    bootstrap_rows,
    bootstrap_words,
    loop_lines,
    weighed_rows,
    why_lines,
)
from latticework.report.data import Contents, Execution, InputRow, LayoutChoice, Line, OutputRow
from latticework.report.lanes_text import lanes_text
from latticework.report.layout_words import LEGEND, first_slots, layout_words
from latticework.report.memory import memory_text
from latticework.report.owner_work import owner_text
from latticework.report.quantities import (
    LEAVING,
    as_digits,
    count,
    duration,
    leaving_text,
    power_of_two,
    real,
    share,
    size,
    small,
)
from latticework.report.quantities import shape as shape_text
from latticework.report.text_table import WIDTH, clip, columns
from latticework.report.wording import (
    CLIENT_HEADS,
    ENDING_HEADS,
    ENDINGS_SAID,
    approximation_words,
    behind_text,
    choice_text,
    client_rows,
    degree_text,
    ending_rows,
    error_rows,
    family_rows,
    insecure_warning,
    is_broken_down,
    key_text,
    level_use_text,
    levels_of_line,
    made_text,
    operation_rows,
    precision_text,
    row_text,
    security_text,
    spent_text,
    time_rows,
    vectors_text,
)

BAR_WIDTH = 12


def render_text(report: Contents) -> str:
    """The whole report; ends with a newline."""
    parts = [*_head(report), *_interface(report), *([] if report.owner is None else owner_text(report.owner))]
    if report.execution is not None:
        parts += _execution(report.execution)
    parts += ["", "Client, predicted for one thread and one run", *columns(CLIENT_HEADS, client_rows(report.client))]
    parts += _keys(report) + _parameters(report)
    parts += ["", "Notes"] + [line for note in report.notes for line in _wrap(note, "- ")]
    return "\n".join(clip(line.rstrip(), WIDTH) for line in parts) + "\n"


def _wrap(text: str, bullet: str = "") -> list[str]:
    return wrap(text, WIDTH, initial_indent="  " + bullet, subsequent_indent="  " + " " * len(bullet))


def _head(report: Contents) -> list[str]:
    lines = [f"Program {clip(report.name, 80)}", "=" * min(WIDTH, 8 + len(report.name))]
    if report.security.insecure:
        lines += ["", "!" * WIDTH, *wrap(insecure_warning(report.security), WIDTH), "!" * WIDTH]
    facts = [("security", security_text(report.security)), ("precision", precision_text(report))]
    if not report.plain_modulus:
        facts.append(("levels", f"{spent_text(report.level_use)}: {level_use_text(report.level_use)}"))
    if report.execution is not None:
        cost = report.execution.estimate
        facts += [
            ("time", f"{duration(cost.first_seconds)} first run, {duration(cost.warm_seconds)} later runs "
             "(predicted, one thread)"),
            ("memory", f"{size(cost.memory.total)} at peak (predicted)"),
        ]  # fmt: skip
    if report.row is not None:
        facts.append((f"1 of {count(report.row.count)} rows", row_text(report.row)))
    facts.append(("keys", f"{len(report.keys)} keys, {size(sum(k.stored_bytes for k in report.keys))} to send, "
                  f"{size(sum(k.resident_bytes for k in report.keys))} in memory"))  # fmt: skip
    return [*lines, "", *_facts(facts)]


def _facts(facts: list[tuple[str, str]], indent: str = "  ") -> list[str]:
    width = max(len(name) for name, _ in facts)
    return [f"{indent}{name.ljust(width)}  {value}" for name, value in facts]


def _interface(report: Contents) -> list[str]:
    rows = []
    for i in report.inputs:
        if i.low is None or i.high is None:
            rows.append([i.name, "public integer", "", "", "any" if i.limit is None else f"0 to {i.limit}", ""])
        else:
            span = f"{real(i.low)} to {real(i.high)}{as_digits(i.bits)}"
            rows.append([i.name, shape_text(i.shape), clip(i.layout, 28), _level(report, i), span, size(i.bytes)])
    lines = ["", "Inputs", *columns(("name", "shape", "layout", "level", "range accepted", "bytes"), rows, left=3)]
    outputs = [
        [o.name, shape_text(o.shape), clip(o.layout, 40), _level(report, o), size(o.bytes)] for o in report.outputs
    ]
    lines += ["", "Outputs", *columns(("name", "shape", "layout", "level", "bytes"), outputs, left=3)]
    for output in report.outputs:
        lines += ["", f"  {clip(output.name, 60)}", *_facts(error_rows(report, output), indent="    ")]
    if report.execution is None:  # which explains its layouts
        laid_out = {i.layout: i.words for i in report.inputs if i.words} | {o.layout: o.words for o in report.outputs}
        lines += ["", "Layouts", *_wrap(LEGEND)]
        for layout, words in laid_out.items():
            lines += ["", f"  {clip(layout, 90)}", *_fold(words)]
    return lines


def _level(report: Contents, row: InputRow | OutputRow) -> str:
    """The level of a ciphertext; those of exact integers have none."""
    return "" if report.plain_modulus or row.level is None else str(row.level)


def _execution(execution: Execution) -> list[str]:
    cost = execution.estimate
    lines = _time(execution)
    if execution.bootstraps is not None:
        rows = bootstrap_rows(execution.bootstraps, cost.warm_seconds)
        lines += ["", "Bootstraps", *columns(BOOTSTRAP_HEADS, rows, left=4), ""]
        for why in why_lines(execution.bootstraps) + loop_lines(execution.bootstraps):
            lines += _wrap(why)
        lines += _wrap(bootstrap_words(execution.bootstraps, cost.warm_seconds))
        if execution.bootstraps.weighed:
            lines += ["", *columns(WEIGHED_HEADS, weighed_rows(execution.bootstraps), left=2)]
    if execution.approximations:
        rows = [
            [a.text or a.function, a.function, a.where, f"{real(a.low)} to {real(a.high)}", degree_text(a),
             small(a.max_error), leaving_text(a.may_leave, a.leaving)]
            for a in execution.approximations
        ]  # fmt: skip
        head = ("line", "function", "where", "range", "degree", "max error", LEAVING)
        lines += ["", "Approximations", *columns(head, rows, left=3)]
        for said in approximation_words(execution):
            lines += ["", *_wrap(said)]
    if execution.circuit is not None:
        lines += lanes_text(execution.circuit, WIDTH)
    lines += _layouts(execution)
    if execution.choice is not None:
        lines += _choice(execution.choice)
    operations = [[name, count(value)] for name, value in operation_rows(cost.counts)]
    lines += ["", f"Operations ({count(execution.instructions)} instructions)"]
    lines += columns(("operation", "count"), operations)
    memory = cost.memory
    parts = [("ciphertexts and scratch", memory.values), ("keys", memory.keys), ("constants", memory.constants)]
    lines += ["", f"Predicted peak memory ({size(memory.total)})"]
    lines += columns(("part", "bytes"), [[name, size(part)] for name, part in parts])
    if execution.under_budget is not None:
        lines += ["", *memory_text(execution.under_budget).splitlines()]
    return lines


def _layouts(execution: Execution) -> list[str]:
    """How to read layouts, and every one of the program in words, with what its first slots hold."""
    if not execution.layouts:
        return []
    lines = ["", "Layouts", *_wrap(LEGEND)]
    for group in execution.layouts:
        lines += ["", f"  {group.layout}  holds {clip(', '.join(group.tensors), 50)}: {shape_text(group.shape)}"]
        lines += _fold(layout_words(group.pack)) + _fold(f"slots: {first_slots(group.pack)}")
    return lines


def _choice(choice: LayoutChoice) -> list[str]:
    """Every tensor with its layout, how it came there, and the best other one."""
    lines, line = ["", f"Choice of layouts ({choice_text(choice)})"], ("", "")
    for step in choice.steps:
        if step.operation != INPUT and (step.where, step.text) != line:
            line = (step.where, step.text)
            lines.append(f"  {step.where}  {step.text}")
        head = clip(made_text(step), 24)
        lines += [f"    {head.ljust(24)}  {shape_text(step.shape)}, {vectors_text(step.vectors)}"]
        lines += _fold(step.layout)
        if step.box:
            lines += _fold(f"factors meet in {step.box}")
        for operand, way, recipes in step.conversions:
            lines += _fold(f"{operand} brought there by {', '.join(recipes)}: {' → '.join(way)}")
        if step.other:
            lines += _fold(f"next best {step.other}: {behind_text(step)}")
    if len(choice.endings) > 1:
        lines += ["", *_wrap(ENDINGS_SAID), "", *columns(ENDING_HEADS, ending_rows(choice))]
    return lines


def _fold(text: str) -> list[str]:
    """Lines below a tensor's."""
    return wrap(text, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 8)


def _time(execution: Execution) -> list[str]:
    cost = execution.estimate
    whole = cost.warm_seconds
    lines = ["", "Predicted time (one thread)"]
    lines += columns(("of", "time"), [[name, duration(seconds)] for name, seconds in time_rows(cost)])
    kinds = [[name, time, part] for _, name, time, part in family_rows(execution)]
    lines += ["", *columns(("later runs by kind", "time", "share"), kinds)]
    rows = [row for line in execution.lines for row in _line(line, execution)]
    total = ["total", "", "", "", duration(whole), share(whole, whole), duration(cost.encode_seconds)]
    head = ("later runs by line", "where", "", "levels", "time", "share", "first adds")
    return [*lines, "", *columns(head, [*rows, total], left=4)]


def _line(line: Line, execution: Execution) -> list[list[str]]:
    """A line, and the operations in it where they are of interest."""
    whole = execution.estimate.warm_seconds
    rows = [
        [line.text or "(no source)", line.where, _bar(line.seconds, whole), levels_of_line(line.levels),
         duration(line.seconds), share(line.seconds, whole), duration(line.encode_seconds)]
    ]  # fmt: skip
    if is_broken_down(line, execution):
        rows += [
            [f"  of it {o.text}", "", "", levels_of_line(o.levels), duration(o.seconds), share(o.seconds, whole),
             duration(o.encode_seconds)]
            for o in line.operations
        ]  # fmt: skip
    return rows


def _bar(part: float, whole: float) -> str:
    filled = round(BAR_WIDTH * part / whole) if whole > 0 else 0
    return ("█" * filled).ljust(BAR_WIDTH, "·")


def _keys(report: Contents) -> list[str]:
    rows = [
        [key_text(k), str(k.level), count(k.uses), f"{k.log2_qp:.0f}", size(k.stored_bytes), size(k.resident_bytes)]
        for k in report.keys
    ]
    totals = [sum(k.stored_bytes for k in report.keys), sum(k.resident_bytes for k in report.keys)]
    rows.append(["total", "", count(sum(k.uses for k in report.keys)), "", *map(size, totals)])
    return ["", "Keys", *columns(("key", "level", "uses", "log2 QP", "stored", "in memory"), rows)]


def _parameters(report: Contents) -> list[str]:
    rows = [
        [f"level {row.level}", ", ".join(map(str, row.limbs)), " + ".join(f"{b:.2f}" for b in row.prime_bits),
         power_of_two(row.scale), f"{row.log2_modulus:.1f}", ", ".join(map(str, row.digits))]
        for row in report.levels
    ]  # fmt: skip
    special = " + ".join(f"{b:.2f}" for b in report.special_bits)
    head = ("", "limbs", "prime bits", "scale", "log2 Q", "digit")
    table = columns(head, rows)
    return ["", "Modulus chain", *table, f"  special primes: {special} bits; {len(report.digits)} key-switching digits"]
