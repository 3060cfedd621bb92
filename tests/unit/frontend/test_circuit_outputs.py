"""What circuits return: public numbers beside encrypted ones, ragged and nested structures, as they were returned."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import latticework as lw
from latticework.compiler.circuits.circuit_pipeline import to_scalars
from latticework.compiler.lanes.lane_graph import Constant
from latticework.errors import LayoutError, RangeError, TraceError

WEIGHTS = np.array([[1, 0, 2], [3, 0, 4], [5, 0, 6]])
OPTIONS = {"bfv": {"scheme": "bfv", "plain_bits": 17}, "ckks": {"scheme": "ckks", "precision_bits": 16}}


def compiled(function, scheme, weights=(), **options):
    """A circuit on small parameters, compiled quickly."""
    small = {"ring_degree": 4096 if scheme == "bfv" else 1024, "insecure": True, "effort": "fast"}
    return lw.compile(function, weights=weights, **OPTIONS[scheme], **small, **options)


def run(function, scheme, *args, weights=(), **options):
    """The decrypted results of a circuit, and what it gives called with plain numbers."""
    model = compiled(function, scheme, weights, **options)
    client = model.client()
    got = client.decrypt(model.server(client.keygen().public())(client.encrypt(*args)))
    return revealed(got), function(*args, *weights)


def revealed(got):
    """The structure with its numbers."""
    if isinstance(got, dict):
        return {key: revealed(part) for key, part in got.items()}
    return tuple(revealed(part) for part in got) if isinstance(got, tuple) else got.reveal()


def assert_same(got, wanted, atol):
    """Equal numbers in the same structure; a list of parts comes back as a tuple."""
    if isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key, part in wanted.items():
            assert_same(got[key], part, atol)
    elif isinstance(got, tuple):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            assert_same(a, b, atol)
    else:
        assert np.shape(got) == np.shape(wanted)
        assert_allclose(np.asarray(got, float), np.asarray(wanted, float), atol=atol, rtol=0)


@lw.circuit
def zero_column(x: lw.vector(3, low=-3, high=3), w):
    return x @ w


@lw.circuit
def cancelling(x: lw.scalar(), y: lw.scalar()):
    return [x * y, x * y - y * x + 3, (x + y) * 0]


@lw.circuit
def constant(x: lw.scalar()):
    return x - x + 5


@lw.circuit
def ragged(x: lw.vector(3, low=-3, high=3)):
    return [[x[0]], [x[1], x[0] * x[2]], []]


@lw.circuit
def nested(x: lw.vector(3, low=-3, high=3)):
    return {"a": [x[0], (x[1], 7)], "b": ([[x, x + 1], {"c": 2}], np.array([1, 2])), "d": [[x[0], 4], [x[1], x[2]]]}


@lw.circuit
def many(x: lw.scalar(low=-3, high=3)):
    return tuple((x + i, i) for i in range(12))


CASES = [
    (zero_column, ([1, -2, 3],), (WEIGHTS,)), (cancelling, (1, -1), ()), (constant, (1,), ()),
    (ragged, ([1, -2, 3],), ()), (nested, ([1, -2, 3],), ()), (many, (2,), ()),
]  # fmt: skip


@pytest.mark.parametrize("scheme", ["bfv", "ckks"])
@pytest.mark.parametrize(("function", "args", "weights"), CASES, ids=lambda x: getattr(x, "name", ""))
def test_structures_come_back(function, args, weights, scheme):
    model = compiled(function, scheme, weights)
    assert_same(model.simulate(*args), function(*args, *weights), 0 if scheme == "bfv" else 1e-3)


@pytest.mark.parametrize("scheme", ["bfv", "ckks"])
@pytest.mark.parametrize("function", [constant, cancelling], ids=lambda f: f.name)
def test_encrypted(function, scheme):
    got, wanted = run(function, scheme, *[1, -1][: len(function.inputs)])
    assert_same(got, wanted, 0 if scheme == "bfv" else 1e-3)


@pytest.mark.parametrize("algorithm", ["scalar", "annealing"])
@pytest.mark.parametrize("scheme", ["bfv", "ckks"])
def test_every_algorithm_gives_public_numbers(algorithm, scheme):
    @lw.circuit
    def f(x: lw.vector(3, low=-3, high=3), y: lw.vector(3, low=-3, high=3), w):
        return x @ w + y, np.array([4, -7])

    args = [1, -2, 3], [0, 1, 2]
    model = compiled(f, scheme, (WEIGHTS,), algorithm=algorithm)
    assert_same(model.simulate(*args), f(*args, WEIGHTS), 0 if scheme == "bfv" else 1e-3)


def test_large_regular_circuits_with_a_zero_column_are_arrays():
    @lw.circuit
    def layer(x: lw.vector(64), w):
        return x @ w, [[1.5, -2.0], [0.0, 3.0]]

    rng = np.random.default_rng(0)
    weights = rng.normal(size=(64, 32)) * (np.arange(32) % 5 != 0)
    model = compiled(layer, "ckks", (weights,), algorithm="tensors")
    x = rng.uniform(-1, 1, 64)
    assert_same(model.simulate(x=x), layer(x, weights), 1e-2)


def test_public_outputs_stand_in_the_graph():
    scalars = to_scalars(cancelling, (), exact=True)
    assert scalars.written.outputs[1:] == (Constant(3), Constant(0)) and len(scalars.written.ends) == 1


def test_what_public_outputs_cannot_be():
    @lw.circuit
    def endless(x: lw.scalar()):
        return x, float("nan")

    with pytest.raises(RangeError, match="returns result1: a public operand is nan") as caught:
        lw.compile(endless)
    assert caught.value.at is endless.loc

    @lw.circuit
    def text(x: lw.scalar()):
        return [x, "one"]

    with pytest.raises(TraceError, match="returns a str as result"):
        lw.compile(text)

    @lw.circuit
    def deep(x: lw.scalar()):
        for _ in range(70):
            x = (x, 1)
        return x

    with pytest.raises(TraceError, match="more than 64 levels"):
        lw.compile(deep)


def test_overflow_of_a_public_output_is_warned_of():
    @lw.circuit
    def f(x: lw.scalar()):
        return [x, 1 << 20]

    with pytest.warns(lw.RangeWarning, match="between 1048576 and 1048576"):
        compiled(f, "bfv")


def test_structures_survive_files(tmp_path):
    model = compiled(ragged, "bfv")
    model.save(tmp_path / "plan")
    loaded = type(model).load(tmp_path / "plan", allow_insecure=True)
    assert_same(loaded.simulate([1, -2, 3]), ragged([1, -2, 3]), 0)


def test_lanes_of_results_without_encrypted_elements():
    model = compiled(ragged, "bfv")
    with pytest.raises(LayoutError, match="has no elements"):
        model.lanes("result2")
