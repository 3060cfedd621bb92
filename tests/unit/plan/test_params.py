"""Modulus chains: exact scales, distinct primes, digits, security, and the smallest ring that fits."""

from fractions import Fraction
from itertools import pairwise
from math import log2, prod

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, plan_of

from latticework import _core
from latticework.errors import LayoutError, LevelError, UserError
from latticework.plan.analysis.simulate import simulate
from latticework.plan.parameters import Need, build_chain, modulus_limit_bits, next_scale, security_levels, select_chain
from latticework.plan.parameters.fingerprint import core_parameters, fingerprint
from latticework.plan.parameters.select import DIGIT_GAP_BITS, MAX_PRIME_BITS, cut_digits, key_switch_ntts

CASES = [
    (1024, 0, 30, 6, 1), (1024, 3, 40, 10, 2), (4096, 12, 40, 14, 3), (8192, 5, 49, 20, 2), (2048, 4, 52, 14, 2),
    (16384, 9, 55, 14, 4), (32768, 20, 45, 14, 5), (65536, 10, 52, 30, 8), (1024, 2, 45, 51, 1), (4096, 6, 26, 4, 1),
]  # fmt: skip


def nearest_float64(exact):
    """The float64 nearest to a fraction, from integer arithmetic; ties to even."""
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length() - 53
    unit = Fraction(2) ** exponent
    if exact / unit >= 1 << 53:
        unit *= 2
    return float(round(exact / unit) * unit)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_invariants_of_a_chain(case):
    degree, depth, scale_bits, headroom, special = case
    chain = build_chain(degree, Need(depth, 8, scale_bits, headroom), special, insecure=True)
    primes = chain.primes + chain.special
    assert len(set(primes)) == len(primes)
    for p in primes:
        assert p < 1 << MAX_PRIME_BITS and p % (2 * degree) == 1 and _core.is_prime(p)
    assert chain.main.top == depth and len(chain.special) == special
    assert [limb for group in chain.main.groups for limb in group] == list(range(len(chain.primes)))
    assert [limb for digit in chain.digits for limb in digit] == list(range(len(chain.primes)))
    for i in range(1, depth + 1):
        exact = Fraction(chain.main.scales[i]) ** 2 / chain.group_product(i)
        assert chain.main.scales[i - 1] == nearest_float64(exact)
        assert len(chain.main.groups[i]) == (2 if scale_bits > 48.5 else 1)
    # No drift: every scale within a fraction of a bit of what was asked.
    assert max(abs(log2(s) - scale_bits) for s in chain.main.scales) < 0.35
    assert chain.main.scales[depth] == 2.0**scale_bits
    assert abs(log2(chain.modulus(0)) - scale_bits - headroom) < 0.5
    assert chain.log2_qp == pytest.approx(log2(prod(primes)))
    core_parameters(chain)  # the core accepts it


@pytest.mark.parametrize("case", CASES, ids=str)
def test_digits_are_as_long_as_special_primes_allow(case):
    degree, depth, scale_bits, headroom, special = case
    chain = build_chain(degree, Need(depth, 8, scale_bits, headroom), special, insecure=True)
    room = log2(prod(chain.special)) - DIGIT_GAP_BITS
    for digit in chain.digits:
        assert len(digit) == 1 or sum(log2(p) for p in chain.limb_primes(digit)) <= room
    for a, b in pairwise(chain.digits):
        assert sum(log2(p) for p in chain.limb_primes((*a, b[0]))) > room


def test_digits_of_given_primes():
    assert cut_digits((2**10, 2**10, 2**10, 2**30, 2**5, 2**5), 20) == ((0, 1), (2,), (3,), (4, 5))


def test_scale_is_rounded_once():
    rng = np.random.default_rng(0)
    for _ in range(200):
        s, t = (float(x) for x in rng.uniform(2**30, 2**50, 2))
        q = int(rng.integers(2**30, 2**49)) | 1
        assert next_scale(s, t, q) == nearest_float64(Fraction(s) * Fraction(t) / q)


@pytest.mark.parametrize(("depth", "scale_bits"), [(0, 30), (1, 30), (3, 40), (8, 40), (2, 52), (20, 45)])
@pytest.mark.parametrize("security_bits", [128, 192, 256])
def test_the_smallest_ring_that_is_secure_is_chosen(depth, scale_bits, security_bits):
    need = Need(depth, 64, scale_bits, 10)
    chain = select_chain(need, security_bits=security_bits)
    limit = modulus_limit_bits(chain.ring_degree, security_bits)
    assert chain.log2_qp <= limit and not chain.insecure
    smaller = chain.ring_degree // 2
    below = modulus_limit_bits(smaller, security_bits)
    for special in range(1, 9):
        if below is not None and smaller // 2 >= need.slots:
            assert build_chain(smaller, need, special).log2_qp > below
    for special in range(1, 9):  # none that fits switches keys with less work
        other = build_chain(chain.ring_degree, need, special, security_bits)
        assert other.log2_qp > limit or key_switch_ntts(other) >= key_switch_ntts(chain)


