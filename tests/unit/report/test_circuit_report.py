"""Circuits in plans and reports: what lanes hold, what is stored, what is drawn."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import schedule_cases
from plan_contents import DEBUG, contents
from tiny_plans import loop_plan

import latticework as lw
from latticework import _core
from latticework.compiler.lanes.lane_record import record_lanes, record_tensors, scalar_counts
from latticework.errors import FormatError
from latticework.plan.files.codec import from_data, to_data
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.schema.circuit_schedule import MAX_LABEL, MAX_LANES, MAX_STEPS, CircuitStrategy, ScalarCounts
from latticework.report import build_report
from latticework.report.build import build_client_report
from latticework.report.circuit_words import holdings, runs, step_text
from latticework.report.page import render_page

NASTY = '<script>alert("1")</script>&\'\x1b[31m\n'


def record(case, outputs, groups, **more):
    circuit, graph, result = case
    written = scalar_counts(graph.code)
    return record_lanes(
        graph, result, method="search", names=circuit.names, groups=groups, outputs=outputs, written=written, **more
    )


def two_products():
    return record(schedule_cases.two_products(), ["result"], ["scalars"])


def blended():
    return record(schedule_cases.blended(), ["result[0]", "result[1]"], ["x", "y"])


def long_product():
    return record(schedule_cases.inner_product(128, 4096), ["result"], ["a", "b"])


RECORDS = {"two_products": two_products, "blended": blended, "long_product": long_product}


def evaluated(case, values):
    """Register contents as the instructions say, by NumPy."""
    _, graph, result = case
    width, registers = graph.width, []
    for one in result.code:
        code, left, right, steps, table = one.code, one.left, one.right, one.steps, one.table
        if code == 0:
            now = np.zeros(width)
            for lane, node in table:
                now[lane] = values[node]
        elif code == 1:
            now = np.roll(registers[left], -steps)
        elif code == 7:
            now = np.zeros(width)
            for lane, _ in table:
                now[lane] = registers[left][lane]
        else:
            now = {2: np.add, 3: np.subtract, 4: np.multiply}[code](registers[left], registers[right])
        registers.append(now)
    return registers


@pytest.mark.parametrize("case", [schedule_cases.two_products, schedule_cases.blended], ids=lambda c: c.__name__)
def test_labels_tell_what_lanes_hold(case):
    rng = np.random.default_rng(1)
    circuit, graph, result = case()
    values = {}
    for node, (code, left, right) in enumerate(zip(graph.code, graph.left, graph.right, strict=True)):
        values[node] = rng.normal() if code == 0 else {1: np.add, 3: np.multiply}[code](values[left], values[right])
    registers = evaluated((circuit, graph, result), values)
    outputs = [str(i) for i in graph.outputs]
    made = record((circuit, graph, result), outputs, ["g", "h"])
    by_name = {name: node for node, name in circuit.names.items()}
    for register, step in zip(registers, made.steps, strict=True):
        for lane, label in step.lanes:
            text = made.labels[label]
            node = by_name[text] if text in by_name else int(text.split(" = ")[0][1:])
            assert register[lane] == values[node]
    for name, register, lane in made.outputs:
        assert registers[register][lane] == values[int(name)]


def test_a_schedule_as_it_is_told():
    made = blended()
    assert [step_text(i, step) for i, step in enumerate(made.steps)] == [
        "v0 = input x", "v1 = input y", "v2 = v0 * v1", "v3 = rotate v2, +1", "v4 = v2 + v3", "v5 = rotate v2, -1",
        "v6 = v2 * v5", "v7 = mask v4", "v8 = mask v6", "v9 = merge v7, v8",
    ]  # fmt: skip
    read = [[lane for lane, _ in step.lanes] for step in made.steps]
    assert read == [[0, 1], [0, 1], [0, 1], [0], [0], [1], [1], [0], [1], [0, 1]]
    vector = made.vector
    assert (vector.muls, vector.adds, vector.rotations, vector.blends, vector.masks, vector.inputs) == (
        2,
        2,
        2,
        1,
        2,
        2,
    )
    assert made.needed == ScalarCounts(3, 1, 0, 0, 0)


def test_what_is_kept_is_limited():
    made = long_product()
    assert made.num_lanes == 128
    assert max(len(step.lanes) for step in made.steps) == MAX_LANES
    circuit, graph, result = schedule_cases.inner_product(2, 8)
    chain = schedule_cases.Vectors()
    first = chain.make("input", 0, 0, table=[(0, 0)])
    for _ in range(MAX_STEPS + 10):
        first = chain.make("rotate", first, steps=1)
    made = record((circuit, graph, chain.result([(first, (-MAX_STEPS - 10) % 8)])), ["result"], ["a", "b"])
    assert len(made.steps) == MAX_STEPS
    assert made.num_steps == MAX_STEPS + 11
    assert made.holds_together()
    circuit.names = dict.fromkeys(circuit.names, "long" * 40)
    made = record((circuit, graph, result), ["result"], ["a", "b"])
    assert max(map(len, made.labels)) <= MAX_LABEL


@pytest.fixture(scope="module")
def plan():
    @lw.program
    def doubled(x: lw.Secret[4]):
        return x + x

    return lw.compile(doubled, precision_bits=8, ring_degree=1024, insecure=True).plan


def test_plans_keep_the_schedule(plan):
    for made in (two_products(), blended(), long_product()):
        assert read_plan(write_plan(replace(plan, circuit=made))).circuit == made
    lifted = record_tensors(
        schedule_cases.two_products()[1], formulas=["result = a @ b"], written=ScalarCounts(2, 5, 0, 0, 0),
        ways=[CircuitStrategy("tensors", 0.5, True), CircuitStrategy("search", 0.75, False)],
    )  # fmt: skip
    assert read_plan(write_plan(replace(plan, circuit=lifted))).circuit == lifted


def test_plans_of_arrays_say_nothing_of_circuits(plan):
    assert "circuit" not in contents(write_plan(plan))[DEBUG]
    assert read_plan(write_plan(plan)).circuit is None


@pytest.mark.parametrize(
    "change",
    [
        lambda c: replace(c, labels=()),
        lambda c: replace(c, num_steps=3),
        lambda c: replace(c, width=1),
        lambda c: replace(c, outputs=(("result", 99, 0),)),
        lambda c: replace(c, steps=(replace(c.steps[0], right=5), *c.steps[1:])),
    ],
)
def test_altered_schedules_are_refused(plan, change):
    data = write_plan(replace(plan, circuit=change(two_products())))
    with pytest.raises(FormatError, match="circuit's schedule"):
        read_plan(data)


def test_records_go_through_plain_data():
    made = two_products()
    assert from_data(type(made), to_data(made), "circuit") == made


class Balanced(HTMLParser):
    """Fails on tags that do not nest."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in {"meta", "br", "wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", RECORDS)
