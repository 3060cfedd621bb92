"""Section on the choice of layouts: the search, tensor by tensor, and the ways that nothing beats."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from latticework.lazy_dataclass import dataclass
from latticework.plan.cost.networks import SENDING_IS_FREE
from latticework.plan.schema.placement_record import INPUT
from latticework.plan.schema.schema import Plan
from latticework.report.blocks import Cell, ReportBlock, Section, Table, Words, absent, code
from latticework.report.figure_labels import Column, Within, number, table
from latticework.report.quantities import count, difference, rate, shape
from latticework.report.source_places import where_text

ARROW = " → "
ENDINGS_SAID = (
    "Ways to lay out the whole program of which none is better in time, levels and ciphertexts at once, compared with "
    "the one that was chosen. The search compares them before the parameters are known; every level makes a whole "
    "program slower, so one with fewer levels can be chosen that takes a little longer here."
)


@dataclass(frozen=True, slots=True)
class LayoutStep:
    """The choice of layout for tensors that are made one after the other and share it.

    box          the layout in which two factors meet, if they do
    conversions  (operand, layouts on its way, recipes between them)
    other        the best layout that was not taken
    behind       how much longer the program would have taken with it, as a share of what the search expected of the
                 whole; below 0 where it lost only later
    """

    names: Annotated[tuple[str, ...], Column("tensor", row=_step_cell)]
    operation: Annotated[str, Within("names")]
    where: Annotated[str, Within("text")]
    text: Annotated[str, Column("line", row=_line)]
    shape: Annotated[tuple[int, ...], Column("shape", lambda extents: Cell(shape(extents), "formula"))]
    layout: Annotated[str, Column("layout", row=_lying)]
    vectors: Annotated[int, number("ciphertexts", count)]
    box: Annotated[str, Within("layout")]
    conversions: Annotated[tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...], Within("layout")]
    other: Annotated[str, Column("best other layout", row=_other)]
    behind: Annotated[float, Within("other")]


def _line(step: LayoutStep) -> Cell | str:
    return "" if step.operation == INPUT else Cell("", asides=((step.where, step.text, "code"),))


def _step_cell(step: LayoutStep) -> Cell:
    """Tensors with a name of the user's own, and how they are made."""
    names = ", ".join(step.names)
    return code(names if step.operation in step.names else f"{names} ({step.operation})")


def _lying(step: LayoutStep) -> Cell:
    asides = [("", step.layout, "layout")]
    asides += [("factors meet in", step.box, "layout")] if step.box else []
    for operand, way, recipes in step.conversions:
        asides.append((f"{operand} brought there by {', '.join(recipes)}:", ARROW.join(way), "layout"))
    return Cell("", asides=tuple(asides))


def _other(step: LayoutStep) -> Cell | str:
    return Cell("", asides=((f"next best, {_behind(step)}:", step.other, "layout"),)) if step.other else ""


def _behind(step: LayoutStep) -> str:
    """Tell what the best other layout of a tensor would have meant for the whole program."""
    if abs(step.behind) < 5e-4:
        return "as good here"
    if step.behind < 0:
        return f"{difference(step.behind)} faster up to here, slower in the end"
    return f"{difference(step.behind)} slower"


@dataclass(frozen=True, slots=True)
class LayoutEnding:
    """One way to lay out the whole program, compared with the one that was taken.

    slower  time with sending, as a share of that of the chosen way: 0.1 is 10 % more
    levels, ciphertexts  more than the chosen way has, of levels and of ciphertexts sent and received
    """

    slower: Annotated[float, number("time with sending", _slower)]
    levels: Annotated[int, number("levels", _more)]
    ciphertexts: Annotated[int, number("ciphertexts sent and received", _more)]
    chosen: Annotated[bool, Column("way", lambda chosen: "chosen" if chosen else "other")]


def _slower(part: float) -> str:
    return "the same" if abs(part) < 5e-4 else f"{difference(part)} {'more' if part > 0 else 'less'}"


def _more(than: int) -> str:
    return "the same" if than == 0 else f"{count(abs(than))} {'more' if than > 0 else 'fewer'}"


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """The search for layouts: its steps in program order, and the ways through the program that nothing beats.

    The search looks at programs before their levels and parameters are known, so it says how ways compare, and nothing
    of what the program costs.
    """

    explored: int
    bits_a_second: float
    steps: tuple[LayoutStep, ...]
    endings: tuple[LayoutEnding, ...]


def choice_sections(choice: LayoutChoice | None) -> tuple[Section, ...]:
    """Every tensor with its layout, how it came there, and the best other one; then the ways that nothing beats."""
    if choice is None:
        return absent("layout_choice")
    sending = (
        f"sending at {rate(choice.bits_a_second)}" if choice.bits_a_second < SENDING_IS_FREE else "sending left out"
    )
    note = f"{count(choice.explored)} placements compared, {sending}"
    blocks: tuple[ReportBlock, ...] = (
        table("", LayoutStep, choice.steps, first=("text",)),
        Words((ENDINGS_SAID,) if len(choice.endings) > 1 else (), "soft", data={"layout_choice": choice}),
        ending_table(choice),
    )
    return (Section("Choice of layouts", blocks, note),)


def ending_table(choice: LayoutChoice) -> Table:
    """The ways through the program, where there are several."""
    endings = choice.endings if len(choice.endings) > 1 else ()
    return table("", LayoutEnding, endings, first=("chosen",))


def layout_choice(plan: Plan) -> LayoutChoice | None:
    """The search for layouts that a plan records, neighbours that lie alike as one."""
    if plan.placing is None:
        return None
    chosen = next((e for e in plan.placing.endings if e.chosen), None)
    expected = chosen.seconds if chosen is not None else 0.0
    steps: list[LayoutStep] = []
    for s in plan.placing.steps:
        line = plan.locations[s.location]
        step = LayoutStep(
            (s.name,), s.operation, where_text(line), line.text.strip(), s.pack.shape,
            str(s.pack), s.pack.count, s.box, tuple((c.operand, c.way, c.recipes) for c in s.conversions),
            s.other, s.behind / expected if expected > 0 else 0.0,
        )  # fmt: skip
        if steps and _stays(steps[-1], step):
            last = steps.pop()
            step = replace(
                step, names=(*last.names, s.name), box=last.box, conversions=last.conversions,
            )  # fmt: skip
        steps.append(step)
    endings = (
        ()
        if chosen is None or expected <= 0
        else tuple(
            LayoutEnding(
                e.seconds / expected - 1, e.levels - chosen.levels, e.ciphertexts - chosen.ciphertexts, e.chosen
            )
            for e in plan.placing.endings
        )
    )
    return LayoutChoice(plan.placing.explored, plan.placing.bits_a_second, tuple(steps), endings)


def _stays(last: LayoutStep, step: LayoutStep) -> bool:
    """Whether an operation of the same line leaves a tensor as it lay, so that both are shown as one."""
    if INPUT in (last.operation, step.operation) or step.conversions or step.box:
        return False
    return (last.where, last.text, last.shape, last.layout) == (step.where, step.text, step.shape, step.layout)
