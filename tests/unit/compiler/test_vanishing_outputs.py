"""Outputs that are 0 on all calibration data, or public, are results: values within right bounds."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.accuracy import without_rounding
from latticework.frontend import trace

W = np.random.default_rng(1).normal(size=(4, 4))
ROWS = np.random.default_rng(2).uniform(-1, 1, (16, 4))
RING = {"ring_degree": 2048, "insecure": True}


def decrypted(function, x, calibrate=ROWS, **options):
    """Results of a program of one input (4,), checked against NumPy by their bounds, and the outputs of the plan."""
    function.__annotations__ = {"x": lw.Secret[4]}
    model = lw.compile(lw.program(function), calibrate=calibrate, **{**RING, **options})
    client = model.client(allow_insecure=True)
    found = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(x)))
    exact = function(x)
    pairs = zip(found, exact, strict=True) if isinstance(exact, tuple) else [(found, exact)]
    outputs = model.plan.client.outputs
    for (value, wanted), output in zip(pairs, outputs, strict=True):
        assert value.reveal().shape == np.shape(wanted)
        assert np.max(np.abs(value.reveal() - wanted)) <= output.error_bound + 1e-19
    assert "error, for inputs like those of calibration" in str(model.report())
    return outputs


ZEROS = {
    "times zero": lambda x: x * 0.0,
    "a difference": lambda x: (x @ W) - (x @ W),
    "left by rounding": lambda x: (x @ W) * 2 - (2 * x) @ W - (x @ (0.3 * W) - 0.3 * (x @ W)),
    "a function that is 0 there": lambda x: lw.relu(x - 5),
    "functions that cancel": lambda x: lw.exp(x) * lw.exp(-x) - 1,
}


@pytest.mark.parametrize("name", ZEROS)
def test_what_is_zero_on_calibration_data_is_a_result(name):
    (output,) = decrypted(lambda x: ZEROS[name](x), ROWS[3], ring_degree=1 << 14)
    assert output.error_bound <= 2.0**-12 * np.max(np.abs(ROWS))  # of the largest input, as no output is larger


@pytest.mark.parametrize("name", ZEROS)
def test_one_of_several_outputs_may_be_zero(name):
    outputs = decrypted(lambda x: (2 * x, ZEROS[name](x)), ROWS[3], ring_degree=1 << 14)
    assert all(output.error_bound <= 2.0**-11 * 2 for output in outputs)


def test_zeros_in_calibration_alone():
    decrypted(lambda x: x * 2, np.zeros(4), calibrate=np.zeros((8, 4)))


@pytest.mark.parametrize("public", [np.full(4, 3.0), np.arange(4), np.zeros((2, 2)), 3.0, True], ids=str)
def test_public_results_are_results(public):
    decrypted(lambda x: public, ROWS[0])
    decrypted(lambda x: (x * 2, public), ROWS[0])
    decrypted(lambda x: (public, x * x, public), ROWS[0], ring_degree=4096)


def test_small_outputs_keep_their_relative_precision():
    """What is small, but determined by its inputs, is not taken for what rounding leaves."""
    for outputs in (decrypted(lambda x: x * 1e-13, ROWS[0]), decrypted(lambda x: (x, x * 1e-13), ROWS[0])):
        assert outputs[-1].magnitude == pytest.approx(1e-13, rel=0.1) and outputs[-1].error_bound < 1e-13 * 2.0**-12


def test_rounding_is_told_from_small_numbers():
    @lw.program
    def both(x: lw.Secret[4]):
        return x, (x @ W) - (x @ (W * 3)) / 3, 1e-16 * x, (1 + 1e-9 * x) - np.ones(4)

    samples = [{"x": row} for row in ROWS]
    sizes = [float(np.max(np.abs([np.asarray(both(row)[n]) for row in ROWS]))) for n in range(4)]
    assert 0 < sizes[1] < 1e-14
    found = without_rounding(trace(both), samples, sizes)
    assert found == [sizes[0], 0.0, sizes[2], sizes[3]]


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_circuits_with_results_that_are_zero_or_public(scheme):
    @lw.circuit
    def mixed(x: lw.scalar(low=-9, high=9)):
        return x - x, 3, 2 * x

    @lw.circuit
    def nothing(x: lw.scalar(low=-9, high=9)):
        return x - x

    for circuit, wanted in ((mixed, (0, 3, 10)), (nothing, 0)):
        model = lw.compile(circuit, scheme=scheme, ring_degree=1024, insecure=True)
        client = model.client(allow_insecure=True)
        found = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(x=5)))
        for value, exact in zip(found if isinstance(found, tuple) else (found,), np.atleast_1d(wanted), strict=True):
            assert abs(float(value.reveal()) - exact) < 1e-3
