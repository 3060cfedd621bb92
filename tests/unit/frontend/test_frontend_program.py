"""Programs: how parameters are understood, plain calls, weights and examples."""

from __future__ import annotations

import numpy as np
import pytest

from latticework import frontend as lw
from latticework.errors import DtypeError, RangeError, ShapeError, TraceError
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.interpret import interpret
from latticework.ir.types import INDEX

RNG = np.random.default_rng(3)


@lw.program
def score(x: lw.Secret[1, 4], w1, b1, w2):
    """Two layers."""
    return lw.relu(x @ w1 + b1) @ w2


WEIGHTS = (RNG.normal(size=(4, 3)), RNG.normal(size=3), RNG.normal(size=(3, 2)))


def test_parameters_from_string_annotations():
    assert [(p.name, p.kind) for p in score.parameters] == [
        ("x", lw.Secret((1, 4))),
        ("w1", None),
        ("b1", None),
        ("w2", None),
    ]
    assert score.name == "score" and score.__doc__ == "Two layers."
    assert [p.name for p in score.inputs] == ["x"] and len(score.weights) == 3
    assert str(score.loc).endswith(f"{score.loc.line}") and score.loc.text.startswith("def score(")
    assert repr(score).startswith("<program score(x")


def test_annotations_may_use_local_names():
    width = 5

    @lw.program
    def local(x: lw.Secret[2, width], n: lw.Index, other: np.ndarray, unknown: NoSuchType):  # noqa: F821
        return x

    assert local.parameters[0].kind == lw.Secret((2, 5)) and local.parameters[1].kind == lw.Index()
    assert local.parameters[2].kind is None and local.parameters[3].kind is None


def test_plain_call_is_exact_numpy():
    x = RNG.normal(size=(1, 4))
    w1, b1, w2 = WEIGHTS
    expected = np.maximum(x @ w1 + b1, 0) @ w2
    np.testing.assert_array_equal(score(x, w1, b1, w2), expected)
    np.testing.assert_array_equal(score(x.tolist(), w1, b1=b1, w2=w2), expected)


def test_plain_call_checks_its_inputs():
    with pytest.raises(ShapeError, match=r"x has shape \(4,\), declared is \(1, 4\): reshape it to \(1, 4\)"):
        score(np.zeros(4), *WEIGHTS)
    assert np.array_equal(score(np.eye(4), *WEIGHTS), np.vstack([score(row[None], *WEIGHTS) for row in np.eye(4)]))
    with pytest.raises(DtypeError, match="program score, input x") as caught:
        score(np.array([["a"] * 4]), *WEIGHTS)
    assert caught.value.at.file == __file__
    with pytest.raises(RangeError, match="NaN"):
        score(np.full((1, 4), np.nan), *WEIGHTS)


def test_inputs_are_not_changed():
    @lw.program
    def careless(x: lw.Secret[3]):
        x += 1
        return x

    x = np.zeros(3)
    careless(x)
    np.testing.assert_array_equal(x, 0)


def test_trace_names_and_types():
    @lw.program
    def several(x: lw.Secret[2], n: lw.Index, s: lw.Secret[()], w=2.0):
        return {"a": x * w, "b": s + 1}

    module = lw.trace(several)
    assert module.input_names == ["x", "n", "s"] and module.outputs == ["a", "b"]
    secret = [TensorType(shape=shape, dtype="float64", secret=True) for shape in ((2,), ())]
    assert [v.type for v in module.inputs] == [secret[0], INDEX, secret[1]]
    a, b = interpret(module, {"x": np.ones(2), "n": 3, "s": 4.0})
    assert a.tolist() == [2, 2] and b == 5
    assert lw.trace(score, WEIGHTS).outputs == ["result"]


def test_weights_by_name_or_alone():
    by_name = lw.trace(score, dict(zip(("w1", "b1", "w2"), WEIGHTS, strict=True)))
    assert set(by_name.sources) == set(lw.trace(score, WEIGHTS).sources)

    @lw.program
    def scaled(x: lw.Secret[2], w):
        return x * w

    assert lw.trace(scaled, np.ones(2)).sources


@pytest.mark.parametrize(
    ("weights", "pattern"),
    [
        (WEIGHTS[:2], r"3 weights \(w1, b1, w2\); missing: w2"),
        ((*WEIGHTS, 1.0), r"3 weights \(w1, b1, w2\), got 4"),
        ({"w1": 1, "bias": 2}, "missing: b1, w2; unknown: bias"),
        (np.ones(3), "got one ndarray"),
    ],
)
def test_wrong_weights(weights, pattern):
    with pytest.raises(TraceError, match=pattern) as caught:
        lw.trace(score, weights)
    assert caught.value.at is score.loc


