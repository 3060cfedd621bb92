"""Loops that pack what they carry by masks, encrypted with bootstraps, at insecure parameters."""

import numpy as np
import pytest

import latticework as lw

CARRIED = 6


@lw.program
def fitted(x: lw.Secret[64]):
    def step(_i, *weights):
        return tuple(w - 0.5 * np.mean((w * x - 0.1 * k) * x) * w for k, w in enumerate(weights))

    return lw.for_loop(40, step, tuple(0.1 * (k + 1) for k in range(CARRIED)))


@pytest.mark.slow
def test_six_numbers_share_a_bootstrap():
    x = np.random.default_rng(0).uniform(-1, 1, (4, 64))
    model = lw.compile(fitted, calibrate={"x": x}, precision_bits=8, bootstrap_set="T12L16", insecure=True)
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(x[0])))
    for result, expected in zip(found, fitted(x[0]), strict=True):
        assert np.abs(result.reveal() - expected).max() <= result.error_bound
