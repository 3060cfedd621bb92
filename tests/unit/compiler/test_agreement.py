"""Degrees of functions by `degree=`, `agreement=` and `tolerance=` of a compilation."""

import re

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

import latticework as lw
from latticework.compiler.accuracy.agreement import DegreeOptions
from latticework.compiler.accuracy.effects import with_polynomials
from latticework.compiler.accuracy.function_uses import uses_of
from latticework.compiler.accuracy.goals import SameDecisions, same_largest
from latticework.compiler.trace_arrays import to_tensors
from latticework.errors import PrecisionError, RangeError
from latticework.frontend import calibrate
from latticework.ir import interpret

RNG = np.random.default_rng(3)
W1, W2, W3 = RNG.normal(size=(4, 6)), RNG.normal(size=(6, 5)), RNG.normal(size=(5, 3))
DATA = RNG.uniform(-1, 1, (240, 4))


@lw.program
def scores(x: lw.Secret[4]):
    """Two layers."""
    return lw.relu(lw.tanh(x @ W1) @ W2) @ W3


@lw.program
def with_degrees(x: lw.Secret[4]):
    """The same, degrees written down."""
    return lw.relu(lw.tanh(x @ W1, degree=7) @ W2, degree=7) @ W3


def degrees(model):
    """By function."""
    return {a.function: a.degree for a in model.plan.approximations}


@pytest.fixture(scope="module")
def chosen():
    """By decisions."""
    return lw.compile(scores, calibrate=DATA, agreement=0.95)


def test_one_degree_for_all_is_as_if_it_were_written():
    with pytest.warns(lw.ApproximationWarning):
        made = lw.compile(scores, calibrate=DATA, degree=7)
    with pytest.warns(lw.ApproximationWarning):
        written = lw.compile(with_degrees, calibrate=DATA)
    assert degrees(made) == degrees(written) == {"tanh": 7, "relu": 7}
    assert np.allclose(made.plaintext(DATA[0]), written.plaintext(DATA[0]), rtol=0, atol=1e-12)


def test_each_function_may_be_given_its_own():
    with pytest.warns(lw.ApproximationWarning):
        made = lw.compile(scores, calibrate=DATA, degree=[7, 3])
    assert degrees(made) == {"tanh": 7, "relu": 3}
    with pytest.raises(
        RangeError,
        match=r"degree= has 3 degrees, and 2 functions of the program have none: tanh on .* at "
        r".*; relu on .*; give one for each, in this order",
    ):
        lw.compile(scores, calibrate=DATA, degree=[7, 3, 3])
    with pytest.raises(RangeError, match=r"degree=\[7, 0\]; give a whole number from 1 to 1023, or a list"):
        lw.compile(scores, calibrate=DATA, degree=[7, 0])


def test_degrees_of_the_program_stay():
    with pytest.warns(lw.ApproximationWarning):
        assert degrees(lw.compile(with_degrees, calibrate=DATA, degree=15)) == {"tanh": 7, "relu": 7}


def test_held_back_rows_agree_as_is_said(chosen):
    """Counted again, by what the plan computes without noise on every fourth row."""
    held = DATA[3::4]
    equal = sum(np.argmax(chosen.plaintext(row)) == np.argmax(scores(row)) for row in held)
    said = re.search(r"of 60 rows held back from calibration (\d+)", chosen.plan.loss)
    assert said and int(said[1]) == equal >= 0.95 * len(held)


def test_degrees_are_lower_than_those_of_precision(chosen):
    precise = lw.compile(scores, calibrate=DATA, precision_bits=5)
    assert sum(degrees(chosen).values()) < sum(degrees(precise).values())
    assert chosen.plan.chain.main.top < precise.plan.chain.main.top


def test_bound_of_results_holds_what_functions_lose(chosen):
    bound = chosen.plan.client.outputs[0].error_bound
    for row in DATA[:40]:
        assert np.max(np.abs(chosen.simulate(row, noise=True) - scores(row))) <= bound


def test_more_agreement_takes_no_lower_degrees(chosen):
    all_agree = lw.compile(scores, calibrate=DATA, agreement=1.0)
    held = DATA[3::4]
    assert all(np.argmax(all_agree.plaintext(row)) == np.argmax(scores(row)) for row in held)
    assert sum(degrees(all_agree).values()) >= sum(degrees(chosen).values())


@lw.program
def residual(x: lw.Secret[6]):
    """Twelve layers, in which errors add up and leave ranges, as those of a function alone do not tell."""
    for weights, bias in zip(LAYERS, BIASES, strict=True):
        x = lw.relu(x + (lw.relu(x @ weights[0] + bias) - 1) @ weights[1])
    return (x - 1) @ LAST


LAYERS = np.random.default_rng(4).normal(scale=0.4, size=(6, 2, 6, 6))
BIASES, LAST = np.random.default_rng(13).normal(scale=0.5, size=(6, 6)), np.random.default_rng(5).normal(size=(6, 4))


