"""Keys of low levels with special primes and digits of their own: what they compute, where they serve, how secure."""

from dataclasses import replace
from math import log2, prod

import numpy as np
import pytest

from latticework import bfv, ckks
from latticework.errors import LevelError, MissingKeyError, RangeError, SecurityError
from latticework.plan.files.codec import from_data, to_data
from latticework.plan.instructions.key_bytes import resident_bytes, stored_bytes
from latticework.plan.parameters.fingerprint import core_parameters, fingerprint
from latticework.plan.parameters.modulus_chain import ModulusChain, digits_at
from latticework.plan.parameters.secrets import is_secure
from latticework.values.extension import _core

SLOTS = 16
LOWER = {4: 3, 1: 1}  # of levels 4 and 1 down: special primes
BACKENDS = ("cpu", "ref", "sim")


def parameters(low=LOWER):
    return ckks.Parameters(2**10, [46] + [40] * 6, scale_bits=40, num_special=2, special_below=low, insecure=True)


@pytest.fixture(scope="module")
def setting():
    p = parameters()
    generator = ckks.KeyGenerator(p, insecure_seed=5)
    return p, generator, generator.evaluation_keys(steps=[1, 3], conjugate=True, slots=SLOTS)


def test_every_level_takes_the_special_primes_and_digits_of_its_own(setting):
    chain = setting[0].chain
    assert [chain.num_special_at(level) for level in range(7)] == [1, 1, 3, 3, 3, 2, 2]
    assert [len(digits_at(chain, level)) for level in range(7)] == [1, 2, 2, 2, 2, 3, 4]
    for level in range(7):
        digits = digits_at(chain, level)
        assert tuple(limb for digit in digits for limb in digit) == chain.main.basis(level)
        assert all(prod(chain.limb_primes(digit)) < prod(chain.special_at(level)) for digit in digits)
    assert chain.low_special and not set(chain.low_special) & {*chain.primes, *chain.special}


@pytest.mark.parametrize("backend", BACKENDS)
def test_rotations_and_products_decrypt_at_all_levels(setting, backend):
    p, generator, keys = setting
    x = np.random.default_rng(3).uniform(-1, 1, SLOTS)
    here = p.on(backend=backend)
    evaluator = ckks.Evaluator(here, ckks.EvaluationKeys.from_bytes(keys.to_bytes(), here))
    sent = ckks.Encryptor(p, generator.secret_key()).encrypt(x, level=6).to_bytes()
    top = ckks.Ciphertext.from_bytes(sent, here)
    decryptor = ckks.Decryptor(here, generator.secret_key())
    for level in range(7):
        at = evaluator.mod_switch(top, level) if level < 6 else top
        first, second = evaluator.rotate_many(at, [1, 3])
        for got, steps in ((evaluator.rotate(at, 1), 1), (first, 1), (second, 3)):
            np.testing.assert_allclose(decryptor.decrypt(got).real, np.roll(x, -steps), atol=1e-7)
        if level:
            product = evaluator.rescale(evaluator.relinearize(evaluator.mul(at, at)))
            np.testing.assert_allclose(decryptor.decrypt(product).real, x * x, atol=1e-7)


@pytest.mark.parametrize("backend", BACKENDS)
def test_products_and_rotations_of_integers_are_exact_at_all_levels(backend):
    p = bfv.Parameters(2**10, [45] * 5, plain_bits=16, num_special=2, special_below={2: 3, 0: 1}, insecure=True)
    assert [p.chain.num_special_at(level) for level in range(5)] == [1, 3, 3, 2, 2]
    generator = bfv.KeyGenerator(p, insecure_seed=6)
    here, keys = p.on(backend=backend), generator.evaluation_keys(steps=[1]).to_bytes()
    evaluator = bfv.Evaluator(here, bfv.EvaluationKeys.from_bytes(keys, here))
    x = np.arange(512) % 100
    sent = bfv.Encryptor(p, generator.secret_key()).encrypt(x).to_bytes()
    top, decryptor = bfv.Ciphertext.from_bytes(sent, here), bfv.Decryptor(here, generator.secret_key())
    for level in range(5):
        at = evaluator.mod_switch(top, level) if level < 4 else top
        np.testing.assert_array_equal(decryptor.decrypt(evaluator.rotate(at, 1))[0], np.roll(x, -1))
        if level:
            product = evaluator.mul(at, at)
            product = evaluator.relinearize(product) if product.degree == 2 else product
            np.testing.assert_array_equal(decryptor.decrypt(product)[0], x * x)


def test_backends_agree_to_the_byte(setting):
    p, generator, keys = setting
    sent = ckks.Encryptor(p, generator.secret_key()).encrypt(np.arange(SLOTS) / SLOTS, level=3).to_bytes()
    results = set()
    for backend in BACKENDS:
        here = p.on(backend=backend)
        evaluator = ckks.Evaluator(here, ckks.EvaluationKeys.from_bytes(keys.to_bytes(), here))
        results.add(evaluator.rotate(ckks.Ciphertext.from_bytes(sent, here), 3).to_bytes())
    assert len(results) == 1


