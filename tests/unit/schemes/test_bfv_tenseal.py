"""The same programs here and in SEAL (the one inside TenSEAL) give the same slots."""

from __future__ import annotations

import numpy as np
import pytest
from bfv_cases import make_case

from latticework import bfv

seal = pytest.importorskip("tenseal.sealapi")
N, T = 4096, 65537


class SealSide:
    """SEAL with keys for everything."""

    def __init__(self) -> None:
        settings = seal.EncryptionParameters(seal.SCHEME_TYPE.BFV)
        settings.set_poly_modulus_degree(N)
        settings.set_coeff_modulus(seal.CoeffModulus.Create(N, [40, 40, 40, 49]))
        settings.set_plain_modulus(T)
        context = seal.SEALContext(settings, True, seal.SEC_LEVEL_TYPE.NONE)
        keygen = seal.KeyGenerator(context)
        public, self.relin, self.galois = seal.PublicKey(), seal.RelinKeys(), seal.GaloisKeys()
        keygen.create_public_key(public)
        keygen.create_relin_keys(self.relin)
        keygen.create_galois_keys(self.galois)
        self.encoder, self.evaluator = seal.BatchEncoder(context), seal.Evaluator(context)
        self.encryptor = seal.Encryptor(context, public)
        self.decryptor = seal.Decryptor(context, keygen.secret_key())

    def encode(self, x: np.ndarray) -> object:
        plain = seal.Plaintext()
        self.encoder.encode([int(v) for v in x.reshape(-1)], plain)
        return plain

    def run(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, steps: int) -> np.ndarray:
        a, b = seal.Ciphertext(), seal.Ciphertext()
        self.encryptor.encrypt(self.encode(x), a)
        self.encryptor.encrypt(self.encode(y), b)
        e, out = self.evaluator, seal.Ciphertext()
        e.multiply(a, b, out)
        e.relinearize_inplace(out, self.relin)
        e.rotate_rows_inplace(out, steps, self.galois)
        e.multiply_plain_inplace(out, self.encode(z))
        e.rotate_columns_inplace(out, self.galois)
        e.sub_inplace(out, a)
        e.add_plain_inplace(out, self.encode(y))
        plain = seal.Plaintext()
        self.decryptor.decrypt(out, plain)
        return np.array(self.encoder.decode_uint64(plain), dtype=np.uint64).reshape(2, -1)


def test_the_same_program_as_seal():
    parameters = bfv.Parameters(N, [40] * 3, p_bits=[49], plain_modulus=T, insecure=True)
    case, other = make_case(parameters), SealSide()
    keys = case.keygen.evaluation_keys(steps=None, swap_rows=True)
    evaluator = bfv.Evaluator(case.parameters, keys)
    encryptor = bfv.Encryptor(case.parameters, case.keygen.public_key(), evaluator=evaluator)
    rng = np.random.default_rng(11)
    for steps in (1, -5, 300):
        x, y, z = (case.random(rng) for _ in range(3))
        a, b = encryptor.encrypt(x), encryptor.encrypt(y)
        here = ((a * b).rotate(steps) * z).swap_rows() - a + y
        np.testing.assert_array_equal(case.read(here), other.run(x, y, z, steps))
