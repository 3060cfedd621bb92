"""One set of numbers: what a report says in several places and forms is the same everywhere, and can be read."""

import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from tiny_plans import counted_plan, loop_plan

import latticework as lw
from latticework.plan.analysis.estimate import OperationCounts
from latticework.plan.schema.placement_record import LayoutRecord, ProgramLayout, TensorLayout
from latticework.report import as_json, build_client_report, build_report
from latticework.report.layout_words import first_slots, layout_words
from latticework.report.quantities import bits_text, difference, duration, real, share, size, small
from latticework.report.sections.interface_section import worst_case
from latticework.report.sections.layout_choice_section import ending_table
from latticework.values.packing.pack import GAP, REPEAT, PackDim, PackMap

RNG = np.random.default_rng(0)
SMALL = {"precision_bits": 4, "ring_degree": 2048, "insecure": True}
DURATION = re.compile(r"(?<![\w.,])\d[\d,.]* (?:ns|µs|ms|s|min|h)(?![\w/])")
SIZE = re.compile(r"(?<![\w.,])\d[\d,.]* (?:B|kB|MB|GB)\b")
DRAWN = {"svg", "style", "title", "details"}


@lw.program
def network(x: lw.Secret[1, 16], w1, w2):
    return lw.relu(x @ w1, degree=3) @ w2


@lw.program
def deep(x: lw.Secret[8], w):
    for _ in range(3):
        x = lw.tanh(x @ w, degree=7)
    return x


@lw.circuit
def discount(member: lw.scalar(), price: lw.vector(2, low=0, high=500)):
    total = price[0] + price[1]
    return lw.select(member, total * 90, total * 100)


def compiled_network():
    weights = (RNG.normal(size=(16, 8)) / 4, RNG.normal(size=(8, 4)) / 3)
    with pytest.warns(lw.ApproximationWarning):
        return lw.compile(network, weights=weights, calibrate=RNG.uniform(size=(20, 16)), **SMALL).plan


def compiled_deep():
    weights = RNG.normal(size=(8, 8)) / 3
    data = RNG.uniform(-1, 1, size=(20, 8))
    with pytest.warns(lw.ApproximationWarning):
        return lw.compile(deep, weights=weights, calibrate=data, precision_bits=8, ring_degree=4096, insecure=True).plan


PLANS = {
    "loop": loop_plan,
    "counted": lambda: counted_plan(7),
    "network": compiled_network,
    "deep": compiled_deep,
    "circuit": lambda: lw.compile(discount, scheme="bfv", plain_bits=20).plan,
}


@cache
def reported(name):
    return build_report(PLANS[name]())


@pytest.fixture(params=PLANS)
def report(request):
    return reported(request.param)


class Words(HTMLParser):
    """The words of a page: no drawings, styles or what is folded away."""

    def __init__(self, page):
        super().__init__()
        self.inside, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.inside += [tag] if tag in DRAWN else []

    def handle_endtag(self, tag):
        if self.inside[-1:] == [tag]:
            self.inside.pop()

    def handle_data(self, data):
        self.words += [data] if not self.inside else []


def forms(report):
    """The text, and the words of the page."""
    return report.text(), " | ".join(Words(report.html()).words)


def test_every_time_is_one_of_the_run_its_lines_or_its_kinds(report):
    execution = report.execution
    cost = execution.estimate
    known = [cost.warm_seconds, cost.first_seconds, cost.encode_seconds, cost.fresh_seconds, cost.key_load_seconds, 0.0]
    for line in execution.lines:
        for item in (line, *line.operations):
            known += [item.seconds, item.encode_seconds]
        known += line.by_family.values()
    known += [getattr(report.client, step) for step in ("keygen_seconds", "encrypt_seconds", "decrypt_seconds")]
    kinds = {
        f: sum(line.by_family.get(f, 0.0) for line in execution.lines)
        for line in execution.lines
        for f in line.by_family
    }
    allowed = {duration(seconds) for seconds in (*known, *kinds.values())}
    for told in forms(report):
        found = set(DURATION.findall(told))
        assert found <= allowed
        assert {duration(cost.warm_seconds), duration(cost.first_seconds)} <= found


def test_first_and_later_runs_are_named_and_add_up(report):
    cost, read = report.execution.estimate, json.loads(report.json())["time"]
    assert read["later_runs"] + read["encoding"] + read["memory"] == pytest.approx(read["first_run"])
    assert sum(read["by_kind"].values()) == pytest.approx(read["later_runs"])
    for told in forms(report):
        rows = dict(re.findall(r"(?:^|\| |  )(later runs|first run)[ |]+(\d[\d,.]* [nµm]?s)", told))
        assert rows == {"later runs": duration(cost.warm_seconds), "first run": duration(cost.first_seconds)}
    assert f"{duration(cost.warm_seconds)} later runs ({duration(cost.first_seconds)} first run" in report.text()


