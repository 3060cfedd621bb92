"""Parabolas by channel as a square between sums and products by channel."""

from dataclasses import replace

import numpy as np
import pytest

from latticework.values.packing.channel_square import FILLED, FLATTEST, MOST_BESIDE, MOST_OFF, ChannelSquare, Parabolas
from latticework.values.packing.pack import GAP, PackDim, PackMap

RNG = np.random.default_rng(11)
INTERVAL = (-3.0, 5.0)


def drawn(count=64, *, flat=0):
    """Parabolas with vertices near parts of [-1, 1], of any size and sign; the last ones without a bend."""
    middle, half = RNG.uniform(-0.8, 0.8, count), 10.0 ** RNG.uniform(-4, -0.8, count)
    vertex = middle + half * RNG.uniform(-2, 2, count)
    square = RNG.choice([-1.0, 1.0], count) * 10.0 ** RNG.uniform(-3, 3, count) / half**2
    square[count - flat :] = 0.0
    constant = RNG.normal(size=count)
    table = np.stack([constant + square * (vertex**2 + 0.5), -2.0 * square * vertex, square / 2], axis=1)
    errors = np.abs(square) * half**2 * 10.0 ** RNG.uniform(-4, 1, count) + 1e-6
    parts = np.stack([middle - half, middle + half], axis=1)
    rows = [tuple(map(tuple, each.tolist())) for each in (table, parts)]
    return Parabolas(*rows, -1, INTERVAL, float(errors.max()), errors=tuple(errors.tolist()))


def arguments_of(parabolas, count=101):
    """Numbers over the part of each channel: (count, channels)."""
    return np.linspace(*parabolas.ends(), count)


@pytest.mark.parametrize("flat", [0, 8, 64])
def test_it_is_the_parabolas(flat):
    parabolas = drawn(flat=flat)
    square, z = parabolas.square(), arguments_of(parabolas)
    t = z * square.spread(square.scales) + square.spread(square.offsets)
    assert np.max(np.abs(t)) <= FILLED * (1.0 + 1e-9)
    found = square(t) * square.spread(square.factors) + square.spread(square.constants)
    sizes = np.abs(parabolas(z)).max(axis=0) + FILLED**2 * np.abs(np.array(square.factors))
    assert np.all(np.abs(found - parabolas(z)) <= 1e-7 * sizes)
    assert np.allclose(square.function_arguments(t), z, rtol=0, atol=1e-6)
    assert np.allclose(square.from_values(found), t * t, rtol=0, atol=1e-7)
    low, high = square.ends()
    assert np.allclose(np.stack([low, high]), t[[0, -1]], rtol=0, atol=1e-9)


def test_arguments_fill_the_interval_where_parabolas_are_near():
    parabolas = drawn()
    square = parabolas.square()
    fill = np.max(np.abs(np.array(square.parts)), axis=1) / FILLED
    whole = FILLED**2 * np.abs(np.array(square.factors))
    is_near = MOST_OFF * whole > np.array(parabolas.errors) * (1.0 + 1e-9)
    is_near &= MOST_BESIDE * whole > np.abs(np.array(square.constants)) * (1.0 + 1e-9)
    assert np.all(MOST_BESIDE * whole >= np.abs(np.array(square.constants)) * (1.0 - 1e-9))
    assert is_near.any() and np.allclose(fill[is_near], 1.0, rtol=0, atol=1e-9)
    assert np.all(fill >= FLATTEST * (1.0 - 1e-9))


def test_its_error_is_that_of_each_channel_in_its_unit():
    """Values of functions that are as far from the parabolas as these say are within it of the square."""
    parabolas = drawn(flat=5)
    square, z = parabolas.square(), arguments_of(parabolas)
    t = z * square.spread(square.scales) + square.spread(square.offsets)
    values = parabolas(z) + RNG.choice([-1.0, 1.0], z.shape) * np.array(parabolas.errors)
    off = np.max(np.abs(square.from_values(values) - t * t), axis=0)
    assert np.all(off <= np.array(square.errors) + 1e-7) and np.all(off >= 0.99 * np.array(square.errors) - 1e-7)
    assert square.error == max(square.errors) <= MOST_OFF * FILLED**2 + 1e-9
    assert replace(parabolas, error=0.0).square().error == 0.0


def test_slots_without_an_element_may_hold_anything():
    square = replace(drawn(2), axis=-2).square()
    pack = PackMap((2, 3), 16, (PackDim(GAP, 2), PackDim(0, 2), PackDim(1, 4)))
    low, high = square.lying(pack).ends()
    free = pack.element_of_slot() < 0
    assert np.all(low[free] == -np.inf) and np.all(high[free] == np.inf)
    assert np.array_equal(pack.unpack(high), np.broadcast_to(np.array(square.parts)[:, 1:], (2, 3)))
    assert np.array_equal(square.lying(pack)(np.full(16, -3.0)), np.full(16, 9.0))


def test_levels_and_products():
    square = drawn(3).square()
    assert isinstance(square, ChannelSquare) and (square.depth, square.products, square.degree) == (1, 1, 2)
    scaled = drawn(3).scale_by(-2.0)
    assert isinstance(scaled, Parabolas) and scaled.error == max(scaled.errors)
