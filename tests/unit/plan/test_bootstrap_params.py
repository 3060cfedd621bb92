"""Bootstrapping parameter sets: chains as planned, scales that do not drift, limits of security, failure."""

from contextlib import suppress
from dataclasses import replace
from math import comb, factorial, log2, prod

import numpy as np
import pytest

from latticework.compiler.codegen.bootstrap_plans import failure_probability_log2
from latticework.errors import LevelError, RangeError, SecurityError
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain, find_set, modulus_limit_bits
from latticework.plan.parameters.bootstrap_chain import exponential_scales, raised_scale, sine_scales
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.parameters.gadgets import quickest_special, switch_work, with_gadgets
from latticework.plan.parameters.modulus_chain import digits_at
from latticework.plan.parameters.secrets import sparse_key_bits

NAMES = list(BOOTSTRAP_SETS)
SHAPES = {  # limbs of Q and P, log2 QP (rounded up), levels left, digits
    "A14": (34, 7, 1747, 14, 5),
    "A17": (37, 5, 1736, 17, 7),
    "A11": (31, 10, 1741, 11, 4),
    "B": (39, 7, 1709, 9, 6),
    "C15": (19, 2, 868, 4, 10),
    "H17": (46, 9, 2191, 16, 5),
    "T12": (21, 3, 984, 4, 7),
    "T12L16": (33, 5, 1562, 16, 7),
    "T11": (20, 3, 944, 3, 6),
}


@pytest.mark.parametrize("name", NAMES)
def test_shape(name):
    chain = bootstrap_chain(name)
    levels = chain.main.top - chain.floor
    found = (len(chain.primes), len(chain.special), int(np.ceil(chain.log2_qp)), levels, len(chain.digits))
    assert found == SHAPES[name]
    assert len(chain.tracks) == levels + 1


@pytest.mark.parametrize("name", NAMES)
def test_primes_are_distinct_and_fit_the_core(name):
    chain = bootstrap_chain(name)
    primes = chain.primes + chain.special
    assert len(set(primes)) == len(primes)
    assert all(p % (2 * chain.ring_degree) == 1 and p < 1 << 49 for p in primes)
    assert core_parameters(chain).fingerprint == core_parameters(bootstrap_chain(BOOTSTRAP_SETS[name])).fingerprint


@pytest.mark.parametrize("name", NAMES)
def test_scales_of_the_residual_levels_do_not_drift(name):
    chain, chosen = bootstrap_chain(name), BOOTSTRAP_SETS[name]
    drift = max(abs(log2(s) - chosen.scale) for s in chain.main.scales[chain.floor :])
    assert drift < 2.0**-12


@pytest.mark.parametrize("name", NAMES)
def test_eval_mod_follows_its_profile(name):
    chain, chosen = bootstrap_chain(name), BOOTSTRAP_SETS[name]
    target = chain.main.top - chain.floor
    top = len(chain.tracks[target].groups) - 1 - len(chosen.cts)  # level at which EvalMod starts
    scale = 2.0 ** chosen.eval_scales[0]
    for i, wanted in enumerate(chosen.eval_scales[1:]):
        scale = scale * scale / chain.group_product(top - i, target)
        assert abs(log2(scale) - wanted) < 0.02
        assert chain.tracks[target].scales[top - i - 1] == pytest.approx(scale, rel=1e-12)


