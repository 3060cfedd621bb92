"""Secret keys of other distributions: counted, judged by their own table, and followed by the noise models."""

from __future__ import annotations

from math import comb, log2

import numpy as np
import pytest

from latticework import _core, bfv, ckks
from latticework.errors import RangeError, SecurityError
from latticework.plan.parameters import modulus_limit_bits

N = 1024
LAWS = {"ternary": {}, "gaussian": {"secret": "gaussian"}, "weight 64": {"secret_weight": 64}}


def real(**law) -> ckks.Parameters:
    return ckks.Parameters(N, [46, 40, 40], scale_bits=40, num_special=1, insecure=True, **law)


def exact(**law) -> bfv.Parameters:
    return bfv.Parameters(N, [48] * 4, p_bits=[49], plain_bits=17, insecure=True, **law)


def coefficients(module, parameters, seed: int) -> np.ndarray:
    q = parameters.primes[0]
    residues = module.KeyGenerator(parameters, insecure_seed=seed).secret_key().secret_residues()[0, 0].astype(np.int64)
    return np.where(residues > q // 2, residues - q, residues)


def is_spread(observed: np.ndarray, expected: np.ndarray) -> bool:
    """Whether counts are within 6 deviations of chi-squared of what is expected."""
    statistic, freedom = float((((observed - expected) ** 2) / expected).sum()), observed.size - 1
    return abs(statistic - freedom) < 6 * (2 * freedom) ** 0.5


@pytest.mark.parametrize("module", [ckks, bfv])
def test_the_coefficients_are_distributed_as_asked(module):
    make = real if module is ckks else exact
    keys = 40
    drawn = {name: np.stack([coefficients(module, make(**law), k) for k in range(keys)]) for name, law in LAWS.items()}
    counts = np.array([(drawn["ternary"] == v).sum() for v in (-1, 0, 1)])
    assert is_spread(counts, np.full(3, keys * N / 3)) and counts.sum() == keys * N
    sparse = drawn["weight 64"]
    assert (np.abs(sparse).sum(axis=1) == 64).all() and np.abs(sparse).max() == 1
    assert is_spread(np.array([(sparse == v).sum() for v in (-1, 1)]), np.full(2, keys * 32.0))
    assert is_spread(np.abs(sparse).sum(axis=0).reshape(32, -1).sum(axis=1), np.full(32, keys * 2.0))
    wide = drawn["gaussian"]
    likely = np.array([comb(42, 21 + v) / 2**42 for v in range(-9, 10)])
    assert np.abs(wide).max() <= 21
    assert is_spread(np.array([(wide == v).sum() for v in range(-9, 10)]), likely * keys * N)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("public", [False, True])
def test_bfv_noise_is_as_predicted(law, public):
    parameters = exact(**law)
    generator = bfv.KeyGenerator(parameters)
    keys = generator.evaluation_keys(steps=[1])
    key = generator.public_key() if public else generator.secret_key()
    encryptor = bfv.Encryptor(parameters, key, evaluator=bfv.Evaluator(parameters, keys))
    decryptor = bfv.Decryptor(parameters, generator.secret_key())
    model = bfv.NoiseModel(parameters)
    rng = np.random.default_rng(0)
    u, v = (rng.integers(-1000, 1000, (2, N // 2)) for _ in range(2))
    x, y, noise = encryptor.encrypt(u), encryptor.encrypt(v), model.fresh(public_key=public)
    for value, expected in (
        (x, noise),
        (x.rotate(1), model.rotate(noise)),
        (x * y, model.mul(noise, noise)),
        (x.evaluator.mod_switch(x, 2), model.mod_switch(noise, 2)),
    ):
        assert abs(model.budget(expected) - decryptor.noise_budget(value)) < 2
        assert model.worst_budget(expected) <= decryptor.noise_budget(value)
    product = (x * y).rotate(1)
    wanted = np.roll(u * v, -1, axis=1) % parameters.plain_modulus
    np.testing.assert_array_equal(decryptor.decrypt(product, np.uint64), wanted.astype(np.uint64))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("public", [False, True])
def test_ckks_errors_are_as_estimated(law, public):
    parameters = real(**law)
    generator = ckks.KeyGenerator(parameters)
    key = generator.public_key() if public else generator.secret_key()
    evaluator = ckks.Evaluator(parameters, generator.evaluation_keys(steps=[1]))
    encryptor = ckks.Encryptor(parameters, key, evaluator=evaluator)
    decryptor, estimator = ckks.Decryptor(parameters, generator.secret_key()), ckks.Estimator(parameters)
    values = np.random.default_rng(1).uniform(-1, 1, N // 2)
    x, u = encryptor.encrypt(values), estimator.fresh(1.0, public_key=public)
    pairs = [(x, u, values), (evaluator.rotate(x, 1), estimator.rotate(u, 1), np.roll(values, -1))]
    for got, estimate, wanted in pairs:
        error = decryptor.decrypt(got) - wanted
        assert np.abs(error).max() <= estimate.bound.worst
        assert estimate.bound.average / 2 < error.real.std() < 2 * estimate.bound.average


@pytest.mark.parametrize("bits", [128, 192, 256])
def test_gaussian_secrets_have_their_own_rows(bits):
    """The published rows for Gaussian secrets, ePrint 2024/463: they allow two or three bits more."""
    rows = {128: [29, 55, 109, 216, 433, 870, 1749, 3525], 192: [None, 38, 75, 150, 299, 599, 1201, 2413],
            256: [None, 30, 59, 116, 232, 465, 931, 1868]}  # fmt: skip
    for k, limit in enumerate(rows[bits]):
        assert _core.max_log2_modulus_of("gaussian", 0, 1 << (10 + k), bits) == limit
        ternary = modulus_limit_bits(1 << (10 + k), bits)
        assert _core.max_log2_modulus_of("ternary", 0, 1 << (10 + k), bits) == ternary
        assert (limit is None) == (ternary is None) and (limit is None or 2 <= limit - ternary <= 3)
    for weight in (1, 31, 33, 64, 192, 1024):
        assert _core.max_log2_modulus_of("ternary", weight, 1 << 15, bits) is None


def test_parameters_are_judged_by_the_table_of_their_secrets():
    between = {"p_bits": [27], "scale_bits": 20}
    with pytest.raises(SecurityError, match="allows at most 53"):
        ckks.Parameters(2**11, [27], **between)
    parameters = ckks.Parameters(2**11, [27], secret="gaussian", **between)
    assert not parameters.is_insecure and parameters.limit_bits == 55 and 53 < parameters.log2_qp <= 55
    assert "of gaussian secrets" in str(parameters) and "gaussian secrets" in repr(parameters)
    generator = ckks.KeyGenerator(parameters)
    x = ckks.Encryptor(parameters, generator.secret_key()).encrypt([0.5])
    assert abs(ckks.Decryptor(parameters, generator.secret_key()).decrypt(x)[0] - 0.5) < 1e-2
    # what masks an encryption under the public key is uniform ternary, and the first special prime counts
    with pytest.raises(SecurityError, match="under the public key: .* N = 2048 allows at most 53"):
        ckks.Encryptor(parameters, generator.public_key()).encrypt([0.5])
    with pytest.raises(SecurityError, match="of gaussian secrets at N=2048 allows at most 55"):
        ckks.Parameters(2**11, [29], secret="gaussian", **between)
    sparse = ckks.Parameters(2**15, [42], p_bits=[43], scale_bits=30, secret_weight=32)
    assert not sparse.is_insecure and sparse.limit_bits == 86 and sparse.log2_qp > 84
    with pytest.raises(SecurityError, match="of weight 32 at N=32768 allows at most 86"):
        ckks.Parameters(2**15, [42, 42], p_bits=[43], scale_bits=30, secret_weight=32)
    for n, weight in ((2**14, 32), (2**15, 64), (2**15, 192), (2**15, 2**14)):
        text = rf"of weight {weight} at N={n} is in no table that has a source; .* only 32, with at most 86 bits at N=32768"
        with pytest.raises(SecurityError, match=text):
            bfv.Parameters(n, [40], p_bits=[41], plain_bits=17, secret_weight=weight)
        assert bfv.Parameters(n, [40], p_bits=[41], plain_bits=17, secret_weight=weight, insecure=True).is_insecure


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("module", [ckks, bfv])
def test_files_keep_the_distribution(module, law, tmp_path):
    parameters = (real if module is ckks else exact)(**law)
    again = module.Parameters.from_bytes(parameters.to_bytes(), insecure=True)
    assert again == parameters and again.fingerprint == parameters.fingerprint
    others = {(real if module is ckks else exact)(**other).fingerprint for other in LAWS.values()}
    assert len(others) == len(LAWS)
    key = module.KeyGenerator(parameters).secret_key()
    key.save(tmp_path / "key")
    loaded = module.SecretKey.load(tmp_path / "key", again)
    np.testing.assert_array_equal(loaded.secret_residues(), key.secret_residues())
    np.testing.assert_array_equal(
        module.SecretKey.from_secret_residues(key.secret_residues(), parameters).secret_residues(),
        key.secret_residues(),
    )
    for name, other in LAWS.items():
        if other != law and not (law and name == "ternary" and "secret" not in law):  # a sparse one is ternary too
            target = (real if module is ckks else exact)(**other)
            if name == "gaussian":  # which any of them may be
                module.SecretKey.from_secret_residues(key.secret_residues(), target)
                continue
            with pytest.raises(RangeError, match="these parameters have ternary secrets"):
                module.SecretKey.from_secret_residues(key.secret_residues(), target)


@pytest.mark.parametrize(
    ("law", "text"),
    [
        ({"secret": "binary"}, r"secret='binary'; choose \"ternary\""),
        ({"secret": 64}, "secret=64; choose"),
        ({"secret_weight": 0}, "secret_weight=0 with secret='ternary'; give a whole number from 1 to N = 1024"),
        ({"secret_weight": 1025}, "from 1 to N = 1024"),
        ({"secret_weight": 64.0}, "secret_weight=64.0"),
        ({"secret_weight": True}, "secret_weight=True"),
        ({"secret": "gaussian", "secret_weight": 64}, "of ternary secrets"),
    ],
)  # fmt: skip
def test_secrets_that_there_are_not(law, text):
    for make in (real, exact):
        with pytest.raises(RangeError, match=r"test_secret_distributions\.py:\d+: Parameters: .*" + text):
            make(**law)


def test_uniform_ternary_parameters_are_as_they_were():
    """No field is stored for them, so that fingerprints of old files hold."""
    assert b"secret_weight" not in real().to_bytes() and b"gaussian" in real(secret="gaussian").to_bytes()
    assert log2(real(secret_weight=5).limit_bits or 1) == 0
