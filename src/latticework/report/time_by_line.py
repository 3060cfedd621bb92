"""The time of a run by the lines of the program, and in the order of the code.

Every instruction is booked to the line that causes it: products, their relinearisation and rescale to the line of the
product, conversions of an operand's layout or level to the line that wants it there. Instructions that do the work of
several lines are shared out by what each of these would take alone (`SourceLocation.shares`). So every second is booked
once, and lines add up to the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import CostEstimate
from latticework.plan.analysis.step_prices import Step
from latticework.plan.schema.placement_record import INPUT
from latticework.plan.schema.schema import Plan, SourceLocation
from latticework.report.families import ENCODE, family_of
from latticework.report.sections.time_section import Line, Operation
from latticework.report.source_places import where_text
from latticework.report.timeline import Moment

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

Span = tuple[int, int]


@dataclass
class _Booked:
    """Time and levels booked to a line, or to an operation in one."""

    seconds: float = 0.0
    encode_seconds: float = 0.0
    by_family: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    levels: set[int] = field(default_factory=set)

    def book(self, step: Step, share: float, has_levels: bool) -> None:
        """A share of a step."""
        family = family_of(step.op)
        if family == ENCODE:
            self.encode_seconds += share * step.seconds
            return
        self.seconds += share * step.seconds
        self.by_family[family] += share * step.seconds
        if step.level is not None and has_levels and step.bootstrap is None:  # whose levels are its own
            self.levels.add(step.level)

    @property
    def level_range(self) -> tuple[int, int] | None:
        """The highest level and the lowest."""
        return (max(self.levels), min(self.levels)) if self.levels else None


def lines_of(plan: Plan, cost: CostEstimate) -> list[Line]:
    """Lines of the program, the longest first; those whose work others do, or that need none, take no time."""
    booked: dict[SourceLocation, dict[Span, _Booked]] = defaultdict(lambda: defaultdict(_Booked))
    for made in () if plan.placing is None else plan.placing.steps:
        if made.operation != INPUT:
            for number, _ in plan.shares(made.location):
                place = plan.locations[number]
                booked[SourceLocation(place.file, place.line, place.text)].setdefault(place.span, _Booked())
    for step in cost.steps:
        for number, share in plan.shares(step.location) if step.seconds > 0 else ():
            place = plan.locations[number]
            booked[SourceLocation(place.file, place.line, place.text)][place.span].book(
                step, share, not plan.chain.plain_modulus
            )
    found = [_line(place, spans) for place, spans in booked.items()]
    return sorted(found, key=lambda line: (-line.seconds, -line.encode_seconds))


def _line(place: SourceLocation, spans: dict[Span, _Booked]) -> Line:
    whole = _Booked()
    for each in spans.values():
        whole.seconds += each.seconds
        whole.encode_seconds += each.encode_seconds
        whole.levels |= each.levels
        for family, seconds in each.by_family.items():
            whole.by_family[family] += seconds
    text = place.text.strip()
    busy = [span for span, each in spans.items() if each.seconds or each.encode_seconds]
    operations = [
        Operation(_without(text, span, busy), each.seconds, each.encode_seconds, each.level_range)
        for span, each in sorted(spans.items())
        if span in busy
    ]
    return Line(
        where_text(place), text, whole.seconds, whole.encode_seconds, dict(whole.by_family), whole.level_range,
        tuple(sorted(operations, key=lambda o: -o.seconds)) if len(operations) > 1 else (),
    )  # fmt: skip


def _without(text: str, span: Span, spans: Sequence[Span]) -> str:
    """An expression, the ones in it that are listed themselves left out."""
    start, end = span if span != (0, 0) else (0, len(text))
    inside = [s for s in spans if s not in (span, (0, 0)) and start <= s[0] and s[1] <= end]
    said, place = "", start
    for left, right in sorted(inside, key=lambda s: (s[0], -s[1])):
        if left >= place:
            said += text[place:left] + ELLIPSIS
            place = right
    return said + text[place:end]


def moments_of(plan: Plan, cost: CostEstimate) -> list[Moment]:
    """Steps of a later run that take time, like neighbours merged."""
    found: list[Moment] = []
    calls = -1
    for step in cost.steps:
        calls += "bootstraps" in step.counts
        if step.seconds <= 0 or family_of(step.op) == ENCODE:
            continue
        parts = [plan.locations[number] for number, _ in plan.shares(step.location)]
        lines = tuple(dict.fromkeys((where_text(place), place.text.strip()) for place in parts))
        bootstrap = None if step.bootstrap is None else calls
        moment = Moment(family_of(step.op), step.op, step.level, lines, step.seconds, step.trips, 1, bootstrap)
        if found and _alike(found[-1], moment):
            last = found.pop()
            op = last.op if moment.op in last.op.split(", ") else f"{last.op}, {moment.op}"
            moment = Moment(
                last.family, op, last.level, last.lines, last.seconds + step.seconds, last.trips,
                last.instructions + 1, last.bootstrap,
            )  # fmt: skip
        found.append(moment)
    return found


def _alike(a: Moment, b: Moment) -> bool:
    return (a.family, a.level, a.lines, a.trips, a.bootstrap) == (b.family, b.level, b.lines, b.trips, b.bootstrap)
