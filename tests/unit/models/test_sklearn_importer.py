"""Fitted estimators of scikit-learn as programs: what they compute, and what is refused."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import latticework as lw
from latticework.models.sklearn.table import ESTIMATORS, FAMILIES, methods

pytest.importorskip("sklearn")
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators
from sklearn_cases import CASES, TREES, data, fitted


def of_sklearn(estimator: Any, method: str, x: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(getattr(estimator, method)(x))


def offered(name: str) -> list[str]:
    return [m for m in methods(fitted(name)) if hasattr(fitted(name), m)]


def check(program: Any, estimator: Any, x: npt.NDArray[np.float64]) -> None:
    expected = of_sklearn(estimator, program.method, x)
    found = np.asarray(program(x))
    assert found.shape == expected.shape
    if program.method == "predict_log_proba":  # where 1 - p loses digits, its logarithm has none
        found, expected = np.exp(found), np.exp(expected)
    if expected.dtype.kind in "OUSib":
        assert np.array_equal(found, expected)
    else:
        assert np.abs(found - expected).max() <= 1e-9 * max(1, np.abs(expected).max())


@pytest.mark.parametrize("name", CASES)
def test_every_method_computes_what_the_estimator_does(name: str) -> None:
    x, _ = data(CASES[name][1])
    assert offered(name)
    for method in offered(name):
        check(lw.from_sklearn(fitted(name), method), fitted(name), x[::5])


@pytest.mark.parametrize("name", TREES)
def test_trees_by_signs_compute_what_the_estimator_does(name: str) -> None:
    x, _ = data(TREES[name][1])
    for method in offered(name):
        check(lw.from_sklearn(fitted(name), method, trees="sign", samples=x, gap=2**-10), fitted(name), x[::5])


@pytest.mark.filterwarnings("ignore::latticework.ApproximationWarning")  # three of 442 samples lie close to thresholds
@pytest.mark.parametrize("name", sorted(set(TREES) - {"tree-scaled", "bagged-trees"}))
def test_trees_on_digits_compute_what_the_estimator_does(name: str) -> None:
    """On rows that digits bring to the same leaves, up to the rounding of leaves."""
    x, _ = data(TREES[name][1])
    circuit = lw.from_sklearn(fitted(name), trees="exact", samples=x, digits=12)
    some = x[circuit.keeps_apart(x)][::40]
    assert circuit.keeps_apart(x).mean() > 0.9
    expected = of_sklearn(fitted(name), "predict", some)
    found = circuit.finished([circuit(row) for row in circuit.encoded(some)])
    assert found.shape == expected.shape
    if expected.dtype.kind in "OUSib":
        assert np.array_equal(found, expected)
    else:
        assert np.abs(found - expected).max() <= 1e-3 * np.abs(expected).max()


def rest() -> list[str]:
    """Estimators of the table that no case has."""
    used = {type(part).__name__ for name in CASES | TREES for part in parts(fitted(name))}
    return sorted(set(ESTIMATORS) - used)


def parts(estimator: Any) -> list[Any]:
    """An estimator and those that it is made of."""
    inner = [estimator]
    for value in vars(estimator).values():
        listed = value if isinstance(value, list) else [value]
        for one in listed:
            found = next((p for p in one if hasattr(p, "get_params")), one) if isinstance(one, tuple) else one
            if hasattr(found, "get_params"):
                inner += parts(found)
    return inner


OPTIONS = {"GaussianRandomProjection": {"n_components": 2}, "PLSCanonical": {"n_components": 1}}
AROUND_RIDGE = {"MultiOutputRegressor", "RFECV", "SequentialFeatureSelector"}  # others make their parts by themselves


def made(name: str) -> Any:
    """An estimator of scikit-learn by the name of its class, with what it is by default."""
    kind = dict(all_estimators())[name]
    if name == "GridSearchCV":
        return kind(Ridge(), {"alpha": [1, 2]}, cv=2)
    if name == "RandomizedSearchCV":
        return kind(Ridge(), {"alpha": [1, 2]}, n_iter=1, cv=2)
    return kind(Ridge()) if name in AROUND_RIDGE else kind(**OPTIONS.get(name, {}))


@pytest.mark.slow
def test_all_other_estimators_of_the_table() -> None:
    x, y = data("iris")
    of_tables = {name for entry in FAMILIES["encoders, imputers and vectorizers"] for name in entry.names}
    known = set(dict(all_estimators())) - of_tables  # those are in test_sklearn_tables.py
    names = sorted(set(rest()) & known)  # but experimental ones, that have to be enabled
    wrong = []
    for name in names:
        several = name.startswith("MultiTask") or name == "MultiOutputRegressor"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = made(name).fit(x, np.stack([y, x[:, 0]], axis=1) if several else y)
        trees = {"trees": "sign", "samples": x, "gap": 2**-12} if hasattr(estimator, "tree_") else {}
        for method in methods(estimator):
            try:
                if hasattr(estimator, method):
                    check(lw.from_sklearn(estimator, method, **trees), estimator, x[::3] - 0.1)
            except (AssertionError, lw.UserError) as error:
                wrong.append((name, method, str(error)[:200]))
    assert len(names) > 20 and not wrong


def test_columns_are_weighted_and_the_rest_passes() -> None:
    x, _ = data("iris")
    parts = [
        ("some", StandardScaler(), slice(1, 3)),
        ("one", PCA(1), [True, False, True, False]),
        ("as", "passthrough", [0]),
    ]
    for rest in ("drop", "passthrough", StandardScaler()):
        fitted = ColumnTransformer(
            parts, remainder=rest, transformer_weights={"some": 2.0, "as": 3.0, "remainder": 0.5}
        )
        fitted.fit(x)
        np.testing.assert_allclose(lw.from_sklearn(fitted)(x), fitted.transform(x), atol=1e-12)


def test_truth_stays_truth() -> None:
    x, y = data("tumours")
    fitted = LogisticRegression(solver="newton-cholesky").fit(x, y > 0)
    found = lw.from_sklearn(fitted)(x)
    assert found.dtype == bool and np.array_equal(found, fitted.predict(x))
