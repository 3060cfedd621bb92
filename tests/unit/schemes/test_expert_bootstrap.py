"""latticework.ckks.Bootstrapper: what it asks for, what it predicts, and that ciphertexts come out as predicted."""

from functools import cache

import numpy as np
import pytest

from latticework import ckks
from latticework.compiler.codegen.bootstrap_plans import noise_of, precision
from latticework.errors import LevelError, MissingKeyError, ShapeError, UserError
from latticework.plan.parameters.bootstrap_noise import BootstrapStep
from latticework.plan.parameters.step_noise import tail_deviations

RNG = np.random.default_rng(4)


@cache
def setting(real, iterations=1, slots=256):
    bootstrapper = ckks.Bootstrapper("T11", slots=slots, real=real, iterations=iterations)
    p = bootstrapper.parameters
    generator = ckks.KeyGenerator(p)
    evaluator = ckks.Evaluator(p, generator.evaluation_keys(required=bootstrapper.required_keys()))
    encryptor = ckks.Encryptor(p, generator.secret_key(), evaluator=evaluator)
    return bootstrapper, encryptor, ckks.Decryptor(p, generator.secret_key())


def values(slots, real):
    return RNG.uniform(-1, 1, slots) + (0 if real else 1j) * RNG.uniform(-1, 1, slots)


@pytest.mark.parametrize("real", [False, True])
def test_a_bootstrapped_ciphertext_holds_its_slots(real):
    b, encryptor, decryptor = setting(real)
    x = values(b.slots, real)
    result = b.bootstrap(encryptor.encrypt(x, level=b.floor))
    assert result.level == b.target_level == b.parameters.levels and result.is_settled
    found, predicted = precision(decryptor.decrypt(result), x, real=real), b.predicted_precision()
    assert abs(found.rms_bits - predicted.rms_bits) < 1.5
    again = (result * result).settle()
    np.testing.assert_allclose(decryptor.decrypt(again), x * x, atol=2.0 ** (3 - predicted.worst_bits))


def held_to_the_bound(x):
    """Ciphertexts of these slots, bootstrapped: how far parts are off, and how far they may be."""
    b, encryptor, decryptor = setting(False)
    chain, deviations = b.parameters.chain, tail_deviations(b.parameters.slots // b.slots)
    scales = chain.main.scales
    step = BootstrapStep.of(
        chain, noise_of(chain), b.slots, scales[b.floor], (b.target_level, scales[b.target_level]), 1
    )
    deviation, bias = step.error(np.maximum(np.abs(x.real), np.abs(x.imag)), float(np.max(np.abs(x))), deviations)
    off = decryptor.decrypt(b.bootstrap(encryptor.encrypt(x, level=b.floor))) - x
    off = np.maximum(np.abs(off.real), np.abs(off.imag))
    assert np.all(off <= deviations * deviation + bias)
    return off, bias


@pytest.mark.parametrize("part", [0.0, 1.0, 1.5, 6.0])
@pytest.mark.parametrize("kind", ["random", "ends", "constant"])
def test_errors_stay_below_the_bound_inside_the_interval_and_beyond(part, kind):
    x = {
        "random": values(256, False),
        "ends": RNG.choice([-1.0, 1.0], 256) + 1j * RNG.choice([-1.0, 1.0], 256),
        "constant": np.full(256, 1 - 1j),
    }[kind]
    held_to_the_bound(part * x)


def test_slots_that_hold_anything_do_not_disturb_others():
    x = values(256, False)
    anything = np.arange(256) % 3 == 0
    x[anything] = RNG.choice([-700.0, 90.0, 1000j], 86)
    off, bias = held_to_the_bound(x)
    assert np.max(bias[~anything]) < 2.0**-19 and np.max(off[~anything]) < 2.0**-19 and np.max(off[anything]) > 50


def test_lists_and_higher_levels(real=True):
    b, encryptor, decryptor = setting(real)
    x = values(b.slots, real)
    for result in encryptor.evaluator.bootstrap([encryptor.encrypt(x), encryptor.encrypt(x, level=b.floor)], b):
        np.testing.assert_allclose(decryptor.decrypt(result), x, atol=1e-4)


def test_what_a_bootstrap_needs():
    b = ckks.Bootstrapper("T11", slots=256)
    kinds = {key.kind for key in b.required_keys()}
    assert kinds == {"relin", "galois", "to_sparse", "to_dense"}
    fewer = ckks.Bootstrapper("T11", slots=256, target_level=b.floor + 1)
    top = {k.galois_element: len(b.parameters.chain.tracks[k.track].basis(k.level)) for k in b.required_keys()}
    low = {k.galois_element: len(b.parameters.chain.tracks[k.track].basis(k.level)) for k in fewer.required_keys()}
    assert set(low) == set(top) and sum(low.values()) < sum(top.values())
    assert b.failure_probability_log2() < -20
    assert "bootstrap" in str(b.parameters) and "INSECURE" in str(b.parameters)


def test_what_is_refused():
    with pytest.raises(UserError, match="there is no set 'Z9'; there are A14"):
        ckks.Bootstrapper("Z9")
    with pytest.raises(ShapeError, match="slots=100"):
        ckks.Bootstrapper("T11", slots=100)
    with pytest.raises(LevelError, match="bootstraps start at level"):
        ckks.Bootstrapper("T11", target_level=1)
    with pytest.raises(UserError, match="iterations=3"):
        ckks.Bootstrapper("T11", iterations=3)
    with pytest.raises(LevelError, match="no levels for it"):
        ckks.Bootstrapper(ckks.Parameters(2**10, [46, 40], scale_bits=40, insecure=True))
    b, encryptor, _ = setting(True)
    with pytest.raises(LevelError, match=f"at level {b.floor} or above"):
        b.bootstrap(encryptor.encrypt(values(b.slots, True), level=b.floor - 1))
    generator = ckks.KeyGenerator(b.parameters)
    poor = ckks.Evaluator(b.parameters, generator.relin_key())
    c = ckks.Encryptor(b.parameters, generator.secret_key()).encrypt(values(b.slots, True))
    with pytest.raises(MissingKeyError, match="keys are missing"):
        poor.bootstrap(c, b)
