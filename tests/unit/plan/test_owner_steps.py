"""Steps of the owner: meanings against NumPy and scikit-learn, bounds that hold, and checks that refuse."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logsumexp, softmax
from sklearn.multiclass import _ovr_decision_function
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, normalize
from table_step_cases import TABLE_STEPS

from latticework.plan.client_steps import (
    Affine,
    Branches,
    ByName,
    Clip,
    CodeOf,
    Columns,
    Elementary,
    Extreme,
    Finished,
    Labels,
    Largest,
    Linear,
    NamesOf,
    Normalise,
    OneHot,
    OwnerArray,
    Reduce,
    Reshape,
    Softmax,
    TableRows,
    Threshold,
    Transpose,
    Votes,
    Winner,
)
from latticework.plan.client_steps.row_queries import IsKeyFound, KeyQuery, RowQuery, TableRow
from latticework.plan.client_steps.run_steps import error_of, finish, to_result
from latticework.plan.client_steps.set_queries import CommonElements, NumCommon, SetQuery
from latticework.plan.client_steps.step import Bounded, OwnerStep, UnfitValueError
from latticework.plan.files.codec import from_data, to_data

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 5))
NAMES = Labels.of(["a", "b", "c", "d", "e"])
MATRIX = RNG.normal(size=(5, 2))
NUMERIC = [
    (Affine(OwnerArray.of(RNG.normal(size=5)), OwnerArray.of(np.arange(5.0))), None),
    (Clip(OwnerArray.of(-0.5), OwnerArray.of(0.25)), lambda x: np.clip(x, -0.5, 0.25)),
    *((Elementary(name), getattr(np, name)) for name in ("exp", "expm1", "tanh", "absolute")),
    (Elementary("sigmoid"), expit),
    (Softmax(), lambda x: softmax(x, -1)),
    (Softmax(dim=-2), lambda x: softmax(x, -2)),
    (Softmax(log=True), lambda x: log_softmax(x, -1)),
    (Reduce("mean", -1), lambda x: x.mean(-1)),
    (Reduce("max", -2, keep=True), lambda x: x.max(-2, keepdims=True)),
    (Normalise("l1"), lambda x: normalize(x, "l1")),
    (Normalise("l2"), lambda x: normalize(x, "l2")),
    (Normalise("share"), lambda x: normalize(x, "l1")),
    (Reduce("logsumexp", -1), lambda x: logsumexp(x, -1)),
    (Linear(OwnerArray.of(MATRIX), OwnerArray.of([1.0, 2.0])), lambda x: x @ MATRIX + [1, 2]),
    (
        Branches(((Elementary("sigmoid"), Columns(-1, 5, (1,))), (Softmax(),))),
        lambda x: np.hstack([expit(x[:, 1:2]), softmax(x, -1)]),
    ),
    (Reshape((6, 5), (30,)), lambda x: x.reshape(30)),
    (Columns(-1, 5, (4, 0, 0)), lambda x: x[:, [4, 0, 0]]),
    (Transpose((1, 0)), lambda x: x.T),
]
DECIDING = [
    (Extreme(), lambda x: x.argmax(-1)),
    (Extreme(NAMES, keep=True), lambda x: NAMES.array[x.argmax(-1)][:, None]),
    (Extreme(smallest=True, dim=-2), lambda x: x.argmin(-2)),
    (Threshold(0.1), lambda x: (x > 0.1).astype(int)),
    (Largest(2, NAMES), lambda x: NAMES.array[np.argsort(-x, -1)[:, :2]]),
]


@pytest.mark.parametrize(("step", "meaning"), NUMERIC)
def test_numbers_are_numpys_and_bounds_hold(step, meaning):
    result = Finished("y", "x", (step,))
    meaning = meaning or (lambda x: x * step.scale.array + step.offset.array)
    for error in (1e-9, 1e-3, 0.3):
        found = finish(result, X, error)
        np.testing.assert_allclose(found.value, meaning(X), rtol=1e-12, atol=1e-14)
        assert found.value.shape == step.result_shape(X.shape)
        bound = error_of(found)
        worst = 0.0
        for _ in range(200):
            moved = meaning(X + error * RNG.choice([-1, 1, RNG.uniform(-1, 1)], X.shape))
            worst = max(worst, np.abs(moved - found.value).max())
        assert worst <= bound, step
        assert bound <= 60 * error * max(1.0, np.exp(np.abs(X).max())), step  # and says something
    assert error_of(finish(result, X, np.inf)) == np.inf


@pytest.mark.parametrize(("step", "meaning"), DECIDING)
def test_decisions_are_certain_where_no_error_changes_them(step, meaning):
    result = Finished("y", "x", (step,))
    seen = set()
    for error in (1e-9, 0.05, 0.3):
        found = finish(result, X, error)
        np.testing.assert_array_equal(found.value, meaning(X))
        assert found.value.shape == step.result_shape(X.shape) == found.certain.shape
        for _ in range(300):
            moved = meaning(X + error * RNG.choice([-1, 1], X.shape))
            assert (moved == found.value)[found.certain].all()
        seen |= set(found.certain.reshape(-1).tolist())
    assert seen == {True, False}
    assert not finish(result, X, np.inf).certain.any()


def pairwise(values, graded):
    """Votes as scikit-learn counts them."""
    if graded:
        return _ovr_decision_function(values < 0, -values, 4)
    wins = [np.where(values[:, k] > 0, i, j) for k, (i, j) in enumerate(combinations(range(4), 2))]
    return np.stack([np.sum([w == c for w in wins], 0) for c in range(4)], -1)


@pytest.mark.parametrize("graded", [False, True])
def test_votes_are_certain_where_no_error_changes_the_winner(graded):
    values = RNG.normal(size=(40, 6))
    step = Votes(4, graded)
    np.testing.assert_allclose(finish(Finished("y", "x", (step,)), values, 0.0).value, pairwise(values, graded))
    result = Finished("y", "x", (step, Extreme()))
    for error in (0.01, 0.2):
        found = finish(result, values, error)
        for _ in range(200):
            moved = pairwise(values + error * RNG.choice([-1, 1], values.shape), graded).argmax(-1)
            assert (moved == found.value)[found.certain].all()
        assert 0 < found.certain.sum() <= 40 - (error == 0.2)
    chosen = Finished(
        "y", "x", (Branches(((Columns(-1, 6, (0, 1, 2)), Winner()), (Columns(-1, 6, (3, 4, 5)), Winner())), dim=-1),)
    )
    votes = finish(chosen, values, 0.05)
    moved = finish(chosen, values + 0.05, 0.0)
    assert votes.value.sum() == 80 and (votes.low <= moved.value).all() and (moved.value <= votes.high).all()


def test_the_two_largest_closer_than_their_errors_are_uncertain():
    step = Finished("y", "x", (Extreme(NAMES),))
    x = np.array([[0, 1.0, 0.9, 0, 0]])
    assert finish(step, x, 0.0499).certain.tolist() == [True]
    assert finish(step, x, 0.0501).certain.tolist() == [False]
    assert finish(step, np.ones((1, 5)), 0.0).certain.tolist() == [False]
    for place in range(2):
        largest = finish(Finished("y", "x", (Largest(2),)), np.array([[3.0, 2.0, 1.95, 0, 0]]), 0.04)
        assert largest.certain[0].tolist() == [True, False], place


def test_names_and_dictionaries():
    steps = (Extreme(), NamesOf(NAMES))
    assert finish(Finished("y", "x", steps), X, 0.0).value.tolist() == NAMES.array[X.argmax(-1)].tolist()
    rows = to_result(finish(Finished("y", "x", (Softmax(), ByName(NAMES))), X, 0.0))
    assert list(rows[2]) == list("abcde") and np.isclose(rows[2]["c"], softmax(X, -1)[2, 2])
    assert list(to_result(finish(Finished("y", "x", (ByName(NAMES),)), X[0], 0.0))) == list("abcde")


def test_lookups_are_those_of_scikit_learn():
    texts = np.array(["red", "green", "red", "blue"])
    encoder = OneHotEncoder(sparse_output=False).fit(texts[:, None])
    labels = Labels.of(encoder.categories_[0])
    np.testing.assert_array_equal(OneHot(labels).apply(texts), encoder.transform(texts[:, None]))
    codes = OrdinalEncoder().fit_transform(texts[:, None])[:, 0]
    np.testing.assert_array_equal(CodeOf(labels).apply(texts), codes)
    assert OneHot(labels, takes_unknown=True).apply(np.array(["grey"])).tolist() == [[0, 0, 0]]
    with pytest.raises(UnfitValueError, match="is none of the categories blue, green, red"):
        OneHot(labels).apply(np.array(["red", "grey"]))
    numbers = Labels.of([10, 30, 20])
    assert CodeOf(numbers).apply(np.array([20, 10.0])).tolist() == [2, 0]
    table = RNG.normal(size=(7, 3))
    rows = TableRows(OwnerArray.of(table))
    np.testing.assert_array_equal(rows.apply(np.array([[0, 6], [-1, 2]])), table[[[0, 6], [-1, 2]]])
    for wrong in (7, 2.5, "3", np.nan, 1j, np.complex64(1), 10**400):
        with pytest.raises(UnfitValueError):
            rows.apply(np.array([wrong], dtype=object if isinstance(wrong, str) else None))


def test_arguments_of_ranges_are_found_back():
    low, high = np.full((2, 3), -1.0), np.full((2, 3), 2.0)
    for step, x in (
        (Affine(OwnerArray.of([2.0, -3.0, 0.5]), OwnerArray.of([0.5, 0, 0.5])), RNG.normal(size=(500, 2, 3))),
        (Elementary("log"), RNG.uniform(0.01, 12, size=(500, 2, 3))),
        (Elementary("exp"), RNG.normal(size=(500, 2, 3))),
        (Elementary("sqrt"), RNG.uniform(0, 9, size=(500, 2, 3))),
        (Clip(OwnerArray.of(-2.0), OwnerArray.of(1.0)), RNG.normal(size=(500, 2, 3)) * 3),
        (Reshape((2, 3), (6,)), RNG.normal(size=(500, 2, 3))),
        (Transpose((1, 0)), RNG.normal(size=(500, 3, 2))),
        (Transpose((2, 0, 1)), RNG.normal(size=(500, 3, 1, 2))),
        (Columns(-1, 5, (4, 1, 1)), RNG.normal(size=(500, 2, 5))),
    ):  # fmt: skip
        shape = step.result_shape(x.shape[1:])
        span = step.preimage(low.reshape(shape), high.reshape(shape))
        inside = ((x >= span[0]) & (x <= span[1])).reshape(500, -1).all(1)
        made = step.apply(x)
        np.testing.assert_array_equal(inside, ((made >= -1) & (made <= 2)).reshape(500, -1).all(1))
        assert 0 < inside.sum() < 500 or isinstance(step, Columns | Reshape | Transpose | Elementary), step
    assert Elementary("absolute").preimage(low, high) is None


def every_step():
    return [step for step, _ in NUMERIC + DECIDING] + [
        Votes(3), Winner(), NamesOf(NAMES), ByName(Labels.of([1, 2, 3])), OneHot(Labels.of([0.5, 1.5])), CodeOf(NAMES, 3),
        TableRows(OwnerArray.of(np.ones((4, 2)))), *TABLE_STEPS, RowQuery(5, 2, 4), TableRow((2,), 3, 18, 1),
        KeyQuery(2, 4, 1, OwnerArray.of([0.0, 3.0]), 2, 18), IsKeyFound(1), SetQuery(5, 8, 2, 2, 4, 3, 786433),
        CommonElements(2), NumCommon(),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [
        lambda: RowQuery(9, 2, 4),
        lambda: RowQuery(0, 2, 4),
        lambda: KeyQuery(2, 4, 1, OwnerArray.of([0.5]), 2, 18),
        lambda: KeyQuery(2, 4, 1, OwnerArray.of([[1.0]]), 2, 18),
        lambda: KeyQuery(2, 4, -1, OwnerArray.of([1.0]), 2, 18),
        lambda: KeyQuery(2, 4, 1, OwnerArray.of([1.0]), 4, 18),
        lambda: TableRow((0,), 1, 18, 0),
        lambda: TableRow((2,), 5, 18, 0),
        lambda: TableRow((2,), 1, 18, 0).result_shape((3, 8)),
        lambda: IsKeyFound(0).result_shape((3, 8)),
        lambda: SetQuery(5, 8, 3, 2, 4, 3, 786433),
        lambda: SetQuery(5, 8, 2, 2, 4, 3, 509),
        lambda: SetQuery(5, 8, 2, 2, 4, 3, 1 << 50),
        lambda: CommonElements(2).result_shape((3, 8)),
    ],
)
def test_steps_of_queries_that_contradict_themselves_are_refused(make):
    with pytest.raises(ValueError):
        make()


def test_steps_are_data_and_are_told():
    for step in every_step():
        data = to_data(step)
        assert data[0] == step.NAME and from_data(OwnerStep, data, "step") == step
        assert step.words() and "\n" not in step.words() + step.weights()
    assert {type(step) for step in every_step()} == set(OwnerStep.kinds().values())


def test_a_process_loads_steps_when_it_meets_one(start_python):
    """Reading a plan loads none of them, reading a step all."""
    done = start_python("""
