"""Noise that polynomials enlarge out of their range while the scale is searched."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier

from latticework import Secret, from_sklearn, program
from latticework import compile as compiled
from latticework.compiler.precision import PrecisionSearch
from latticework.plan.analysis.simulate import simulate

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


def test_signs_withstand_noise_of_many_deviations(monkeypatch):
    """At 2^27 noise of few draws leaves signs right, and three times as much moves arguments out of their intervals."""
    data = load_breast_cancer()
    rows, labels = np.round(data.data / np.abs(data.data).max(axis=0) * 256)[:400] / 256, data.target[:400]
    trees = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(rows, labels)
    signs = from_sklearn(trees, trees="sign", samples=rows, gap=2.0**-12)
    rows = rows[signs.keeps_apart(rows)]

    def largest_error():
        plan = compiled(signs, calibrate=rows, precision_bits=8).plan
        runs = [
            (simulate(plan, [row[None]]), simulate(plan, [row[None]], noise=np.random.default_rng(n), noise_factor=3.0))
            for n, row in enumerate(rows[:40])
        ]
        return max(float(np.max(np.abs(a - b))) for exact, run in runs for a, b in zip(run, exact, strict=True))

    withstood = largest_error()
    monkeypatch.setattr(PrecisionSearch, "withstands_noise", lambda *_: True)
    assert withstood < 0.005 and largest_error() > 2 * withstood
