"""Bootstrapping sets planned for a program: secure, precise enough, quickest, and refused with what fits."""

from dataclasses import replace

import pytest

from latticework.compiler.codegen.bootstrap_plans import predict_precision
from latticework.errors import LevelError, SecurityError
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain, bootstrapping_rings, modulus_limit_bits
from latticework.plan.parameters.bootstrap_planning import PRECISION, most_levels_left, plan_bootstrap_set, templates
from latticework.plan.parameters.select import key_switch_ntts

ASKED = [(4, 18.0, 1 << 15), (7, 20.0, 1 << 16), (14, 24.5, 1 << 16), (5, 28.0, 1 << 16), (30, 20.0, 1 << 17)]


@pytest.mark.parametrize(("residual", "bits", "ring"), ASKED)
def test_planned_sets_leave_what_is_asked_for_within_the_security_table(residual, bits, ring):
    chosen = plan_bootstrap_set(residual, bits, ring)
    chain = bootstrap_chain(chosen)
    assert (chain.ring_degree, chain.main.top - chain.floor, chain.insecure) == (ring, residual, False)
    assert chain.log2_qp <= modulus_limit_bits(ring, 128)
    assert any(t.chosen.scale == chosen.scale and t.precision_bits >= bits for t in templates(ring, bits))


def test_the_stored_sets_are_what_is_planned_for_as_many_levels():
    shared = ("scale", "base", "stc", "residual", "eval_scales", "eval_rest", "cts", "special", "special_bits")
    for name, bits in (("A14", 24.5), ("A17", 24.0)):
        stored = BOOTSTRAP_SETS[name]
        planned = plan_bootstrap_set(stored.residual, bits, 1 << 16)
        assert [getattr(planned, field) for field in shared] == [getattr(stored, field) for field in shared]


def test_of_the_special_primes_that_fit_the_quickest_number_is_taken():
    chosen = plan_bootstrap_set(9, 20.0, 1 << 16)
    transforms = key_switch_ntts(bootstrap_chain(chosen))
    for special in range(3, 12):
        other = replace(chosen, special=special)
        try:
            assert key_switch_ntts(bootstrap_chain(other)) >= transforms
        except SecurityError:
            assert special > chosen.special


def test_fewer_levels_are_never_slower_and_one_more_than_most_does_not_fit():
    for ring in bootstrapping_rings():
        most = most_levels_left(18.0, ring)
        steps = sorted({1, most // 2, most})
        transforms = [key_switch_ntts(bootstrap_chain(plan_bootstrap_set(r, 18.0, ring))) for r in steps]
        assert transforms == sorted(transforms)
        with pytest.raises(LevelError, match=f"leaves {most + 1} levels after bootstraps of 18 bits; at most .*fit"):
            plan_bootstrap_set(most + 1, 18.0, ring)


def test_refusals_say_what_fits():
    with pytest.raises(LevelError, match=r"N=2\^16 leaves 4 levels after bootstraps of 33 bits.*15 of 30.8 bits fit"):
        plan_bootstrap_set(4, 33.0, 1 << 16)
    with pytest.raises(LevelError, match=r"too small to bootstrap at all; rings of 2\^15, 2\^16, 2\^17 can"):
        plan_bootstrap_set(1, 10.0, 1 << 14)
    with pytest.raises(LevelError, match=r"no bootstrapping set has 192-bit security.*security_bits=128"):
        plan_bootstrap_set(1, 10.0, 1 << 16, security_bits=192)
    with pytest.raises(LevelError, match=r"at a scale of 2\^41"):
        plan_bootstrap_set(1, 10.0, 1 << 16, scale=41)


def test_a_scale_can_be_asked_for():
    assert plan_bootstrap_set(6, 20.0, 1 << 16, scale=40).scale == 40


def check_precision(stored, log2_degree, scale, bits):
    template = next(
        t for t in templates(1 << log2_degree, bits) if t.chosen.scale == scale and t.chosen.degree == stored.degree
    )
    chain = bootstrap_chain(replace(template.chosen, residual=2, special=stored.special))
    assert 0.0 <= predict_precision(chain, 2).rms_bits - template.precision_bits < 0.4


def test_the_precision_that_sets_are_planned_by_is_that_of_the_noise_model():
    check_precision(BOOTSTRAP_SETS["C15"], 15, 34, 19.1)


@pytest.mark.slow
@pytest.mark.parametrize(("stored", "log2_degree", "scales"), PRECISION[1:], ids=lambda p: getattr(p, "name", str(p)))
def test_all_precisions_are_those_of_the_noise_model(stored, log2_degree, scales):
    for scale, bits in scales.items():
        check_precision(stored, log2_degree, scale, bits)
