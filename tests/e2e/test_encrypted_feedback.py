"""Encrypted results that are inputs of the next run: training in stretches."""

import json
from dataclasses import replace

import numpy as np
import pytest
from e2e_cases import uniform
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.compiler.encrypted_feedback import largest_changes
from latticework.compiler.levels import decide_levels
from latticework.compiler.levels.refresh_ends import refresh_ends
from latticework.compiler.trace_arrays import to_tensors
from latticework.errors import (
    FormatError,
    LevelError,
    ParameterMismatchError,
    RangeError,
    ShapeError,
    TraceError,
    UserError,
)
from latticework.ir import Builder, Module
from latticework.ir.dialects.vec_dialect import VecType
from latticework.ir.verify import verify
from latticework.plan.analysis.simulate import simulate
from latticework.plan.files.check_file import check_client
from latticework.plan.schema.feedback_limits import FeedbackLimits
from latticework.runtime.client.feedback import after_rounds
from latticework.runtime.exchange.decrypted import OwnerValue

SMALL = {"ring_degree": 4096, "insecure": True, "precision_bits": 8}
W, X = uniform((4,)), uniform((3, 4))


@lw.program
def stretch(w: lw.Secret[4], x: lw.Secret[3, 4], n: lw.Index):
    w = lw.for_loop(n, lambda i, w: w + x[i], w)
    return w, 0.5 * w


@pytest.fixture(scope="module")
def model():
    return lw.compile(stretch, feed={"w": "result0"}, feed_runs=3, **SMALL)


@pytest.fixture(scope="module")
def keys(model):
    return model.client(threads=1).keygen()


@pytest.fixture(scope="module")
def client(model, keys):
    return model.client(keys=keys, threads=1)


@pytest.fixture(scope="module")
def server(model, client):
    return model.server(client.public_keys(), threads=1)


@pytest.fixture(scope="module")
def data(client):
    return client.encrypt_part(x=X)


@pytest.fixture(scope="module")
def first(client, server, data):
    return server(data, client.encrypt_part(w=W), n=2)


def test_runs_go_on_from_encrypted_results(client, server, data, first):
    results, expected = first, W
    for n in (3, 1):
        expected = stretch(expected, X, 2 if results is first else 3)[0]
        results = server(server.inputs(data, w=server.load_encrypted(results.to_bytes())), n=n)
    decrypted = client.decrypt(client.load_encrypted(results.to_bytes()))
    for result, want in zip(decrypted, stretch(expected, X, 1), strict=True):
        assert np.abs(result.reveal() - want).max() < 1e-3
        assert result.rounds == 3 and not result.is_proved
        assert np.abs(result.reveal() - want).max() <= result.error_bound < 1e-3
        assert "error bound holds for inputs like those of calibration only" in repr(result)
    for result in client.decrypt(first):
        assert result.rounds == 1 and result.is_proved and np.isfinite(result.error_bound)


def test_more_runs_than_calibration_followed_have_no_bound(client, server, data, first):
    """The input of the fourth is larger than what the input of calibration ever was."""
    results = first
    for _ in range(3):
        results = server(server.inputs(data, w=results), n=0)
    for result in client.decrypt(results):
        assert result.rounds == 4 and result.error_bound == np.inf and result.usual_error == np.inf
        assert "result of 4 runs one after the other, for which no error bound is known" in repr(result)


def test_where_a_result_is_too_large_none_of_that_run_has_a_bound(model, client):
    """As of one run: what was too large on the way may have wrapped around in any."""
    spec = model.plan.client
    large, small = spec.outputs[0].magnitude * 2.1, np.zeros(4)
    usual = {o.name: OwnerValue(small, o.error_bound) for o in spec.outputs}
    assert all(v.error_bound < 1e-3 for v in after_rounds(spec, usual, 2).values())
    beyond = usual | {"result0": OwnerValue(small + large, 1e-6)}
    assert [v.error_bound for v in after_rounds(spec, beyond, 2).values()] == [np.inf, np.inf]
    marked = usual | {"result1": OwnerValue(small, np.inf)}
    assert [v.error_bound for v in after_rounds(spec, marked, 2).values()] == [np.inf, np.inf]


@lw.program
def twice(w: lw.Secret[40], v: lw.Secret[40]):
    return {"w": 0.5 * np.roll(w, 1) - 0.25 * w * v, "size": np.mean(w * w), "v": v}


def test_what_becomes_of_errors_is_the_sum_of_derivatives():
    """Of 40 elements, more than are moved one by one."""
    module, rng = to_tensors(twice, (), None), np.random.default_rng(0)
    sample = {"w": rng.uniform(-1, 1, 40), "v": rng.uniform(-1, 1, 40)}
    found = largest_changes(module, sample, "w", 2.0**-24)
    exact = [0.5 + 0.25 * np.abs(sample["v"]).max(), np.abs(2 * sample["w"] / 40).sum(), 0.0]
    assert np.all(found >= 0.6 * np.array(exact)) and np.all(found <= 2.5 * np.array(exact))
    few = {name: array[:8] for name, array in sample.items()}

    @lw.program
    def product(w: lw.Secret[8], v: lw.Secret[8]):
        return w * v

    small = to_tensors(product, (), None)
    np.testing.assert_allclose(largest_changes(small, few, "w", 2.0**-24), np.abs(few["v"]).max(), rtol=1e-6)


