"""Imported estimators compiled: simulated, encrypted, and in the place of scikit-learn's own on raw data."""

import numpy as np
import pytest

import latticework as lw

pytest.importorskip("sklearn")
from sklearn.linear_model import LogisticRegression
from sklearn_cases import CASES, TREES, data, fitted

QUICK = ("logistic-named", "svc-rbf-many", "qda", "gaussian-nb", "polynomial-ridge", "columns", "voting", "calibrated")
ENCRYPTED = ("logistic-raw", "gaussian-nb", "mixture-full", "svc-poly")
FEW_BITS = {"mlp": 6, "normalizer-l1": 6}  # of functions with a kink


def check_simulated(name: str, method: str | None = None) -> None:
    """Values within 2^-precision_bits of the largest; what is finished from them as exact values give it."""
    estimator, (x, _) = fitted(name), data(CASES[name][1])
    bits = FEW_BITS.get(name, 12)
    program = lw.from_sklearn(estimator, method)
    model = lw.compile(program, calibrate=x, precision_bits=bits)
    some = x[:: max(1, len(x) // 20)]
    found = model.simulate(some, noise=np.random.default_rng(0))[0]
    exact = program(some)
    band = 2.0**-bits * np.abs(program(x)).max()
    assert np.abs(found - exact).max() <= band
    ends = [program.finished(exact + sign * band) for sign in (-1, 1)]
    settled = np.all(ends[0] == ends[1], axis=tuple(range(1, ends[0].ndim)))
    if ends[0].dtype.kind in "OUSi" and found.ndim == 1:  # one score a row: outside of the band labels are equal
        assert np.array_equal(program.finished(found)[settled], getattr(estimator, program.method)(some)[settled])


@pytest.mark.parametrize("name", QUICK)
def test_simulated(name: str) -> None:
    check_simulated(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(CASES) - set(QUICK)))
def test_simulated_all(name: str) -> None:
    check_simulated(name)


@pytest.mark.parametrize("name", ENCRYPTED)
def test_encrypted(name: str) -> None:
    x, _ = data(CASES[name][1])
    program = lw.from_sklearn(fitted(name))
    model = lw.compile(program, calibrate=x, ring_degree=4096, insecure=True)
    client = model.client()
    got = client.decrypt(model.server(client.keygen().public())(client.encrypt(x[7:8])))
    assert np.all(np.abs(got.reveal() - program(x[7:8])) <= got.error_bound)
    assert np.array_equal(program.finished(got.reveal()), fitted(name).predict(x[7:8]))


def test_raw_columns_of_unlike_scales_keep_their_bits() -> None:
    """Thirty columns between 0.001 and 4000: probabilities within 2^-10 of scikit-learn's."""
    x, y = data("tumours")
    estimator = LogisticRegression(solver="newton-cholesky").fit(x, y)
    program = lw.from_sklearn(estimator, "predict_proba", rows=16)
    model = lw.compile(program, calibrate=x, precision_bits=16)
    found = program.finished(model.simulate(x, noise=np.random.default_rng(1))[0])
    assert np.abs(found - estimator.predict_proba(x)).max() < 2**-10


def test_affine_steps_are_one_operation() -> None:
    for name in ("ridge-scaled", "logistic-cv", "lda-reducer", "columns", "union", "imputer"):
        assert [node.operator for node in lw.from_sklearn(fitted(name)).graph.nodes] == ["linear"], name


def test_places_are_steps() -> None:
    x, _ = data("tumours")
    report = lw.compile(lw.from_sklearn(fitted("svc-rbf")), calibrate=x).report()
    assert {line.where for line in report.execution.lines} == {"Pipeline:1", "Pipeline:2"}


GAPS = {"forest": 2**-8, "forest-regressor": 2**-8, "histogram-two": 2**-8, "histogram-regressor": 2**-7}


def check_trees(name: str, bits: int = 8) -> None:
    """Rows that keep the gap on their own paths are right, whatever other thresholds they come close to."""
    x, _ = data(TREES[name][1])
    program = lw.from_sklearn(fitted(name), trees="sign", samples=x, gap=GAPS.get(name))
    assert "right for rows whose features keep" in program.notes[0]
    model = lw.compile(program, calibrate=x[program.keeps_apart(x)], precision_bits=bits)
    right = x[program.keeps_apart(x, everywhere=False)][::10]
    found, exact = model.simulate(right, noise=np.random.default_rng(0))[0], program(right)
    assert len(right) > 5 and np.abs(found - exact).max() <= 2.0**-bits * np.abs(program(x)).max()
    if exact.ndim == 2:  # scores of several classes: equal ones may be told apart either way
        two = np.sort(exact, axis=1)[:, -2:]
        clear = two[:, 1] - two[:, 0] > 2.0 ** (1 - bits)
        assert np.array_equal(program.finished(found)[clear], fitted(name).predict(right)[clear])


def test_trees_by_signs() -> None:
    check_trees("tree")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(TREES) - {"tree"}))
def test_trees_by_signs_all(name: str) -> None:
    check_trees(name)
