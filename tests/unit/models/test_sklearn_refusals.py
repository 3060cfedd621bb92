"""What the importer of scikit-learn refuses: where, why and what to do instead, all at once."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import latticework as lw
from latticework.errors import RangeError, UnsupportedError, UserError

pytest.importorskip("sklearn")
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, QuantileTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn_cases import data

X, Y = data("iris")


class OwnRidge(Ridge):
    """A class of a user, whose methods may be other ones."""


def with_coef(coef: Any) -> Any:
    fitted = Ridge().fit(X, Y)
    fitted.coef_ = coef
    return fitted


def without(name: str) -> Any:
    fitted = StandardScaler().fit(X)
    delattr(fitted, name)
    return fitted


def sparse() -> Any:
    return LogisticRegression(max_iter=500).fit(X, Y).sparsify()


REFUSED = {
    "unfitted": (lambda: LogisticRegression(), r"it is not fitted: it has no classes_; call fit first"),
    "unfitted step": (
        lambda: make_pipeline(StandardScaler(), Ridge()), r"Pipeline:1: StandardScaler \(step 1 \(standardscaler\)"
    ),
    "sparse": (sparse, r"its coef_ are sparse; call densify\(\)"),
    "not finite": (lambda: with_coef(np.array([1, np.nan, 0, 0])), r"its coef_ holds a number .* not finite, at \[1\]"),
    "half": (lambda: with_coef(np.zeros(4, np.float16)), r"its coef_ is of float16"),
    "complex": (lambda: with_coef(np.zeros(4, complex)), r"its coef_ is of complex128"),
    "objects": (lambda: with_coef(np.array([1, "a", 2, 3], object)), r"its coef_ is of object"),
    "shape": (lambda: with_coef(np.zeros(5)), r"its coef_ has shape \(5,\), expected one number for each of 4"),
    "another version": (lambda: without("scale_"), r"it has no scale_, which this reads: another version"),
    "own class": (lambda: OwnRidge().fit(X, Y), r"is of the module test_sklearn_refusals, not of scikit-learn"),
    "kernel": (lambda: SVC(kernel=lambda a, b: a @ b.T).fit(X, Y), r"kernel=<lambda> is not supported; 'linear' and"),
    "function": (
        lambda: make_pipeline(FunctionTransformer(lambda x: x + 1), Ridge()).fit(X, Y),
        r"its function <lambda> is not one of NumPy's",
    ),
    "clip": (lambda: MinMaxScaler(clip=True).fit(X), r"clip=True compares encrypted numbers; set_params\(clip=False\)"),
    "hard votes": (
        lambda: VotingClassifier([("a", GaussianNB()), ("b", GaussianNB())]).fit(X, Y), r'fit it with voting="soft"'
    ),
    "binarize": (lambda: BernoulliNB().fit(X, Y), r"binarize=0.0 compares encrypted numbers; .*binarize=None"),
    "isotonic": (
        lambda: CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=2).fit(X, Y), r'fit it with method="sigmoid"'
    ),
    "neighbours": (lambda: KNeighborsClassifier().fit(X, Y), r"training samples would be the server's program"),
    "no step": (lambda: make_pipeline(QuantileTransformer(n_quantiles=5)).fit(X), r"compares with many thresholds.*before encryption"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_its_reason(name: str) -> None:
    make, said = REFUSED[name]
    with pytest.raises(UnsupportedError, match=said):
        lw.from_sklearn(make())


def test_all_steps_at_once_with_their_places() -> None:
    prepared = ColumnTransformer([("q", QuantileTransformer(n_quantiles=5), [0]), ("s", StandardScaler(), [1, 2])])
    fitted = make_pipeline(prepared, MinMaxScaler(clip=True), KNeighborsClassifier()).fit(X, Y)
    with pytest.raises(UnsupportedError) as caught:
        lw.from_sklearn(fitted)
    said = str(caught.value)
    assert "3 operators" in said and "Pipeline.1.ColumnTransformer:1: QuantileTransformer (step 1 (q) of Col" in said
    assert "Pipeline:2: MinMaxScaler" in said and "Pipeline:3: KNeighborsClassifier (step 3 (kneighbors" in said


def test_methods_that_are_not_there() -> None:
    with pytest.raises(UnsupportedError, match="its predict_proba cannot be imported; take predict or decision_fun"):
        lw.from_sklearn(SVC().fit(X, Y), "predict_proba")
    with pytest.raises(UnsupportedError, match=r"loss='hinge' is not supported; 'log_loss' .*decision_function"):
        lw.from_sklearn(SGDClassifier().fit(X, Y), "predict_proba")


@pytest.mark.parametrize("given", [Ridge, 3, "model", None])
def test_what_is_no_estimator(given: Any) -> None:
    with pytest.raises(UserError, match="is no fitted estimator"):
        lw.from_sklearn(given)


def test_rows_are_counted() -> None:
    with pytest.raises(UserError, match="rows=0"):
        lw.from_sklearn(Ridge().fit(X, Y), rows=0)


def test_classifiers_of_one_class() -> None:
    """Their results have other shapes than those of several classes, and nothing depends on a row."""
    ones = np.ones(len(X), int)
    for estimator in (
        RidgeClassifier(),
        MLPClassifier((2,), max_iter=1),
        OneVsRestClassifier(LogisticRegression()),
        RandomForestClassifier(1),
    ):
        with pytest.warns() if isinstance(estimator, MLPClassifier | OneVsRestClassifier) else nullcontext():
            estimator.fit(X, ones)
        trees = {"trees": "sign", "samples": X, "gap": 0.01} if isinstance(estimator, RandomForestClassifier) else {}
        with pytest.raises(UnsupportedError, match="one class only"):
            lw.from_sklearn(estimator, **trees)


@pytest.mark.filterwarnings("ignore:compile. without calibrate=")
def test_trees_say_at_once_all_that_they_take():
    """What the first message says is enough: each call, as it is written, compiles."""
    rows, forest = X, RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y)
    with pytest.raises(UnsupportedError, match="two ways to") as caught:
        lw.from_sklearn(forest)
    by_signs, exact = str(caught.value).split("; or, of trees alone, ")
    assert 'trees="sign", samples=rows' in by_signs and 'trees="exact", samples=rows' in exact
    program = lw.from_sklearn(forest, trees="sign", samples=rows)
    assert "calibrate=rows[program.keeps_apart(rows)], precision_bits=8" in by_signs
    model = lw.compile(program, calibrate=rows[program.keeps_apart(rows)], precision_bits=8, progress=False)
    assert np.array_equal(model.simulate(rows[::25])[0], forest.predict(rows[::25]))
    circuit = lw.from_sklearn(forest, trees="exact", samples=rows)
    assert 'scheme="bfv" to encrypt circuit.encoded(rows)' in exact and circuit.encoded(rows).ndim == 3
    program = lw.from_sklearn(forest, trees="sign", samples=rows, gap=0.2)
    assert not program.keeps_apart(rows).all()
    for options in ({}, {"calibrate": rows}):
        with pytest.raises(RangeError, match=r"give calibrate=rows\[program.keeps_apart\(rows\)\]"):
            lw.compile(program, progress=False, **options)


def test_exact_trees_in_a_pipeline_are_not_asked_to_be_chosen():
    piped = make_pipeline(StandardScaler(), RandomForestClassifier(2, max_depth=2, random_state=0)).fit(X, Y)
    with pytest.raises(UnsupportedError, match="takes trees alone.*import the trees by themselves") as caught:
        lw.from_sklearn(piped, trees="exact", samples=X)
    assert "two ways to" not in str(caught.value)
