"""A figure is declared once: no text and no page can leave out what JSON has."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Annotated

import numpy as np
import pytest
import test_escaping
from hostile_text import full_plan
from tiny_plans import loop_plan

from latticework.plan.instructions.reason import LoopStrategy, RefreshReason
from latticework.plan.schema.considered_chains import WeighedChain
from latticework.plan.schema.schema import Scores
from latticework.report import build_report
from latticework.report.as_text import render_text, section_text
from latticework.report.blocks import ReportBlock, Section
from latticework.report.carried_drawing import CarriedLevel, CarriedValue, LoopLevels
from latticework.report.figure_labels import Column, Within, columns_of, describe, number, table
from latticework.report.page import render_page
from latticework.report.quantities import size
from latticework.report.sections.bootstrap_section import BootstrapCallRow, Bootstrapping
from latticework.report.sections.head_section import RowCosts
from latticework.report.sections.interface_section import ArgumentRow
from latticework.report.sections.layout_choice_section import LayoutEnding
from latticework.report.sections.owner_section import ColumnRange, OwnerWork, StageRow
from latticework.values.packing.pack import PackMap


@dataclass(frozen=True)
class Row:
    name: Annotated[str, Column("name")]
    held: Annotated[int, number("held", size, total=True)]
    most: Annotated[int, Within("held")]


@dataclass(frozen=True)
class Forgetful(Row):
    forgotten: int = 3


def test_a_figure_that_no_column_shows_is_refused():
    with pytest.raises(TypeError, match="Forgetful.forgotten is in the report's JSON and in no column"):
        columns_of(Forgetful)
    with pytest.raises(TypeError, match="Row.most is in the report's JSON and in no column"):
        describe(Row, name=Column("name"), held=number("held"))
    assert list(columns_of(Row)) == ["name", "held"]


def test_a_block_that_a_form_does_not_know_is_refused():
    @dataclass(frozen=True)
    class Other(ReportBlock):
        pass

    document = build_report(loop_plan()).document()
    document = replace(document, sections=(Section("Other", (Other(),)),))
    for render in (render_text, render_page):
        with pytest.raises(TypeError, match="Other is a block that"):
            render(document)


def test_rows_are_told_once_for_all_forms():
    made = table("rows", Row, [Row("a", 1000, 1), Row("b", 500, 2)], summed=[Row("a", 1000, 1), Row("b", 500, 2)])
    assert [head.label for head in made.heads] == ["name", "held"]
    assert made.rows == (("a", "1.00 kB"), ("b", "500 B")) and made.foot == ("total", "1.50 kB")
    assert made.data == {"rows": [Row("a", 1000, 1), Row("b", 500, 2)]}


def full_report():
    """A report with every section but that of a budget of memory (test_memory_report.py)."""
    report = build_report(full_plan())
    reason = RefreshReason(0, 3, 3, "iteration", 35, "product", 35, loop=35, every=3, ways=(LoopStrategy(3, 2, 0.5),))
    call = BootstrapCallRow("p.py:35", "x", 8, 2, True, 1, 2, 5, 13, 6.5, 0.25, reason, "because")
    weighed = (WeighedChain("a", 2, 2048, 3, 0.75, True, None, False),)
    execution = replace(
        report.execution,
        bootstraps=Bootstrapping((call,), 26, 13.0, 1, 100, 200, -140.0, weighed),
        loops=(LoopLevels("p.py:35", "loop", (CarriedValue("x", (CarriedLevel("mul", "p.py:36", 3),)),)),),
        loss="something is lost",
        scores=Scores("accuracy", 9, 0.75, 0.5),
    )
    execution = replace(execution, choice=replace(
        execution.choice, endings=(LayoutEnding(0.0, 0, 0, True), LayoutEnding(0.5, 1, 2, False)),
        steps=tuple(replace(step, operation="mul") for step in execution.choice.steps),
    ))  # fmt: skip
    output = replace(
        report.outputs[0], error_bound=0.5, magnitude=4.0, shift=0.25, worst_case=1.0, is_proved=True, usual_error=0.125,
        approximation=0.0625, conditions="holds sometimes",
    )  # fmt: skip
    stage = StageRow("given", "input", (4, 3), ("scaled",))
    owner = OwnerWork((stage,), (stage,), (ColumnRange("given", 2, "age", 0.0, 9.0),), ("offsets",))
    return replace(
        report,
        name="short",
        arguments=(ArgumentRow("age", (2,), "numbers", 0.0, 9.0, 4),),
        outputs=(output,),
        execution=execution,
        owner=owner,
        row=RowCosts(16, 0.5, 0.25, 0.125, 1000.0, 500.0),
    )


def full_accuracy_report():
    """The same of accuracy, with texts that fit a line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_escaping, "HOSTILE", "text")
        return test_escaping.accuracy_report()


