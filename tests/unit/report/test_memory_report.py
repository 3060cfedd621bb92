"""Keys in memory under a budget, in reports: the drawings, the tables and the plain data say what the planner does."""

import json
import re
from itertools import pairwise

import pytest
from test_memory_plan import MODEL, chain, plans  # noqa: F401
from test_report import Balanced
from tiny_plans import loop_plan
from typer.testing import CliRunner

import latticework as lw
from latticework import cli
from latticework.errors import BudgetError
from latticework.plan.analysis.memory_plan import MemoryPlanner, plan_memory
from latticework.plan.files.serialise import write_plan
from latticework.report import as_json, build_report, memory_data, under_budget
from latticework.report.budget_drawing import time_by_budget
from latticework.report.drawing_axes import NARROWEST, round_ratios, round_steps
from latticework.report.quantities import duration, size
from latticework.report.residency_drawing import residency

BUDGET = 40_000_000


@pytest.fixture(scope="module")
def found(plans):  # noqa: F811
    return under_budget(plans[3], BUDGET, MODEL)


def test_time_by_budget_goes_from_the_smallest_to_all(plans):  # noqa: F811
    planner = MemoryPlanner(plans[1], MODEL)
    curve = planner.curve(6)
    budgets = [point.shares.budget_bytes for point in curve]
    ratios = [b / a for a, b in pairwise(budgets)]
    assert len(curve) == 6 and max(ratios) == pytest.approx(min(ratios), rel=1e-4)
    assert budgets[0] == planner.smallest() and budgets[-1] == planner.share(1 << 50).peak_bytes
    first, *_, last = (point.shares for point in curve)
    assert first.seconds > last.seconds > last.resident_seconds
    assert curve[2].shares == plan_memory(plans[1], budgets[2], MODEL)
    for point in curve:
        assert point.later.loads <= point.shares.keys.loads and not point.later.is_exact
    assert curve[-1].later.loads == 0 and curve[-1].later_seconds == pytest.approx(last.resident_seconds)
    with pytest.raises(BudgetError):
        planner.share(budgets[0] - 1)


def test_residency_adds_up_to_what_is_predicted(found):
    keys, stretches = found.shares.keys, found.over_time
    assert max(one.most_bytes for one in stretches) == keys.peak_bytes <= keys.budget_bytes
    assert sum(one.loads for one in stretches) == pytest.approx(keys.loads)
    assert sum(one.waiting for one in stretches) == pytest.approx(keys.total.stall_seconds)
    assert sum(one.seconds for one in stretches) == pytest.approx(keys.seconds)
    assert [one.start for one in stretches[1:]] == pytest.approx([one.start + one.seconds for one in stretches[:-1]])
    named = [one.bootstrap for one in stretches if one.bootstrap is not None]
    assert sorted(set(named)) == [0, 1, 2] and named == sorted(named)
    assert {one.where for one in stretches} == {"model.py:1", "model.py:2", "model.py:3"} | {stretches[-1].where}


def test_the_page_draws_what_the_tables_say(plans, found):  # noqa: F811
    report = build_report(plans[3], MODEL, memory=BUDGET)
    assert report.execution.under_budget == found
    page = report.html()
    said = " ".join(Balanced(page).texts)
    assert "Keys in memory" in said and f"with {size(BUDGET)}, predicted" in said
    for point in found.curve:
        assert size(point.shares.budget_bytes) in said and duration(point.later_seconds) in said
    drawing = residency(found)
    Balanced(drawing)
    assert drawing in page and time_by_budget(found) in page
    for number in (1, 2, 3):
        assert f"<title>bootstrap {number}:" in drawing and f">{number}</text>" in drawing
    assert f"at most {size(found.shares.keys.peak_bytes)}" in drawing
    for name, shape in re.findall(r'<path class="(k-\w+)" d="([^"]*)"', drawing):
        ends = [int(x) for x in re.findall(r"H(\d+)", shape)]
        assert ends == sorted(ends) and ends[-1] == 10_000, name
        assert all(0 <= float(y) <= 190 for y in re.findall(r"V([\d.]+)", shape))
    waits = re.findall(r'class="k-wait" x="([\d.]+)%" y="[\d.]+" width="([\d.]+)%"', drawing)
    share = found.shares.keys.total.stall_seconds / found.shares.keys.seconds
    assert sum(float(width) for _, width in waits) == pytest.approx(100 * share, abs=0.01 * len(waits))
    assert "Keys in memory" not in build_report(plans[3], MODEL).html()
    assert f"Keys in memory (with {size(BUDGET)}" in report.text()


