"""Polynomial approximation: against the angle form of Chebyshev polynomials, known errors, and erf by series."""

import math

import numpy as np
import pytest

from latticework.errors import RangeError
from latticework.functions.approximation.chebyshev import fit, interpolate, max_error, to_chebyshev
from latticework.functions.approximation.curve import Curve
from latticework.functions.approximation.minimax import minimax
from latticework.functions.approximation.real_functions import FUNCTIONS
from latticework.functions.definitions import gelu, relu, sigmoid
from latticework.values.packing.packed_constants import IntervalPolynomial


def by_angles(polynomial, x):
    lo, hi = polynomial.interval
    angle = np.arccos(np.clip((2 * x - lo - hi) / (hi - lo), -1, 1))
    return sum(c * np.cos(k * angle) for k, c in enumerate(polynomial.coefficients))


@pytest.mark.parametrize("degree", [1, 2, 5, 16])
def test_interpolation_meets_the_function_at_the_chebyshev_points(degree):
    polynomial = interpolate(np.exp, (-1.5, 3.0), degree)
    t = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    points = 0.75 + 2.25 * t
    assert polynomial.degree == degree
    np.testing.assert_allclose(polynomial(points), np.exp(points), rtol=1e-13)
    np.testing.assert_allclose(by_angles(polynomial, points), np.exp(points), rtol=1e-12)


def test_polynomials_are_reproduced_exactly():
    def cubic(x):
        return 1.0 - 2.0 * x + 0.5 * x**3

    for approximate in (interpolate, fit):
        assert max_error(approximate(cubic, (-2.0, 5.0), 3), cubic) < 1e-12


def test_error_of_exp_falls_as_the_remainder_bound():
    for degree in range(2, 12):
        bound = math.e / (2**degree * math.factorial(degree + 1))
        error = max_error(interpolate(np.exp, (-1.0, 1.0), degree), np.exp)
        assert bound / 20 < error < bound


def test_max_error_sees_a_kink_at_zero():
    line = IntervalPolynomial((0.5, 0.5), (-1.0, 1.0))  # (1 + t) / 2, which is 1/2 at the kink of relu
    assert max_error(line, relu) == pytest.approx(0.5, abs=1e-15)
    skewed = IntervalPolynomial((0.4,), (-math.pi, 0.1))
    assert max_error(skewed, relu) == pytest.approx(0.4, abs=1e-15)


def test_power_basis_converts_to_chebyshev():
    power = IntervalPolynomial((1.0, -3.0, 0.0, 2.0), (-1.0, 1.0), "power")
    x = np.linspace(-4.0, 7.0, 101)
    converted = to_chebyshev(power, (-4.0, 7.0))
    assert converted.basis == "chebyshev" and converted.interval == (-4.0, 7.0)
    np.testing.assert_allclose(by_angles(converted, x), 1 - 3 * x + 2 * x**3, atol=1e-11)
    moved = to_chebyshev(converted, (-1.0, 2.0))
    inside = x[(x >= -1.0) & (x <= 2.0)]
    np.testing.assert_allclose(by_angles(moved, inside), 1 - 3 * inside + 2 * inside**3, atol=1e-11)


def test_odd_and_even_functions_keep_exact_zeros():
    odd = FUNCTIONS["tanh"].approximate((-4.0, 4.0), 11)
    assert all(c == 0.0 for c in odd.coefficients[::2])
    rectifier = FUNCTIONS["relu"].approximate((-4.0, 4.0), 15)
    assert all(c == 0.0 for c in rectifier.coefficients[3::2])  # relu = x/2 + |x|/2


def test_relu_fitted_to_data_beats_interpolation():
    samples = np.random.default_rng(5).normal(size=4000)
    interval = (-4.5, 4.5)
    plain, fitted = interpolate(relu, interval, 15), fit(relu, interval, 15, samples)

    def rms(polynomial):
        return float(np.sqrt(np.mean((polynomial(samples) - relu(samples)) ** 2)))

    assert rms(fitted) < 0.7 * rms(plain)
    assert max_error(fitted, relu) < max_error(plain, relu)


def test_fit_ignores_samples_outside_the_interval_but_stays_bounded():
    fitted = fit(relu, (-1.0, 1.0), 7, np.array([50.0, -50.0]))
    assert max_error(fitted, relu) < 0.2


