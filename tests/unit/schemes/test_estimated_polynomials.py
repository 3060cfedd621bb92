"""ckks.Estimator on polynomials, against ciphertexts: the deviation within 2 times, and peaks and worst cases as bounds."""

from functools import cache

import numpy as np
import pytest

from latticework import ckks

RNG = np.random.default_rng(5)


@cache
def world(log2_degree, scale_bits=40, levels=9):
    """INSECURE parameters, an encryptor, an evaluator, a decryptor and an estimator."""
    p = ckks.Parameters(
        1 << log2_degree, [scale_bits + 6] + [scale_bits] * levels, scale_bits=scale_bits, insecure=True
    )
    maker = ckks.KeyGenerator(p)
    run = ckks.Evaluator(p, maker.evaluation_keys())
    return (
        ckks.Encryptor(p, maker.public_key(), evaluator=run), run, ckks.Decryptor(p, maker.secret_key()),
        ckks.Estimator(p),
    )  # fmt: skip


def bounded(degree, seed=0):
    """A Chebyshev series with random coefficients whose values stay within 1."""
    coefficients = np.random.default_rng(seed).normal(size=degree + 1)
    x = np.cos(np.linspace(0, np.pi, 8 * degree + 1))
    size = np.max(np.abs(np.polynomial.chebyshev.chebval(x, coefficients)))
    return ckks.Polynomial(coefficients / (1.01 * size), basis="chebyshev")


def check(w, x, polynomials, *, times=2.0, peak=None):
    """Encrypt x, evaluate polynomials one after the other, and compare with what was estimated."""
    encryptor, run, decryptor, estimator = w
    slots = w[3].parameters.slots
    c, e = encryptor.encrypt(x), estimator.fresh(peak or np.max(np.abs(x)), np.sqrt(np.mean(x**2)), slots=slots)
    exact = x
    for polynomial in polynomials:
        c, e, exact = run.polynomial(c, polynomial), estimator.polynomial(e, polynomial), polynomial(exact)
    off = decryptor.decrypt(c).real - exact
    assert 1 / times <= e.bound.average / off.std() <= times, (e.bound.average, off.std())
    assert np.max(np.abs(off)) <= e.bound.worst
    assert np.max(np.abs(exact)) <= e.bound.peak * (1 + 1e-9)
    assert (e.level, e.slots) == (c.level, c.slots) and e.scale == pytest.approx(c.scale)
    return e.bound


FUNCTIONS = {
    "sin": lambda v: np.sin(3 * v),
    "exp": np.exp,
    "sigmoid": lambda v: 1 / (1 + np.exp(-4 * v)),
    "tanh": lambda v: np.tanh(3 * v),
}


@pytest.mark.parametrize("degree", [3, 7, 15, 31, 63, 127])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_series_of_functions(name, degree):
    w = world(11)
    bound = check(w, RNG.uniform(-1, 1, 1024), [ckks.chebyshev(FUNCTIONS[name], (-1, 1), degree=degree)], peak=1.0)
    assert bound.peak < 4.1 and bound.worst < 1e-3  # as the values are, and not as the coefficients


@pytest.mark.parametrize("degree", [3, 5, 12, 31, 63, 100, 127])
def test_series_with_random_coefficients(degree):
    bound = check(world(11), RNG.uniform(-1, 1, 1024), [bounded(degree, degree)], peak=1.0)
    assert bound.peak <= 1.0


@pytest.mark.parametrize(("log2_degree", "scale_bits"), [(10, 40), (12, 35), (13, 45)])
def test_rings_and_scales(log2_degree, scale_bits):
    w = world(log2_degree, scale_bits)
    x = RNG.uniform(-1, 1, 1 << (log2_degree - 1))
    check(w, x, [ckks.chebyshev(FUNCTIONS["sin"], (-1, 1), degree=31)])


@pytest.mark.parametrize(
    ("first", "second"), [("sin", "exp"), ("tanh", "sin"), ("sigmoid", "tanh")], ids=lambda name: name
)
def test_two_in_a_row(first, second):
    pair = [ckks.chebyshev(FUNCTIONS[first], (-1, 1), degree=15), ckks.chebyshev(FUNCTIONS[second], (-1, 1), degree=15)]
    bound = check(world(11), RNG.uniform(-1, 1, 1024), pair)
    assert bound.peak < 2.8


def test_random_series_one_after_the_other():
    check(world(11), RNG.uniform(-1, 1, 1024), [bounded(15, 1), bounded(15, 2)], times=3.0)


@pytest.mark.parametrize("degree", [2, 5, 9, 15])
def test_powers_of_x(degree):
    """Coefficients of powers, of which those of 2 T_degree / 3 are far larger than its values."""
    unit = np.polynomial.chebyshev.cheb2poly([0.1] + [0.0] * (degree - 1) + [2 / 3])
    check(world(11), RNG.uniform(-1, 1, 1024), [ckks.Polynomial(unit)])


@pytest.mark.parametrize(("interval", "degree"), [((-8, 8), 15), ((0, 4), 15), ((-3, 1), 7)])
def test_other_intervals(interval, degree):
    x = RNG.uniform(*interval, 1024)
    polynomial = ckks.chebyshev(lambda v: 1 / (1 + np.exp(-v)), interval, degree=degree)
    check(world(11), x, [polynomial], peak=max(map(abs, interval)), times=2.5)


@pytest.mark.parametrize(
    "x",
    [np.full(1024, 0.8), RNG.choice([-1.0, 1.0], 1024), 0.1 * RNG.normal(size=1024).clip(-9, 9)],
    ids=["0.8", "sign", "normal"],
)
def test_vectors_of_other_distributions(x):
    check(world(11), x, [ckks.chebyshev(FUNCTIONS["tanh"], (-1, 1), degree=31)], times=3.0)


def test_arguments_beyond_the_interval_count():
    """There a series grows without end, and the peak says so."""
    estimator, wave = world(11)[3], bounded(31)
    inside, outside = (estimator.polynomial(estimator.fresh(peak), wave).bound for peak in (1.0, 1.2))
    assert inside.peak <= 1.0 < outside.peak and outside.average > inside.average
    assert outside.peak >= abs(float(wave(1.2))) * (1 - 1e-9)
