"""Pipelines of scikit-learn by chance: the same by scikit-learn, imported in NumPy, and simulated."""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import latticework as lw
from latticework.errors import UnsupportedError
from latticework.plan.client_steps.run_steps import finish

pytest.importorskip("sklearn")
from sklearn_pipelines import FittedPipeline, methods_of, pipelines


def check_imported(fitted: FittedPipeline) -> None:
    """Equal to 1e-9 of the largest number, and equal classes but where two are as near as that."""
    for method in methods_of(fitted):
        try:
            program = lw.from_sklearn(fitted.pipeline, method)
        except UnsupportedError as error:
            assert "cannot be imported" in str(error)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(fitted.pipeline, method)(fitted.rows)
        found = np.asarray(program(fitted.rows))
        assert found.shape == expected.shape
        if expected.dtype.kind == "f":
            assert np.abs(found - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())
        else:
            assert np.array_equal(found, expected)


def check_simulated(fitted: FittedPipeline, bits: int = 8) -> None:
    """Within 2^-bits of the largest value; decisions that errors of this size cannot change are scikit-learn's."""
    program = lw.from_sklearn(fitted.pipeline)
    raw = copy.copy(program)
    raw.owner = None
    model = lw.compile(raw, calibrate=fitted.rows, precision_bits=bits)
    some = fitted.rows[::6]
    found = model.simulate(some, noise=np.random.default_rng(0))
    found = found[0] if isinstance(found, list) else found
    band = 2.0**-bits * np.abs(raw(fitted.rows)).max()
    assert np.abs(found - raw(some)).max() <= band
    if program.owner is not None:
        made = finish(program.owner.after[0], found, band)
        assert np.array_equal(made.value[made.certain], fitted.pipeline.predict(some)[made.certain])


@given(pipelines())
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_imported_as_fitted(fitted: FittedPipeline) -> None:
    check_imported(fitted)


@pytest.mark.slow
@given(pipelines())
@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_imported_as_fitted_many(fitted: FittedPipeline) -> None:
    check_imported(fitted)


@given(pipelines())
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_simulated_as_fitted(fitted: FittedPipeline) -> None:
    check_simulated(fitted)


@pytest.mark.slow
@given(pipelines())
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_simulated_as_fitted_many(fitted: FittedPipeline) -> None:
    check_simulated(fitted)
