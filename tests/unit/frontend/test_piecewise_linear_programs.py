"""Programs whose piecewise linear functions are composed of signs: right within what is stated, wherever inputs lie."""

from __future__ import annotations

import numpy as np
import pytest

import latticework as lw
from latticework.frontend.functions.array_functions import Approximated
from latticework.functions.approximation.piecewise_linear import PiecewiseLinear
from latticework.functions.approximation.real_functions import Function

SMALL = {"ring_degree": 4096, "insecure": True}


def piecewise(rng, count):
    """A random function of so many kinks on [-1, 1], and these."""
    pieces = PiecewiseLinear(
        tuple(np.sort(rng.uniform(-0.8, 0.8, count)).tolist()), tuple(rng.uniform(-1, 1, count).tolist()),
        float(rng.uniform(-1, 1)), float(rng.uniform(-1, 1)),
    )  # fmt: skip
    return Approximated(Function("piecewise", pieces, smooth=False, pieces=pieces), None, None), pieces


def arguments(places, rng, size):
    """Inputs at kinks, beside them, within gaps and at their edges, at the ends of the range, and elsewhere."""
    near = [p + side * step for p in places for side in (-1, 1) for step in np.geomspace(1e-6, 0.1, 12)]
    x = np.concatenate([places, near, [-1.0, 1.0, 0.0], rng.uniform(-1, 1, 64)])
    x = np.clip(x, -1.0, 1.0)
    return np.resize(x, (-(-len(x) // size), size))


def check(seed):
    rng = np.random.default_rng(seed)
    function, pieces = piecewise(rng, int(rng.integers(1, 3)))
    size = int(rng.choice([3, 16]))
    mixed = rng.normal(size=(size, size)) / size

    @lw.program
    def program(x: lw.Secret[size]):
        value = function(x)
        return value, (value if seed % 2 else function(np.clip(0.0, -1, 1) + 0.4 * x)) @ mixed

    rows = np.vstack([rng.uniform(-1, 1, (30, size)), np.full(size, 1.0), np.full(size, -1.0)])
    model = lw.compile(program, calibrate=rows, precision_bits=float(rng.uniform(13, 15)), **SMALL)
    for x in arguments(pieces.places, rng, size):
        for got, want, output in zip(
            model.simulate(x, noise=np.random.default_rng(seed)), program(x), model.plan.client.outputs, strict=True
        ):
            off, reach = np.max(np.abs(got - want)), output.reach
            assert off <= output.error_bound, (seed, x, off, output.error_bound)
            assert reach is None or np.max(np.abs(want)) <= reach
    return model.plan


@pytest.mark.parametrize("seed", (1, 2))
def test_random_functions_are_within_their_bounds(seed):
    plan = check(seed)
    assert all(output.reach is not None for output in plan.client.outputs)  # the bounds are proved
    assert all(function.form for function in plan.approximations)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *range(3, 200)])
def test_more_random_functions_are_within_their_bounds(seed):
    check(seed)  # of some, one polynomial is precise enough, or the range has no kink


@lw.program
def network(x: lw.Secret[6]):
    return lw.relu(x @ LAYER, range=WIDE) @ LAST


@lw.program
def calibrated(x: lw.Secret[6]):
    return lw.relu(x @ LAYER) @ LAST


LAYER, LAST = np.random.default_rng(5).normal(size=(6, 5)), np.random.default_rng(6).normal(size=(5, 2))
MOST = 1.3 * float(np.abs(LAYER).sum(axis=0).max())
WIDE = (-MOST, MOST)  # all that accepted inputs can give


def test_encrypted_network():
    rng = np.random.default_rng(7)
    rows = rng.uniform(-1, 1, (60, 6))
    model = lw.compile(network, calibrate=rows, precision_bits=13, **SMALL)
    (fitted,), (output,) = model.plan.approximations, model.plan.client.outputs
    assert fitted.form and output.reach is not None and output.error_bound <= 2.0**-11 * output.magnitude
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    flat = np.linalg.lstsq(LAYER.T, np.full(5, 1e-4), rcond=None)[0]  # all hidden numbers beside the kink
    for x in (rows[0], flat, np.clip(-50 * flat, -1, 1)):
        off = np.max(np.abs(client.decrypt(server(client.encrypt(x))).reveal() - network(x)))
        assert off <= output.error_bound


def test_inputs_beyond_the_range_are_refused_or_told():
    rows = np.random.default_rng(8).uniform(-1, 1, (20, 6))

    @lw.program
    def direct(x: lw.Secret[6]):
        return lw.relu(x, range=(-1, 2))

    model = lw.compile(direct, calibrate=rows, precision_bits=14, **SMALL)
    assert model.plan.client.inputs[0].low >= -1 and not model.plan.approximations[0].may_leave
    beyond = lw.compile(calibrated, calibrate=0.5 * rows, precision_bits=13, **SMALL)
    assert not beyond.plan.approximations[0].may_leave or beyond.plan.client.outputs[0].reach is None


def test_the_polynomial_is_taken_where_it_does_and_where_it_is_given():
    rows = np.random.default_rng(9).uniform(-1, 1, (20, 6))
    few = lw.compile(calibrated, calibrate=rows, precision_bits=8, **SMALL)
    assert few.plan.approximations[0].form == "" and few.plan.approximations[0].degree <= 255
    with pytest.warns(lw.ApproximationWarning, match=r"about x \* sign\(x\) on 1\d levels for relu would do"):
        given = lw.compile(lambda_of(63), calibrate=rows, precision_bits=14, **SMALL)
    assert given.plan.approximations[0].form == "" and given.plan.approximations[0].degree == 63


def lambda_of(degree):
    @lw.program
    def program(x: lw.Secret[6]):
        return lw.relu(x @ LAYER, degree=degree) @ LAST

    return program


@pytest.mark.parametrize("ring_degree", [8192, pytest.param(32768, marks=pytest.mark.slow)])
def test_noise_of_narrow_vectors_takes_nothing_beyond_an_end_or_a_kink(ring_degree):
    """All slots of the ring hold copies with noise of their own, far more than what is left of it in their mean."""

    @lw.program
    def rectified(x: lw.Secret[4]):
        return lw.relu(x, range=(-1, 1))

    rows = np.vstack([np.random.default_rng(10).uniform(-1, 1, (20, 4)), [1, -1, 0, 1e-5]])
    model = lw.compile(rectified, calibrate=rows, precision_bits=16, ring_degree=ring_degree, insecure=True)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    (output,) = model.plan.client.outputs
    for x in (rows[-1], [1e-4, -1e-4, -1.0, 1.0], [0.0, 0.0, 1.0, 0.999]):
        off = np.max(np.abs(client.decrypt(server(client.encrypt(x))).reveal() - np.maximum(x, 0.0)))
        assert off <= output.error_bound <= 2.0**-16 and output.reach is not None
