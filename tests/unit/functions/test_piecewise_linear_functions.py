"""Piecewise linear functions: their kinks, both of their forms, and bounds that hold beside a kink and at the ends."""

from __future__ import annotations

import numpy as np
import pytest

from latticework.functions.approximation.absolute import composed_absolute, load_compositions
from latticework.functions.approximation.piecewise_linear import PiecewiseLinear
from latticework.functions.approximation.piecewise_linear_curve import PiecewiseLinearCurve
from latticework.functions.approximation.real_functions import FUNCTIONS
from latticework.functions.approximation.sign import MARGIN
from latticework.models.semantics.activations import _hard_sigmoid, _leaky, _soft_shrink
from latticework.models.semantics.elementwise_arithmetic import _clamp_function
from latticework.values.packing.packed_constants import PiecewiseLinearComposition

X = np.linspace(-9.0, 9.0, 2001)
DECLARED = [
    FUNCTIONS["relu"], FUNCTIONS["absolute"], _leaky(0.01), _leaky(-2.0), _hard_sigmoid(0.2, 0.5), _soft_shrink(0.5),
    _clamp_function(-1.0, 1.0), _clamp_function(0.0, 6.0), _clamp_function(2.0, None), _clamp_function(None, -3.0), _clamp_function(-0.5, 4.0),
]  # fmt: skip


@pytest.mark.parametrize("function", DECLARED, ids=lambda f: f.name)
def test_declared_kinks_are_those_of_the_function(function):
    assert function.pieces is not None
    np.testing.assert_allclose(function.pieces(X), function.reference(X), atol=1e-12)


def test_kinks_outside_an_interval_are_left_out():
    both = PiecewiseLinear((-2.0, 1.0, 3.0), (0.5, -1.0, 2.0), 0.3, -0.7)
    for low, high, left in [(-1.0, 2.0, (1.0,)), (1.5, 2.5, ()), (-9.0, 9.0, (-2.0, 1.0, 3.0)), (-2.0, 3.0, (1.0,))]:
        inside, x = both.inside((low, high)), np.linspace(low, high, 301)
        assert inside.places == left
        np.testing.assert_allclose(inside(x), both(x), atol=1e-12)


WAYS = [way for some in load_compositions().values() for way in some]


@pytest.mark.parametrize("way", [WAYS[0], WAYS[len(WAYS) // 2]], ids=str)
def test_the_magnitude_is_as_close_as_is_said(way):
    found = composed_absolute(way)
    x = np.concatenate([np.linspace(0.0, 2.0 * 2.0**way.log2_gap, 20_001), np.geomspace(1e-9, 1.0, 20_001)])
    value = x
    for stage in found.stages:
        assert np.max(np.abs(value)) <= 1.0
        value = stage(value / (1.0 + MARGIN) if stage is found.stages[0] else value)
    off = np.max(np.abs(x * value - x))
    assert off <= found.error <= 1.05 * off and found.error <= 2.0**-way.bits
    assert way.levels == 1 + sum(stage.depth for stage in found.stages)


@pytest.mark.slow
def test_every_way_is_as_close_as_the_table_says():
    assert all(composed_absolute(way).error <= 2.0**-way.bits for way in WAYS)


@pytest.mark.parametrize(
    "function", [FUNCTIONS["relu"], _leaky(-2.0), _clamp_function(-0.5, 4.0)], ids=lambda f: f.name
)
def test_both_forms_are_as_close_as_is_said(function):
    interval = -4.0, 7.5
    curve = PiecewiseLinearCurve(function.finite, function.pieces, interval)
    x = np.concatenate([np.linspace(*interval, 4001), *(p + np.geomspace(1e-7, 1, 200) for p in curve.pieces.places)])
    x = np.clip(x, *interval)
    for degree in (15, (1 << 17) - 1, (1 << 17) - 3, (1 << 18) - 1):
        made = curve.polynomial(degree)
        assert np.max(np.abs(made(x) - function.reference(x))) <= curve.error(degree) <= 1.05 * curve.estimate(degree)
        assert isinstance(made, PiecewiseLinearComposition) == (degree > 1023)
    assert curve.error((1 << 18) - 1) < curve.error((1 << 17) - 1) <= curve.error((1 << 17) - 3) < curve.error(15)
    assert (
        curve.find_composition(curve.least_degree(2 * curve.estimate((1 << 18) - 1), 1 << 17, (1 << 18) - 1))
        != load_compositions()[18][-1]
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_is_known_of_kinked_polynomials(seed):
    """Values, slopes and ranges of the function, the factor, and the mapped interval, of ten kinds each."""
    rng = np.random.default_rng(seed)
    for count in rng.integers(1, 4, 10):
        places, weights = np.sort(rng.uniform(-1.9, 2.9, count)), rng.normal(size=count)
        pieces = PiecewiseLinear(
            tuple(places.tolist()), tuple(weights.tolist()), float(rng.normal()), float(rng.normal())
        )
        curve = PiecewiseLinearCurve(pieces, pieces, (-2.0, 3.0))
        way = WAYS[rng.integers(0, 60)]
        made, error = curve.compose(way), curve.spread * composed_absolute(way).error
        gap = 2.0**way.log2_gap * curve.half * np.array([0.1, 0.5, 1.0])
        edges = np.concatenate([p + side * gap for p in places for side in (-1, 1)])
        x = np.clip(np.concatenate([rng.uniform(-2, 3, 500), places, edges, [-2.0, 3.0]]), -2.0, 3.0)
        t = made.to_unit(x)
        assert made.covered[0] <= t.min() and t.max() <= made.covered[1]
        np.testing.assert_allclose(made.function(t), pieces(x), atol=1e-11)
        assert np.max(np.abs(made(x) - pieces(x))) <= error
        np.testing.assert_allclose(made.over((-1.0, 1.0)).scale_by(-2.5)(t), -2.5 * made(x), atol=1e-11)
        ends = np.sort(rng.choice(t, (2, 50)), axis=0)
        low, high = made.bounds(*ends)
        for a, b, least, most in zip(*ends, low, high, strict=True):
            values = made.function(np.linspace(a, b, 33))
            assert np.all(values >= least - 1e-12) and np.all(values <= most + 1e-12)
        slopes = np.abs(np.diff(made.function(np.linspace(*made.covered, 2001)))) / (np.diff(made.covered) / 2000)
        assert np.max(slopes) <= made.steepest * (1 + 1e-9)
