"""HALO's seven programs: what they compute, against plain loops written apart, and what an iteration spends."""

import numpy as np
import pytest

import latticework as lw
from bench.halo.data import SAMPLES, inputs_of
from bench.halo.depths import loop_depths, vectors_of
from bench.halo.programs import PROGRAMS
from latticework.frontend import trace
from latticework.ir import interpret


def linear(x, y, n):
    w, b = 1.0, 0.0
    for _ in range(n):
        e = [w * x_i + b - y_i for x_i, y_i in zip(x, y, strict=True)]
        w, b = (
            w - 0.01 / len(x) * sum(e_i * x_i for e_i, x_i in zip(e, x, strict=True)),
            b - 0.01 / len(x) * sum(e),
        )
    return w, b


def polynomial(x, y, n):
    powers = np.vander(x, 3, increasing=True)
    w = np.ones(3)
    for _ in range(n):
        w = w - 1e-4 / len(x) * powers.T.dot(powers.dot(w) - y)
    return tuple(w)


def multivariate(x, y, n):
    w = np.array([[1.0] * 3, [1.5] * 3, [2.0] * 3])
    for _ in range(n):
        gradient = np.zeros((3, 3))
        for row, wanted in zip(x, y, strict=True):
            gradient += np.outer(row, w.T.dot(row) - wanted)
        w = w - 0.01 / len(x) * gradient
    return (w,)


def logistic(x, y, n):
    w = np.zeros(x.shape[1])
    for _ in range(n):
        p = np.array([1 / (1 + np.exp(-row.dot(w))) for row in x])
        w = w + 4.0 * np.mean((y - p)[:, None] * x, axis=0)
    return (w,)


def k_means(points, n):
    centres = points[:2].copy()
    for _ in range(n):
        nearest = np.argmin(np.linalg.norm(points[:, None] - centres, axis=2), axis=1)
        centres = np.stack([points[nearest == k].mean(axis=0) for k in range(2)])
    return tuple(centres)


def svm(x, y, w, b, n):
    for _ in range(n):
        wrong = y * (x.dot(w) - b) < 1
        pull_w, pull_b = (y[wrong, None] * x[wrong]).sum(axis=0) / len(x), y[wrong].sum() / len(x)
        w, b = w - 1e-3 * (0.02 * w - pull_w), b - 1e-3 * pull_b
    return w, b


def pca(c, outer, inner):
    assert outer >= 2 and inner >= 2, "by then it has converged"
    values, vectors = np.linalg.eigh(c)
    return values[-1], vectors[:, -1] * np.sign(vectors[:, -1].sum())


PLAIN = {"linear": linear, "polynomial": polynomial, "multivariate": multivariate, "logistic": logistic,
         "k-means": k_means, "svm": svm, "pca": pca}  # fmt: skip
# Signs and inverses are polynomials, wrong by so much in the means that are carried
WRONG = {"k-means": 2e-2, "svm": 2e-4, "pca": 2e-3}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_compute_what_plain_loops_do(name):
    found = PROGRAMS[name]
    trips = dict.fromkeys(found.trips, 4)
    inputs = inputs_of(name, min(SAMPLES[name], 150))
    got = found.as_program(run_time=True)(**inputs, **trips)
    got = got if isinstance(got, tuple) else (got,)
    for have, want in zip(got, PLAIN[name](**inputs, **trips), strict=True):
        np.testing.assert_allclose(have, want, rtol=0, atol=WRONG.get(name, 1e-12))


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_text_serves_static_and_run_time_counts(name):
    found = PROGRAMS[name]
    inputs, trips = inputs_of(name, 24), dict.fromkeys(found.trips, 2)
    traced = trace(found.as_program(run_time=True), (), inputs)
    fixed = trace(found.as_program(), trips, inputs)
    want = found.text(**inputs, **trips)
    for results in (interpret(traced, [*inputs.values(), *trips.values()]), interpret(fixed, list(inputs.values()))):
        for have, wanted in zip(results, want if isinstance(want, tuple) else (want,), strict=True):
            np.testing.assert_allclose(have, wanted, rtol=1e-9, atol=1e-12)
    counts = [op.attrs["static_trip"] for op in fixed.walk() if op.name == "loop.for"]
    assert counts and all(count == 2 for count in counts)


def test_logistic_regression_learns():
    inputs = inputs_of("logistic")
    w = PROGRAMS["logistic"].text(**inputs, n=40)
    assert np.mean((inputs["x"] @ w > 0) == inputs["y"]) > 0.95


def test_what_iterations_spend():
    (found,) = loop_depths(vectors_of("linear", inputs_of("linear", 64)))
    assert (found.nesting, found.carried, found.vectors) == (0, 2, 2)
    assert found.spent == 2
    assert isinstance(PROGRAMS["linear"].as_program(), lw.Program)


def test_a_map_of_several_vectors_adds_complex_constants_to_real_values():
    """In a plan with bootstraps constants are complex, and what comes from public numbers is not."""
    inputs, trips = inputs_of("multivariate", 16), {"n": 8}
    program = PROGRAMS["multivariate"].as_program(run_time=True)
    model = lw.compile(
        program, example=inputs, calibrate={**inputs, **trips}, precision_bits=10, bootstrap_set="T12L16", insecure=True
    )
    assert model.plan.bootstraps
    want = program(**inputs, **trips)
    (got,) = model.simulate(*inputs.values(), 8)
    np.testing.assert_allclose(got, want, atol=2.0**-10 * np.max(np.abs(want)))
