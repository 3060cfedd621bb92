"""Compiled programs with bootstraps, run encrypted: no result is further off than it says."""

import numpy as np
import pytest

import latticework as lw
from latticework.errors import RangeError
from latticework.plan.analysis.simulate import simulate

ROWS = np.random.default_rng(5).uniform(-1, 1, (40, 12))
RUNS = 8


@lw.program
def powers(x: lw.Secret[12]):
    """x^8 and what bypasses it."""
    y = x
    for _ in range(3):
        y = y * y
    return y - 0.5 * x, x[::-1] * y


@lw.program
def larger(x: lw.Secret[12]):
    """Values up to 40."""
    y = 10.0 * x + 3.0 * np.sum(x)
    for _ in range(3):
        y = 0.02 * y * y - y * 0.3
    return y


@lw.program
def mixed(x: lw.Secret[12]):
    """Vectors that share bootstraps, and a map."""
    a, b = x * x, 2.0 * x - 1.0
    for _ in range(2):
        a, b = a * b + 0.1, 0.5 * (b - a * a)
    return np.cumsum(a) + b, a


def inputs(rng, spec):
    """Of calibration's kind, anywhere in the range that is accepted, at its ends, constant, and nothing."""
    yield from rng.uniform(-1, 1, (RUNS, 12))
    yield from rng.uniform(spec.low, spec.high, (RUNS, 12))
    yield from rng.choice([spec.low, spec.high], (RUNS, 12))
    yield np.full(12, spec.low)
    yield np.full(12, spec.high)
    yield np.zeros(12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "bits"), [(powers, 12.0), (powers, 20.0), (powers, 25.0), (larger, 10.0), (mixed, 14.0)]
)
def test_every_error_is_within_what_is_stated(program, bits):
    rng = np.random.default_rng(6)
    model = lw.compile(program, bootstrap_set="T11", insecure=True, calibrate=ROWS, precision_bits=bits)
    assert model.plan.bootstraps
    client = model.client()
    server = model.server(client.keygen().public())
    (spec,) = model.plan.client.secret_inputs
    for number, x in enumerate(inputs(rng, spec)):
        found, exact = client.decrypt(server(client.encrypt(x))), program(x)
        many = isinstance(exact, tuple)
        for made, wanted, output in zip(
            found if many else [found], exact if many else [exact], model.plan.client.outputs, strict=True
        ):
            error = np.max(np.abs(made.reveal() - wanted))
            if made.is_proved or number < RUNS:
                assert error <= made.error_bound
            assert output.usual_error <= 2.0**-bits * output.magnitude
    for wrong in (1.5 * spec.high, 1.5 * spec.low):
        with pytest.raises(RangeError):
            client.encrypt(np.full(12, wrong))


@lw.program
def trained(x: lw.Secret[12], y: lw.Secret[12]):
    """Linear regression, by twenty steps down a gradient."""

    def step(_, w, b):
        error = w * x + b - y
        return w - 0.4 * np.mean(error * x), b - 0.4 * np.mean(error)

    return lw.for_loop(20, step, (np.zeros(12), np.zeros(12)))


@pytest.mark.slow
def test_errors_of_a_loop_are_within_what_is_stated():
    rng = np.random.default_rng(7)
    targets = np.clip(0.7 * ROWS + 0.1 * rng.normal(size=ROWS.shape), -1, 1)
    model = lw.compile(trained, bootstrap_set="T12L16", insecure=True, calibrate={"x": ROWS, "y": targets})
    assert model.plan.bootstraps
    client = model.client()
    server = model.server(client.keygen().public())
    for row in range(4):
        found = client.decrypt(server(client.encrypt(ROWS[row], targets[row])))
        for made, wanted in zip(found, trained(ROWS[row], targets[row]), strict=True):
            assert np.max(np.abs(made.reveal() - wanted)) <= made.error_bound < 1e-3


@lw.program
def falling(x: lw.Secret[8], n: lw.Index):
    """Values stay within [-1, 1], and their errors are multiplied most where all inputs are at one end."""
    v, _ = lw.for_loop(n, lambda i, v, rate: (v - rate * v * v * x, 0.7 * rate + 0.01), (x, 0.9))
    return v


def test_what_is_not_proved_is_bounded_where_it_is_not_marked():
    """Inputs at the ends of what clients accept: errors were three times the bound, of results that were not large."""
    data = {"x": np.random.default_rng(0).uniform(-1, 1, (12, 8)), "n": 6}
    model = lw.compile(falling, calibrate=data, precision_bits=8, bootstrap_set="T11", insecure=True)
    (spec, _), (output,) = model.plan.client.inputs, model.plan.client.outputs
    assert model.plan.bootstraps and output.reach is None
    beyond = []
    for x in (np.full(8, spec.low), np.full(8, spec.high)):
        for number in range(4):
            (found,) = simulate(model.plan, [x, 6], noise=np.random.default_rng(number), public_key=True)
            assert np.max(np.abs(found)) < output.magnitude
            beyond.append(np.max(np.abs(found - falling(x, 6))) / output.error_bound)
    assert 0.3 < max(beyond) < 1
