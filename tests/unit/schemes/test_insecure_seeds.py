"""Seeds of tests: the same bytes again, recomputed from the seed, and named INSECURE wherever they go."""

from __future__ import annotations

import re

import numpy as np
import pytest

from latticework import _core, bfv, ckks
from latticework.errors import DtypeError, ParameterMismatchError, SecurityError
from latticework.report.describe_file import explain_file

N = 1024
REAL = ckks.Parameters(N, [46, 40], scale_bits=40, num_special=1, insecure=True)
EXACT = bfv.Parameters(N, [46, 46], p_bits=[48], plain_bits=17, insecure=True)
MODULES = pytest.mark.parametrize(("module", "parameters"), [(ckks, REAL), (bfv, EXACT)], ids=["ckks", "bfv"])


def everything(module, parameters, seed, turns=(1,)) -> list[bytes]:
    generator = module.KeyGenerator(parameters, insecure_seed=seed)
    secret, public = generator.secret_key(), generator.public_key()
    found = [secret.to_bytes(), public.to_bytes(), generator.evaluation_keys(steps=turns).to_bytes()]
    for key in (secret, public):
        encryptor = module.Encryptor(parameters, key, insecure_seed=seed)
        found += [encryptor.encrypt([1, 2]).to_bytes(), encryptor.encrypt([1, 2]).to_bytes()]
    return found


@MODULES
@pytest.mark.parametrize("seed", [0, 2**64 - 1, b"", b"any bytes"])
def test_the_same_seed_gives_the_same_bytes(module, parameters, seed):
    first = everything(module, parameters, seed)
    assert first == everything(module, parameters.on(backend="ref"), seed)
    assert len(set(first)) == len(first)  # each encryption has randomness of its own
    others = everything(module, parameters, b"another") + everything(module, parameters, 1)
    assert not set(first) & set(others)


def test_numbers_bytes_generators_and_encryptors_share_nothing():
    kinds = (8).to_bytes(8, "little"), 8
    assert not {*everything(ckks, REAL, kinds[0])} & {*everything(ckks, REAL, kinds[1])}
    generator = ckks.KeyGenerator(REAL, insecure_seed=3)
    public = generator.public_key().residues()[1, 1:]
    fresh = ckks.Encryptor(REAL, generator.secret_key(), insecure_seed=3).encrypt([1]).residues()[1]
    assert not (public == fresh).all(axis=1).any()


@MODULES
def test_the_secret_follows_from_the_seed(module, parameters):
    secret = module.KeyGenerator(parameters, insecure_seed=5).secret_key()
    root = _core.blake3(b"latticework insecure seed of KeyGenerator: number " + (5).to_bytes(8, "little"))
    draws = [_core.blake3_keyed(root, n.to_bytes(8, "little")) for n in range(2)]
    expected = _core.sample_ternary(N, draws[0]) % parameters.primes[0]
    np.testing.assert_array_equal(secret.secret_residues()[0, 0], expected.astype(np.uint64))
    assert secret.key_set == b"INSECURE" + draws[1][8:16]


@MODULES
def test_what_came_of_a_seed_says_so(module, parameters, tmp_path):
    generator = module.KeyGenerator(parameters, insecure_seed=1)
    secret, usual = generator.secret_key(), module.KeyGenerator(parameters)
    encryptor = module.Encryptor(parameters, secret, insecure_seed=1)
    assert "INSECURE seed" in repr(generator) and "INSECURE seed" in repr(encryptor)
    assert "INSECURE" not in repr(usual) and not usual.secret_key().key_set.startswith(b"INSECURE")
    for made in (secret, generator.public_key(), generator.relin_key(), encryptor.encrypt([1])):
        assert "INSECURE: of a secret key from a seed of tests" in explain_file(made.to_bytes())
    assert "the same in all that one secret key made" in explain_file(usual.relin_key().to_bytes())
    with pytest.raises(ParameterMismatchError, match=re.escape(b"INSECURE".hex())):
        module.Decryptor(parameters, usual.secret_key()).decrypt(encryptor.encrypt([1]))


@MODULES
def test_seeds_are_for_insecure_parameters(module, parameters):
    size = {"scale_bits": 30} if module is ckks else {"plain_bits": 17}
    secure = module.Parameters(2**12, [40], p_bits=[45], **size)
    generator = module.KeyGenerator(secure)
    text = r"test_insecure_seeds\.py:\d+: .*whoever knows the seed .*128-bit security; .*mark_insecure\(\)"
    with pytest.raises(SecurityError, match=text):
        module.KeyGenerator(secure, insecure_seed=1)
    with pytest.raises(SecurityError, match=text):
        module.KeyGenerator(secure, generator.secret_key(), insecure_seed=1)
    for key in (generator.secret_key(), generator.public_key()):
        with pytest.raises(SecurityError, match=text):
            module.Encryptor(secure, key, insecure_seed=b"x")
    marked = secure.mark_insecure()
    seeded = module.KeyGenerator(marked, insecure_seed=1)
    with pytest.raises(ParameterMismatchError):
        module.Encryptor(secure, seeded.secret_key())
    with pytest.raises(ParameterMismatchError):
        module.SecretKey.from_bytes(seeded.secret_key().to_bytes(), secure)
    for wrong in (-1, 2**64, 1.5, "seed", True):
        with pytest.raises(DtypeError, match="give bytes, or a whole number from 0"):
            module.KeyGenerator(parameters, insecure_seed=wrong)
