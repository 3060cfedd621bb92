"""compile(objective=): of the ways to compute rows of a batch that is taken whose figure is the smallest."""

import json

import numpy as np
import pytest

import latticework as lw
from latticework.errors import LevelError, UserError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.normal(size=(96, 24)) / 8, RNG.normal(size=(24, 5)) / 4
ROWS = RNG.uniform(0, 1, (64, 96))
OBJECTIVES = ("latency", "throughput", "bytes")


@lw.program
def network(x: lw.Secret[96], first, second):
    return np.square(x @ first) @ second


def compiled(**options):
    return lw.compile(network, weights=(FIRST, SECOND), calibrate=ROWS, **{"precision_bits": 8, **options})


@pytest.fixture(scope="module")
def models():
    return {(batch, o): compiled(batch=batch, objective=o) for batch in (40, 700) for o in OBJECTIVES}


def figures(model):
    """Seconds of a run with sending, seconds of a row, and bytes of a row."""
    cost, rows = estimate(model.plan, CostModel.load()), model.plan.client.rows
    sent = cost.bytes.inputs_fresh + cost.bytes.outputs
    keys = 1.25 if model.plan.keys else 1.0  # for making and keeping them
    return {
        "latency": keys * (cost.warm_seconds + 8 * sent / 1e9), "throughput": keys * cost.warm_seconds / rows,
        "bytes": (sent + cost.bytes.keys_stored) / rows,
    }  # fmt: skip


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("batch", [40, 700])
def test_no_other_objective_gives_a_smaller_figure(models, batch, objective):
    """Of bytes, no other whose runs have as many rows."""
    others = OBJECTIVES if objective == "throughput" else ("latency", "bytes")
    own = figures(models[batch, objective])[objective]
    assert own <= min(figures(models[batch, other])[objective] for other in others)


def test_objectives_differ_where_they_should(models):
    slots = {key: model.plan.client.secret_inputs[0].pack.count for key, model in models.items()}
    assert slots[40, "latency"] < 96 == slots[700, "latency"] == slots[40, "throughput"]
    assert slots[40, "bytes"] == slots[700, "bytes"] == 96  # keys are more than all that is sent


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_results_are_numpys(models, objective):
    model = models[40, objective]
    client = model.client(threads=1)
    result = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(ROWS[:41])))
    assert np.abs(result.reveal() - np.square(ROWS[:41] @ FIRST) @ SECOND).max() <= result.error_bound


def test_for_throughput_a_run_is_full(models):
    for batch in (40, 700):
        plan = models[batch, "throughput"].plan
        assert plan.client.rows == plan.chain.slots // plan.client.secret_inputs[0].pack.slots * plan.client.rows
        assert plan.client.rows >= batch and plan.client.secret_inputs[0].pack.slots == plan.chain.slots


def test_filled_runs_are_of_vectors_unless_rows_count():
    usual, rows = compiled(batch="fill"), compiled(batch="fill", objective="throughput")
    assert usual.plan.rows_choice is None and usual.plan.client.secret_inputs[0].pack.count == 1
    assert rows.plan.client.secret_inputs[0].pack.count == 96
    assert figures(rows)["throughput"] < figures(usual)["throughput"]


def test_plans_tell_of_every_way(models):
    for (_, objective), model in models.items():
        choice = model.plan.rows_choice
        (taken,) = (way for way in choice.ways if way.chosen)
        cost, client = estimate(model.plan, CostModel.load()), model.plan.client
        assert choice.objective == objective and {way.slots == 1 for way in choice.ways} == {True, False}
        assert taken.rows == client.rows and taken.seconds == pytest.approx(cost.warm_seconds)
        assert taken.num_keys == len(client.manifest.uses) and taken.key_bytes == cost.bytes.keys_stored


def test_figures_of_a_way_that_was_not_taken_are_those_of_its_plan(models):
    """With matrices left out, rows lie side by side."""
    choice = models[700, "latency"].plan.rows_choice
    other = compiled(batch=700, techniques=lw.Techniques(matrix_products=False)).plan
    (beside,) = (way for way in choice.ways if not way.chosen)
    assert other.rows_choice is None
    assert (beside.rows, beside.ring_degree) == (other.client.rows, other.chain.ring_degree)


def test_reports_and_files_tell_of_every_way(models, tmp_path):
    model = models[40, "throughput"]
    model.save(tmp_path / "model.lwplan")
    report = lw.load(tmp_path / "model.lwplan").report()
    told = json.loads(report.json())["rows_choice"]
    assert told["objective"] == "throughput" and [way["chosen"] for way in told["ways"]] == [
        way.chosen for way in model.plan.rows_choice.ways
    ]
    for text in (report.text(), report.html()):
        assert "Rows of a batch" in text and "1 slot a row" in text
    assert "sending left out" in report.text()
    assert "rows_choice" in json.loads(compiled().report().json())  # null: there was no choice


def test_a_way_that_fits_no_ring_is_told_with_its_reason():
    """Products and squares spend three levels, which a ring of 4096 does not hold beside the primes of keys."""
    model = compiled(batch=64, ring_degree=4096)
    first, second = model.plan.rows_choice.ways
    assert "ring_degree=4096 holds" in first.refused and second.chosen and model.plan.keys == ()
    assert "ring_degree=4096 holds" in model.report().text()


def test_where_no_way_has_a_plan_the_error_says_what_holds_it():
    with pytest.raises(LevelError, match="ring_degree=2048 holds none.*leave ring_degree out, or give 8192"):
        compiled(batch=700, ring_degree=2048)


def test_a_retrained_model_keeps_how_rows_lie():
    old = compiled(batch=40)
    new = lw.compile(network, weights=(0.9 * FIRST, SECOND), calibrate=ROWS, precision_bits=8, batch=40, like=old)
    assert new.plan.client.secret_inputs[0].pack == old.plan.client.secret_inputs[0].pack
    assert new.plan.kept is not None and new.plan.kept.new_keys == 0


@pytest.mark.parametrize("objective", ["speed", "", None, 1])
def test_other_objectives_are_refused(objective):
    with pytest.raises(UserError, match="objective=.*one of 'latency', 'throughput', 'bytes'"):
        compiled(batch=4, objective=objective)


def test_circuits_take_an_objective():
    @lw.circuit
    def product(a: lw.vector(1), b: lw.vector(1)):
        return a[0] * b[0]

    assert lw.compile(product, objective="bytes").plan.client.rows == 1
