"""Estimates against ciphertexts: predicted precision is measured precision, for every kind of operation and vector."""

from functools import cache
from math import log2
from types import SimpleNamespace

import numpy as np
import pytest

from latticework import ckks
from latticework.errors import LevelError, RangeError, ScaleError, ShapeError, UserError
from latticework.plan.analysis.error_model import Bound, ErrorModel

N, SLOTS = 2**12, 2**11
CLOSE_BITS = 2.0


@cache
def world():
    """INSECURE parameters at scale 2^40 with every key that the operations below take."""
    p = ckks.Parameters(N, [50, 40, 40, 40, 40], scale_bits=40, num_special=2, insecure=True)
    rng = np.random.default_rng(12)
    w = SimpleNamespace(parameters=p, estimator=ckks.Estimator(p))
    w.factors = rng.uniform(-1, 1, SLOTS) + 1j * rng.uniform(-1, 1, SLOTS)
    w.transform = ckks.LinearTransform({k: rng.uniform(-0.5, 0.5, SLOTS) for k in (0, 1, 2, 5, 64, 65)}, slots=SLOTS)
    w.cubic = ckks.Polynomial([0.25, -0.5, 0.0, 0.75])
    w.wave = ckks.chebyshev(np.cos, (-1, 1), degree=7)
    required = [key for op in (w.transform, w.cubic, w.wave) for key in op.required_keys(p)]
    maker = ckks.KeyGenerator(p)
    w.evaluator = ckks.Evaluator(p, maker.evaluation_keys(steps=[1, -7], conjugate=True, required=required))
    w.public = ckks.Encryptor(p, maker.public_key(), evaluator=w.evaluator)
    w.secret = ckks.Encryptor(p, maker.secret_key(), evaluator=w.evaluator)
    w.decryptor = ckks.Decryptor(p, maker.secret_key())
    return w


VECTORS = {
    "random": lambda rng: rng.uniform(-1, 1, SLOTS),
    "complex": lambda rng: (rng.uniform(-1, 1, SLOTS) + 1j * rng.uniform(-1, 1, SLOTS)) / 2**0.5,
    "constant": lambda rng: np.full(SLOTS, 0.8),
    "sign": lambda rng: rng.choice([-1.0, 1.0], SLOTS),
    "one-hot": lambda rng: np.eye(1, SLOTS, 17)[0],
}

# name -> (what is done with an evaluator or an estimator, the same in the clear)
OPERATIONS = {
    "encrypt": (lambda w, e, x, y: x, lambda w, x, y: x),
    "add": (lambda w, e, x, y: e.add(x, y), lambda w, x, y: x + y),
    "sub of the same": (lambda w, e, x, y: e.sub(e.mul_int(x, 3), x), lambda w, x, y: 2 * x),
    "mul": (lambda w, e, x, y: e.rescale(e.relinearize(e.mul(x, y))), lambda w, x, y: x * y),
    "mul in one": (lambda w, e, x, y: e.relinearize(e.mul(x, y), rescale=True), lambda w, x, y: x * y),
    "square": (lambda w, e, x, y: e.rescale(e.relinearize(e.square(x))), lambda w, x, y: x * x),
    "rescale first": (lambda w, e, x, y: e.relinearize(e.rescale(e.mul(x, y))), lambda w, x, y: x * y),
    "mul_plain": (lambda w, e, x, y: e.rescale(e.mul_plain(x, w.factors)), lambda w, x, y: x * w.factors),
    "mul_plain by a number": (lambda w, e, x, y: e.rescale(e.mul_plain(x, 0.3)), lambda w, x, y: 0.3 * x),
    "add a vector": (lambda w, e, x, y: e.add(x, w.factors), lambda w, x, y: x + w.factors),
    "rotate": (lambda w, e, x, y: e.rotate(x, -7), lambda w, x, y: np.roll(x, 7)),
    "rotate_many": (lambda w, e, x, y: e.rotate_many(x, [1, -7])[0], lambda w, x, y: np.roll(x, -1)),
    "conjugate": (lambda w, e, x, y: e.conjugate(x), lambda w, x, y: x.conj()),
    "level_to": (lambda w, e, x, y: e.level_to(x, 1), lambda w, x, y: x),
    "linear transform": (lambda w, e, x, y: e.linear_transform(x, w.transform), lambda w, x, y: w.transform(x)),
    "polynomial": (lambda w, e, x, y: e.polynomial(x, w.cubic), lambda w, x, y: w.cubic(x)),
    "operators": (lambda w, e, x, y: (x * y + 2 * x - 0.25).settle(), lambda w, x, y: x * y + 2 * x - 0.25),
}


