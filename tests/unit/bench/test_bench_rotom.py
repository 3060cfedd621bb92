"""The Rotom suite: published conversions, ratios to baselines and their means, what each technique gives, limits."""

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import latticework as lw
from latticework.commands.benchmarks import suites
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.trace_arrays import to_tensors
from latticework.ir import interpret

bench_suites = suites()  # puts the source tree on the path
from bench.compiling import compiled  # noqa: E402
from bench.rotom import ablation as ablating  # noqa: E402
from bench.rotom.baselines import BASELINES, ROTOM, Faster, compared, faster, means, prepare_baselines  # noqa: E402
from bench.rotom.measuring import Limits, Measured, Times, measure, options, prepare, run_in_turns  # noqa: E402
from bench.rotom.network import network_rows  # noqa: E402
from bench.rotom.packings import by_columns, by_diagonals, lay_out  # noqa: E402
from bench.rotom.tables import conversion_rows, eight, seven  # noqa: E402
from bench.rotom.workloads import PAPER, SLOTS, workloads  # noqa: E402

DISTANCE, *_ = workloads(SLOTS[0])


def test_conversions_need_no_more_rotations_than_published():
    rows = {(row.case.rsplit(", ")[-1], row.metric): row for row in conversion_rows()}
    assert len(rows) == 3 * 5  # rolls of both tables go by one name
    for (_, metric), row in rows.items():
        assert metric != "rotations" or row.ours <= row.reference
    assert rows["permute", "rotations"].ours == 447
    assert rows["rot-roll", "rotations"].ours == 63


def test_products_of_tiles_are_numpys():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (2, 6, 6))
    tiles = [m[i : i + 3, j : j + 3] for m in (a, b) for i in (0, 3) for j in (0, 3)]
    for product in (eight, seven):
        c11, c12, c21, c22 = product(*tiles)
        assert np.array_equal(np.block([[c11, c12], [c21, c22]]), a @ b)


@pytest.mark.parametrize("packing", [by_columns, by_diagonals])
@pytest.mark.parametrize("slots", [32, 64])
def test_packings_of_others_are_products_of_matrices(packing, slots):
    a, weights = np.random.default_rng(0).normal(size=(2, 8, 8))

    def program(x: lw.Secret[8, 8]):
        return x @ weights

    vectors = lay_out(to_tensors(lw.program(program), (), None), CompileOptions.of(), packing=packing, slots=slots)
    (found,) = interpret(vectors.module, [vectors.inputs[0].pack(a)])
    assert vectors.depth == 1 and vectors.inputs[0].count == 64 // slots
    np.testing.assert_allclose(vectors.outputs[0].unpack(found), a @ weights)


def test_means_are_of_what_was_run():
    mode = BASELINES[0].name
    ratios = [Faster(name, 2.0, None if name == "ttm" else 3.0, True) for name in PAPER]
    ratios.append(Faster("convolution to 8 channels", 100.0, 100.0, True))
    predicted, measured = means({mode: ratios}, PAPER)
    assert predicted.ours == pytest.approx(2.0) and predicted.case == "geometric mean of 7 workloads"
    assert measured.ours == pytest.approx(3.0) and measured.case == "geometric mean of 6 workloads"
    assert measured.note == "without ttm" and measured.meets is False
    complete = [Faster(name, 2.0, 1.0 + i, True) for i, name in enumerate(PAPER)]
    _, measured = means({mode: complete}, PAPER)
    assert measured.ours == pytest.approx(math.factorial(7) ** (1 / 7)) and measured.meets is True
    _, few = means({mode: complete[:1]}, ["distance"])
    assert few.target is None and not few.checked


def test_compiling_ends_at_its_limit():
    with pytest.raises(TimeoutError, match=r"longer than 0\.01 s"):
        compiled(options, "distance", SLOTS[0], limit_seconds=0.01)
    assert "longer than 0.01 s" in measure(DISTANCE, SLOTS[0], limits=Limits(compile_seconds=0.01))


@pytest.fixture(scope="module")
def distance():
    return measure(DISTANCE, SLOTS[0], runs=1)


