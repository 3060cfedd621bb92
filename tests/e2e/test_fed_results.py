"""Encrypted results that are inputs of the next run: training in stretches."""

from dataclasses import replace

import numpy as np
import pytest
from e2e_cases import uniform

import latticework as lw
from latticework.errors import (
    FormatError,
    LevelError,
    ParameterMismatchError,
    ShapeError,
    TraceError,
    UserError,
)

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
    "spent levels": ({"w": "w"}, LevelError, "result w the input w of the next run, but it ends 1 level below.*bootstraps"),
}  # fmt: skip


@pytest.mark.parametrize("feed, kind, message", FED.values(), ids=FED)
def test_what_cannot_be_fed(feed, kind, message):
    with pytest.raises(kind, match=message):
        lw.compile(squares, feed=feed, bootstrap="never", **SMALL)
