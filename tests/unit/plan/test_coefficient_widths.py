"""Bytes of rounded coefficients, told ahead: no fewer than they take, and not many more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latticework as lw
from latticework.plan.analysis.coefficient_widths import WIDTHS, WIDTHS_ON_DEVICE, SlotMeans, width_of
from latticework.values.packing.packed_constants import MapSums, slot_vectors

RNG = np.random.default_rng(3)
WEIGHTS = RNG.normal(size=(48, 32)) / 5, RNG.normal(size=48), RNG.normal(size=(10, 48)) * 7


@lw.program
def layers(x: lw.Secret[32], w1: Any, b1: Any, w2: Any) -> Any:
    return w2 @ ((w1 @ x + b1) ** 2 * 0.125)


def coefficients(slots):
    """Real coefficients of the polynomial with these slots, by a Fourier transform over all roots of unity."""
    count = len(slots)
    roots = np.array([pow(5, j, 4 * count) for j in range(count)])
    values = np.zeros(4 * count, dtype=complex)
    values[roots], values[-roots] = slots, np.conj(slots)
    return np.fft.fft(values)[: 2 * count].real / (2 * count)


@pytest.mark.parametrize("width", range(2, 8))
def test_a_width_holds_what_it_is_for(width):
    most = 2 ** (8 * width - 1)
    assert width_of(most - 1) == min(each for each in WIDTHS if each >= width)
    assert width_of(most) == min(each for each in WIDTHS if each > width)
    assert width_of(most - 1, WIDTHS_ON_DEVICE) == (4 if width <= 4 else 8)
    assert width_of(0.0) == WIDTHS[0] and width_of(float("inf")) == WIDTHS[-1]


@pytest.mark.parametrize("ring_degree", [1024, 4096])
def test_bounds_hold_and_are_near(ring_degree):
    model = lw.compile(
        layers, ring_degree=ring_degree, insecure=True, calibrate=RNG.uniform(-1, 1, (8, 32)), weights=WEIGHTS
    )
    plan, means, spare = model.plan, SlotMeans(model.plan), []
    for number, constant in enumerate(plan.constants):
        products = range(len(constant.products.values)) if isinstance(constant, MapSums) else [None]
        for product in products:
            vector = slot_vectors(constant, plan.sources, product)
            largest = np.abs(coefficients(vector)).max() if len(vector) > 1 else np.abs(vector).max()
            assert largest <= means.bound(number)
            spare.append(means.bound(number) / largest if largest else 1.0)
    assert spare and np.median(spare) < 2**8
