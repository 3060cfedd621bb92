"""What a program changes in place is its own: the caller's weights stay as they are, and so does what they mean."""

import numpy as np
import pytest
import torch

import latticework as lw

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, 4)
DATA = RNG.uniform(-1, 1, (20, 4))
SMALL = {"ring_degree": 1024, "insecure": True, "precision_bits": 6}


@lw.program
def scaled(x: lw.Secret[4], w):
    w += 1
    return x * w


@lw.program
def by_default(x: lw.Secret[4], w=np.ones(4)):  # noqa: B008
    w += 1
    return x * w


@lw.program
def of_list(x: lw.Secret[4], weights):
    weights[0] += 1
    weights.append(0)
    return x * weights[0]


@lw.program
def of_table(x: lw.Secret[4], n: lw.Index, w):
    w *= 2
    return lw.for_loop(n, lambda j, a: a + w[j], x, at_most=3)


@lw.circuit
def circuit(a: lw.vector(4), w):
    w += 1
    return a * w


def frozen(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "make",
    [lambda: np.ones(4), lambda: np.ones(4, np.float32), lambda: frozen(np.ones(4)), lambda: torch.ones(4)],
    ids=["float64", "float32", "frozen", "tensor"],
)
def test_weights_of_a_program_stay_as_they_are(make):
    w = make()
    model = lw.compile(scaled, weights=(w,), calibrate=DATA, **SMALL)
    for _ in range(2):
        np.testing.assert_allclose(model.plaintext(X)[0], 2 * X)
        if not torch.is_tensor(w):
            np.testing.assert_allclose(scaled(X, w), 2 * X)
    assert model.accuracy(DATA[:8], encrypted=1, progress=False)
    assert np.array_equal(np.asarray(w), np.ones(4))


def test_defaults_lists_and_tables_stay_as_they_are():
    for _ in range(2):
        np.testing.assert_allclose(by_default(X), 2 * X)
    assert np.allclose(lw.compile(by_default, calibrate=DATA, **SMALL).plaintext(X)[0], 2 * X)
    several = [np.ones(4)]
    for _ in range(2):
        np.testing.assert_allclose(of_list(X, several), 2 * X)
    assert np.allclose(
        lw.compile(of_list, weights={"weights": several}, calibrate=DATA, **SMALL).plaintext(X)[0], 2 * X
    )
    assert len(several) == 1 and np.array_equal(several[0], np.ones(4))
    table = np.ones((3, 4))
    model = lw.compile(of_table, weights=(table,), calibrate={"x": DATA, "n": 3}, **SMALL)
    np.testing.assert_allclose(model.plaintext(X, 2)[0], X + 4)
    np.testing.assert_allclose(of_table(X, 2, table), X + 4)
    assert np.array_equal(table, np.ones((3, 4)))


def test_weights_of_a_circuit_stay_as_they_are():
    w, a = np.ones(4), np.arange(4.0)
    model = lw.compile(circuit, weights=(w,), calibrate=a, **SMALL)
    for _ in range(2):
        np.testing.assert_allclose(circuit(a, w), 2 * a)
        np.testing.assert_allclose(model.plaintext(a), 2 * a)
    assert np.array_equal(w, np.ones(4)) and np.array_equal(a, np.arange(4.0))


def test_a_function_that_changes_its_argument_changes_no_other_value():
    def doubled(v):
        v *= 2
        return v

    function, x = lw.approximate(doubled, degree=2), X.copy()

    @lw.program
    def both(x: lw.Secret[4]):
        return function(x) + x

    data = DATA.copy()
    np.testing.assert_allclose(both(x), 3 * X)
    model = lw.compile(both, calibrate=data, **SMALL)
    np.testing.assert_allclose(model.plaintext(x)[0], 3 * X, atol=1e-3)
    assert np.array_equal(x, X) and np.array_equal(data, DATA)