import sys
import latticework.runtime
print([name for name in ("axes", "combining", "elementwise", "endings", "lookups")
       if f"latticework.owner.{name}" in sys.modules])
from latticework.plan.client_steps.step import OwnerStep
from latticework.plan.files.codec import from_data
print(type(from_data(OwnerStep, ["softmax", -1, False], "step")).__name__)
""")
    assert done.communicate() == ("[]\nSoftmax\n", "")


def nested(depth):
    return Branches(((nested(depth - 1),),)) if depth else Softmax()


def test_what_is_no_step_is_refused():
    for make in (
        lambda: OwnerArray((2,), bytes(12)),
        lambda: OwnerArray((1 << 40,), b""),
        lambda: OwnerArray((0,), b""),
        lambda: OwnerArray.of([np.nan]),
        lambda: Labels((), None),
        lambda: Labels.of(["a", "a"]),
        lambda: Labels(("a\0",)),
        lambda: Labels(("a" * (1 << 20), *map(str, range(100)))),
        lambda: Affine(OwnerArray.of([1.0]), OwnerArray.of([1.0, 2.0])),
        lambda: Elementary("eval"),
        lambda: Clip(OwnerArray.of(1.0), OwnerArray.of(0.0)),
        lambda: Reshape((2, 3), (7,)),
        lambda: Columns(-1, 3, (3,)),
        lambda: Columns(0, 3, (0,)),
        lambda: Reduce("prod", -1),
        lambda: Transpose((0, 0)),
        lambda: Transpose((1, 2)),
        lambda: Transpose(tuple(range(17))),
        lambda: Normalise("l3"),
        lambda: Softmax(dim=0),
        lambda: Votes(1),
        lambda: Linear(OwnerArray.of([[1.0]]), OwnerArray.of([1.0, 2.0])),
        lambda: Branches(()),
        lambda: Branches(((Extreme(),),)),
        lambda: nested(5),
        lambda: Threshold(0.0, NAMES),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            make()


def test_large_numbers_give_no_false_bounds():
    huge = Finished("y", "x", (Elementary("exp"),))
    assert error_of(finish(huge, np.array([800.0]), 1.0)) == np.inf
    found = finish(Finished("y", "x", (Softmax(),)), np.array([1e4, -1e4, 0.0]), 1e-3)
    assert found.value.tolist() == [1, 0, 0] and error_of(found) < 1e-12
    assert Bounded.within(np.zeros(2), 1.0).span[0].tolist() == [-1, -1]
