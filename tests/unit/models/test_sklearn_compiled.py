"""Imported estimators compiled: simulated, encrypted, and in the place of scikit-learn's own on raw data."""

import copy
import warnings

import numpy as np
import pytest

import latticework as lw
from latticework.models.sklearn import SklearnProgram
from latticework.plan.client_steps.run_steps import finish
from latticework.plan.client_steps.step import Array, Bounded

pytest.importorskip("sklearn")
from sklearn.linear_model import LogisticRegression
from sklearn_cases import CASES, TREES, data, fitted

QUICK = ("logistic-named", "svc-rbf-many", "qda", "gaussian-nb", "polynomial-ridge", "columns", "voting", "calibrated")
ENCRYPTED = ("logistic-raw", "gaussian-nb", "mixture-full", "svc-poly")
FEW_BITS = {"mlp": 6, "normalizer-l1": 6}  # of functions with a kink


def as_decrypted(program: SklearnProgram) -> SklearnProgram:
    """The same program without the steps of the owner."""
    raw = copy.copy(program)
    raw.owner = None
    return raw


def finished(program: SklearnProgram, values: Array, error: float) -> Bounded:
    """What the owner makes of values that are each off by at most so much."""
    if program.owner is None or not program.owner.after:
        return Bounded.within(values, error)
    return finish(program.owner.after[0], values, error)


def check_simulated(name: str, method: str | None = None) -> None:
    """Values within 2^-precision_bits of the largest; scikit-learn's results where that leaves no doubt."""
    estimator, (x, _) = fitted(name), data(CASES[name][1])
    bits = FEW_BITS.get(name, 12)
    program = lw.from_sklearn(estimator, method)
    raw = as_decrypted(program)
    model = lw.compile(raw, calibrate=x, precision_bits=bits)
    some = x[:: max(1, len(x) // 20)]
    found = model.simulate(some, noise=np.random.default_rng(0))
    found = found[0] if isinstance(found, list) else found
    band = 2.0**-bits * np.abs(raw(x)).max()
    assert np.abs(found - raw(some)).max() <= band
    made, expected = finished(program, found, band), getattr(estimator, program.method)(some)
    if made.certain is not None:
        assert made.certain.any() and np.array_equal(made.value[made.certain], expected[made.certain])
    else:
        assert np.all((made.low <= expected + 1e-9) & (expected - 1e-9 <= made.high))


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
    assert got.is_certain.all() and got.reveal() == fitted(name).predict(x[7:8])
    assert np.all(np.abs(got.numbers.reveal() - as_decrypted(program)(x[7:8])) <= got.numbers.error_bound)


def test_raw_columns_of_unlike_scales_keep_their_bits() -> None:
    """Thirty columns between 0.001 and 4000: probabilities within 2^-10 of scikit-learn's."""
    x, y = data("tumours")
    estimator = LogisticRegression(solver="newton-cholesky").fit(x, y)
    program = lw.from_sklearn(estimator, "predict_proba", rows=16)
    model = lw.compile(program, calibrate=x, precision_bits=16)
    (found,) = model.simulate(x, noise=np.random.default_rng(1))
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
    program = lw.from_sklearn(fitted(name), trees="sign", samples=x, gap=GAPS.get(name), mark=False)
    assert "right for rows whose features keep" in program.notes[0]
    raw = as_decrypted(program)
    with warnings.catch_warnings():  # columns are not scaled here: those that are narrower than others may be left
        warnings.simplefilter("ignore", lw.ApproximationWarning)
        model = lw.compile(raw, calibrate=x[program.keeps_apart(x)], precision_bits=bits)
    right = x[program.keeps_apart(x, everywhere=False)][::10]
    (found,) = model.simulate(right, noise=np.random.default_rng(0))
    band = 2.0**-bits * np.abs(raw(x)).max()
    assert len(right) > 5 and np.abs(found - raw(right)).max() <= band
    made, expected = finished(program, found, band), fitted(name).predict(right)
    if made.certain is not None:
        assert np.array_equal(made.value[made.certain], expected[made.certain])


def test_trees_by_signs() -> None:
    check_trees("tree")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(TREES) - {"tree"}))
def test_trees_by_signs_all(name: str) -> None:
    check_trees(name)
