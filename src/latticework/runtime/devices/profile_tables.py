"""A profile as text."""

from __future__ import annotations

from typing import Any

from latticework.errors.escaping import plain_text
from latticework.errors.shown import count_noun, size, three_digits

Row = dict[str, Any]
NAMELESS = "(no name)"
FUSED = ("key_switch", "diag_sums", "mod_down")  # kernels of the host that carry out transforms themselves


def profile_text(
    device: str, rows: list[Row], kernels: list[Row], operations: list[Row], transforms: float | None
) -> str:
    """Describe a device's profile, a line and two tables: `rows`, `kernels` and `operations` of it, and the
    share of transforms in all of it.
    """
    calls = sum(row["calls"] for row in kernels if not row["bytes"])
    copied = sum(row["bytes"] for row in kernels)
    times = [row["seconds"] for row in kernels if row["seconds"] is not None]
    has_clock = bool(times) or not kernels
    facts = [f"{device}: {count_noun(calls, 'kernel call')}"]
    facts += [f"{size(copied)} copied"] if copied else []
    facts.append(duration(sum(times)) if has_clock else "no clock")
    if transforms is not None:
        facts.append(f"transforms {percent(transforms)} of the {'time' if has_clock else 'calls'}")
    if device == "cpu" and any(row["kernel"] in FUSED for row in kernels):
        facts[-1] += f", not counting those in {', '.join(FUSED)}"
    if not kernels:
        return ", ".join(facts)
    steps = _steps(rows)
    cells = []
    for row in operations:
        cells.append(_operation(row))
        cells += steps.get(row["operation"], [])
    of_kernels = ("kernel", "calls", "bytes", "time", "mean", "share")
    of_operations = ("operation", "times", "calls", "bytes", "time", "mean", "share", "transforms")
    tables = [
        _table(of_kernels, [_kernel(row) for row in kernels], has_clock),
        _table(of_operations, cells, has_clock),
    ]
    return "\n".join([", ".join(facts), *(line for table in tables for line in ("", *table))])


def _kernel(row: Row) -> list[str]:
    return [row["kernel"], f"{row['calls']:,}", size(row["bytes"]) if row["bytes"] else "", _time(row["seconds"]),
            _time(row["mean"]), percent(row["share"])]  # fmt: skip


def _operation(row: Row) -> list[str]:
    share = "" if row["transforms"] is None else percent(row["transforms"])
    times = f"{row['times']:,}" if row["times"] else ""
    return [row["operation"] or NAMELESS, times, f"{row['calls']:,}", size(row["bytes"]) if row["bytes"] else "",
            _time(row["seconds"]), _time(row["mean"]), percent(row["share"]), share]  # fmt: skip


def _steps(rows: list[Row]) -> dict[str, list[list[str]]]:
    """Lines of the steps of those operations that have others than themselves."""
    found: dict[str, dict[str, list[Row]]] = {}
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