def test_bounds_of_runs_add_what_each_leaves_of_the_error_before():
    feeding = FeedbackLimits(4, (1,), ((0.0,), (0.5,), (2.0,)))
    assert feeding.errors_after(1, [1.0, 2.0, 3.0], [1e3] * 3) == [1.0, 2.0, 3.0]
    assert feeding.errors_after(3, [1.0, 2.0, 3.0], [1e3] * 3) == [1.0, 3.5, 9.0]
    assert feeding.errors_after(5, [1.0, 2.0, 3.0], [1e3] * 3) == [np.inf] * 3
    assert feeding.errors_after(3, [1.0, 2.0, 3.0], [1e3, 20.0, 1e3]) == [np.inf] * 3, "no small errors any more"


@pytest.mark.parametrize(
    "altered", [{"runs": 0}, {"sources": (1,)}, {"gains": ((1.0,),)}, {"gains": ((1.0,), (np.inf,))}]
)
def test_altered_plans_are_refused(model, altered):
    spec = model.plan.client
    check_client(spec)
    with pytest.raises(FormatError, match="errors in later runs is not about its inputs"):
        check_client(replace(spec, feeding=replace(spec.feeding, **altered)))


def test_the_command_says_why_there_is_no_bound(client, keys, server, data, first, tmp_path):
    """Not that the value is too large, which it is not."""
    client.save(tmp_path / "client")
    keys.save(tmp_path / "keys")
    for _ in range(3):
        first = server(server.inputs(data, w=first), n=0)
    first.save(tmp_path / "out.lwct")
    words = ["decrypt", tmp_path / "client", tmp_path / "out.lwct", "-k", tmp_path / "keys", "--insecure", "--json"]
    said = json.loads(CliRunner().invoke(app, list(map(str, words))).stdout)
    told = "the result of 4 runs one after the other, for which no error bound is known"
    assert said["warnings"] == [f"result0: {told}", f"result1: {told}"]
    assert [(o["error_bound"], o["rounds"]) for o in said["outputs"].values()] == [(None, 4)] * 2


def test_an_output_lies_as_the_input_does(model):
    (w, *_), (result, half) = model.plan.client.inputs, model.plan.client.outputs
    assert (w.pack, w.level, w.scale, w.fed) == (result.pack, result.level, result.scale, "result0")
    assert lw.compile(stretch, **SMALL).plan.client.inputs[0].fed == "" and half.scale != 0


def test_results_that_are_no_input(client, server, data, first, model):
    with pytest.raises(TraceError, match=r"x is no input that a run before computes; such are w: compile with feed="):
        server.inputs(x=first)
    with pytest.raises(TraceError, match="input w is given twice, by part 2 .* and by a result of a run before"):
        server.inputs(data, client.encrypt_part(w=W), w=first)
    with pytest.raises(FormatError, match="inputs of program stretch, not its outputs"):
        server.inputs(data, w=client.encrypt_part(w=W))
    with pytest.raises(ParameterMismatchError, match="input w is of another compilation"):
        server.inputs(data, w=replace(first, interface=bytes(32)))
    other = model.client(threads=1)
    keys = other.keygen()
    theirs = model.server(keys.public(), threads=1)(other.encrypt(W, X, 1))
    with pytest.raises(ParameterMismatchError, match="result for input w was encrypted under key set"):
        server.inputs(data, w=theirs)


@lw.program
def squares(w: lw.Secret[4], v: lw.Secret[2]):
    return {"w": w * w, "v": v}


FED = {
    "no dictionary": ("w", UserError, "feed= is a str; give a dictionary"),
    "no input": ({"u": "w"}, TraceError, r"makes 'w' the input 'u'; encrypted inputs of program squares are w, v, results w, v"),
    "no result": ({"w": "u"}, TraceError, "makes 'u' the input 'w'"),
    "other shape": ({"w": "v"}, ShapeError, r"makes 'v' of shape \(2,\) the input 'w' of shape \(4,\)"),
    "spent levels": ({"w": "w"}, LevelError, "result w the input w of the next run, but it ends 1 level below.*bootstrap_set="),
}  # fmt: skip


@pytest.mark.parametrize("feed, kind, message", FED.values(), ids=FED)
def test_what_cannot_be_fed(feed, kind, message):
    with pytest.raises(kind, match=message):
        lw.compile(squares, feed=feed, bootstrap="never", **SMALL)


def test_runs_that_calibration_cannot_follow():
    with pytest.raises(UserError, match="feed_runs=2; say by feed= which results are inputs of the next run"):
        lw.compile(squares, feed_runs=2, **SMALL)
    with pytest.raises(UserError, match="feed_runs=0; give 1 or more"):
        lw.compile(squares, feed={"w": "w"}, feed_runs=0, **SMALL)
    data = {"w": np.full((1, 4), 1e3), "v": np.zeros((1, 2))}
    with pytest.raises(
        RangeError, match="feed_runs=64: after 7 runs of the calibration data, the results w are beyond"
    ):
        lw.compile(squares, feed={"w": "w"}, feed_runs=64, calibrate=data, **SMALL)


