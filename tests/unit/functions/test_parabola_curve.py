"""Parabolas by channel: the nearest ones with a vertex near the range, as far from the function as they say."""

import numpy as np
import pytest

from latticework.functions.approximation.channel_samples import channel_samples
from latticework.functions.approximation.curve import Curve
from latticework.functions.approximation.parabola_curve import NEAR, ParabolaCurve, _fit_near
from latticework.functions.approximation.real_functions import FUNCTIONS
from latticework.values.packing.channel_square import Parabolas
from latticework.values.packing.packed_constants import ChannelPolynomial

RNG = np.random.default_rng(5)
# Arguments of units by what they do: never on, always on, as often on as off, on for one sample, almost always on,
# always one number, 0 alone, of a tiny range, of a huge one.
UNITS = np.stack([
    RNG.uniform(-9.0, -2.0, 200),
    RNG.uniform(2.0, 9.0, 200),
    RNG.normal(size=200),
    np.append(RNG.uniform(-1.0, -0.1, 199), 1e-3),
    np.append(RNG.uniform(0.1, 1.0, 199), -1e-3),
    np.full(200, 0.5),
    np.zeros(200),
    RNG.uniform(1.0, 1.0 + 1e-9, 200),
    RNG.uniform(-1e4, 1e4, 200),
])  # fmt: skip
NAMES = ("relu", "sigmoid", "tanh", "absolute", "gelu", "exp")


def curve_of(name, units):
    """Of a function, on units (units, samples)."""
    count = len(units)
    seen = channel_samples(
        -1, units.min(axis=1), units.max(axis=1), units.T.ravel(), np.tile(np.arange(count), units.shape[1])
    )
    low, high = units.min(), units.max()
    slack = 0.1 * ((high - low) or 1.0)
    function = FUNCTIONS[name]
    return ParabolaCurve(Curve(function.finite, (low - slack, high + slack), smooth=function.smooth), seen)


def small_enough(name, units):
    """Units whose values are finite."""
    return units if name != "exp" else np.clip(units, -20.0, 20.0)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_as_far_from_the_function_as_is_said(name):
    units = small_enough(name, UNITS)
    made = curve_of(name, units).polynomial(2)
    assert isinstance(made, Parabolas)
    low, high = made.ends()
    x = np.linspace(low, high, 3001)
    off = np.max(np.abs(made(x) - FUNCTIONS[name].reference(x)), axis=0)
    assert np.all(off <= np.array(made.errors))
    assert np.all(np.array(made.errors) <= 1.05 * off + 1e-9 * (1.0 + np.max(np.abs(FUNCTIONS[name].reference(x)))))


@pytest.mark.parametrize("name", NAMES)
def test_vertices_stay_near_ranges(name):
    """So that coefficients in units of the range are no larger than a small multiple of what the function varies by."""
    made = curve_of(name, small_enough(name, UNITS)).polynomial(2)
    _, linear, twice = made.coefficients
    low, high = np.array(made.parts).T
    bent = twice != 0.0
    middle, half = ((low + high) / 2)[bent], ((high - low) / 2)[bent]
    half = np.maximum(half, 2.0**-16)  # narrower ones are fitted on so much
    vertex = -linear[bent] / (4.0 * twice[bent])
    assert np.all(np.abs(vertex - middle) <= NEAR * half * (1.0 + 1e-6) + 1e-9)


def test_none_with_a_vertex_in_reach_is_nearer():
    """Compared with the best of many vertices, each with least squares for what is left."""
    x = RNG.uniform(-1.0, 1.0, (40, 50)) * RNG.uniform(0.1, 1.0, (40, 1))
    y = np.stack([np.maximum(row - shift, 0.0) * sign for row, shift, sign in zip(
        x, RNG.uniform(-1.5, 1.5, 40), RNG.choice([-1.0, 1.0], 40), strict=True)])  # fmt: skip
    y[0], y[1] = x[1], 0.0
    weights = RNG.uniform(0.5, 2.0, 50)

    def distance(powers, n):
        return np.sum(weights * (np.polynomial.polynomial.polyval(x[n], powers) - y[n]) ** 2)

    def best_by_search(n):
        candidates = []
        for vertex in np.linspace(-NEAR, NEAR, 401):
            basis = np.stack([np.ones(50), (x[n] - vertex) ** 2], axis=1) * np.sqrt(weights)[:, None]
            candidates.append(np.linalg.lstsq(basis, y[n] * np.sqrt(weights), rcond=None)[1])
        return min(float(each[0]) if each.size else 0.0 for each in candidates)

    found = _fit_near(x, y, weights)
    assert np.all(np.abs(found[:, 1]) <= 2.0 * NEAR * np.abs(found[:, 2]) * (1.0 + 1e-12))
    for n in range(0, 40, 3):
        assert distance(found[n], n) <= best_by_search(n) * (1.0 + 1e-9) + 1e-20


def test_dead_units_are_0_and_others_are_nearer_than_a_line():
    made = curve_of("relu", UNITS).polynomial(2)
    assert np.max(np.abs(made(UNITS.T)[:, 0])) < 1e-9
    on_and_off = UNITS[2]
    line = np.polynomial.Polynomial.fit(on_and_off, np.maximum(on_and_off, 0.0), 1)
    off = np.mean((made(UNITS.T)[:, 2] - np.maximum(on_and_off, 0.0)) ** 2)
    assert off < 0.3 * np.mean((line(on_and_off) - np.maximum(on_and_off, 0.0)) ** 2)


def test_other_degrees_are_those_of_any_channels():
    made = curve_of("relu", UNITS).polynomial(3)
    assert type(made) is ChannelPolynomial and made.degree == 3
