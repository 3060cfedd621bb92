"""A bootstrap as one step, held to simulations of its whole circuit."""

from math import log2, pi

import numpy as np
import pytest

from latticework.compiler.codegen.bootstrap_plans import (
    bits_of,
    bootstrap_error,
    bootstrap_plan,
    measure_noise,
    noise_of,
    predict_precision,
)
from latticework.ir.dialects.bootstrap_dialect import MAX_EXPONENT
from latticework.plan.analysis.simulate import simulate_slots
from latticework.plan.parameters import BOOTSTRAP_SETS, BootstrapSet, bootstrap_chain
from latticework.plan.parameters.bootstrap_noise import (
    BootstrapStep,
    series_error,
    sine_series,
    stored_noise,
)
from latticework.plan.parameters.step_noise import tail_deviations


def step_of(name, slots, finer=1.0, out=1.0, iterations=1):
    chain = bootstrap_chain(name)
    start, end = chain.main.scales[chain.floor] * finer, (chain.main.top, chain.main.scales[-1] * out)
    return BootstrapStep.of(chain, noise_of(chain), slots, start, end, iterations)


def slots_of(kind, n, rng, real):
    i = 0 if real else 1j
    if kind == "random":
        return rng.uniform(-1, 1, n) + i * rng.uniform(-1, 1, n)
    if kind == "ends":
        return rng.choice([-1.0, 1.0], n) + i * rng.choice([-1.0, 1.0], n)
    return np.full(n, (1 + i) if kind == "constant" else 0j)


CASES = [
    # set, slots, target, real, iterations, data
    ("T11", 1024, 1, False, 1, "ends"),
    ("T11", 1024, 3, True, 1, "random"),
    ("T11", 128, 2, False, 2, "constant"),
    ("T12L16", 2048, 16, False, 1, "nothing"),
    ("T12L16", 2048, 5, False, 2, "ends"),
    ("T12L16", 256, 9, True, 2, "random"),
]


@pytest.mark.parametrize(("name", "slots", "target", "real", "iterations", "data"), CASES)
def test_noise_is_that_of_the_circuit_for_all_targets_widths_and_data(name, slots, target, real, iterations, data):
    x = slots_of(data, slots, np.random.default_rng(1), real).astype(complex)
    draws = [
        bootstrap_error(bootstrap_chain(name), x, real=real, seed=seed, target=target, iterations=iterations)
        for seed in range(1 + 256 // slots)
    ]
    found = np.sqrt(np.mean(np.square(draws)))
    stated = step_of(name, slots, iterations=iterations).deviation
    assert 0.8 * stated < found < stated


@pytest.mark.parametrize("k", [4, 12, 22])
def test_values_read_as_smaller_lose_bits_of_matrices(k):
    x = np.full(1024, 1 + 1j)
    found = np.sqrt(np.mean(bootstrap_error(bootstrap_chain("T11"), x, finer=2.0**k, out=2.0**k) ** 2))
    step = step_of("T11", 1024, finer=2.0**k, out=2.0**k)
    of_weights, nothing = (step.error(np.ones(1), size, 1.0)[1][0] for size in (2**0.5, 0.0))
    whole = np.hypot(step.deviation, of_weights - nothing)
    assert 0.8 * whole < found < whole
    assert log2(whole / step.deviation) < max(1, k / 2 - 1), "two matrices share them"


@pytest.mark.parametrize("iterations", [1, 2])
def test_results_at_very_large_scales_are_made_at_smaller_ones(iterations):
    """Coefficients of series are integers of 62 bits at most, which those of B have not at 2^20 times its scale."""
    x = slots_of("random", 1024, np.random.default_rng(2), False) / 2
    step = step_of("T11", 1024, finer=2.0**22, out=2.0**22, iterations=iterations)
    found = np.max(
        np.abs(bootstrap_error(bootstrap_chain("T11"), x, finer=2.0**22, out=2.0**22, iterations=iterations))
    )
    deviation, (bias,) = step.error(np.array([0.5]), 0.5**0.5, tail_deviations(1))
    assert found < tail_deviations(1) * deviation + bias
    if iterations == 1:
        chain = bootstrap_chain("B")
        for target in (1, chain.main.top - chain.floor):
            assert bootstrap_plan(chain, 64, target, finer=2.0**MAX_EXPONENT, out=2.0**MAX_EXPONENT).blocks


@pytest.mark.parametrize("iterations", [1, 2])
def test_two_real_vectors_to_a_bootstrap_have_a_coarser_result(iterations):
    x = slots_of("random", 1024, np.random.default_rng(2), False)
    errors = [bootstrap_error(bootstrap_chain("T11"), x, seed=s, out=0.5, iterations=iterations) for s in range(2)]
    step = step_of("T11", 1024, out=0.5, iterations=iterations)
    assert 0.8 * step.deviation < np.sqrt(np.mean(np.square(errors))) < step.deviation


@pytest.mark.parametrize("name", ["T11", "B"])
def test_the_series_is_off_by_no_more_than_is_said_and_by_nearly_as_much(name):
    circuit = bootstrap_chain(name).bootstrap
    rounding = 1e-14 * circuit.ratio
    for part in (0.5, 1.0, 2.0, 0.99 * circuit.ratio / (2 * pi)):
        x = np.linspace(-part, part, 10001)
        off, stated = np.max(np.abs(sine_series(circuit, x) - x)), series_error(circuit, np.array(part))
        assert 0.8 * stated - rounding <= off <= stated + rounding
    assert series_error(circuit, np.ones(1)) == pytest.approx((2 * pi / circuit.ratio) ** 4 / 30)
    x = np.linspace(0.0, 4 * circuit.ratio, 10001)
    assert np.all(np.abs(sine_series(circuit, x) - x) <= series_error(circuit, x) + rounding)


@pytest.mark.parametrize("iterations", [1, 2])
@pytest.mark.parametrize("part", [1.0, 1.5, 4.0])
def test_the_bound_holds_beyond_the_interval_and_grows(part, iterations):
    chain, deviations = bootstrap_chain("T11"), tail_deviations(1)
    rng = np.random.default_rng(3)
    x = rng.choice([-part, part], 1024) + 1j * rng.uniform(-part, part, 1024)
    (y,) = simulate_slots(bootstrap_plan(chain, 1024, 1, iterations=iterations), [x], noise=rng)
    step = step_of("T11", 1024, iterations=iterations)
    deviation, (bias,) = step.error(np.array([part]), 2**0.5 * part, deviations)
    largest = np.max(np.abs([(y - x).real, (y - x).imag]))
    assert largest <= deviations * deviation + bias
    if part == 4.0:  # all of it is the series'
        assert largest > 0.4 * bias


@pytest.mark.parametrize("iterations", [1, 2])
def test_a_simulated_step_has_the_errors_of_the_circuit(iterations):
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 1 << 16)
    step = step_of("T12L16", 2048, iterations=iterations)
    y = step.value(x, 1.0, lambda value, deviation: value + deviation * rng.normal(size=value.shape))
    expected = predict_precision(bootstrap_chain("T12L16"), 3, iterations=iterations).rms_bits
    assert expected - 0.3 < -log2(np.sqrt(np.mean((y - x) ** 2))) < expected


