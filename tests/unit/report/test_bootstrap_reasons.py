"""Why bootstraps stand where they do: what reports say is what the code of the plan does."""

import json
from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.levels.loops.block_planner import HARDLY
from latticework.errors import FormatError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.instructions.reason import CallReason, LoopStrategy, RefreshReason
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.parameters import BOOTSTRAP_SETS
from latticework.report import build_report
from latticework.report.carried import carried_levels
from latticework.report.sections.bootstrap_section import BootstrapCallRow, Bootstrapping, loop_lines, reason_words

DATA = np.random.default_rng(5).uniform(-1, 1, (12, 3, 5))
RESIDUAL = BOOTSTRAP_SETS["T11"].residual


@lw.program
def straight(x: lw.Secret[3, 5]):
    """Two levels a step."""
    for _ in range(4):
        x = x * x * 0.5 + 0.4 * x - 0.3
    return x


@lw.program
def looped(x: lw.Secret[3, 5]):
    """Many more iterations than a bootstrap leaves levels for."""
    return lw.for_loop(40, lambda _, y: y * y * 0.5 - 0.3, x)


@lw.program
def at_run_time(x: lw.Secret[3, 5], n: lw.Index):
    """As many as are asked for."""
    return lw.for_loop(n, lambda _, y: y * y * 0.5 - 0.3, x)


PROGRAMS = {
    "straight": (straight, DATA), "looped": (looped, DATA), "run time": (at_run_time, {"x": DATA, "n": 30}),
}  # fmt: skip


@pytest.fixture(scope="module")
def plans():
    return {
        name: lw.compile(program, bootstrap_set="T11", insecure=True, calibrate=data).plan
        for name, (program, data) in PROGRAMS.items()
    }


def calls_of(plan):
    return estimate(plan, CostModel.load()).bootstraps.calls