def test_slots_alone_can_decide_the_ring():
    assert select_chain(Need(0, 16384, 30, 6)).ring_degree == 32768


def test_what_does_not_fit_is_an_error_that_says_what_to_do():
    with pytest.raises(LevelError, match=r"50 levels.*ring_degree=8192 allows 21\d"):
        select_chain(Need(50, 64, 40, 10), ring_degree=8192)
    with pytest.raises(LevelError, match=r"N=2\^17"):
        select_chain(Need(200, 64, 40, 10))
    with pytest.raises(LayoutError, match=r"1024 slots.*1024 has 512.*ring_degree=2048"):
        select_chain(Need(1, 1024, 40, 10), ring_degree=1024)
    with pytest.raises(LayoutError, match="largest ring"):
        select_chain(Need(1, 1 << 17, 40, 10))


def test_values_too_large_for_the_lowest_level():
    with pytest.raises(LevelError, match=r"70 bits at a scale of 2\^40.*97 bits"):
        select_chain(Need(1, 64, 40, 70))


def test_insecure_needs_a_ring_degree_to_be_so():
    need = Need(3, 64, 40, 10)
    asked = select_chain(need, ring_degree=1024, insecure=True)
    assert asked.ring_degree == 1024 and asked.insecure
    found = select_chain(need, insecure=True)
    assert found.log2_qp <= modulus_limit_bits(found.ring_degree, 128)


def test_security_levels_are_those_of_the_table():
    assert security_levels() == (128, 192, 256)
    assert modulus_limit_bits(1024, 192) is None and modulus_limit_bits(512, 128) is None
    for degree in (2048, 8192, 131072):
        limits = [modulus_limit_bits(degree, bits) for bits in security_levels()]
        assert limits == sorted(limits, reverse=True) and len(set(limits)) == 3


def test_the_core_refuses_an_insecure_key_by_itself():
    chain = build_chain(1024, Need(2, 8, 40, 10), 1)
    context = _core.Context(core_parameters(chain), "ref", 1)
    with pytest.raises(UserError, match="1024"):
        _core.KeyGenerator(context).secret_key()
        generator = _core.KeyGenerator(context)
        generator.evaluation_keys(
            generator.secret_key(), [{"kind": "relin", "galois_element": 0, "track": 0, "level": 2}]
        )


def test_fingerprints_tell_parameters_apart():
    needs = [Need(2, 8, 40, 10), Need(3, 8, 40, 10), Need(2, 8, 41, 10), Need(2, 8, 40, 11)]
    chains = [build_chain(1024, need, special, insecure=True) for need in needs for special in (1, 2)]
    assert len({fingerprint(c) for c in chains}) == len(chains)
    assert fingerprint(build_chain(1024, needs[0], 1, insecure=True)) == fingerprint(chains[0])


def test_a_program_on_levels_of_two_primes():
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(SLOTS, SLOTS)) / 4
    v = Vectors(2)
    y = v.op("mul", v.matrix(v.x[0], matrix), v.x[1])
    module = v.done(v.polynomial(v.op("mul", y, v.splat(0.1)), [0.1, 0.2, 0.3, 0.4]), v.op("add", y, v.x[0]))
    chain = build_chain(1024, Need(5, SLOTS, 52, 14), 2, insecure=True)
    assert {len(g) for g in chain.main.groups} == {2}
    plan = plan_of(module, chain)
    x = [rng.uniform(-1, 1, SLOTS) for _ in range(2)]
    y = matrix @ x[0] * x[1]
    expected = [np.polynomial.chebyshev.chebval(0.1 * y, [0.1, 0.2, 0.3, 0.4]), y + x[0]]
    for noise, tolerance in ((None, 2.0**-45), (np.random.default_rng(1), 2.0**-36)):
        for got, want in zip(simulate(plan, x, noise=noise), expected, strict=True):
            assert np.max(np.abs(got - want)) < tolerance


def test_where_no_whole_special_prime_fits_one_of_the_bits_that_are_left_is_taken():
    need = Need(depth=6, slots=4096, scale_bits=25, headroom_bits=3)
    chain = select_chain(need, ring_degree=8192)
    (special,) = chain.special
    assert chain.log2_qp <= modulus_limit_bits(8192, 128) == 214 and not chain.insecure
    assert max(chain.primes) < special < 1 << (MAX_PRIME_BITS - 1)
    with pytest.raises(LevelError, match="7 levels of 25 bits are needed, at least 2[23][0-9]"):
        select_chain(Need(7, 4096, 25, 3), ring_degree=8192)
