"""Any sequence of CKKS operations decrypts to what NumPy computes, within a bound that follows every step."""

import numpy as np
import pytest
from ckks_sequences import OPERATIONS, SLOTS, Sequences, world
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MAX_STEPS = 12
TRIVIAL_BOUND = 2.0**-6  # a bound below which a comparison says something


def run(data):
    w = world()
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="values"))

    def choose(count):
        return data.draw(st.integers(0, count - 1))

    def vector():
        return rng.uniform(-0.7, 0.7, SLOTS) + 1j * rng.uniform(-0.7, 0.7, SLOTS)

    sequence = Sequences(w, choose, vector)
    for _ in range(data.draw(st.integers(1, MAX_STEPS), label="steps")):
        made = sequence.step()
        error = np.max(np.abs(w.decryptor.decrypt(made.ciphertext) - made.expected))
        history = [r.name for r in made.records]
        assert error <= made.bound, f"{error:.3g} > {made.bound:.3g} after {history}"
        assert made.bound < TRIVIAL_BOUND, f"the bound {made.bound:.3g} says nothing after {history}"
        last = made.records[-1]
        c = made.ciphertext
        assert (last.level, last.scale, last.degree) == (c.level, c.scale, c.degree)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_sequences_decrypt_to_numpy(data):
    run(data)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_sequences_decrypt_to_numpy(data):
    run(data)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_each_operation_occurs_and_is_right(name):
    """Random sequences until an operation has occurred: none of them is out of reach."""
    w = world()
    rng = np.random.default_rng(5)
    for _ in range(400):
        sequence = Sequences(
            w,
            lambda n: int(rng.integers(n)),
            lambda: rng.uniform(-0.7, 0.7, SLOTS) + 1j * rng.uniform(-0.7, 0.7, SLOTS),
        )
        for _ in range(6):
            a, b = (sequence.pool[int(rng.integers(len(sequence.pool)))] for _ in range(2))
            if OPERATIONS[name][0](a, b):
                made = OPERATIONS[name][1](sequence, a, b)
                assert np.max(np.abs(w.decryptor.decrypt(made.ciphertext) - made.expected)) <= made.bound
                return
            sequence.step()
    pytest.fail(f"{name} never became legal")