def test_pairs_hit_their_product():
    chain = bootstrap_chain("A14")
    bits = [log2(chain.group_product(i, 14)) for i in range(27 - 3, 27)]
    assert np.allclose(bits, [54.45, 55.7, 57.7], atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_tracks_leave_out_residual_levels_above_the_target(name):
    chain = bootstrap_chain(name)
    longest = chain.tracks[-1]
    for target, track in enumerate(chain.tracks[1:], 1):
        low = chain.floor + target + 1
        assert track.groups[:low] == chain.main.groups[:low]
        assert track.scales[:low] == chain.main.scales[:low]
        assert track.groups[low:] == longest.groups[chain.main.top + 1 :]
        assert chain.covers((len(chain.tracks) - 1, longest.top), (target, track.top))


@pytest.mark.parametrize("name", NAMES)
def test_digits_keep_to_their_sections_and_below_p(name):
    chain = bootstrap_chain(name)
    low = sum(len(g) for g in chain.main.groups[: chain.floor + 1])
    middle = sum(len(g) for g in chain.main.groups)
    for digit in chain.digits:
        assert prod(chain.limb_primes(digit)) < prod(chain.special)
        assert not (digit[0] < low <= digit[-1] or digit[0] < middle <= digit[-1])


@pytest.mark.parametrize("name", NAMES)
def test_lower_levels_have_quicker_switches_and_no_larger_keys(name):
    chain = bootstrap_chain(name)
    plain = bootstrap_chain(replace(BOOTSTRAP_SETS[name], by_level=False))
    assert replace(chain, gadgets=(), low_special=()) == plain and chain.gadgets
    assert chain.most_log2_qp == chain.log2_qp == plain.log2_qp
    assert find_set(plain) == replace(BOOTSTRAP_SETS[name], by_level=False)
    assert find_set(chain) == BOOTSTRAP_SETS[name]
    for gadget in chain.gadgets:
        p = prod(chain.every_special[: gadget.num_special])
        assert all(16 * prod(chain.limb_primes(digit)) <= p for digit in gadget.digits)
    before, after = (
        sum(
            switch_work(len(c.tracks[-1].basis(k)), c.num_special_at(k, -1), [len(d) for d in digits_at(c, k, -1)])
            for k in range(c.tracks[-1].top + 1)
        )
        for c in (plain, chain)
    )
    assert after < 0.95 * before


def test_the_quickest_numbers_are_found_by_trying_all():
    """One band of levels, by all numbers of special primes and borders: none is quicker than what is chosen."""
    chain = bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], by_level=False))
    ((limbs, special),) = quickest_special(chain, lambda _: 0.6).items()

    def share(c):
        """Work of all levels over what it was."""
        works = [
            [switch_work(len(q), x.num_special_at(k, -1), [len(d) for d in digits_at(x, k, -1)]) for x in (c, chain)]
            for k, q in enumerate(map(c.tracks[-1].basis, range(c.tracks[-1].top + 1)))
        ]
        return sum(a / b for a, b in works)

    chosen = share(with_gadgets(chain, {limbs: special}))
    for count in range(1, len(chain.primes)):
        for number in range(1, count + 1):
            with suppress(LevelError):
                made = with_gadgets(chain, {count: number})
                (gadget,) = made.gadgets
                p = prod(made.every_special[:number])
                fits = all(16 * prod(chain.limb_primes(digit)) <= p for digit in gadget.digits)
                if fits and made.log2_qp_of_gadgets[0] <= chain.log2_qp:
                    assert share(made) >= chosen - 1e-9


def test_only_marked_sets_are_insecure():
    for name, chosen in BOOTSTRAP_SETS.items():
        chain = bootstrap_chain(name)
        assert chain.insecure == name.startswith("T") == chosen.insecure
        limit = modulus_limit_bits(chain.ring_degree, 128)
        assert chain.insecure or (limit is not None and chain.log2_qp <= limit)


def test_a_set_that_is_too_long_is_refused():
    with pytest.raises(SecurityError, match="1747"):
        bootstrap_chain(replace(BOOTSTRAP_SETS["A14"], residual=15))
    with pytest.raises(SecurityError, match="128-bit"):
        bootstrap_chain(replace(BOOTSTRAP_SETS["T12"], insecure=False))


def test_the_key_to_the_sparse_secret_is_limited():
    assert sparse_key_bits(bootstrap_chain("A14")) < 94.01
    with pytest.raises(SecurityError, match="sparse"):
        bootstrap_chain(replace(BOOTSTRAP_SETS["C15"], base=37.5))