def test_pages_and_texts_show_the_schedule(name):
    made = RECORDS[name]()
    report = build_report(replace(loop_plan(), circuit=made))
    page = report.html()
    assert "script" not in Balanced(page).tags
    cells = sum(len(step.lanes) for step in made.steps)
    assert page.count('class="cell f-') == cells + len(made.outputs)
    arrows = sum(len(step.lanes) for step in made.steps if step.op == "rotate")
    outside = {lane for step in made.steps for lane, _ in step.lanes}
    assert page.count('class="arrow"') == sum(
        (lane + s.steps) % made.width in outside for s in made.steps if s.op == "rotate" for lane, _ in s.lanes
    )
    assert arrows == 0 or 'class="arrow"' in page
    text = report.text()
    assert max(map(len, text.splitlines())) <= 100
    assert all(step_text(i, s) in text for i, s in enumerate(made.steps))
    assert "Circuit (schedule found by search" in text


def test_names_from_programs_are_escaped():
    circuit, graph, result = schedule_cases.two_products()
    circuit.names = dict.fromkeys(circuit.names, NASTY)
    ways = [CircuitStrategy(NASTY, 1.0, True), CircuitStrategy("scalar", 2.0, False)]
    made = record((circuit, graph, result), [NASTY], [NASTY], ways=ways)
    made = replace(made, formulas=(NASTY,), method=NASTY, steps=(*made.steps[:-1], replace(made.steps[-1], op=NASTY)))
    report = build_report(replace(loop_plan(), circuit=made))
    assert "script" not in Balanced(report.html()).tags
    assert all(line.isprintable() and len(line) <= 100 for line in report.text().splitlines())