def estimated(w, values, public_key=True):
    sizes = np.abs(values)
    return w.estimator.fresh(np.max(sizes), np.sqrt(np.mean(sizes**2)), public_key=public_key)


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_measured_precision_is_predicted_precision(name, vector):
    w, (apply, clear) = world(), OPERATIONS[name]
    x, y = (VECTORS[vector](np.random.default_rng(seed)) for seed in (1, 2))
    for encryptor in (w.public, w.secret):
        got = apply(w, w.evaluator, encryptor.encrypt(x), encryptor.encrypt(y))
        under_public = encryptor is w.public
        found = apply(w, w.estimator, estimated(w, x, under_public), estimated(w, y, under_public))
        error = np.abs(w.decryptor.decrypt(got) - clear(w, x, y))
        measured = -log2(np.sqrt(np.mean(error**2) / 2))
        assert abs(measured - found.bound.precision_bits) <= CLOSE_BITS, (measured, found)
        assert np.max(error) <= found.bound.worst
        assert (found.level, found.degree, found.slots) == (got.level, got.degree, got.slots)
        assert found.scale == pytest.approx(got.scale, rel=2.0**-45)
        assert found.num_bytes == pytest.approx(got.num_bytes, rel=0.05)


# name -> (levels to spend, what makes up to v * v + v of slots of v); level 0 holds values below 512
WRAPS = {
    "a product": (1, lambda e, x, v: (x * x).settle()),
    "a power": (1, lambda e, x, v: (x**2).settle()),
    "a whole factor": (0, lambda e, x, v: e.mul_int(x, int(v))),
    "a sum": (0, lambda e, x, v: e.add(e.mul_int(x, int(v / 2)), e.mul_int(x, int(v / 2)))),
    "a public number": (0, lambda e, x, v: e.add(e.add(x, v * v / 2), v * v / 2)),
    "a public vector": (0, lambda e, x, v: e.add(e.mul_int(x, int(v / 2)), np.full(SLOTS, v * v / 2))),
    "a public factor": (1, lambda e, x, v: e.rescale(e.mul_plain(x, np.full(SLOTS, v)))),
    "a number": (1, lambda e, x, v: e.rescale(e.mul_plain(x, v))),
    "a linear transform": (1, lambda e, x, v: e.linear_transform(x, ckks.LinearTransform({0: np.full(SLOTS, v)}))),
    "a polynomial": (2, lambda e, x, v: e.polynomial(x, ckks.Polynomial([0.0, 0.0, 1.0]))),
}


@pytest.mark.parametrize("name", WRAPS)
def test_errors_beyond_the_modulus_are_unbounded(name):
    w, (depth, apply) = world(), WRAPS[name]
    for value, fits in ((30.0, False), (4.0, True)):
        x = w.secret.encrypt(np.full(SLOTS, value), level=depth)
        found = w.decryptor.decrypt(w.evaluator.mod_switch(apply(w.evaluator, x, value), 0)).real[0]
        estimate = w.estimator.mod_switch(apply(w.estimator, w.estimator.fresh(value, value, level=depth), value), 0)
        assert fits or found < 500, "the value wraps around"
        later = w.estimator.mul_int(w.estimator.rotate(estimate, 1), 2) - 5
        for bound in (estimate.bound, later.bound):
            assert np.isfinite(bound.worst) == np.isfinite(bound.average) == fits
        assert ("unbounded" in repr(estimate)) != fits
        assert w.estimator.mul_int(estimate, 0).bound.worst == 0


def test_a_bootstrap_is_as_precise_as_predicted():
    boot = ckks.Bootstrapper("T11", slots=256, real=True)
    maker = ckks.KeyGenerator(boot.parameters)
    evaluator = ckks.Evaluator(boot.parameters, maker.evaluation_keys(required=boot.required_keys()))
    encryptor = ckks.Encryptor(boot.parameters, maker.secret_key(), evaluator=evaluator)
    decryptor = ckks.Decryptor(boot.parameters, maker.secret_key())
    rng, predicted = np.random.default_rng(3), boot.predicted_precision()
    for x in (rng.uniform(-1, 1, 256), np.full(256, 0.8), rng.choice([-1.0, 1.0], 256), np.eye(1, 256, 17)[0]):
        error = decryptor.decrypt(boot.bootstrap(encryptor.encrypt(x, level=boot.floor))).real - x
        assert -log2(np.sqrt(np.mean(error**2))) >= predicted.rms_bits - CLOSE_BITS


