"""Pipelines of the suite: what they decide is scikit-learn's, in the clear and simulated."""

import warnings

import numpy as np
import pytest

import latticework as lw

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
from bench.pipelines.cases import CASES, fitted, import_case
from bench.pipelines.suite import compare

SIMULATED = ("houses, ridge", "reviews, tf-idf", "visitors, target encoding", "tickets, text and columns")


def made(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that stop early
        pipeline, known, asked = fitted(CASES[name])
        return pipeline, known, asked, import_case(CASES[name], pipeline, known)


@pytest.mark.parametrize("name", CASES)
def test_decisions_in_the_clear(name):
    pipeline, _, asked, program = made(name)
    wanted, found = getattr(pipeline, CASES[name].method)(asked[:50]), program(asked[:50])
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", SIMULATED)
def test_decisions_simulated(name):
    pipeline, known, asked, program = made(name)
    model = lw.compile(program, calibrate=known, precision_bits=14, progress=False)
    wanted = getattr(pipeline, CASES[name].method)(asked[:5])
    assert np.abs(model.simulate(asked[:5]) - wanted).max() <= 2**-12 * np.abs(wanted).max()


def test_a_row_of_the_suite():
    row = compare("titanic, logistic regression", CASES["titanic, logistic regression"], 8)
    assert row.meets and row.details["rows"] == 8 and row.details["raw columns"] == 7
    assert len(CASES) == 20
