"""The time of a run: by level in the order of the code, by line of the program, and by kind of operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Annotated

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import CostEstimate
from latticework.report.bars import legend, stacked_bar
from latticework.report.blocks import Bar, Cell, Drawing, ReportBlock, Section, SideBySide, Table, Words, code, place
from latticework.report.carried_drawing import LoopLevels
from latticework.report.families import FAMILIES, LABELS
from latticework.report.figure_labels import Column, Within, number, pairs, table
from latticework.report.quantities import count, duration, share
from latticework.report.sections.loops_section import loop_levels
from latticework.report.timeline import Moment, timeline

BROKEN_DOWN = 0.1  # share of a run from which on a line is shown operation by operation
MAX_LISTED = 24  # rows that a page shows at once


def _levels(levels: tuple[int, int] | None) -> str:
    """5-3, or 5."""
    if levels is None:
        return ""
    return str(levels[0]) if levels[0] == levels[1] else f"{levels[0]}-{levels[1]}"


def if_any(seconds: float) -> str:
    """A time that is left out where there is none."""
    return duration(seconds) if seconds else ""


@dataclass(frozen=True, slots=True)
class Operation:
    """An expression in a line, without those in it that are listed themselves; quantities as of a line."""

    text: str
    seconds: float
    encode_seconds: float
    levels: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the user's program with what is booked to it (`report.time_by_line`).

    seconds         of every run but the first;  by_family  the same by family of operations
    encode_seconds  for constants, in the first run only
    levels          the highest and the lowest at which it makes ciphertexts
    operations      the expressions in it that take time, if there are several
    """

    where: Annotated[str, Column("where", place)]
    text: Annotated[str, Column("line", code)]
    seconds: Annotated[float, number("time", duration, total=True)]
    encode_seconds: Annotated[float, number("first run adds", if_any, total=True)]
    by_family: Annotated[dict[str, float], Column("")] = field(metadata={"key": "by_kind"})
    levels: Annotated[tuple[int, int] | None, number("levels", _levels)]
    operations: Annotated[tuple[Operation, ...], Within("rows of their own")] = ()


@dataclass(frozen=True, slots=True)
class RunTimes:
    """All that a run takes: the only times of a whole run that a report states."""

    later_runs: Annotated[float, number("later runs", duration)]
    encoding: Annotated[float, number("encoding constants, in the first run only", duration)]
    memory: Annotated[float, number("memory from the system, in the first run only", duration)]
    first_run: Annotated[float, number("first run", duration)]
    key_loading: Annotated[float, number("loading the keys, once before the first run", duration)]


@dataclass(frozen=True, slots=True)
class _OperationKind:
    """Operations of a family."""

    name: Annotated[str, Column("kind of operation", row=lambda kind: Cell(LABELS[kind.name], colour=kind.name))]
    seconds: Annotated[float, number("time", duration, total=True)]


def timeline_section(moments: Sequence[Moment], loops: Sequence[LoopLevels]) -> Section:
    """The drawing; in words, its longest stretches by level and line."""
    drawing = timeline(moments)
    levels = {m.level for m in moments if m.level is not None}
    title = f"{'Levels' if len(levels) > 1 else 'Operations'} over predicted time" if drawing else ""
    picture = Drawing(drawing + legend({m.family for m in moments}) * bool(drawing), data={"timeline": moments})
    return Section(title, (picture, loop_levels(loops)), "of later runs")


def time_section(cost: CostEstimate, lines: Sequence[Line], prices: str) -> Section:
    """Times of a run, by kind and by line.

    prices  where the table of costs is from
    """
    whole = cost.warm_seconds
    seconds = family_seconds(lines)
    kinds = [_OperationKind(*each) for each in seconds.items()]
    part = number("share", total=True)
    part = replace(part, row=lambda item: share(item.seconds, whole))
    runs = RunTimes(whole, cost.encode_seconds, cost.fresh_seconds, cost.first_seconds, cost.key_load_seconds)
    blocks: tuple[ReportBlock, ...] = (
        Drawing(stacked_bar(seconds, whole, "bar stack")),
        _line_table(lines, whole, part),
        SideBySide((
            pairs("time", runs, ("of", "time")),
            table("time.by_kind", _OperationKind, kinds, summed=kinds, after={"seconds": part}, data=seconds),
        )),
        Words((f"Costs of operations: {prices}.",), "soft", data={"time.table": prices}),
    )  # fmt: skip
    return Section("Predicted time", blocks, "of later runs, on one thread")


def _line_table(lines: Sequence[Line], whole: float, part: Column) -> Table:
    """Lines with what is booked to them, long ones by operation; many, folded."""
    longest = max((line.seconds for line in lines), default=0.0)
    rows, inner, most = list[Line](), set[int](), None
    for place_of, line in enumerate(lines):
        most = len(rows) if place_of == MAX_LISTED else most
        rows.append(line)
        if line.seconds >= BROKEN_DOWN * whole:
            inner |= set(range(len(rows), len(rows) + len(line.operations)))
            rows += [Line("", o.text, o.seconds, o.encode_seconds, {}, o.levels) for o in line.operations]
    others = lines[MAX_LISTED:]
    rest = f"{count(len(others))} more lines, {duration(sum(line.seconds for line in others))} of it"

    def bar(line: Line) -> Cell | str:
        parts = {family: line.by_family[family] for family in FAMILIES if family in line.by_family}
        return Cell(bar=Bar(parts, longest)) if parts else ""

    return table(
        "lines", Line, rows, summed=lines, data=lines, replaced={"by_family": Column("", row=bar)},
        after={"seconds": part}, first=("text", "where", "by_family", "levels"), inner=frozenset(inner), most=most,
        rest=rest,
    )  # fmt: skip


def family_seconds(lines: Sequence[Line]) -> dict[str, float]:
    """Seconds of a later run by family of operations."""
    totals = {family: sum(line.by_family.get(family, 0.0) for line in lines) for family in FAMILIES}
    return {family: seconds for family, seconds in totals.items() if seconds > 0}
