"""Which calibration data the noise of a plan is measured on."""

from typing import Any

import numpy as np

import latticework as lw


def test_noise_is_measured_where_it_is_large_though_outputs_are_small() -> None:
    @lw.program
    def difference(x: lw.Secret[2]) -> Any:
        return x[0] * x[0] - x[1] * x[1]

    noisy = np.full((60, 2), 100.0)  # the result is 0, of numbers whose squares have much noise
    calibrate = np.concatenate([noisy, np.tile([20.0, 0.0], (4, 1))])
    model = lw.compile(difference, calibrate=calibrate, ring_degree=2048, insecure=True)
    (output,) = model.plan.client.outputs
    noise = np.random.default_rng(0)
    errors = [np.max(np.abs(model.simulate(noisy[0], noise=noise))) for _ in range(100)]
    assert np.max(errors) < output.usual_error < 2.0**-12 * 400
