"""Choice and checks of BFV parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bfv_cases import make_case, mul_mod, small_parameters

from latticework import _core, bfv
from latticework.errors import LevelError, RangeError, SecurityError
from latticework.plan.parameters import modulus_limit_bits
from latticework.plan.parameters.bfv_chain import ChainShape, largest_bfv_chain, plain_prime
from latticework.plan.parameters.fingerprint import core_parameters


@pytest.mark.parametrize(
    ("ring_degree", "plain_bits", "depth"), [(2**12, 17, 1), (2**13, 17, 3), (2**14, 45, 3), (2**15, 30, 8)]
)
def test_chosen_parameters_are_secure_and_deep_enough(ring_degree, plain_bits, depth):
    p = bfv.Parameters.choose(ring_degree=ring_degree, plain_bits=plain_bits, depth=depth)
    assert not p.is_insecure and p.log2_qp <= modulus_limit_bits(ring_degree, 128)
    assert p.plain_modulus.bit_length() == plain_bits and p.plain_modulus % (2 * ring_degree) == 1
    assert bfv.NoiseModel(p).supports(depth)
    assert max(p.chain.primes + p.chain.special) < 2**49
    assert max(ChainShape(p.chain).digit_bits(p.levels)) <= p.log2_p + 1


def test_the_smallest_ring_is_chosen():
    p = bfv.Parameters.choose(plain_bits=20, depth=2)
    assert p.ring_degree == 2**13
    with pytest.raises(LevelError, match="depth 2"):
        bfv.Parameters.choose(ring_degree=p.ring_degree // 2, plain_bits=20, depth=2)
    assert bfv.Parameters.choose(plain_modulus=65537, depth=4).plain_modulus == 65537


def test_chosen_depth_is_reached():
    p = bfv.Parameters.choose(ring_degree=2**12, plain_bits=17, depth=1)
    case = make_case(p)
    x = case.random(np.random.default_rng(1))
    public = bfv.Encryptor(case.parameters, case.keygen.public_key(), evaluator=case.evaluator)
    total = sum((public.encrypt(x) for _ in range(15)), public.encrypt(x)).rotate(1)
    wanted = np.roll((16 * x) % case.t, -1, axis=1)
    np.testing.assert_array_equal(case.read(total * total), mul_mod(wanted, wanted, case.t))


def test_insecure_sets_have_to_be_asked_for():
    with pytest.raises(SecurityError, match="allows at most 26"):
        bfv.Parameters(1024, [40], p_bits=[40], plain_bits=17)
    with pytest.raises(LevelError):
        bfv.Parameters.choose(ring_degree=1024, plain_bits=17, depth=1)
    p = bfv.Parameters.choose(ring_degree=1024, plain_bits=17, depth=1, insecure=True)
    assert p.is_insecure and "INSECURE" in repr(p)
    secure = bfv.Parameters.choose(ring_degree=2**13, plain_bits=17, depth=1, insecure=True)
    assert not secure.is_insecure  # as it is not


@pytest.mark.parametrize("ring_degree", [1 << 12, 1 << 13, 1 << 14])
def test_chains_as_large_as_is_secure_are_not_called_insecure(ring_degree):
    """Sizes of primes are fractions of the limit: 5 * 35.33 + 37.33 is a little more than 214 in floating point."""
    plain, limit = plain_prime(ring_degree, 20, None), modulus_limit_bits(ring_degree, 128)
    for limbs in range(1, 9):
        for special in (1, 2, 3):
            chain = largest_bfv_chain(ring_degree, plain, limbs, special)
            assert chain is None or (chain.log2_qp <= limit and not chain.insecure), (limbs, special)
            large = largest_bfv_chain(ring_degree, plain, limbs, special, insecure=True)
            assert large.insecure == (large.log2_qp > limit), (limbs, special)


def test_plain_modulus_is_checked():
    with pytest.raises(RangeError, match="one of plain_bits and plain_modulus"):
        bfv.Parameters.choose(ring_degree=2**13, depth=1)
    with pytest.raises(RangeError, match="no plaintext modulus of 12 bits"):
        bfv.Parameters.choose(ring_degree=2**13, plain_bits=12, depth=1)
    with pytest.raises(ValueError, match="not a prime that is 1 modulo 2N"):
        bfv.Parameters.choose(ring_degree=2**13, plain_modulus=65539, depth=1)
    good = small_parameters(17)
    with pytest.raises(ValueError, match="plain_modulus .* and the ciphertext modulus share the prime"):
        bfv.Parameters.of_chain(replace(good.chain, plain_modulus=good.chain.primes[0]))


def test_extension_basis():
    p = small_parameters(45)
    taken = {*p.chain.primes, *p.chain.special, p.plain_modulus}
    shape, core = ChainShape(p.chain), core_parameters(p.chain)
    for level in range(p.levels + 1):
        primes = core.extension_primes((0, level))
        assert all(q % 2048 == 1 and q < 2**49 and q not in taken for q in primes)
        assert primes == sorted(primes, reverse=True)
        assert shape.log2_extension(level) >= shape.log2_q(level) - 1
        assert sum(np.log2(q) for q in primes[:-1]) < shape.log2_q(level) - 1  # no more than needed


def test_fingerprints():
    p = small_parameters(17)
    other = bfv.Parameters.of_chain(replace(p.chain, plain_modulus=small_parameters(30).plain_modulus))
    assert p.fingerprint != other.fingerprint and p != other
    core = core_parameters(p.chain)
    stored = core.to_cbor()
    again = _core.Parameters.from_cbor(stored)
    assert (again.plain_modulus, again.fingerprint) == (p.plain_modulus, core.fingerprint)
    ckks = _core.Parameters(p.ring_degree, core.q, core.p, core.digits, core.tracks, insecure=True)
    assert ckks.plain_modulus == 0 and b"plain_modulus" not in ckks.to_cbor()
    assert ckks.extension_primes((0, 0)) == []


def test_counts_of_transforms():
    p = bfv.Parameters(2**13, [42] * 4, p_bits=[46], plain_bits=17)
    assert p.num_transforms() == {"mul": 86, "square": 78, "rotate": 30}
    assert p.num_transforms(1)["rotate"] < 30


def test_num_digits():
    p = small_parameters(17, limbs=5, special=2)
    assert p.chain.digits == ((0, 1), (2, 3), (4,))
    one = bfv.Parameters(1024, [47] * 5, p_bits=[49] * 2, plain_bits=17, num_digits=1, insecure=True)
    assert one.chain.digits == ((0, 1, 2, 3, 4),)
    with pytest.raises(RangeError, match="num_digits=6"):
        bfv.Parameters(1024, [47] * 5, p_bits=[49] * 2, plain_bits=17, num_digits=6, insecure=True)
