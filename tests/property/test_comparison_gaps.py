"""Results that depend on comparisons: what is said to be certain, or proved, is within its bound wherever inputs lie."""

import warnings
from collections import Counter

import numpy as np
import pytest
from adversaries import adversaries
from comparing_programs import RandomComparisons

import latticework as lw

ROUNDING = 1e-9
SEEDS = range(28)


def results(made, model):
    """(exact, decrypted) of inputs in gaps, at the ends of what is accepted, and of calibration."""
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    (spec,) = model.plan.client.secret_inputs
    rng = np.random.default_rng(0)
    inputs = [*adversaries(spec, rng, made.data[0]), *made.in_gaps(), *made.data[:3]]
    inputs += list(rng.uniform(spec.low, spec.high, (4, *spec.shape)))
    for x in inputs:
        x = np.clip(x, spec.low, spec.high)
        yield x, made.exactly(x), client.decrypt(server(client.encrypt(x)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_certain_is_within_its_bound(seed):
    made = RandomComparisons(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ApproximationWarning)
        model = lw.compile(
            made.program(), calibrate=made.data, precision_bits=6, ring_degree=4096, insecure=True, progress=False
        )
    seen = Counter()
    for x, exact, values in results(made, model):
        for number, (want, value) in enumerate(zip(exact, values, strict=True)):
            off = float(np.max(np.abs(value.reveal() - want)))
            within = off <= value.error_bound + ROUNDING
            seen[number, within] += 1
            assert within or not (value.is_proved or value.is_certain.any()), (made.kind, x, off, value.error_bound)
            assert not value.is_proved or value.is_certain.all()
        assert not values[2].conditions
    compared, apart, free = model.plan.client.outputs
    assert not free.conditions and not (made.range and apart.conditions)
    assert {each.gap for each in compared.conditions} <= {gap for _, gap in made.arguments(made.data[0])[:2]}
    assert compared.conditions
    assert made.kind == "kinked" or seen[0, False]  # else nothing in gaps was tried