def test_a_key_serves_levels_that_are_cut_alike_and_no_others(setting):
    p, generator, keys = setting
    assert sorted(s.level for s in keys.specs if s.kind == "relin") == [1, 4, 6]
    only_top = [s for s in keys.specs if s.level == 6]
    held = generator.evaluation_keys(relin=False, steps=(), required=only_top)
    evaluator = ckks.Evaluator(p, held)
    x = ckks.Encryptor(p, generator.secret_key()).encrypt(np.ones(SLOTS), level=6)
    evaluator.rotate(evaluator.mod_switch(x, 5), 1)
    with pytest.raises(MissingKeyError, match="is cut for higher levels, .* generate the key with level=4"):
        evaluator.rotate(evaluator.mod_switch(x, 4), 1)
    with pytest.raises(MissingKeyError, match="for level 4"):  # nor does the core take it
        low = evaluator.mod_switch(x, 4)
        _core.Evaluator(p.context).rotate(low.core, pow(5, 1, 2 << 10), held.core)


def test_keys_and_their_files_have_the_stated_sizes(setting):
    p, _, keys = setting
    assert keys.num_bytes == sum(resident_bytes(s, p.chain) + _padding(s, p.chain) for s in keys.specs)
    sections = sum(stored_bytes(s, p.chain) for s in keys.specs)
    assert sections < len(keys.to_bytes()) < 1.03 * sections  # a hash for every row, and the head
    assert "levels 5 to  6" in keys.summary() and "levels 0 to  1" in keys.summary()


def _padding(spec, chain):
    rows = resident_bytes(spec, chain) // (8 * chain.ring_degree)
    return rows * 8 * 8


def test_parameters_with_gadgets_are_others_and_go_round(setting):
    p = setting[0]
    plain = parameters({})
    assert plain.chain == replace(p.chain, low_special=(), gadgets=())
    assert fingerprint(plain.chain) != fingerprint(p.chain)
    again = ckks.Parameters.from_bytes(p.to_bytes(), insecure=True)
    assert again == p and again.chain.gadgets == p.chain.gadgets
    core = core_parameters(p.chain)
    assert _core.Parameters.from_cbor(core.to_cbor()) == core and len(core.gadgets) == 2
    assert len(to_data(plain.chain)) < len(to_data(p.chain))  # files without gadgets are as they were
    assert from_data(ModulusChain, to_data(plain.chain), "chain") == plain.chain


def test_noise_of_switches_follows_the_digits_of_the_level():
    from latticework.plan.parameters import step_noise, worst_noise

    chain = parameters().chain
    for level, special in ((6, 2), (4, 3), (1, 1)):
        p = prod(chain.every_special[:special])
        ratios = [prod(chain.limb_primes(digit)) / p for digit in digits_at(chain, level)]
        spread = sum(1024 * 10.5 / 12 * ratio**2 for ratio in ratios) ** 0.5
        assert step_noise.key_product(chain, level) == pytest.approx(spread)
        assert worst_noise.key_product(chain, level) == pytest.approx(1024 * 21 / 2 * sum(ratios))


# -- security: every key by itself ----------------------------------------------------------------


def secure(low):
    return ckks.Parameters(2**13, [40] * 4, scale_bits=35, num_special=1, special_below=low)  # 209 of 214 bits


def test_a_gadget_that_would_be_too_weak_is_refused_everywhere():
    good = secure({1: 2})
    assert good.chain.log2_qp_of_gadgets[0] <= 214 and is_secure(good.chain)
    with pytest.raises(SecurityError, match=r"keys for 2 primes with 3 special ones .* = 22\d.* allows 214"):
        secure({1: 3})
    forged = replace(
        good.chain,
        low_special=(*good.chain.low_special, int(_core.primes_near(2.0**45, 2 << 13, 1)[0])),
        gadgets=(replace(good.chain.gadgets[0], num_special=3),),
    )
    assert log2(prod(forged.primes[:2] + forged.every_special)) > 214 > forged.log2_qp
    assert not is_secure(forged)
    with pytest.raises(SecurityError):
        ckks.Parameters.of_chain(forged)
    context = _core.Context(core_parameters(forged), "cpu", 1)
    generator = _core.KeyGenerator(context)
    spec = {"kind": "relin", "galois_element": 0, "track": 0, "level": 1}
    with pytest.raises(SecurityError, match="its modulus has"):  # the core checks each key that it makes
        generator.evaluation_keys(generator.secret_key(), [spec])


@pytest.mark.parametrize(
    "low, error",
    [({7: 2}, RangeError), ({2: 0}, RangeError), ({6: 3}, RangeError), ({2.5: 1}, RangeError), ([2, 1], RangeError)],
)
def test_levels_and_numbers_that_there_are_not_are_refused(low, error):
    with pytest.raises(error):
        parameters(low)


def test_digits_below_one_limb_are_refused():
    with pytest.raises(LevelError, match="less than a digit"):
        ckks.Parameters(
            2**10, [49] * 4, scale_bits=40, num_special=2, p_bits=[30, 49], special_below={2: 1}, insecure=True
        )


@pytest.mark.parametrize(
    "change, message",
    [
        ({"digits": ((0, 1, 2, 3),)}, "must list|cover"),
        ({"num_special": 9}, "special primes of"),
        ({"limbs": 7}, "follows one of 7"),
        ({"digits": ((0, 1, 2, 3, 4),)}, "more than its special primes"),
    ],
)
def test_the_core_refuses_gadgets_that_break_a_rule(change, message):
    chain = parameters().chain
    broken = replace(chain, gadgets=(replace(chain.gadgets[0], **change), chain.gadgets[1]))
    with pytest.raises(ValueError, match=message):
        core_parameters(broken)