@pytest.mark.parametrize("name", ["exp", "gelu", "relu", "sigmoid", "tanh"])
@pytest.mark.parametrize("interval", [(-4.0, 4.0), (-3.0, 7.0), (-9.0, 2.0)])
@pytest.mark.parametrize("degree", [1, 4, 7, 16])
def test_the_largest_error_is_nearly_the_least_possible(name, interval, degree):
    """By de la Vallee Poussin: no polynomial is closer than the least of degree + 2 errors of alternating sign."""
    function = FUNCTIONS[name].reference
    polynomial = minimax(function, interval, degree)
    assert polynomial.degree <= degree and polynomial.interval == interval
    x = np.union1d(np.linspace(*interval, 200_001), [0.0])
    errors = function(x) - polynomial(x)
    ends = np.flatnonzero(np.diff(errors >= 0.0)) + 1
    peaks = np.array([np.max(np.abs(run)) for run in np.split(errors, ends)])
    runs = [peaks[i : i + degree + 2] for i in range(len(peaks) - degree - 1)]  # neighbours alternate
    assert np.max(np.abs(errors)) <= 1.05 * max(np.min(run) for run in runs)
    assert max_error(polynomial, function) == pytest.approx(np.max(np.abs(errors)), rel=1e-3)


def test_kinks_anywhere_are_seen():
    for kink in (0.123456, -2.7182):
        line = IntervalPolynomial((0.0,), (-3.0, 1.0))
        assert max_error(line, lambda x: 1.0 - np.abs(x - kink)) >= 1.0 - 1e-6
        error = max_error(minimax(lambda x: np.abs(x - kink), (-3.0, 1.0), 15), lambda x: np.abs(x - kink))
        assert error < 0.045  # 0.28 * 2 / 15 for a kink in the middle (Bernstein)


def test_errors_outside_of_a_domain_do_not_count():
    curve = Curve(FUNCTIONS["sqrt"].reference, (0.0, 4.0))
    assert 0.0 < curve.error(7) < 0.1


def test_the_lowest_degree_that_does_is_found():
    curve = Curve(sigmoid, (-8.0, 7.0))
    degree = curve.least_degree(1e-3, 1, 31)
    assert curve.error(degree) <= 1e-3 < curve.error(degree - 1)
    assert max_error(curve.polynomial(degree), sigmoid) <= curve.error(degree)


def test_references():
    x = np.array([-800.0, -2.0, 0.0, 0.5, 800.0])
    np.testing.assert_array_equal(relu(x), [0, 0, 0, 0.5, 800])
    np.testing.assert_allclose(sigmoid(x), [0, 1 / (1 + math.e**2), 0.5, 1 / (1 + math.exp(-0.5)), 1], atol=1e-16)
    erf = sum((-1) ** n * (0.5 / math.sqrt(2)) ** (2 * n + 1) / (math.factorial(n) * (2 * n + 1)) for n in range(30))
    assert gelu(np.array(0.5)) == pytest.approx(0.25 * (1 + 2 / math.sqrt(math.pi) * erf), rel=1e-14)
    np.testing.assert_allclose(gelu(x)[[0, 2, 4]], [0, 0, 800], atol=1e-15)
    assert gelu(np.zeros((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("interval", [(1.0, 1.0), (2.0, -2.0), (0.0, math.inf), (math.nan, 1.0)])
def test_intervals_are_checked(interval):
    with pytest.raises(RangeError, match="lo < hi"):
        interpolate(np.exp, interval, 3)


def test_errors_of_high_degrees_are_told_from_lower_ones():
    kinked = Curve(relu, (-2.0, 3.0), smooth=False)
    for degree in (255, 511):
        told = kinked.estimate(degree)
        assert degree not in kinked._polynomials  # which takes a second
        assert told == pytest.approx(Curve(relu, (-2.0, 3.0)).error(degree), rel=0.05)
    smooth = Curve(np.exp, (-1.0, 1.0))
    assert smooth.estimate(15) == smooth.error(15)
    assert smooth.estimate(1023) == smooth.error(15) and 1023 not in smooth._polynomials  # no better than rounding


@pytest.mark.parametrize("steps", [2, 3, 4, 5])
def test_reciprocals_are_closer_than_newtons_steps_of_the_same_degree(steps):
    """k steps from any constant are a polynomial of degree 2^k - 1, here from the constant that suits them best."""
    x = np.linspace(0.5, 4.0, 4001)
    newton = np.full_like(x, 2.0 / (0.5 + 4.0))
    for _ in range(steps):
        newton = newton * (2.0 - x * newton)
    polynomial = FUNCTIONS["reciprocal"].approximate((0.5, 4.0), 2**steps - 1)
    assert polynomial.degree == 2**steps - 1
    assert np.max(np.abs(polynomial(x) - 1.0 / x)) < np.max(np.abs(newton - 1.0 / x))


def test_functions_of_any_size_have_estimates():
    """Also where one is less than what rounding leaves of the function."""
    huge = Curve(lambda x: 1e30 * np.exp(x), (-1.0, 1.0))
    first = huge.estimate(1)
    assert first == huge.error(1) > 1e27
    assert huge.estimate(15) < first