def changed(value):
    """Another value of the same kind; None where there is nothing to change."""
    match value:
        case bool():
            return not value
        case int() | float():
            return 2 * value + 1 if np.isfinite(value) else None
        case str():
            return f"{value}zz"
    return None


TOLD = {  # figures that only the JSON form has as they are, and how the other forms tell them
    "digits": "their number, and the digits of each level",
    "execution.timeline": "drawn; in words, times by line and by kind",
    "execution.loops": "drawn; in words, the levels",
    "execution.bootstraps.calls.reason": "in the sentence beside it, which is made with it",
    "columns.rows": "their number",
    "lines.function.counts": "drawn",
    "unlike.kind": "in the sentence beside it, which is made with it",
}
LANES = ("execution", "circuit")  # whose numbers point to each other; test_circuit_report.py has them


def leaves(value, path=(), seen=None):
    """(path, the whole with that figure changed) of every figure in records, each field of a record once, in the last of a list."""
    seen = set() if seen is None else seen
    if isinstance(value, PackMap) or path[:2] == LANES:
        return
    if is_dataclass(value):
        for each in fields(value):
            if each.repr and each.init and (type(value), each.name) not in seen:
                seen.add((type(value), each.name))
                for place, new in leaves(getattr(value, each.name), (*path, each.name), seen):
                    yield place, replace(value, **{each.name: new})
    elif isinstance(value, tuple | list) and value:
        for place, new in leaves(value[-1], path, seen):
            yield place, type(value)((*value[:-1], new))
    elif isinstance(value, dict) and value:
        first = next(reversed(value))
        for place, new in leaves(value[first], (*path, str(first)), seen):
            yield place, value | {first: new}
    elif (new := changed(value)) is not None:
        yield path, new


def parts(document):
    """(what JSON has, what is shown of it) of the key figures and of each section."""
    figures = Section(f"{document.first} {document.alarm}", (document.figures,))
    return [(data_of(part.blocks), shown(part)) for part in (figures, *document.sections)]


def data_of(blocks):
    return [(block.data, data_of(getattr(block, "blocks", ()))) for block in blocks]


def shown(part):
    """What is left for text and page."""
    changes = {} if isinstance(part, Section) else {"data": {}}
    if hasattr(part, "blocks"):
        changes["blocks"] = tuple(shown(block) for block in part.blocks)
    return replace(part, **changes)


@pytest.mark.parametrize("report", [full_report(), full_accuracy_report()], ids=["plan", "accuracy"])
def test_every_figure_of_the_json_is_in_text_and_page(report):
    known, tried = parts(report.document()), 0
    for path, other in leaves(report):
        name = ".".join(path)
        if name.startswith(tuple(TOLD)):
            continue
        told = [(a, b) for a, b in zip(known, parts(other.document()), strict=True) if a != b]
        if any(a[0] != b[0] for a, b in told):
            assert any(a[1] != b[1] for a, b in told), f"the page leaves out {name}"
            assert any(section_text(a[1]) != section_text(b[1]) for a, b in told), f"the text leaves out {name}"
            tried += 1
    assert tried > 25
