"""Fitted estimators of scikit-learn as programs: what they compute, and what is refused."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import latticework as lw
from latticework.importers.sklearn_door.table import methods

pytest.importorskip("sklearn")
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