def test_unknown_names_and_odd_sets_are_errors():
    with pytest.raises(LevelError, match="A14"):
        bootstrap_chain("A15")
    with pytest.raises(LevelError, match="single primes"):
        bootstrap_chain(replace(BOOTSTRAP_SETS["T12"], base=55))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"residual": 0}, "residual=0; give a whole number from 1 to 128"),
        ({"residual": 2.5}, "residual=2.5; give a whole number"),
        ({"special": -2}, "special=-2; give a whole number from 1 to 64"),
        ({"log2_degree": 9}, "log2_degree=9; give a whole number from 10 to 17"),
        ({"name": 5}, "name=5; give a text"),
        ({"scale": float("nan")}, "scale=nan; give bits from 13 to 98"),
        ({"base": True}, "base=True; give bits"),
        ({"stc": (10, 10)}, r"stc=\(10, 10\); give bits from 13"),
        ({"cts": ()}, r"cts=\(\); give a tuple of bits"),
        ({"ratio": 0}, "ratio=0; give bits from 3 to 30"),
        ({"doublings": 4}, "doublings=4 takes 10 levels, and eval_scales and eval_rest make 9"),
    ],
)
def test_numbers_that_no_set_can_have_are_refused(change, message):
    with pytest.raises(RangeError, match=f"bootstrapping set (T11|5): .*{message}"):
        bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], **change))


def test_a_set_of_ones_own():
    chain = bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], name="mine", residual=6, scale=38, stc=(36, 38)))
    assert chain.main.top - chain.floor == 6
    assert log2(chain.main.scales[-1]) == 38


@pytest.mark.parametrize("name", ["A14", "B", "C15"])
def test_scales_are_those_that_the_circuit_leaves(name):
    """Forwards through squarings and sine series, in logarithms: what was computed backwards comes out."""
    chain = bootstrap_chain(name)
    circuit, moduli = chain.bootstrap, [chain.group_product(chain.main.top + 1 + i, -1) for i in range(9)]
    out = chain.main.scales[-1]
    made, taken = sine_scales(circuit, out, moduli[0])
    s = log2(exponential_scales(circuit, taken, moduli[1:])[-1])
    for modulus in reversed(moduli[1 : 1 + circuit.doublings]):
        s = 2 * s - log2(modulus)
    s = 2 * s - log2(moduli[0]) + log2(6)
    assert s == pytest.approx(log2(made)) == log2(out * circuit.ratio / (4 * np.pi))
    assert raised_scale(circuit, chain.primes[0]) == pytest.approx(2.0 ** BOOTSTRAP_SETS[name].eval_scales[0], rel=0.02)


def test_failure_probability():
    """K = 16 against 33 uniform terms: only the first term of the Irwin-Hall sum is left."""
    chain = bootstrap_chain("A14")
    expected = log2(2**16 * 2) + 33 * log2(0.5) - log2(factorial(33))
    assert failure_probability_log2(chain) == pytest.approx(expected) == pytest.approx(-138.7, abs=0.1)
    assert failure_probability_log2(chain, slots=4, real=True) == pytest.approx(expected - 14)


def test_failure_probability_of_a_short_interval_is_what_is_drawn():
    chain = bootstrap_chain("T11")
    narrow = replace(chain, bootstrap=replace(chain.bootstrap, bound=4))
    found = 2.0 ** failure_probability_log2(narrow, slots=1, real=True)
    sums = np.random.default_rng(1).uniform(-0.5, 0.5, (200_000, 33)).sum(axis=1)
    assert found == pytest.approx(np.mean(np.abs(sums) >= 4), rel=0.1)
    y = 33 / 2 - 4
    by_hand = 2 * sum((-1) ** k * comb(33, k) * (y - k) ** 33 for k in range(13)) / factorial(33)
    assert found == pytest.approx(by_hand, rel=1e-4)
