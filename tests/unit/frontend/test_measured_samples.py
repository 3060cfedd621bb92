"""Which calibration data the noise of a plan is measured on."""

from typing import Any

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.trace_arrays import to_tensors
from latticework.frontend.calibration import calibration_data as samples_module
from latticework.frontend.calibration.calibration_data import SampleSizes, telling_samples


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


def test_one_large_sample_among_many_is_not_overlooked() -> None:
    """Its values are the largest on the way, and its results as small as others': bootstraps have to hold it."""

    @lw.program
    def fading(x: lw.Secret[4], n: lw.Index) -> Any:
        return lw.for_loop(n, lambda _, v: v * (0.5 + 1e-5 * x), x * x)

    data = np.random.default_rng(0).uniform(-1, 1, (120, 4))
    data[37] *= 300
    model = lw.compile(
        fading, calibrate={"x": data, "n": 12}, bootstrap_set="T12", insecure=True, precision_bits=10
    )  # fmt: skip
    assert model.plan.bootstraps
    (output,) = model.plan.client.outputs
    for number, trips in ((37, 12), (37, 5), (36, 12)):
        found = model.simulate(data[number], trips, noise=np.random.default_rng(0))
        assert np.max(np.abs(found - fading(data[number], trips))) <= output.usual_error <= output.error_bound


def test_samples_that_tell_are_spaced_ones_and_those_with_the_largest_values() -> None:
    @lw.program
    def program(x: lw.Secret[2], n: lw.Index) -> Any:
        return lw.for_loop(n, lambda _, v: 0.5 * v, x) - x[0]

    rng = np.random.default_rng(1)
    data = rng.uniform(-1, 1, (50, 2))
    data[23] = 9.0
    module = to_tensors(program, (), {"x": data[0], "n": 2})
    samples = [{"x": x, "n": 2} for x in data]
    assert telling_samples(module, samples, 3) == [0, 23, 24, 49]
    samples[11]["n"] = 8
    assert set(telling_samples(module, samples, 3)) == {0, 11, 23, 24, 49}
    assert telling_samples(module, samples[:1], 3) == [0]


def test_what_is_known_of_samples_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    @lw.program
    def program(x: lw.Secret[2]) -> Any:
        return x * x[0] - x[1]

    rng = np.random.default_rng(2)
    module = to_tensors(program, (), {"x": rng.uniform(-1, 1, 2)})
    samples = [{"x": x} for x in rng.uniform(-1, 1, (40, 2))]
    others = [{"x": 3.0 * x["x"]} for x in reversed(samples)]
    ran: list[Any] = []
    run = samples_module.interpret
    monkeypatch.setattr(samples_module, "interpret", lambda *args, **more: (ran.append(args), run(*args, **more))[1])
    sizes = SampleSizes()
    for count in (1, 7):
        assert telling_samples(module, samples, count, sizes) == telling_samples(module, samples, count)
    begun = len(ran)
    telling_samples(module, samples, 3, sizes)
    assert len(ran) - begun <= 2  # how often loops turn
    assert telling_samples(module, others, 3, sizes) == telling_samples(module, others, 3)
    begun = len(ran)
    for sample, outputs in zip(samples, sizes.outputs(module, samples, range(len(samples))), strict=True):
        assert np.array_equal(outputs, run(module, sample))
    assert len(ran) == begun
    assert np.array_equal(sizes.outputs(module, others, [3]), [run(module, others[3])])
