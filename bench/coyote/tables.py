"""The outcomes of a run, a line for each case."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from bench.coyote.outcomes import Outcome

COLUMNS = (
    "case", "scalar add/mul", "add/mul/rot/blend/mask", "published", "rot+blend", "compile s", "published", "vector ms",
    "scalar ms", "speed-up", "published", "ciphertexts", "slots", "checked",
)  # fmt: skip


def table(found: Sequence[Outcome], title: str) -> Table:
    """For a reader."""
    shown = Table(title=title)
    for heading in COLUMNS:
        shown.add_column(heading, justify="left" if heading == "case" else "right", overflow="fold")
    for outcome in found:
        shown.add_row(*cells(outcome))
    return shown


def cells(found: Outcome) -> list[str]:
    """A line of the table; of a case that failed, why."""
    case, published = found.case, found.case.published
    scalar = f"{case.counts.adds}/{case.counts.muls}"
    if found.failure is not None:
        return [case.name, scalar, found.failure, *[""] * (len(COLUMNS) - 4), "NO"]
    ours = "/".join(str(found.counts[key]) for key in ("adds", "muls", "rotations", "blends", "masks"))
    theirs = ("adds", "muls", "rotations", "blends")
    known = "" if published is None else "/".join(_whole(getattr(published, key)) for key in theirs)
    return [
        case.name,
        scalar,
        ours,
        known,
        _times(found.share),
        _seconds(found.compile_seconds),
        "" if published is None else _whole(published.compile_seconds),
        _milliseconds(found.vector),
        _milliseconds(found.scalar),
        _times(found.speedup),
        "" if published is None else _times(published.speedup),
        f"{found.ciphertexts} of {case.ciphertexts}",
        f"{found.slots} of {case.slots}",
        ("yes" if found.was_encrypted else "simulated") if found.is_right else "NO",
    ]


def markdown(found: Sequence[Outcome]) -> str:
    """The same in Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    return "\n".join([*lines, *("| " + " | ".join(cells(outcome)) + " |" for outcome in found)])


def _whole(x: float | None) -> str:
    return "-" if x is None else f"{x:g}"


def _times(x: float | None) -> str:
    return "" if x is None else f"{x:.2f}x"


def _seconds(x: float | None) -> str:
    return "" if x is None else f"{x:.2f}"


def _milliseconds(x: float | None) -> str:
    return "" if x is None else f"{1e3 * x:.2f}"
