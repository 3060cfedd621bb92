"""A profile as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latticework.words.escaping import plain_text
from latticework.words.shown import count_noun, size, three_digits

if TYPE_CHECKING:
    from latticework.devices.profiles import profile

NAMELESS = "(no name)"


def profile_text(found: profile) -> str:
    """What was called on a device: a line, and two tables."""
    kernels, operations = found.kernels(), found.operations()
    facts = [f"{found.device}: {count_noun(found.calls, 'kernel call')}"]
    copied = sum(row["bytes"] for row in kernels)
    if copied:
        facts.append(f"{size(copied)} copied")
    facts.append("no clock" if found.seconds is None and kernels else duration(found.seconds or 0.0))
    if found.transforms is not None:
        facts.append(f"transforms {percent(found.transforms)} of the {'calls' if found.seconds is None else 'time'}")
    lines = [", ".join(facts)]
    if not kernels:
        return lines[0]
    has_clock = found.seconds is not None
    lines += ["", *_table(("kernel", "calls", "bytes", "time", "mean", "share"), [_kernel(row) for row in kernels],
                          has_clock)]  # fmt: skip
    steps = _steps(found.rows())
    cells = []
    for row in operations:
        cells.append(_operation(row))
        cells += steps.get(row["operation"], [])
    names = ("operation", "times", "calls", "bytes", "time", "mean", "share", "transforms")
    return "\n".join([*lines, "", *_table(names, cells, has_clock)])


def _kernel(row: dict[str, Any]) -> list[str]:
    return [row["kernel"], f"{row['calls']:,}", size(row["bytes"]) if row["bytes"] else "", _time(row["seconds"]),
            _time(row["mean"]), percent(row["share"])]  # fmt: skip


def _operation(row: dict[str, Any]) -> list[str]:
    share = "" if row["transforms"] is None else percent(row["transforms"])
    times = f"{row['times']:,}" if row["times"] else ""
    return [row["operation"] or NAMELESS, times, f"{row['calls']:,}", size(row["bytes"]) if row["bytes"] else "",
            _time(row["seconds"]), _time(row["mean"]), percent(row["share"]), share]  # fmt: skip


def _steps(rows: list[dict[str, Any]]) -> dict[str, list[list[str]]]:
    """Lines of the steps of those operations that have others than themselves."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        found.setdefault(row["operation"], {}).setdefault(row["step"], []).append(row)
    lines: dict[str, list[list[str]]] = {}
    for operation, steps in found.items():
        if set(steps) == {operation}:
            continue
        for step, of_step in steps.items():
            total = {name: sum(row[name] or 0 for row in of_step) for name in ("calls", "bytes", "seconds", "share")}
            lines.setdefault(operation, []).append(
                [f"  {step}", "", f"{total['calls']:,}", size(total["bytes"]) if total["bytes"] else "",
                 _time(total["seconds"]), "", percent(total["share"]), ""]
            )  # fmt: skip
    return lines


def _table(names: tuple[str, ...], rows: list[list[str]], has_clock: bool) -> list[str]:
    """Columns of one width, the first to the left; without those that say nothing."""
    shown = [i for i, name in enumerate(names) if (has_clock or name not in ("time", "mean"))
             and any(row[i] for row in rows)]  # fmt: skip
    cells = [[plain_text(row[i]) for i in shown] for row in [list(names), *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(shown))]
    return [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def duration(seconds: float) -> str:
    """1.23 ms."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= 0.9995 * unit:
            return f"{three_digits(seconds / unit)} {name}"
    return f"{seconds * 1e9:.0f} ns"


def percent(share: float) -> str:
    """12.3 %."""
    return f"{100 * share:.1f} %"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)
