"""Several plaintext moduli of one chain: primes with slots whose product holds what it has to, under one fingerprint."""

from dataclasses import replace
from math import prod

import pytest

from latticework.errors import RangeError
from latticework.plan.parameters import bfv_chain
from latticework.plan.parameters.bfv_chain import plain_prime
from latticework.plan.parameters.fingerprint import core_parameters, fingerprint
from latticework.plan.parameters.plain_moduli import numbers_of_moduli, with_plain_moduli
from latticework.plan.parameters.select import fault_of_moduli

N = 4096


def chain_of(bits):
    return bfv_chain.bfv_chain(N, plain_prime(N, bits, None), [43.0, 43.0], [])


@pytest.mark.parametrize("largest", [1, (1 << 63) - 1, 1 << 63, 1 << 126, (1 << 127) + 12345, 1 << 600])
def test_the_product_holds_the_largest_integer(largest):
    for count, bits in numbers_of_moduli(largest):
        chain = with_plain_moduli(chain_of(bits), largest)
        moduli = chain.plain_moduli
        assert 2 <= len(moduli) <= count + 1 and (prod(moduli) - 1) // 2 >= largest
        assert len(moduli) == 2 or prod(moduli[:-1]) <= 2 * largest  # no more than it takes
        assert fault_of_moduli(chain) == ""
        assert all(t % (2 * N) == 1 and pow(3, t - 1, t) == 1 and t not in chain.primes for t in moduli)


def test_too_few_primes_of_a_size_are_refused():
    with pytest.raises(RangeError, match="integers of 902 bits take more than the .* give a larger plain_bits="):
        with_plain_moduli(bfv_chain.bfv_chain(1 << 16, plain_prime(1 << 16, 26, None), [43.0], []), 1 << 900)


def test_all_moduli_share_a_fingerprint_and_their_own_arithmetic():
    chain = with_plain_moduli(chain_of(43.0), 1 << 126)
    alone = replace(chain, more_plain_moduli=())
    parameters = [core_parameters(chain, number) for number in range(len(chain.plain_moduli))]
    assert {bytes(p.fingerprint) for p in parameters} == {fingerprint(alone)} == {fingerprint(chain)}
    assert tuple(p.plain_modulus for p in parameters) == chain.plain_moduli
    for p in parameters:
        assert p.has_batching and p.q == list(chain.primes) and p.plain_modulus not in p.extension_primes((0, 1))


@pytest.mark.parametrize("wrong", [0, 1, 1 << 60])
def test_the_core_refuses_moduli_that_the_primes_cannot_have(wrong):
    parameters = core_parameters(chain_of(43.0))
    with pytest.raises(ValueError, match="modulus"):
        parameters.with_plain_modulus(wrong + 1 if wrong > 1 else wrong)
    with pytest.raises(ValueError, match="share the prime"):
        parameters.with_plain_modulus(parameters.q[0])


def test_faults_are_named():
    chain = with_plain_moduli(chain_of(43.0), 1 << 126)
    t, *others = chain.plain_moduli
    for more, told in (
        ((t,), "do not descend"), (tuple(reversed(others)), "do not descend"), ((t - 2 * N + 2,), "has no slots"),
        ((others[0], 65), "has no slots"), (tuple(range(t - 1, t - 70, -1)), "at most 64"),
    ):  # fmt: skip
        assert told in fault_of_moduli(replace(chain, more_plain_moduli=more))
    assert "has no slots" in fault_of_moduli(replace(chain, primes=(others[0], *chain.primes)))
