"""The part of a page that says why tensors lie where they do."""

from __future__ import annotations

from latticework.plan.placing import INPUT
from latticework.report.data import LayoutChoice, LayoutStep
from latticework.report.markup import code, layout, section, table
from latticework.report.quantities import shape
from latticework.report.wording import (
    ENDING_HEADS,
    ENDINGS_SAID,
    behind_text,
    choice_text,
    ending_rows,
    made_text,
    vectors_text,
)
from latticework.words.escaping import html_text

ARROW = " → "


def layout_choice(choice: LayoutChoice) -> str:
    """Every tensor with its layout, how it came there, and the best other one; then the ways that nothing beats."""
    rows, line = [], ("", "")
    for step in choice.steps:
        here = (step.where, step.text)
        where = "" if here == line or step.operation == INPUT else f"{html_text(step.where)}<br>{code(step.text)}"
        line = line if step.operation == INPUT else here
        rows.append([where, _tensor(step), _lying(step), _other(step)])
    head = ("line", "tensor", "layout", "best other layout")
    return section("Choice of layouts", table(head, rows, stacked=True) + _endings(choice), choice_text(choice))


def _tensor(step: LayoutStep) -> str:
    return f'{code(made_text(step))}<br><span class="soft whole">{html_text(shape(step.shape))}</span>'


def _lying(step: LayoutStep) -> str:
    parts = [layout(step.layout)]
    if step.vectors > 1:
        parts.append(f'<span class="soft">{vectors_text(step.vectors)}</span>')
    if step.box:
        parts.append(f'<span class="soft">factors meet in</span> {layout(step.box)}')
    for operand, way, recipes in step.conversions:
        moved = ARROW.join(layout(lying) for lying in way)
        brought = f"{html_text(operand)} brought there by {html_text(', '.join(recipes))}:"
        parts.append(f'<span class="soft">{brought}</span> {moved}')
    return "<br>".join(parts)


def _other(step: LayoutStep) -> str:
    return f'{layout(step.other)}<br><span class="soft">{html_text(behind_text(step))}</span>' if step.other else ""


def _endings(choice: LayoutChoice) -> str:
    if len(choice.endings) < 2:
        return ""
    said = f'<p class="soft under">{html_text(ENDINGS_SAID)}</p>'
    return said + table(ENDING_HEADS, ending_rows(choice), numbers=(1, 2, 3), stacked=True)