def test_bits_of_a_set_are_those_of_its_circuit():
    for iterations in (1, 2):
        stated = bits_of("C15", iterations=iterations)
        found = predict_precision(bootstrap_chain("C15"), 2, iterations=iterations)
        assert stated.rms_bits < found.rms_bits < stated.rms_bits + 0.8  # stated at the end of the interval
        assert stated.worst_bits < found.worst_bits
    assert bits_of("T11", vectors=2).rms_bits < bits_of("T11").rms_bits < bits_of("T11", slots=8).rms_bits
    assert isinstance(BOOTSTRAP_SETS["A14"], BootstrapSet) and bits_of("A14").rms_bits == pytest.approx(24.6, abs=0.1)


@pytest.mark.parametrize("name", BOOTSTRAP_SETS)
def test_the_shipped_table_is_for_the_sets_as_they_are(name):
    assert stored_noise(bootstrap_chain(name)) is not None, "run python tools/measure_bootstrap_noise.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", BOOTSTRAP_SETS)
def test_the_shipped_table_is_what_the_circuit_has(name):
    chain = bootstrap_chain(name)
    stored, measured = stored_noise(chain), measure_noise(chain)
    for field in ("fixed", "rounding", "halved", "second", "weights"):
        assert getattr(stored, field) == pytest.approx(getattr(measured, field), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOOTSTRAP_SETS)
def test_every_set_keeps_within_its_model(name):
    chain = bootstrap_chain(name)
    top = chain.main.top - chain.floor
    for slots, target, real, iterations, data in [
        (chain.slots, top, False, 1, "random"), (chain.slots, top // 2, True, 1, "ends"),
        (chain.slots // 8, 1, False, 1, "constant"), (chain.slots, top, False, 2, "nothing"),
    ]:  # fmt: skip
        x = slots_of(data, slots, np.random.default_rng(1), real).astype(complex)
        draws = [
            bootstrap_error(chain, x, real=real, seed=s, target=target, iterations=iterations)
            for s in range(1 + 2048 // slots)
        ]
        found, stated = np.sqrt(np.mean(np.square(draws))), step_of(name, slots, iterations=iterations).deviation
        assert 0.8 * stated < found < stated, (slots, target, real, iterations, data)


def test_parts_without_bound_have_errors_that_are_told():
    """Intervals of a program may grow to 1e120, whose fifth power no float holds."""
    circuit = bootstrap_chain("T11").bootstrap
    assert np.isinf(series_error(circuit, np.array([np.inf]))).all()
    assert series_error(circuit, np.array([1e120]))[0] == pytest.approx(1e120)