def test_degrees_by_layer_cost_less_than_the_least_that_is_the_same_for_all():
    samples = [{"x": x} for x in np.random.default_rng(5).normal(size=(160, 6))]
    asked = DegreeOptions(goal=SameDecisions(0.975, same_largest))
    seen, held = asked.hold_back(samples)
    module = calibrate(to_tensors(residual, (), None), seen)
    uses = uses_of(module)
    wanted = [np.argmax(residual(sample["x"])) for sample in held]

    def agreeing(degrees):
        made = with_polynomials(module, [u.given_curve.polynomial(d) for u, d in zip(uses, degrees, strict=True)])
        return sum(np.argmax(interpret(made, sample)[0]) == c for sample, c in zip(held, wanted, strict=True))

    chosen, agreement = asked.choose(module, seen, held)
    degrees = [use.given_degree for use in uses_of(chosen)]
    assert agreeing(degrees) == agreement.equal >= 0.975 * len(held)
    even = next(c for c in range(1, 11) if agreeing([2**c - 1] * len(uses)) >= 0.975 * len(held))
    assert sum(degree.bit_length() for degree in degrees) < even * len(uses)


def test_classes_of_a_classifier_are_compared():
    """Its owner decides; of two classes by one number."""
    x, y = load_iris(return_X_y=True)
    x, y = x[50:], y[50:]
    fitted = MLPClassifier((5,), random_state=0, max_iter=2000, solver="lbfgs").fit(x, y)
    model = lw.compile(lw.from_sklearn(fitted, "predict"), calibrate=x, agreement=1.0)
    held = x[3::4]
    found = np.concatenate([np.ravel(model.simulate(row[None], noise=True)) for row in held])
    assert np.array_equal(found, fitted.predict(held))


@lw.program
def single(x: lw.Secret[4]):
    """No decision."""
    return np.sum(lw.tanh(x))


@lw.circuit
def circuit(a, b):
    """No functions."""
    return a * b


def test_results_stay_as_near_as_was_asked():
    """On rows that were held back: counted again, by what the plan computes without noise."""
    sums = {}
    for tolerance in (0.5, 0.05):
        made = lw.compile(scores, calibrate=DATA, tolerance=tolerance)
        off = [np.max(np.abs(made.plaintext(row) - scores(row))) for row in DATA[3::4]]
        assert max(off) <= tolerance
        assert f"tolerance={tolerance:g}: of 60 rows held back from calibration the results of 60" in made.plan.loss
        bound = made.plan.client.outputs[0].error_bound
        assert all(np.max(np.abs(made.simulate(row, noise=True) - scores(row))) <= bound for row in DATA[:20])
        sums[tolerance] = sum(degrees(made).values())
    assert sums[0.5] < sums[0.05]


def test_a_single_number_has_a_tolerance():
    made = lw.compile(single, calibrate=DATA, tolerance=0.02)
    assert max(abs(made.plaintext(row) - single(row)) for row in DATA[3::4]) <= 0.02
    assert degrees(made)["tanh"] < degrees(lw.compile(single, calibrate=DATA))["tanh"]


def test_tolerance_is_in_the_unit_of_the_owner():
    """Who scales targets back, here by a thousand."""
    x = RNG.uniform(-1, 1, (200, 3))
    y = 1000 * np.tanh(x @ [1.0, 2.0, -1.0])
    network = MLPRegressor(hidden_layer_sizes=(6,), activation="tanh", solver="lbfgs", max_iter=500, random_state=0)
    fitted = TransformedTargetRegressor(network, transformer=StandardScaler()).fit(x, y)
    made = lw.compile(lw.from_sklearn(fitted), calibrate=x, tolerance=20.0)
    off = [np.max(np.abs(np.ravel(made.simulate(row[None])) - fitted.predict(row[None]))) for row in x[3::4]]
    assert 0.5 < max(off) <= 25.0


def test_decisions_have_no_tolerance():
    x, y = load_iris(return_X_y=True)
    fitted = MLPClassifier((5,), random_state=0, max_iter=2000, solver="lbfgs").fit(x, y)
    with pytest.raises(lw.UserError, match="makes decisions of .*; ask for agreement="):
        lw.compile(lw.from_sklearn(fitted, "predict"), calibrate=x, tolerance=0.1)


def test_what_no_degree_reaches_is_refused():
    with pytest.raises(PrecisionError, match="tolerance=1e-12 is not reached: .* of 60 rows"):
        lw.compile(scores, calibrate=DATA, tolerance=1e-12)


@pytest.mark.parametrize(
    ("program", "options", "told"),
    [
        (scores, {"agreement": 0.99}, "agreement= is measured on calibration samples"),
        (scores, {"agreement": 0.99, "calibrate": DATA[:5]}, "has 5; give at least 8"),
        (scores, {"agreement": 1.2, "calibrate": DATA}, "agreement=1.2; give a share from 0.5 to 1"),
        (scores, {"agreement": 0.9, "degree": 7, "calibrate": DATA}, "of degree= and agreement= leave all but one out"),
        (scores, {"degree": 0, "calibrate": DATA}, "degree=0; give a whole number from 1 to 1023"),
        (scores, {"degree": True, "calibrate": DATA}, "degree=True; give a whole number"),
        (single, {"agreement": 0.9, "calibrate": DATA}, "the first output is a single number a row"),
        (scores, {"tolerance": 0.0, "calibrate": DATA}, "tolerance=0.0; give the largest error"),
        (scores, {"tolerance": np.nan, "calibrate": DATA}, "tolerance=nan; give the largest error"),
        (scores, {"tolerance": 0.1}, "tolerance= is measured on calibration samples"),
        (
            scores,
            {"tolerance": 0.1, "agreement": 0.9, "calibrate": DATA},
            "of agreement= and tolerance= leave all but one",
        ),
        (circuit, {"degree": 7}, "is for programs on arrays; circuit is a circuit"),
    ],
)
def test_what_cannot_be_asked_is_refused(program, options, told):
    with pytest.raises(lw.UserError, match=re.escape(told)):
        lw.compile(program, **options)