def test_the_curve_marks_the_budget_and_the_time_with_all_in_memory(found):
    drawing = time_by_budget(found)
    Balanced(drawing)
    assert drawing.count("<circle") == 2 * len(found.curve) + 2 and drawing.count(' chosen"') == 2
    assert f">smallest {size(found.shares.smallest)}</text>" in drawing
    assert f"{duration(found.shares.resident_seconds)} with all in memory" in drawing
    places = [float(x) for x in re.findall(r'cx="([\d.]+)%"', drawing)]
    assert all(0 < x < 100 for x in places)


def test_a_budget_beyond_all_is_drawn_too(plans):  # noqa: F811
    found = under_budget(plans[1], 1 << 44, MODEL)
    places = [float(x) for x in re.findall(r'cx="([\d.]+)%"', time_by_budget(found))]
    assert all(0 < x < 100 for x in places) and places[-1] == max(places)
    drawing = residency(found)
    assert 'class="limit"' not in drawing and size(found.shares.keys.budget_bytes) in drawing


def test_loops_have_brackets():
    found = under_budget(loop_plan(), "1GB", MODEL)
    (loop,) = found.loops
    assert loop.trips == 3 and loop.alike_start == loop.alike_end
    assert residency(found).count(">3 trips</text>") == 1


def explain(*words):
    return CliRunner().invoke(cli.app, ["explain", *map(str, words)])


@pytest.mark.parametrize("ending", ["html", "txt", "json"])
def test_explain_writes_it_in_every_form(plans, tmp_path, ending):  # noqa: F811
    plan, report = tmp_path / "one.lwplan", tmp_path / f"out.{ending}"
    write_plan(plans[1], plan)
    told = explain(plan, "--memory", "40MB", "--report", report, "--json")
    assert told.exit_code == 0, told.output
    facts, text = json.loads(told.stdout), report.read_text()
    assert facts["written"] == str(report) and facts["memory"]["budget_bytes"] == 40_000_000
    if ending == "json":
        assert json.loads(text)["under_budget"] == facts["memory"]
    else:
        assert ("Time by budget") in text
    assert max(map(len, text.splitlines())) <= 100 or ending != "txt"


def test_explain_refuses_before_it_writes(plans, tmp_path):  # noqa: F811
    plan, report = tmp_path / "one.lwplan", tmp_path / "out.html"
    write_plan(plans[1], plan)
    small = explain(plan, "--memory", "1kB", "--report", report)
    assert small.exit_code == 1 and "--memory 1.00 kB is too little" in small.stderr and not report.exists()
    report.write_text("kept")
    there = explain(plan, "--memory", "40MB", "--report", report)
    assert there.exit_code == 3 and "--force" in there.stderr and report.read_text() == "kept"
    assert explain(plan, "--memory", "40MB", "--report", tmp_path / "out.pdf").exit_code == 1


def test_the_plain_data_is_documented(found):
    documented, data = set(re.findall(r"\w+", as_json.__doc__)), memory_data(found)
    for part in (
        data,
        data["constants"],
        data["keys"],
        data["set_by"],
        *(data[k][0] for k in ("lines", "over_time", "curve")),
    ):
        assert set(part) <= documented, set(part) - documented
    loops = memory_data(under_budget(loop_plan(), "1GB", MODEL))["key_loops"]
    assert set(loops[0]) <= documented


def test_a_plan_without_keys_has_no_residency():
    @lw.program
    def tripled(x: lw.Secret[8]):
        return 3 * x + 1

    plan = lw.compile(tripled, precision_bits=8, ring_degree=2048, insecure=True).plan
    found = under_budget(plan, "1GB", MODEL)
    Balanced(build_report(plan, MODEL, memory="1GB").html())
    assert residency(found) == "" and found.least is None


@pytest.mark.parametrize(("least", "most"), [(1e6, 8e9), (6.6e8, 2.1e9), (1e8, 1.05e8), (3.0, 3000.0), (128e6, 9e9)])
def test_round_values_on_axes(least, most):
    found = round_ratios(least, most)
    assert all(least <= value <= most for value in found) and len(found) <= 1 / NARROWEST + 1
    assert most < 2 * least or len(found) >= 3
    steps = round_steps(most, 4)
    assert steps[0] == 0 and most / 2 <= steps[-1] <= most * (1 + 1e-6) and 2 <= len(steps) <= 5