def test_whole_times_add_the_network(distance):
    sent, received, lan, wan = network_rows("distance", distance)
    assert sent.ours == distance.stored[0] / 1e6 > 0.05 and received.ours > 0.05
    bits = 8e6 * (sent.ours + received.ours)
    assert lan.ours == pytest.approx(distance.seconds + bits / 1e9)
    assert wan.ours == pytest.approx(distance.seconds + bits / 1e8)
    (_, headless, *_) = network_rows("distance", replace(distance, stored=None, times=()))
    assert headless.ours < received.ours < 1.05 * headless.ours


def test_what_takes_too_long_is_not_run(distance):
    assert distance.is_right and len(distance.times) >= 2
    found = measure(DISTANCE, SLOTS[0], runs=1, limits=Limits(run_seconds=1e-6))
    assert found.seconds is None and "predicted to take" in found.note


def test_what_is_only_counted_takes_the_scale_of_another(distance):
    found = prepare(DISTANCE, SLOTS[0], ROTOM, Limits(compile_seconds=0.01), like=distance.plan)
    assert found.note == "only counted: compiling takes longer than 0.01 s"
    assert found.cost.counts.rotations == 13 and not found.is_right
    assert found.plan.chain.main.scales[-1] == pytest.approx(distance.plan.chain.main.scales[-1], rel=1e-3)


@pytest.mark.slow
def test_baselines_have_rows_and_ratios(distance):
    found: dict[str, list[Faster]] = {}
    others = prepare_baselines(DISTANCE, SLOTS[0], Limits(), distance)
    ours, *others = run_in_turns(DISTANCE, [distance, *others], 1, Limits(), 1)
    rows = list(compared(DISTANCE, ours, others, found))
    assert all(row.checked for row in rows)
    assert [ratio.workload for ratios in found.values() for ratio in ratios] == ["distance", "distance"]
    for baseline in BASELINES:
        mine = {row.metric: row for row in rows if row.case == f"distance, {baseline.name}"}
        assert mine["rotations"].ours == 13
        assert mine["run"].ours > 0
        (ratio,) = (row for row in rows if row.metric == f"times faster than {baseline.name}")
        assert ratio.case == "distance" and ratio.better == "higher"


def test_ablation_compares_with_everything(monkeypatch, distance):
    """Without client copies the distance takes 13 rotations instead of 6; the others change nothing here."""
    without = measure(DISTANCE, SLOTS[0], lw.Techniques(client_copies=False))

    def remembered(workload, slots, techniques, runs, limits) -> Measured:
        return distance if techniques.client_copies else without

    monkeypatch.setattr(ablating, "measure", remembered)
    rows = list(ablating.ablation([DISTANCE], SLOTS[0], 0, Limits(), lambda name: None))
    ratios = {row.metric: row.ours for row in rows if row.case == "distance"}
    wanted = without.cost.warm_seconds / distance.cost.warm_seconds
    assert ratios["without client_copies"] == pytest.approx(wanted) and wanted > 1.5
    assert ratios["without hoisting"] == 1.0
    assert {row.metric for row in rows if row.case == ablating.MEAN} == {f"without {name}" for name in ablating.NAMES}
    console = Console(width=200, file=io.StringIO(), record=True)
    console.print(ablating.pivot([row.content() for row in rows]))
    (line,) = (line for line in console.export_text().splitlines() if "client_copies" in line)
    (shown,) = (
        row.content()["ours"] for row in rows if row.metric == "without client_copies" and row.case == "distance"
    )
    assert f"{shown:.2f}" in line


def test_ratios_are_of_processor_time(distance):
    slower = replace(distance, times=tuple(Times(1.0, 3.0 * each.processor) for each in distance.times))
    assert faster(distance, slower, "distance").measured == pytest.approx(3.0)
    assert faster(distance, replace(distance, times=()), "distance").measured is None


def test_what_had_no_memory_for_all_constants_says_so(distance):
    assert distance.shortage is None
    assert "for everything" in replace(distance, memory=1 << 20).shortage


def test_ways_run_in_turns_or_one_after_the_other(distance):
    """What is too large is not run, and each way is compared with NumPy."""
    ways = [replace(distance, times=()), replace(distance, times=(), note="too large"), replace(distance, times=())]
    for limits in (Limits(), Limits(memory_bytes=1 << 29)):
        first, none, last = run_in_turns(DISTANCE, ways, 2, limits, 1, watched=True)
        assert not none.times and len(first.times) >= 3 <= len(last.times)
        assert first.is_right and last.is_right and first.by_place and last.by_place is None
