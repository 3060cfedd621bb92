"""Encrypted results that are inputs of the next run: training in stretches."""

from dataclasses import replace

import numpy as np
import pytest
from e2e_cases import uniform

import latticework as lw
from latticework.dialects.vec import VecType
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
from latticework.ir.verify import verify
from latticework.levels import decide_levels
from latticework.levels.refresh_ends import refresh_ends

SMALL = {"ring_degree": 4096, "insecure": True, "precision_bits": 8}
W, X = uniform((4,)), uniform((3, 4))


@lw.program
def stretch(w: lw.Secret[4], x: lw.Secret[3, 4], n: lw.Index):
    w = lw.for_loop(n, lambda i, w: w + x[i], w)
    return w, 0.5 * w


@pytest.fixture(scope="module")
def model():
    return lw.compile(stretch, feed={"w": "result0"}, **SMALL)


@pytest.fixture(scope="module")
def client(model):
    client = model.client(threads=1)
    client.keygen()
    return client


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
        assert result.rounds == 3 and result.error_bound == np.inf and not result.is_proved
        assert "result of 3 runs one after the other, for which no error bound is known" in repr(result)
    for result in client.decrypt(first):
        assert result.rounds == 1 and result.is_proved and np.isfinite(result.error_bound)


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


@lw.program
def refreshed(w: lw.Secret[4], x: lw.Secret[4], n: lw.Index):
    return lw.for_loop(n, lambda i, w: 0.5 * w * x + 0.25 * x, w)


@pytest.mark.slow
def test_a_result_is_bootstrapped_where_it_ends_too_low():
    data = {"w": uniform((8, 4)), "x": uniform((8, 4)), "n": 3}
    model = lw.compile(
        refreshed, calibrate=data, feed={"w": "result"}, bootstrap_set="T12", precision_bits=8, insecure=True
    )
    w, x = data["w"][0], data["x"][0]
    assert model.plan.client.inputs[0].level == model.plan.client.outputs[0].level
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    sent = client.encrypt_part(x=x)
    found = server(sent, client.encrypt_part(w=w), n=2)
    found = client.decrypt(server(server.inputs(sent, w=found), n=3))
    assert np.abs(found.reveal() - refreshed(refreshed(w, x, 2), x, 3)).max() < 1e-3


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
    plan = decide_levels(found, residual=5, fed={0: 0})
    assert plan.states[found.body.terminator.operands[0]].level == plan.states[found.inputs[0]].level
    with pytest.raises(RangeError, match="result an input of the next run.*scale it down"):
        refresh_ends(module, {0: 0}, 5, {0: None}, iterations=1)
