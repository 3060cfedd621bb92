"""Functions that are polynomials: on which range, how exact, and what that means for results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.schema import Plan, Scores
from latticework.report.blocks import ReportBlock, Section, Words, code, place
from latticework.report.figure_labels import Column, Within, number, table
from latticework.report.quantities import LEAVING, leaving_text, real, small
from latticework.report.source_places import where_text


@dataclass(frozen=True, slots=True)
class ApproximationRow:
    """One function replaced by a polynomial, and the user's line.

    given  whether the user gave the degree; else it follows from the precision asked for
    form   what was taken instead of one polynomial, and what that would cost; "": one polynomial
    may_leave  whether accepted inputs may take the argument out of the range, or out of its channel's part of it
    leaving    the estimated share of inputs like those of calibration that do; null: not known
    """

    function: Annotated[str, Column("function")]
    where: Annotated[str, Column("where", place)]
    text: Annotated[str, Column("line", row=lambda a: code(a.text or a.function))]
    low: Annotated[float, Column("range", row=lambda a: f"{real(a.low)} to {real(a.high)}", number=True)]
    high: Annotated[float, Within("low")]
    degree: Annotated[int, Column("degree", row=_degree, number=True)]
    max_error: Annotated[float, number("max error", small)]
    given: Annotated[bool, Within("degree")] = False
    form: Annotated[str, Within("the sentences below")] = ""
    may_leave: Annotated[bool, Within("leaving")] = False
    leaving: Annotated[
        float | None, Column(LEAVING, row=lambda a: leaving_text(a.may_leave, a.leaving), number=True)
    ] = None


def _degree(row: ApproximationRow) -> str:
    """A degree, and whether the user gave it."""
    return f"{row.degree}, given" if row.given else f"{row.degree}, composed" if row.form else str(row.degree)


def approximation_section(rows: Sequence[ApproximationRow], loss: str, scores: Scores | None) -> Section:
    """The functions, and what approximating them means for results.

    loss    what degrees that the user gave lose, where it is more than was asked
    scores  against labels of calibration rows
    """
    forms = tuple(f"{a.function} at {a.where} is {a.form}." for a in rows if a.form)
    blocks: tuple[ReportBlock, ...] = (
        table("approximations", ApproximationRow, rows, first=("text",)),
        Words(forms),
        Words(() if scores is None else (f"{scores}.",), data={"scores": scores}),
        Words((f"{loss}.",) if loss else (), data={"loss": loss}),
    )
    return Section("Approximations" if rows else "", blocks, "functions replaced by polynomials")


def approximation_rows(plan: Plan) -> tuple[ApproximationRow, ...]:
    """The functions of a plan."""
    return tuple(
        ApproximationRow(
            a.function, where_text(plan.locations[a.location]), plan.locations[a.location].text.strip(), a.low, a.high,
            a.degree, a.max_error, a.given, a.form, a.may_leave, a.leaving,
        )
        for a in plan.approximations
    )  # fmt: skip