@lw.program
def refreshed(w: lw.Secret[4], x: lw.Secret[4], n: lw.Index):
    return lw.for_loop(n, lambda i, w: 0.5 * w * x + 0.25 * x, w)


@pytest.mark.slow
def test_a_result_is_bootstrapped_where_it_ends_too_low():
    data = {"w": uniform((8, 4)), "x": uniform((8, 4)), "n": 3}
    model = lw.compile(
        refreshed, calibrate=data, feed={"w": "result"}, bootstrap_set="T12", precision_bits=8, insecure=True,
    )  # fmt: skip
    w, x = data["w"][0], data["x"][0]
    assert model.plan.client.inputs[0].level == model.plan.client.outputs[0].level
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    sent = client.encrypt_part(x=x)
    found = server(sent, client.encrypt_part(w=w), n=2)
    found = client.decrypt(server(server.inputs(sent, w=found), n=3))
    off = np.abs(found.reveal() - refreshed(refreshed(w, x, 2), x, 3)).max()
    assert off <= found.error_bound <= 100 * off


@lw.program
def line(w: lw.Secret[1], b: lw.Secret[1], x: lw.Secret[64], y: lw.Secret[64], n: lw.Index):
    def step(_, w, b):
        e = w * x + b - y
        return w - 0.5 * np.mean(e * x), b - 0.5 * np.mean(e)

    w, b = lw.for_loop(n, step, (w, b))
    return {"w": w, "b": b}


@lw.program
def classes(w: lw.Secret[8], x: lw.Secret[32, 8], y: lw.Secret[32], n: lw.Index):
    return {"w": lw.for_loop(n, lambda _, w: w - x.T @ (lw.sigmoid(x @ w) - y) / 32, w)}


def lines(rng, count):
    x, w, b = (rng.uniform(-1, 1, (count, n)) for n in (64, 1, 1))
    return {"w": np.zeros((count, 1)), "b": np.zeros((count, 1)), "x": x, "y": w * x + 0.5 * b}


def labelled(rng, count):
    x, w = rng.uniform(-1, 1, (count, 32, 8)), rng.normal(size=(count, 8))
    return {"w": np.zeros((count, 8)), "x": x, "y": (np.einsum("kij,kj->ki", x, w) > 0).astype(float)}


TRAINING = {"linear": (line, lines, {"w": "w", "b": "b"}, 8), "logistic": (classes, labelled, {"w": "w"}, 4)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*out of the interval")  # twelve samples are few, and say so
@pytest.mark.parametrize("program, draw, feed, turns", TRAINING.values(), ids=TRAINING)
def test_training_in_three_stretches_keeps_its_bound(program, draw, feed, turns):
    """Simulated with noise on the set of 16 levels, on data that calibration has not seen."""
    rng = np.random.default_rng(0)
    model = lw.compile(
        program, calibrate={**draw(rng, 12), "n": turns}, feed=feed, feed_runs=3, bootstrap_set="T12L16",
        precision_bits=10, insecure=True,
    )  # fmt: skip
    spec = model.plan.client
    largest = np.zeros((3, len(spec.outputs)))
    for _ in range(6):
        given = {name: array[0] for name, array in draw(rng, 1).items()} | {"n": turns}
        exact = dict(given)
        for run in range(3):
            found = simulate(model.plan, [given[i.name] for i in spec.inputs], noise=rng, public_key=True)
            wanted = program(**exact)
            off = [np.max(np.abs(y - wanted[o.name])) for y, o in zip(found, spec.outputs, strict=True)]
            assert np.all(off <= np.array(spec.errors_after(run + 1)))
            largest[run] = np.maximum(largest[run], off)
            for name, output in feed.items():
                given[name] = found[[o.name for o in spec.outputs].index(output)]
                exact[name] = wanted[output]
    assert np.all(np.array(spec.errors_after(3)) <= 100 * largest[2])


def test_an_output_that_ends_too_low_is_refreshed_to_the_level_of_its_input():
    module = Module()
    kind = VecType(1, 8, "real", True)
    w, x = (module.body.add_arg(kind) for _ in range(2))
    builder = Builder(module.body)
    made = builder.build("vec.mul", [w, x])
    builder.create("loop.yield", [builder.build("vec.mul", [made, x])])
    module.input_names, module.outputs = ["w", "x"], ["result"]
    found = refresh_ends(module, {0: 0}, 5, {0: 2}, iterations=1)
    verify(found)
    (bootstrap,) = (op for op in found.walk() if op.name == "vec.bootstrap")
    assert (bootstrap.attrs["target"], bootstrap.attrs["exponent"]) == (2, 2)
    plan = decide_levels(found, residual=5, feedback={0: 0})
    assert plan.states[found.body.terminator.operands[0]].level == plan.states[found.inputs[0]].level
    with pytest.raises(RangeError, match="result an input of the next run.*scale it down"):
        refresh_ends(module, {0: 0}, 5, {0: None}, iterations=1)