def test_shapes_from_an_example():
    @lw.program
    def shaped(x: lw.Secret, y: lw.Secret[2]):
        return x * np.sum(y)

    module = lw.trace(shaped, example={"x": np.zeros((3, 2))})
    assert module.inputs[0].type.shape == (3, 2)
    assert lw.trace(shaped, example=(np.zeros(5), np.zeros(2))).inputs[0].type.shape == (5,)
    with pytest.raises(TraceError, match=r"shape of x is not known.*example="):
        lw.trace(shaped)
    with pytest.raises(TraceError, match=r"1 example arrays for 2 secret inputs \(x, y\)"):
        lw.trace(shaped, example=np.zeros(5))
    with pytest.raises(TraceError, match="example names z"):
        lw.trace(shaped, example={"z": 1})
    with pytest.raises(ShapeError, match=r"the example for y has shape \(3,\), declared is \(2,\)"):
        lw.trace(shaped, example=(np.zeros(5), np.zeros(3)))


@pytest.mark.parametrize("shape", [0, -1, 2.5, (3, "4"), True])
def test_declared_shapes_are_checked(shape):
    with pytest.raises(ShapeError, match="integers >= 1"):
        lw.Secret[shape]


def test_programs_that_cannot_be():
    with pytest.raises(TraceError, match=r"\*rest takes any number") as caught:

        @lw.program
        def many(x: lw.Secret[2], *rest):
            return x

    assert caught.value.at.text.startswith("def many")
    with pytest.raises(TraceError, match="input x has a default"):

        @lw.program
        def optional(x: lw.Secret[2] = None):
            return x

    with pytest.raises(TraceError, match=r"'lw.Secret\[wide\]' of x cannot be read"):

        @lw.program
        def unreadable(x: lw.Secret[wide]):  # noqa: F821
            return x


@pytest.mark.parametrize(
    ("returned", "pattern"),
    [
        (lambda x, n: None, "returns None as result"),
        (lambda x, n: (x, "one"), "returns result1: a plain operand of type str"),
        (lambda x, n: {"y": n}, "returns a run-time index as y"),
        (lambda x, n: (), "returns nothing"),
    ],
)
def test_results_are_arrays(returned, pattern):
    @lw.program
    def broken(x: lw.Secret[2], n: lw.Index):
        return returned(x, n)

    with pytest.raises((TraceError, DtypeError), match=pattern) as caught:
        lw.trace(broken)
    assert caught.value.at is broken.loc


def test_public_results_are_encrypted_without_a_key():
    @lw.program
    def with_public(x: lw.Secret[2], w):
        return x * 0, w, 3.0

    module = lw.trace(with_public, (np.array([1.0, 2.0]),))
    assert all(value.is_secret for value in module.body.terminator.operands)
    assert [np.asarray(x).tolist() for x in interpret(module, [np.ones(2)])] == [[0, 0], [1, 2], 3]


def test_programs_call_programs():
    @lw.program
    def twice(x: lw.Secret[1, 4]):
        return score(score(x, *WEIGHTS) @ np.ones((2, 4)), *WEIGHTS)

    x = RNG.normal(size=(1, 4))
    np.testing.assert_allclose(interpret(lw.trace(twice), [x])[0], twice(x), rtol=1e-12)

    @lw.program
    def wrong(x: lw.Secret[2, 4]):
        return score(x, *WEIGHTS)

    with pytest.raises(ShapeError, match=r"x has shape \(2, 4\), declared is \(1, 4\)"):
        lw.trace(wrong)


def test_an_index_is_an_integer():
    @lw.program
    def repeated(x: lw.Secret[2], n: lw.Index):
        return lw.for_loop(n, lambda i, h: h + x, x)

    np.testing.assert_array_equal(repeated(np.ones(2), np.int32(2)), [3, 3])
    with pytest.raises(DtypeError, match="n is an Index and takes an integer, got a float"):
        repeated(np.ones(2), 2.0)


def test_shapes_are_tuples_of_integers_however_they_are_written():
    assert lw.Secret[np.int64(8)] == lw.Secret[8] == lw.Secret(8) == lw.Secret((np.int32(8),)) == lw.Secret[8,]
    assert type(lw.Secret[np.int64(8)].shape[0]) is int
    assert lw.Secret[()].shape == () and lw.Secret().shape is None
    for wrong in (0, -1, 2.0, True, None, "8", (2, 0), [2]):
        with pytest.raises(ShapeError, match="integers >= 1"):
            lw.Secret[wrong]
    with pytest.raises(ShapeError, match="integers >= 1"):
        lw.Secret(2.5)


@pytest.mark.parametrize("given", [(), (int,), (3,), (score,)])
def test_the_decorator_takes_a_function_and_no_options(given):
    with pytest.raises(TraceError, match="@lw.program, without parentheses") as caught:
        lw.program(*given)
    assert "lw.program(*given)" in caught.value.at.text


def test_too_many_weights_are_answered_with_both_ways_to_give_them():
    with pytest.raises(TraceError, match=r"got 9; give weights=\(...\) in that order, or by name"):
        lw.trace(score, weights=(1.0,) * 9)