def test_tensors_are_told_by_formulas():
    graph = schedule_cases.two_products()[1]
    made = record_tensors(graph, formulas=["result[i] = sum of a[i, k] * b[k]"], written=ScalarCounts(2, 5, 0, 0, 0))
    report = build_report(replace(loop_plan(), circuit=made))
    assert "sum of a[i, k] * b[k]" in report.text()
    assert "recognised as operations on arrays" in report.html()
    assert "Schedule" not in report.html()


def test_lanes_in_words():
    assert runs([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert holdings([(0, "a"), (1, "b"), (4, "c")]) == "0-1: a b; 4: c"


@lw.circuit
def two_results(x: lw.vector(3), y: lw.vector(3)):
    return {"total": x[0] * y[0] + x[1] * y[1] + x[2] * y[2], "first": x[0] * y[1]}


def test_reports_of_models_name_results_and_draw_lanes():
    model = lw.compile(two_results, precision_bits=8, ring_degree=1024, insecure=True)
    report = model.report()
    assert sorted(", ".join(o.name for o in report.outputs).split(", ")) == ["first", "total"]
    page = report.html()
    assert "Schedule" in page
    assert 'class="cell f-end"' in page
    assert "<h2>Layouts" not in page  # lanes are told with the schedule
    assert "Lanes of outputs" in report.text()
    assert max(map(len, report.text().splitlines())) <= 100


def test_lanes_at_the_end_stand_before_the_first():
    circuit, graph, result = schedule_cases.two_products()

    def turned(places):
        return [(number, (lane - 1) % 8) for number, lane in places]

    def shifted(table):
        return [((lane - 1) % 8, number) for lane, number in table]

    code = [
        _core.lanes.VectorInstruction(
            one.code, one.left, one.right, one.steps, shifted(one.table), shifted(one.computes), one.stage, one.is_mask
        )
        for one in result.code
    ]
    before = _core.lanes.VectorProgram(code, turned(result.outputs), result.counts)
    made = record((circuit, graph, before), ["result"], ["scalars"])
    page = build_report(replace(loop_plan(), circuit=made)).html()
    heads = re.findall(r'text-anchor="middle">(\d+)</text>', page[page.index('class="lanes"') :])
    assert heads[:2] == ["7", "0"]


def test_values_that_share_a_ciphertext_are_told_with_their_ranges():
    """And results by the names of users, not those of ciphertexts."""

    @lw.circuit
    def ticket(age: lw.bits(4), price: lw.scalar(low=2, high=9), unused: lw.scalar(low=0, high=1), free: lw.scalar()):
        return {"total": age + price - free, "price": price * 2}

    model = lw.compile(ticket, scheme="bfv", ring_degree=4096, insecure=True, progress=False)
    for report in (model.report(), build_client_report(model.plan.client)):
        told = json.loads(report.json())
        rows = {row["name"]: (row["low"], row["high"], row["bits"]) for row in told["arguments"]}
        half = told["plain_modulus"] // 2
        assert rows == {"age": (0, 15, 4), "price": (2, 9, 0), "unused": (0, 1, 0), "free": (-half, half, 0)}
        assert {output["name"] for output in told["outputs"]} == {"total", "price"}
        said = " ".join(report.text().split())
        assert re.search(r"price scalar \w+ 2 to 9 ", said) and re.search(r"unused scalar \w.* 0 to 1 ", said)
        assert "out0" not in report.text() and "out0" not in render_page(report.document())