def test_levels_spent_and_levels_of_the_chain_are_named(report):
    use, read = report.level_use, json.loads(report.json())["levels"]
    assert use.first == max(i.level for i in report.inputs if i.level is not None)
    assert use.last == min(o.level for o in report.outputs)
    assert [read[key] for key in ("spent", "first", "last", "chain")] == [use.spent, use.first, use.last, use.chain]
    assert [row["level"] for row in read["moduli"]] == list(range(use.chain, -1, -1))
    for told in forms(report):
        assert {int(n) for n in re.findall(r"(\d+) spent", told)} <= {use.spent}
        assert {int(n) for n in re.findall(r"modulus chain has (\d+)", told)} <= {use.chain}
        assert ("spent" in told) == (not report.plain_modulus)


def test_every_size_is_one_of_the_interface_the_keys_or_the_memory(report):
    memory = report.execution.estimate.memory
    stored, resident = [k.stored_bytes for k in report.keys], [k.resident_bytes for k in report.keys]
    known = [memory.total, memory.values, memory.keys, memory.constants, sum(stored), sum(resident), *stored, *resident]
    known += [row.bytes for row in (*report.inputs, *report.outputs)]
    client = report.client
    known += [client.keygen_bytes, client.encrypt_bytes, client.decrypt_bytes, client.result_bytes, client.file_bytes]
    assert (client.key_bytes, client.input_bytes) == (sum(stored), sum(row.bytes for row in report.inputs))
    for kind, level in {(k.kind, k.level) for k in report.keys}:
        for field in ("stored_bytes", "resident_bytes"):
            known.append(sum(getattr(k, field) for k in report.keys if (k.kind, k.level) == (kind, level)))
    assert memory.keys == sum(resident)
    for told in forms(report):
        assert set(SIZE.findall(told)) <= {size(value) for value in known}


def test_no_figure_is_absurd(report):
    for told in forms(report):
        assert not re.search(r"\b(?:inf|nan)\b", told)
        assert not re.search(r"(?<!\w)\d[\d.]*e(?:[+-]?\d{3}|[+-]?0|\+|[1-9]\d)", told)
        assert not re.search(r"(?<![\d.])-?0\.00? (?:s|ms|MB)", told)


def test_bounds_that_say_nothing_are_told_in_words():
    report = reported("deep")
    assert report.outputs[0].worst_case > report.outputs[0].magnitude
    assert all("no useful bound" in told for told in forms(report))
    output = report.outputs[0]
    for worst in (float("inf"), float("nan"), 4.5e282, output.magnitude):
        assert worst_case(replace(output, worst_case=worst)) == "no useful bound"
    assert worst_case(replace(output, worst_case=None)) == "not known"
    assert worst_case(replace(output, worst_case=0.00012)) == "at most 0.00012"
    assert bits_text(-3.0) == "no bit" and bits_text(3.26) == "3.3 bits"


def test_ways_to_lay_out_a_program_are_compared_with_the_chosen_one():
    plan = loop_plan()
    endings = (ProgramLayout(2.0, 9, 4, False), ProgramLayout(1.0, 10, 3, True), ProgramLayout(1.04, 9, 5, False))
    step = TensorLayout("x", "mul", 0, plan.client.outputs[0].pack, "", 1.0, 1, (), "[0:8]", 0.25)
    report = build_report(replace(plan, placing=LayoutRecord(3, 1e9, (step,), endings)))
    assert ending_table(report.execution.choice).rows == (
        ("other", "2 times more", "1 fewer", "1 more"),
        ("chosen", "the same", "the same", "the same"),
        ("other", "4.0 % more", "1 fewer", "2 more"),
    )
    assert all("25 % slower" in told for told in forms(report))


def test_only_loops_make_trips():
    @lw.program
    def heads(x: lw.Secret[4, 8], a, b):
        return (x @ a) * (x @ b)

    weights = (np.eye(8), np.ones((8, 8)))
    report = build_report(lw.compile(heads, weights=weights, **SMALL).plan)
    assert {m.trips for m in report.execution.timeline} == {1}
    assert max(max(s.counts.values(), default=0) for s in report.execution.estimate.steps) > 1
    assert "trips" not in report.html()


def test_long_programs_fold_lines_and_name_several():
    report = reported("network")
    (line,) = report.execution.lines
    many = tuple(replace(line, text=f"h{i} = x", seconds=line.seconds / 60) for i in range(60))
    moment = replace(report.execution.timeline[0], lines=tuple((f"p.py:{i}", "") for i in range(60)))
    page = replace(report, execution=replace(report.execution, lines=many, timeline=(moment,))).html()
    assert "36 more lines" in page and page.index("h23 = x") < page.index("<details>") < page.index("h24 = x")
    assert "lines 0, 1, 2 and 57 more" in page


