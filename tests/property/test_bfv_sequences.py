"""Random sequences of BFV operations against exact integers, as long as the budget lasts."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from latticework import bfv

N = 1024
T_BITS = (17, 30, 45, 49)


@functools.cache
def instance(plain_bits: int) -> Any:
    parameters = bfv.Parameters(N, [48] * 4, p_bits=[49] * 2, plain_bits=plain_bits, insecure=True)
    parameters = parameters.on(threads=1)
    keygen = bfv.KeyGenerator(parameters)
    evaluator = bfv.Evaluator(parameters, keygen.evaluation_keys(steps=[1, 5, -7], swap_rows=True))
    encryptor = bfv.Encryptor(parameters, keygen.public_key(), evaluator=evaluator)
    return parameters, evaluator, encryptor, bfv.Decryptor(parameters, keygen.secret_key(), allow_refusals=1000)


STEP = st.one_of(
    st.tuples(st.sampled_from(["add", "sub", "mul"]), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.just("rotate"), st.integers(0, 9), st.sampled_from([1, 5, -7])),
    st.tuples(st.sampled_from(["swap", "neg", "switch", "square"]), st.integers(0, 9), st.just(0)),
    st.tuples(st.sampled_from(["add_int", "mul_int", "rsub_int"]), st.integers(0, 9), st.integers(-60000, 60000)),
    st.tuples(st.sampled_from(["add_plain", "sub_plain", "mul_plain"]), st.integers(0, 9), st.integers(0, 2**32)),
)


def apply(name: str, x: Any, y: Any, number: int, evaluator: bfv.Evaluator, t: int) -> tuple[Any, Any]:
    """The operation on (ciphertext, integers) pairs."""
    (a, u), (b, v) = x, y
    public = np.random.default_rng(abs(number)).integers(0, t, (2, N // 2), dtype=np.uint64)
    wide = public.astype(object)
    results = {
        "add": lambda: (a + b, u + v),
        "sub": lambda: (a - b, u - v),
        "mul": lambda: (a * b, u * v),
        "square": lambda: (a * a, u * u),
        "neg": lambda: (-a, -u),
        "rotate": lambda: (a.rotate(number), np.roll(u, -number, axis=1)),
        "swap": lambda: (a.swap_rows(), u[::-1]),
        "switch": lambda: (evaluator.mod_switch(a, max(a.level - 1, 0)), u),
        "add_int": lambda: (a + number, u + number),
        "mul_int": lambda: (a * number, u * number),
        "rsub_int": lambda: (number - a, number - u),
        "add_plain": lambda: (a + public, u + wide),
        "sub_plain": lambda: (a - public, u - wide),
        "mul_plain": lambda: (a * public, u * wide),
    }
    found, wanted = results[name]()
    return found, wanted % t


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(T_BITS), st.lists(STEP, min_size=1, max_size=8), st.integers(0, 2**32))
def test_sequences_decrypt_to_exact_integers_or_are_refused(plain_bits, steps, seed):
    parameters, evaluator, encryptor, decryptor = instance(plain_bits)
    rng, t = np.random.default_rng(seed), parameters.plain_modulus
    values = []
    for _ in range(2):
        x = rng.integers(0, t, (2, N // 2), dtype=np.uint64)
        values.append((encryptor.encrypt(x), x.astype(object)))
    for name, index, argument in steps:
        second = values[argument % len(values)]
        values.append(apply(name, values[index % len(values)], second, argument, evaluator, t))
        found, wanted = values[-1]
        try:
            decrypted = decryptor.decrypt(found, np.uint64)
        except bfv.DecryptionError:
            assert decryptor.noise_budget(found) < 2
            return
        np.testing.assert_array_equal(decrypted.astype(object), wanted)
