"""Noise that polynomials enlarge out of their range while the scale is searched."""

import numpy as np
import pytest

from latticework import Secret, program
from latticework import compile as compiled

TURNS = 14
KEPT = np.arange(8) < 4


@program
def doubled_angles(x: Secret[8]):
    """Chebyshev's T_2, over and over: near 1 it enlarges noise by 4 a turn, and what has left [-1, 1] squares itself."""
    y = x
    for _ in range(TURNS):
        y = 2 * y * y - 1
    return y * KEPT


@pytest.mark.parametrize("bits", [1, 2])
def test_noise_that_leaves_no_room_asks_for_a_larger_scale(bits):
    """At the first scale, 2^25 or 2^26, slots that the output does without would reach 10^10 and more."""
    x = np.where(KEPT, 0.5, 1.0)
    model = compiled(doubled_angles, calibrate=x[None], precision_bits=bits, ring_degree=4096, insecure=True)
    assert model.plan.chain.main.scales[-1] > 2**27
    result, *_ = model.simulate(x)
    np.testing.assert_allclose(result, -0.5 * KEPT, atol=2.0**-bits)
