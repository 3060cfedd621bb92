"""Any sequence of CKKS operations decrypts to what NumPy computes, within the bound that an estimate carries along."""

from math import log2

import numpy as np
import pytest
from ckks_sequences import OPERATIONS, SLOTS, Sequences, world
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MAX_STEPS = 12


def check(made, decrypted):
    """The laws of one step; (average, worst) slack of its bound in bits, None where there is no error at all."""
    history = [r.name for r in made.records]
    c, estimate, bound = made.ciphertext, made.estimate, made.estimate.bound
    error = np.abs(decrypted - made.expected)
    assert np.max(error) <= made.bound, f"{np.max(error):.3g} > {made.bound:.3g} after {history}"
    assert made.size <= bound.peak * (1 + 2.0**-40), history
    assert (estimate.level, estimate.degree, estimate.slots) == (c.level, c.degree, c.slots), history
    assert estimate.scale == pytest.approx(c.scale, rel=2.0**-45), history
    last = made.records[-1]
    assert (last.level, last.scale, last.degree) == (c.level, c.scale, c.degree)
    if np.max(error) <= 4 * made.floats:  # a product with zero, a difference of equals
        return None
    return log2(bound.average / np.sqrt(np.mean(error**2) / 2)), log2(bound.worst / np.max(error))


def run(data, slacks):
    w = world()
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="values"))

    def choose(count):
        return data.draw(st.integers(0, count - 1))

    def vector():
        return rng.uniform(-0.7, 0.7, SLOTS) + 1j * rng.uniform(-0.7, 0.7, SLOTS)

    sequence = Sequences(w, choose, vector)
    found = None
    for _ in range(data.draw(st.integers(1, MAX_STEPS), label="steps")):
        made = sequence.step()
        found = check(made, w.decryptor.decrypt(made.ciphertext))
    if found is not None:
        slacks.append(found)


def medians(num_sequences):
    """Run sequences; the medians over their results of (average, worst) slack in bits."""
    slacks = []

    @settings(max_examples=num_sequences, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def sequences(data):
        run(data, slacks)

    sequences()
    average, worst = np.median(np.array(slacks), axis=0)
    print(
        f"{len(slacks)} sequences: median slack of the average model {average:+.2f} bits, worst case {worst:.2f} bits"
    )
    return average, worst


def test_sequences_decrypt_to_numpy_within_their_bounds():
    average, _worst = medians(50)
    assert abs(average) <= 4.0


@pytest.mark.slow
def test_bounds_of_a_thousand_sequences_hold_and_are_close():
    average, worst = medians(1000)
    assert abs(average) <= 2.0
    assert worst <= 10.0


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
                check(made, w.decryptor.decrypt(made.ciphertext))
                return
            sequence.step()
    pytest.fail(f"{name} never became legal")
