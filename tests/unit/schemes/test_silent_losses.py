"""What would be computed at a loss without a word is refused, with the threshold and what to write instead."""

import numpy as np
import pytest

from latticework import bfv, ckks
from latticework.errors import MissingKeyError, RangeError, RangeWarning, ScaleError

SLOTS = 32


@pytest.fixture(scope="module")
def parameters():
    return ckks.Parameters(2**10, [46, 40, 40, (20, 20), 40], scale_bits=40, num_special=2, insecure=True)


def test_scales_below_the_noise_and_factors_that_round_to_nothing_are_refused(parameters):
    maker = ckks.KeyGenerator(parameters)
    for key in (maker.public_key(), maker.secret_key()):
        encryptor = ckks.Encryptor(parameters, key, evaluator=ckks.Evaluator(parameters))
        plain = ckks.Encoder(parameters).encode(np.ones(SLOTS), scale=40)
        for wrong in (
            lambda e=encryptor: e.encrypt(np.ones(SLOTS), scale=40),
            lambda e=encryptor, p=plain: e.encrypt(p),
        ):
            with pytest.raises(ScaleError, match=r"at scale 40 the noise .* 2.0\*\*40 and not 40, and more than"):
                wrong()
        large = encryptor.encrypt(np.full(SLOTS, 1e9), scale=40)
        assert abs(ckks.Decryptor(parameters, maker.secret_key()).decrypt(large).real - 1e9).max() < 1e3
    x = encryptor.encrypt(np.ones(SLOTS))
    for factor in (1e-13, np.full(SLOTS, 1e-13), 1e-11, np.eye(1, SLOTS)[0] * 2e-11):
        with pytest.raises(RangeError, match=r"256 or more are needed: use factors of 2.33e-10 or more"):
            x * factor
    with pytest.raises(RangeError, match="leaves nothing"):
        x.evaluator.mul_plain(x, np.eye(1, SLOTS)[0], scale=16.0)
    with pytest.raises(RangeError, match="leaves nothing"):
        ckks.Estimator(parameters).mul_plain(ckks.Estimator(parameters).fresh(1.0), 1e-13, scale=2.0**40)
    for kept in (x * 3e-10, x * 0, x * np.zeros(SLOTS), x.evaluator.mul_plain(x, 1.0, scale=1.0)):
        assert kept.slots == SLOTS
    with pytest.raises(RangeError, match=r"scale_bits=12, but N=8192 .* use scale_bits=25 or more"):
        ckks.Parameters.choose(depth=2, scale_bits=12)


def test_parameters_of_other_libraries_are_told_how_to_split_primes():
    for wrong, text in (
        ([61], r"49 bits; use p_bits=\[30, 31\]"),
        ([(30, 31)], r"list of numbers of bits, as in \[30, 31\]"),
    ):
        with pytest.raises(RangeError, match=text):
            ckks.Parameters(2**14, [60, 40, 40], scale_bits=40, p_bits=wrong)
    assert ckks.Parameters(2**14, [60, 40, 40], scale_bits=40, p_bits=[30, 31]).levels == 2
    with pytest.raises(RangeError, match=r"p_bits=\[61\]; .* split larger ones in two: \[30, 31\] for 61"):
        bfv.Parameters(2**14, [40, 40], plain_bits=20, p_bits=[61])


def test_seals_polynomial_names_the_step_that_is_wrong(parameters):
    """pi x^3 + 0.4 x + 1 as in SEAL's examples: mod_switch before the sum leaves two scales at one level."""
    maker = ckks.KeyGenerator(parameters)
    e = ckks.Evaluator(parameters, maker.evaluation_keys())
    x = ckks.Encryptor(parameters, maker.public_key(), evaluator=e).encrypt(np.full(SLOTS, 0.5))
    cube = e.mul_relin(e.rescale(e.mul_relin(x, x)), e.rescale(e.mul_plain(x, np.pi)), rescale=True)
    linear = e.rescale(e.mul_plain(x, 0.4, scale=2.0**40))
    low, near = e.mod_switch(linear, cube.level), e.mod_switch(x, 2)
    near = e.rescale(e.mul_plain(near, 1.0, scale=e.plain_scale(near) * (1 + 1e-6)))
    for wrong in (low, near):
        with pytest.raises(
            ScaleError, match=r"\(2\^40.*\), and only a rescale mends one: use level_to instead of mod_"
        ):
            e.level_to(wrong, wrong.level)
    with pytest.raises(ScaleError, match=r"by a factor of 1 \+1e-06\)"):
        e.level_to(near, near.level)
    total = e.add(e.add(cube, e.level_to(linear, cube.level)), 1)
    found = ckks.Decryptor(parameters, maker.secret_key()).decrypt(total).real
    np.testing.assert_allclose(found, np.pi / 8 + 0.2 + 1, atol=1e-5)


def test_a_modulus_as_small_as_the_scale_is_warned_of():
    with pytest.warns(RangeWarning, match=r"values of 0\.5 or more wrap"):
        p = ckks.Parameters(2**10, [40, 40, 40], scale_bits=40, insecure=True)
    maker = ckks.KeyGenerator(p)
    one = ckks.Encryptor(p, maker.secret_key()).encrypt(np.ones(p.slots))
    low = ckks.Evaluator(p).mod_switch(one, 0)
    assert abs(ckks.Decryptor(p, maker.secret_key()).decrypt(low)[0]) < 0.1, "1 wraps around to 0"
    ckks.Parameters(2**10, [42, 40, 40], scale_bits=40, insecure=True)


def test_messages_name_the_keys_that_are_missing(parameters):
    maker = ckks.KeyGenerator(parameters)
    poor = ckks.Evaluator(parameters, maker.evaluation_keys(steps=[1]))
    x = ckks.Encryptor(parameters, maker.secret_key(), evaluator=poor).encrypt(np.ones(SLOTS))
    text = r"2 of 3 keys are missing .*: rotation by 2, rotation by 4; .*evaluation_keys\(steps=\[2, 4\], level=4\)$"
    with pytest.raises(MissingKeyError, match=text):
        poor.inner_sum(x, 8)
    better = maker.evaluation_keys(steps=[1, 2, 4], level=4)
    total = ckks.Evaluator(parameters, better).inner_sum(x, 8)
    assert abs(ckks.Decryptor(parameters, maker.secret_key()).decrypt(total) - 8).max() < 1e-6
    transform = ckks.LinearTransform({0: np.ones(SLOTS), 3: np.ones(SLOTS)})
    with pytest.raises(MissingKeyError, match=r"rotation by 3; .*level=4\)\), of the LinearTransform"):
        poor.linear_transform(x, transform)


def test_transforms_of_entries_that_cannot_be_encoded_say_so(parameters):
    poor = ckks.Evaluator(parameters)
    x = ckks.Encryptor(parameters, ckks.KeyGenerator(parameters).secret_key(), evaluator=poor).encrypt(np.ones(SLOTS))
    for size, text in ((1e8, r"the entries: values of 4\.19e\+06 or more"), (1e-14, r"round to 0; 4\.55e-13 or more")):
        with pytest.raises(RangeError, match=text):
            poor.linear_transform(x, ckks.LinearTransform({0: np.full(SLOTS, size)}))
