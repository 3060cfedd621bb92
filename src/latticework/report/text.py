"""A report as text, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from latticework.escaping import plain_text
from latticework.plan.placing import INPUT
from latticework.report.data import Contents, Execution, LayoutChoice
from latticework.report.families import FAMILIES, LABELS
from latticework.report.lanes_text import lanes_text
from latticework.report.quantities import count, duration, power_of_two, real, relative_bits, share, size, small
from latticework.report.quantities import shape as shape_text
from latticework.report.wording import (
    behind_text,
    choice_text,
    error_heads,
    error_text,
    insecure_warning,
    key_text,
    made_text,
    operation_rows,
    precision_text,
    security_text,
    vectors_text,
    worst_case,
)

WIDTH = 100
BAR_WIDTH = 24


def render_text(report: Contents) -> str:
    """The whole report; ends with a newline."""
    parts = [*_head(report), *_interface(report)]
    if report.execution is not None:
        parts += _execution(report.execution)
    parts += _keys(report) + _parameters(report)
    parts += ["", "Notes"] + [line for note in report.notes for line in _wrapped(note, "- ")]
    return "\n".join(clip(line.rstrip(), WIDTH) for line in parts) + "\n"


def clip(text: str, width: int) -> str:
    """Text on one line of at most `width` columns; what is cut off is marked."""
    text = plain_text(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, width: int = WIDTH - 2) -> list[str]:
    """A table indented by two; the first `left` columns align left, the others right.

    The first column gives way where the table would be wider than `width`.
    """
    cells = [list(head), *([plain_text(cell) for cell in row] for row in rows)]
    sizes = [max(len(row[i]) for row in cells) for i in range(len(head))]
    sizes[0] = max(8, min(sizes[0], width - sum(sizes[1:]) - 2 * (len(head) - 1)))
    lines = []
    for row in cells:
        row[0] = clip(row[0], sizes[0])
        padded = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, sizes, strict=True))]
        lines.append("  " + "  ".join(padded))
    return lines


def _wrapped(text: str, bullet: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  " + bullet, subsequent_indent="  " + " " * len(bullet))


def _head(report: Contents) -> list[str]:
    lines = [f"Program {clip(report.name, 80)}", "=" * min(WIDTH, 8 + len(report.name))]
    if report.security.insecure:
        lines += ["", "!" * WIDTH, *wrap(insecure_warning(report.security), WIDTH), "!" * WIDTH]
    facts = [("security", security_text(report.security))]
    for output in () if report.plain_modulus else report.outputs:
        bits = relative_bits(output.usual_error, output.magnitude)
        held = "" if bits is None else f" = {bits:.1f} bits of {real(output.magnitude)}"
        facts.append((f"error {clip(output.name, 20)}", f"at most {small(output.usual_error)}{held}, for inputs like "
                      "those of calibration"))  # fmt: skip
        proved = f"at most {small(output.error_bound)} for" if output.is_proved else "not proved to hold for"
        facts.append(("", f"{proved} every accepted input"))
        if output.shift:
            facts.append(("", f"and up to {small(output.shift)} from approximating functions (on calibration data)"))
    facts.append(("precision", precision_text(report)))
    if report.execution is not None:
        cost = report.execution.estimate
        facts += [
            ("time", f"{duration(cost.first_seconds)} first run, {duration(cost.warm_seconds)} later runs "
             "(predicted, one thread)"),
            ("memory", f"{size(cost.memory.total)} at peak (predicted)"),
        ]  # fmt: skip
    facts.append(("keys", f"{len(report.keys)} keys, {size(sum(k.stored_bytes for k in report.keys))} to send, "
                  f"{size(sum(k.resident_bytes for k in report.keys))} in memory"))  # fmt: skip
    width = max(len(name) for name, _ in facts)
    return [*lines, "", *(f"  {name.ljust(width)}  {value}" for name, value in facts)]


def _interface(report: Contents) -> list[str]:
    rows = []
    for i in report.inputs:
        if i.low is None or i.high is None:
            rows.append([i.name, "public integer", "", "", "any" if i.limit is None else f"0 to {i.limit}", ""])
        else:
            span = f"{real(i.low)} to {real(i.high)}"
            rows.append([i.name, shape_text(i.shape), clip(i.layout, 28), str(i.level), span, size(i.bytes)])
    lines = ["", "Inputs", *columns(("name", "shape", "layout", "level", "range accepted", "bytes"), rows, left=3)]
    outputs = [
        [
            o.name,
            shape_text(o.shape),
            clip(o.layout, 28),
            str(o.level),
            error_text(report, o),
            worst_case(report, o),
            size(o.bytes),
        ]
        for o in report.outputs
    ]
    head = ("name", "shape", "layout", "level", *error_heads(report), "bytes")
    return [*lines, "", "Outputs", *columns(head, outputs, left=3)]


def _execution(execution: Execution) -> list[str]:
    cost = execution.estimate
    lines = []
    if execution.approximations:
        rows = [
            [a.text or a.function, a.function, a.where, f"{real(a.low)} to {real(a.high)}", str(a.degree),
             small(a.max_error)]
            for a in execution.approximations
        ]  # fmt: skip
        head = ("line", "function", "where", "range", "degree", "max error")
        lines += ["", "Approximations", *columns(head, rows, left=3)]
    if execution.circuit is not None:
        lines += lanes_text(execution.circuit, WIDTH)
    if execution.choice is not None:
        lines += _choice(execution.choice)
    elif execution.layouts:
        rows = [[clip(", ".join(g.tensors), 60), shape_text(g.shape), clip(g.layout, 40)] for g in execution.layouts]
        lines += ["", "Layouts", *columns(("tensors", "shape", "layout"), rows, left=3)]
    operations = [[name, count(value)] for name, value in operation_rows(cost.counts)]
    lines += ["", f"Operations ({count(execution.instructions)} instructions)"]
    lines += columns(("operation", "count"), operations)
    return lines + _time(execution)


def _choice(choice: LayoutChoice) -> list[str]:
    """Every tensor with its layout, what that takes, and the best other one."""
    lines, line = ["", f"Layouts ({choice_text(choice)})"], ("", "")
    for step in choice.steps:
        if step.operation != INPUT and (step.where, step.text) != line:
            line = (step.where, step.text)
            lines.append(f"  {step.where}  {step.text}")
        head = clip(made_text(step), 24)
        spent = f"{duration(step.total)}" + (f", levels {step.levels}" if step.levels else "")
        shown = f"    {head.ljust(24)}  {shape_text(step.shape)}, {vectors_text(step.vectors)}, {spent}"
        lines += [shown, *_folded(step.layout)]
        if step.box:
            lines += _folded(f"factors meet in {step.box}")
        for operand, way, recipes, seconds in step.conversions:
            lines += _folded(
                f"{operand} brought there in {duration(seconds)} by {', '.join(recipes)}: {' → '.join(way)}"
            )
        if step.other:
            lines += _folded(f"next best {step.other}: {behind_text(step)}")
    rows = [
        [duration(e.seconds), str(e.levels), count(e.ciphertexts), "chosen" if e.chosen else ""] for e in choice.endings
    ]
    heads = ("whole program, sending included", "levels", "ciphertexts sent and received", "")
    return [*lines, "", *columns(heads, rows)]


def _folded(text: str) -> list[str]:
    """Lines below a tensor's."""
    return wrap(text, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 8)


def _time(execution: Execution) -> list[str]:
    cost = execution.estimate
    families = {family: sum(line.by_family.get(family, 0.0) for line in execution.lines) for family in FAMILIES}
    rows = [[LABELS[f], duration(s), share(s, cost.seconds)] for f, s in families.items() if s > 0]
    lines = ["", f"Predicted time ({duration(cost.seconds)}, one thread)", *columns(("kind", "time", "share"), rows)]
    rows = [
        [line.text or "(no source)", line.where, _bar(line.seconds, cost.seconds), duration(line.seconds),
         share(line.seconds, cost.seconds)]
        for line in execution.lines
    ]  # fmt: skip
    memory = cost.memory
    parts = [("ciphertexts and scratch", memory.values), ("keys", memory.keys), ("constants", memory.constants)]
    return [
        *lines,
        "",
        *columns(("by line", "where", "", "time", "share"), rows, left=3),
        "",
        f"Predicted peak memory ({size(memory.total)})",
        *columns(("part", "bytes"), [[name, size(part)] for name, part in parts]),
    ]


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
