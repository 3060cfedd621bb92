"""Precision is relative to the largest output: small weights compile, and small results are as precise as others."""

import numpy as np
import pytest

import latticework as lw
from latticework.errors import PrecisionError

WEIGHTS = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 4.0], [5.0, 0.0, 6.0]])
BITS = 12


def program(use):
    @lw.program
    def f(x: lw.Secret[3]):
        return use(x)

    return f


def circuit(use):
    @lw.circuit
    def f(x: lw.vector(3)):
        return use(x)

    return f


USES = {
    "a factor": lambda x: x * 1e-12,
    "a smaller one": lambda x: x * 1e-24,
    "negative": lambda x: -1e-9 * x,
    "a square": lambda x: x * x * 1e-12,
    "weights": lambda x: x @ (WEIGHTS * 1e-12),
    "weights and a bias": lambda x: (x @ (WEIGHTS * 1e-12) + 1e-12) * 1e-3,
    "each its own": lambda x: x * np.array([1e-12, 3e-12, 2e-12]),
    "a factor in front": lambda x: 1e-8 * x * x,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", [program, circuit])
def test_small_outputs_are_precise(made, use):
    function = made(USES[use])
    quickly = {"effort": "fast"} if made is circuit else {}
    model = lw.compile(function, precision_bits=BITS, ring_degree=2048, insecure=True, **quickly)
    x = np.array([0.9, -0.5, 0.2])
    wanted = function(x)
    got = np.asarray(model.simulate(x)[0] if made is program else model.simulate(x), float)
    scale = max(np.abs(function(s)).max() for s in (np.ones(3), -np.ones(3)))
    assert np.abs(got - wanted).max() <= 2.0**-BITS * scale


def test_small_beside_large_outputs():
    @lw.program
    def f(x: lw.Secret[3]):
        return x, x * 1e-12, x @ WEIGHTS * 1e-20

    model = lw.compile(f, precision_bits=BITS, ring_degree=2048, insecure=True)
    client = model.client()
    x = np.array([0.9, -0.5, 0.2])
    got = client.decrypt(model.server(client.keygen().public())(client.encrypt(x)))
    for value, wanted in zip(got, f(x), strict=True):
        size = 1e-12 if np.max(np.abs(wanted)) < 1e-11 else 1.0
        size = 1e-20 if np.max(np.abs(wanted)) < 1e-18 else size
        assert np.abs(value.reveal() - wanted).max() <= min(value.error_bound, 2.0**-BITS * size * 13)


def test_what_is_small_because_its_inputs_are_is_refused_with_the_bits_that_lack():
    @lw.program
    def f(x: lw.Secret[3]):
        return x + x

    with pytest.raises(PrecisionError, match="would need a scale of"):
        lw.compile(f, calibrate=np.full((4, 3), 1e-12), ring_degree=2048, insecure=True)


def test_small_values_inside_are_refused_where_nothing_can_be_done():
    @lw.program
    def f(x: lw.Secret[3]):
        return np.square(x @ (WEIGHTS * 1e-12)) @ WEIGHTS

    with pytest.raises(PrecisionError, match="would need a scale of"):
        lw.compile(f, ring_degree=4096, insecure=True)


def test_circuits_go_on_with_small_results_at_the_scale_of_their_level():
    function = circuit(USES["a factor"])
    with pytest.raises(PrecisionError, match="would need a scale of"):
        lw.compile(function, ring_degree=4096, insecure=True, spare_levels=1)
