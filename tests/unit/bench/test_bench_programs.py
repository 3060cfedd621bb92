"""Figures of compiled programs: the lines of a program add up to the whole, and compiling elsewhere gives the same."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

import latticework as lw
from latticework.commands.benchmarks import suites
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.runtime.events import Event

bench_suites = suites()  # puts the source tree on the path
from bench.compiling import compiled, peak_bytes  # noqa: E402
from bench.programs import COUNTS, Stopwatch, figures, layer_table, layers  # noqa: E402
from bench.rotom.suite import options  # noqa: E402
from bench.rows import Row, report  # noqa: E402
from bench.stored import as_markdown, load  # noqa: E402


@lw.program
def two_lines(x: lw.Secret[8, 8], w):
    turned = (x @ w) * x
    return turned.sum(axis=1) + turned[:, 0]


@pytest.fixture(scope="module")
def plan():
    weights = np.random.default_rng(0).normal(size=(8, 8))
    return lw.compile(two_lines, weights=(weights,), precision_bits=4, ring_degree=1024, insecure=True).plan


def test_lines_add_up_to_the_program(plan):
    cost = estimate(plan, CostModel.load())
    found = layers(plan, cost, dict.fromkeys(range(len(plan.blocks[0].code)), 0.5))
    assert [layer.line for layer in found] == ["turned = (x @ w) * x", "return turned.sum(axis=1) + turned[:, 0]"]
    for name in ("rotations", "hoists", "ciphertext_products", "plaintext_products"):
        assert sum(getattr(layer, name) for layer in found) == getattr(cost.counts, name)
    assert sum(layer.predicted for layer in found) == pytest.approx(cost.warm_seconds)
    places = [i.location for i in plan.blocks[0].code]
    assert sum(layer.measured for layer in found) <= 0.5 * len(places)
    assert sum(layer.levels for layer in found) == plan.chain.main.top
    assert found[-1].layout == str(plan.client.outputs[0].pack)
    assert layers(plan, cost)[0].measured is None


def test_tables_show_every_line(plan):
    found = [layer.content() for layer in layers(plan, estimate(plan, CostModel.load()))]
    console = Console(width=300, file=io.StringIO(), record=True)
    console.print(layer_table("two lines", found))
    shown = console.export_text()
    for layer in found:
        (line,) = (line for line in shown.splitlines() if layer["where"] in line)
        cells = [cell.strip() for cell in line.split("│")]
        assert layer["layout"] in cells and all(str(layer[key]) in cells for key in COUNTS)


def test_a_loop_is_timed_as_one_instruction():
    """What runs within an instruction is reported before it, at the count of those that ended before."""
    clock = Stopwatch()
    for done, start, end in ((0, 0.0, 1.0), (1, 0.0, 2.0), (1, 3.0, 4.0), (1, 5.0, 6.0), (2, 3.0, 8.0)):
        clock(Event("evaluate", "op", done, 2, 0, start, end))
    assert clock.seconds == {0: 2.0, 1: 5.0}


def test_stored_tables_are_shown_again(plan, tmp_path):
    found = [layer.content() for layer in layers(plan, estimate(plan, CostModel.load()))]
    content = report("demo", [Row("c", "time", "s", 1.0)], {}, {"two lines": found})
    (tmp_path / "a.json").write_text(json.dumps(content))
    text = as_markdown(load(tmp_path / "a.json"))
    assert "**two lines**, by line" in text
    for layer in found:
        assert f"| `{layer['line']}` | `{layer['layout']}` | {layer['rotations']} | {layer['hoists']} |" in text


@pytest.mark.slow
def test_compiling_in_another_process_gives_the_same_plan_and_its_peak_memory():
    given = options("distance", 8192)
    here = lw.compile(given.pop("program"), **given).plan
    made = compiled(options, "distance", 8192)
    cost = [figures(p, estimate(p, CostModel.load())) for p in (here, made.model.plan)]
    assert cost[0] == cost[1]
    assert 0 < made.before_bytes <= made.peak_bytes and made.seconds > 0
    rows = made.rows("distance", 10.0)
    assert [row.metric for row in rows] == ["compile", "compile peak memory"]
    block = np.ones(20_000_000)
    assert peak_bytes() >= block.nbytes