def lowest_behind(plan, said):
    """The lowest level of what is made of a bootstrap's result in its block, before the next bootstrap."""
    called = {each.block for each in plan.bootstraps}
    code = plan.blocks[said.block].code
    made, found = set(code[said.place].results), []
    for step in code[said.place + 1 :]:
        if step.op == "call" and step.immediate[0] in called:
            continue
        if made & {operand.register for operand in step.operands}:
            made |= set(step.results)
            kinds = [plan.kind(register) for register in step.results]
            found += [kind.level for kind in kinds if isinstance(kind, CipherKind)]
    return min(found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_levels_that_are_said_to_be_spent_are_spent(plans, name):
    plan = plans[name]
    calls = calls_of(plan)
    assert calls and len(plan.reasons) == len(calls)
    for call in calls:
        reason = call.reason
        assert reason.most == RESIDUAL and reason.spent == call.kind.target > reason.left
        assert reason.first in ("product", "polynomial") and reason.first_line in {p.line for p in plan.locations}
    for said in plan.reasons:  # the fewest levels that are enough: the last of them is at the floor
        assert lowest_behind(plan, said) == plan.chain.floor


def test_a_straight_line_has_no_loop_and_ends_with_the_result(plans):
    *before, last = [call.reason for call in calls_of(plans["straight"])]
    assert last.until == "result" and all(reason.until == "bootstrap" for reason in before)
    assert {(reason.loop, reason.every, reason.carried) for reason in (*before, last)} == {(0, 1, False)}


@pytest.mark.parametrize("name", ["looped", "run time"])
def test_iterations_between_bootstraps_are_those_of_the_run(plans, name):
    plan, trips = plans[name], 40 if name == "looped" else 30
    cost = estimate(plan, CostModel.load())
    outside = [step for step in cost.steps if step.bootstrap is None]
    iterations, blocks = 0, {said.block for said in plan.reasons if said.reason.loop}
    for block in blocks:
        products = sum(step.counts.get("ciphertext_products", 0) for step in outside if step.block == block)
        calls = zip(cost.bootstraps.calls, plan.reasons, strict=True)
        found = {call.reason.every * call.times for call, said in calls if said.block == block}
        assert found == {products}  # an iteration has one
        iterations += products
        assert any(said.reason.carried for said in plan.reasons if said.block == block)
    assert blocks and trips - RESIDUAL <= iterations <= trips


@pytest.mark.parametrize("name", ["looped", "run time"])
def test_ways_that_were_weighed_for_a_loop(plans, name):
    plan = plans[name]
    calls = list(zip(calls_of(plan), plan.reasons, strict=True))
    said = [(call, each) for call, each in calls if each.reason.every > 1]
    ((ways, block),) = {(each.reason.ways, each.block) for _, each in said}
    taken, *others = ways
    assert taken.every == said[0][1].reason.every
    assert taken.bootstraps == sum(call.kind.count for call, each in calls if each.block == block)
    assert others and len({way.every for way in ways}) == len(ways)
    assert all(taken.seconds <= way.seconds * (1 + HARDLY) for way in others if way.every)
    report = build_report(plan)
    (words,) = {words for words in loop_lines(report.execution.bootstraps) if f"{taken.every} iterations" in words}
    assert words.count("(taken)") == 1 and words.count(";") == len(others)
    assert words in " ".join(report.text().split()) and words in report.html()
    first = json.loads(report.json())["bootstraps"]["calls"][-1]["reason"]["ways"][0]
    assert first == {"every": taken.every, "bootstraps": taken.bootstraps, "seconds": taken.seconds}


def test_copies_that_were_weighed_are_said_to_be():
    ways = (LoopStrategy(3, 2, 0.5), LoopStrategy(2, 1, 0.499), LoopStrategy(1, 1, 0.75), LoopStrategy(0, 9, 0.45))
    reason = RefreshReason(0, 3, 3, "iteration", 35, "product", 35, loop=35, every=3, ways=ways)
    row = BootstrapCallRow("p.py:35", "x", 8, 1, True, 1, 2, 5, 13, 6.5, 0.0, reason, "because")
    (words,) = loop_lines(Bootstrapping((row, row), 26, 13.0, 1, 1, 1, -140.0))
    assert words == (
        "Weighed for the loop on line 35, by what an iteration takes: 3 iterations a time, 2 bootstraps, 500 ms (taken); "
        "2 iterations a time, 1 bootstrap, 499 ms (little quicker); 1 iteration a time, 1 bootstrap, 750 ms (slower); "
        "all iterations copied, 9 bootstraps, 450 ms (quicker by less than its code is worth)."
    )


def test_reports_say_why(plans):
    plan = plans["looped"]
    report = build_report(plan)
    rows = json.loads(report.json())["bootstraps"]["calls"]
    for row, call in zip(rows, calls_of(plan), strict=True):
        assert row["reason"]["every"] == call.reason.every and row["why"] == reason_words(call.reason)
        assert row["target_level"] - plan.chain.floor == row["reason"]["spent"]
        flat = " ".join(report.text().split())
        assert f"{row['why']}." in flat and f"{row['why']}." in report.html()
    assert read_plan(write_plan(plan)).reasons == plan.reasons


def test_words():
    reason = RefreshReason(2, 16, 7, "bootstrap", 35, "product", 31)
    assert reason_words(reason) == (
        "2 of 16 levels left, 7 spent behind it, from the product on line 31 to the next bootstrap on line 35"
    )
    carried = RefreshReason(0, 16, 14, "iteration", 12, "polynomial", 13, loop=12, every=2, carried=True)
    assert reason_words(carried) == (
        "0 of 16 levels left, 14 spent behind it, from the polynomial on line 13 to the end of the 2 iterations; "
        "once in 2 iterations of the loop on line 12, which carries it"
    )
    assert reason_words(replace(carried, every=1, carried=False)).endswith("; every iteration of the loop on line 12")


@pytest.mark.parametrize(
    "wrong", [dict(left=-1), dict(left=99), dict(spent=99), dict(until="<b>"), dict(first="<b>"), dict(every=0),
              dict(loop=-1)],
)  # fmt: skip
def test_reasons_that_cannot_be_are_refused(plans, wrong):
    plan = plans["straight"]
    first, *rest = plan.reasons
    altered = replace(plan, reasons=(replace(first, reason=replace(first.reason, **wrong)), *rest))
    with pytest.raises(FormatError, match=f"the reason of the bootstrap at {first.place} of block 0 cannot be"):
        read_plan(write_plan(altered))


@pytest.mark.parametrize("place", [(0, 0), (0, 10**6), (10**6, 0), (-1, 0)])
def test_reasons_of_what_is_no_bootstrap_are_refused(plans, place):
    plan = plans["straight"]
    altered = replace(plan, reasons=(CallReason(*place, plan.reasons[0].reason),))
    with pytest.raises(FormatError, match="no bootstrap"):
        read_plan(write_plan(altered))
    with pytest.raises(FormatError, match="no bootstrap"):
        read_plan(write_plan(replace(plan, reasons=(plan.reasons[0], plan.reasons[0]))))


@pytest.mark.parametrize("name", ["looped", "run time"])
def test_levels_of_carried_values_are_those_of_the_code(plans, name):
    plan = plans[name]
    loops = carried_levels(plan)
    blocks = [code.immediate[0] for _, _, code in plan.walk() if code.op == "for"]
    reasons = {block: [each.reason for each in plan.reasons if each.block == block] for block in blocks}
    assert [len(loop.values) for loop in loops] == [1 for block in blocks if reasons[block]]
    for loop, block in zip(loops, (b for b in blocks if reasons[b]), strict=True):
        (value,) = loop.values
        ends = [plan.kind(r).level for r in (plan.blocks[block].arguments[1],)]
        assert value.levels[0].op == "start" and [value.levels[0].level, value.levels[-1].level] == ends * 2
        after = [each.level - plan.chain.floor for each in value.levels if each.op == "bootstrap"]
        assert after == [reason.spent for reason in reasons[block]]
        drops = list(zip(value.levels, value.levels[1:], strict=False))
        assert all(b.level == a.level - 1 for a, b in drops if b.op != "bootstrap")
        assert sum(b.op != "bootstrap" for _, b in drops) == sum(after)  # back to where it began
    report = build_report(plan)
    shown = json.loads(report.json())["loops"][-1]["values"][0]["levels"]
    assert [each["level"] for each in shown] == [each.level for each in loops[-1].values[0].levels]
    assert report.html().count("Levels of what is carried") == len(loops)


def test_levels_are_followed_through_hoisted_rotations():
    turn = np.random.default_rng(2).uniform(-0.3, 0.3, (4, 4))

    def turned(x: lw.Secret[4]):
        return lw.for_loop(20, lambda _, y: (turn @ y) * y + 0.1, x)

    data = np.random.default_rng(3).uniform(-0.5, 0.5, (6, 4))
    plan = lw.compile(lw.program(turned), bootstrap_set="T11", insecure=True, calibrate=data).plan
    assert any(code.op == "hoist" for _, _, code in plan.walk())
    (loop,) = carried_levels(plan)
    (value,) = loop.values
    ops = [each.op for each in value.levels]
    (block,) = {each.block for each in plan.reasons if each.reason.loop}
    assert ops.count("bootstrap") == sum(each.block == block for each in plan.reasons)
    assert value.levels[0].level == value.levels[-1].level == plan.kind(plan.blocks[block].arguments[1]).level


def test_a_program_without_loops_has_no_levels_of_carried_values(plans):
    assert carried_levels(plans["straight"]) == ()