def test_exact_programs_have_no_levels():
    report = reported("circuit")
    assert all(line.levels is None for line in report.execution.lines)
    page = [word.strip() for word in Words(report.html()).words]
    assert "levels" not in page and "Operations over predicted time" in page
    assert "levels" not in report.text()


def test_keys_are_sorted_by_kind_and_number():
    report = reported("network")
    kinds = ["relinearisation", "rotation", "conjugation"]
    order = [(kinds.index(k.kind), abs(k.steps or 0), k.steps or 0, -k.level) for k in report.keys]
    assert order == sorted(order) and len(order) > 3
    rows = re.findall(r"(relinearisation|rotation|conjugation) \| (\d+) \|", forms(report)[1])
    grouped = [(kinds.index(kind), -int(level)) for kind, level in rows]
    assert grouped == sorted(grouped)


def test_the_keys_of_the_json_are_those_that_are_documented(report):
    read = json.loads(report.json())
    documented = set(re.findall(r"\w+", as_json.__doc__))
    client = build_client_report(loop_plan().client)
    assert set(json.loads(client.json())) == {
        "format", "name", "security", "precision_bits", "plain_modulus", "levels", "inputs", "arguments", "outputs", "keys", "notes", "client", "owner", "row"
    }  # fmt: skip
    assert set(read) - set(json.loads(client.json())) == {
        "time", "memory", "lines", "operations", "instructions", "timeline", "approximations", "layouts",
        "layout_choice", "circuit", "loss", "scores", "bootstraps", "loops", "under_budget", "kept", "rows_choice",
    }  # fmt: skip
    parts = [read["security"], read["levels"], read["levels"]["moduli"][0], read["inputs"][0], read["outputs"][0]]
    parts += [
        *read["keys"][:1],
        read["time"],
        read["memory"],
        read["lines"][0],
        read["timeline"][0],
        *read["layouts"][:1],
    ]
    for part in (read, *parts):
        assert set(part) <= documented, set(part) - documented
    assert set(read["operations"]) == set(OperationCounts.__dataclass_fields__)


LAYOUTS = [
    (PackMap((4, 8), 64, (PackDim(REPEAT, 2), PackDim(0, 4), PackDim(1, 8))),
     "side by side along axis 1, 8 steps; then along axis 0, 4 steps; then 2 copies of that",
     "0,0 | 0,1 | 0,2 | 0,3 | 0,4 | 0,5 | 0,6 | 0,7 | ..."),
    (PackMap((3,), 8, (PackDim(0, 4), PackDim(GAP, 2))),
     "one slot used, 1 not; then along axis 0, 4 steps (3 in use)", "0 | - | 1 | - | 2 | - | - | -"),
    (PackMap((8,), 8, (PackDim(GAP, 2), PackDim(0, 4)), (PackDim(0, 2, 4),)),
     "2 ciphertexts, one for each step along axis 0, 2 steps of 4; within one: side by side along axis 0, 4 steps; "
     "then room for 1 more of it, unused", "0 | 1 | 2 | 3 | - | - | - | - | ..."),
    (PackMap((), 8, (PackDim(REPEAT, 8),)), "8 slots with the same", "0 | 0 | 0 | 0 | 0 | 0 | 0 | 0"),
    (PackMap((4, 4), 4, (PackDim(0, 4),), (PackDim(1, 4),), ((1, 0),)),
     "4 ciphertexts, one for each step along axis 1, 4 steps; within one: side by side along axis 0, 4 steps; "
     "the index of [0:4] shifted by that of [1:4]", "0,0 | 1,0 | 2,0 | 3,0 | 1,1 | 2,1 | 3,1 | 0,1 | ..."),
    (PackMap.of_table(3, 8, [(0, 2), (5, 1)]), "element@slot, one by one, in 1 ciphertext",
     "2 | - | - | - | - | 1 | - | -"),
]  # fmt: skip


@pytest.mark.parametrize(("pack", "words", "slots"), LAYOUTS, ids=lambda p: str(p) if isinstance(p, PackMap) else "")
def test_layouts_in_words_and_slots(pack, words, slots):
    assert layout_words(pack) == words
    assert first_slots(pack) == slots


def test_layouts_are_explained_where_they_stand():
    report = reported("network")
    for told in (re.sub(r"\s+", " ", form) for form in forms(report)):
        assert "nested loops of which the last runs fastest" in told
        for group in report.execution.layouts:
            assert layout_words(group.pack) in told


def test_quantities_that_are_small_or_large():
    assert [share(1, 10**6), share(0, 1), difference(0.042), difference(2.1)] == [
        "< 0.1 %",
        "0.0 %",
        "4.2 %",
        "3.1 times",
    ]
    assert [small(6.8e-5), small(0.0), real(-516096.0), real(1e-7), real(1e12)] == [
        "6.8e-5",
        "0",
        "-516,096",
        "1e-7",
        "1e12",
    ]