def test_a_bootstrap_is_one_step():
    boot = ckks.Bootstrapper("T11", slots=256, real=True)
    estimator = ckks.Estimator(boot.parameters)
    after = estimator.bootstrap(estimator.fresh(1.0, level=boot.floor, slots=256), boot)
    assert (after.level, after.scale) == (boot.target_level, boot.parameters.scales[boot.target_level])
    predicted = boot.predicted_precision()
    assert predicted.rms_bits - 2.0 < after.bound.precision_bits < predicted.rms_bits  # at 1 the sine is off by 2^-26.3
    assert after.bound.worst_bits < predicted.worst_bits
    again = ckks.Bootstrapper("T11", slots=256, iterations=2)
    assert estimator.bootstrap(estimator.fresh(1.0, slots=256), again).bound.precision_bits > predicted.rms_bits + 3


def test_bounds_may_be_stated():
    boot = ckks.Bootstrapper("T11", slots=256)
    estimator = ckks.Estimator(boot.parameters)
    error = 2.0**-20
    after = estimator.stated(Bound(1.0, 0.5, error, 8 * error), level=boot.target_level, slots=256)
    twice = after + after
    assert twice.bound.average == 2 * error and twice.bound.worst == 16 * error


def test_worst_bounds_of_slots_are_those_of_signs():
    """A slot is a sum of coefficients times roots of unity: over all signs it reaches what the model allows."""
    for slots in (1, 2, 4):
        n = 2 * slots
        model = ErrorModel(ckks.Parameters(2**10, [42, 40], scale_bits=40, insecure=True).chain)
        allowed = model.encode(1.0, 1.0, slots, 1.0).worst / (0.5 + 2.0**-20)
        root = np.exp(1j * np.pi / n * np.arange(n))
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        assert np.max(np.abs(signs @ root)) <= allowed * (1 + 1e-12)
        assert np.max(np.abs(signs @ root)) == pytest.approx(allowed)


def test_encryptions_are_sources_of_their_own():
    estimator = world().estimator
    x, y = estimator.fresh(1.0), estimator.fresh(1.0)
    assert estimator.add(x, x).bound.average == 2 * x.bound.average
    assert estimator.add(x, y).bound.average == pytest.approx(2**0.5 * x.bound.average)


def test_a_ciphertext_gives_its_shape():
    w = world()
    c = w.secret.encrypt(np.ones(8), level=2)
    found = w.estimator.fresh(1.0, 1.0, ciphertext=c)
    assert (found.level, found.scale, found.slots) == (2, c.scale, 8)
    assert w.estimator.fresh(3.0).bound.rms == pytest.approx(3**0.5)
    assert "Estimate(ckks, N=2^12, 8 slots, level 2 of 4" in repr(found) and "worst 2^-" in repr(found)


def test_plaintexts_count_as_what_they_hold():
    w = world()
    x = w.estimator.fresh(1.0)
    plain = ckks.Encoder(w.parameters).encode(w.factors, scale=2.0**40)
    same = w.estimator.mul_plain(x, w.factors, scale=2.0**40).bound
    assert w.estimator.mul_plain(x, plain).bound.average == pytest.approx(same.average)


def test_estimates_are_refused_like_ciphertexts():
    e = world().estimator
    x = e.fresh(1.0)
    with pytest.raises(LevelError, match="level_to"):
        e.add(x, e.fresh(1.0, level=1))
    with pytest.raises(ScaleError, match="scales differ"):
        e.add(x, e.fresh(1.0, scale=2.0**39))
    with pytest.raises(ShapeError, match="relinearize"):
        e.rotate(e.mul(x, x), 1)
    with pytest.raises(LevelError, match="spends 1 levels"):
        e.linear_transform(e.fresh(1.0, level=0), world().transform)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"peak": -1.0}, RangeError, "peak=-1"),
        ({"peak": float("nan")}, RangeError, "peak=nan"),
        ({"peak": 1.0, "rms": 2.0}, RangeError, "rms=2"),
        ({"peak": 1.0, "level": 9}, LevelError, "no level 9"),
        ({"peak": 1.0, "slots": 3}, ShapeError, "slots=3"),
        ({"peak": 1.0, "scale": 0}, ScaleError, "scale=0"),
    ],
)
def test_impossible_statements_are_refused(options, error, text):
    with pytest.raises(error, match=text):
        world().estimator.fresh(**options)


def test_estimates_and_ciphertexts_do_not_mix(tmp_path):
    w = world()
    x, c = w.estimator.fresh(1.0), w.secret.encrypt(np.ones(SLOTS))
    with pytest.raises(UserError, match="not both"):
        w.estimator.fresh(1.0, ciphertext=c, level=1)
    for mixed in (lambda: x + c, lambda: c + x, lambda: w.estimator.mul(x, c), lambda: w.evaluator.mul(c, x)):
        with pytest.raises(UserError, match="estimate"):
            mixed()
    with pytest.raises(UserError, match="holds no ciphertext"):
        x.save(tmp_path / "x")
