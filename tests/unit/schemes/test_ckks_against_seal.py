"""The same inputs through SEAL (by TenSEAL's bindings) and through latticework.ckks: the same slots, within precision."""

import numpy as np
import pytest

from latticework import ckks

seal = pytest.importorskip("tenseal.sealapi", reason="tenseal is in the dev extra where it has wheels")

RING_DEGREE, Q_BITS, SCALE_BITS = 8192, [49, 40, 40], 40
STEPS = 3
TOLERANCE = 1e-5  # of either library's noise at these sizes: 2^-40 * sqrt(N) * a few hundred


@pytest.fixture(scope="module")
def inputs():
    rng = np.random.default_rng(17)
    return rng.uniform(-1, 1, RING_DEGREE // 2), rng.uniform(-1, 1, RING_DEGREE // 2)


class Seal:
    """The few calls of SEAL that the comparison needs."""

    def __init__(self):
        parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
        parameters.set_poly_modulus_degree(RING_DEGREE)
        parameters.set_coeff_modulus(seal.CoeffModulus.Create(RING_DEGREE, [*Q_BITS, 49]))
        self.context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)
        keys = seal.KeyGenerator(self.context)
        self.secret = keys.secret_key()
        self.public, self.relin, self.galois = seal.PublicKey(), seal.RelinKeys(), seal.GaloisKeys()
        keys.create_public_key(self.public)
        keys.create_relin_keys(self.relin)
        keys.create_galois_keys(self.galois)
        self.encoder, self.evaluator = seal.CKKSEncoder(self.context), seal.Evaluator(self.context)

    def encrypt(self, values):
        plain, out = seal.Plaintext(), seal.Ciphertext()
        self.encoder.encode(list(values), 2.0**SCALE_BITS, plain)
        seal.Encryptor(self.context, self.public).encrypt(plain, out)
        return out

    def decrypt(self, ciphertext):
        plain = seal.Plaintext()
        seal.Decryptor(self.context, self.secret).decrypt(ciphertext, plain)
        return np.array(self.encoder.decode_double(plain))


@pytest.fixture(scope="module")
def theirs(inputs):
    """Slots after a product, its relinearisation and rescale, a rotation of that; the scale; and the size."""
    library = Seal()
    x, y = (library.encrypt(v) for v in inputs)
    product = seal.Ciphertext()
    library.evaluator.multiply(x, y, product)
    sizes = [product.size()]
    raw = library.decrypt(product)
    library.evaluator.relinearize_inplace(product, library.relin)
    sizes.append(product.size())
    library.evaluator.rescale_to_next_inplace(product)
    rescaled = library.decrypt(product)
    library.evaluator.rotate_vector_inplace(product, STEPS, library.galois)
    return raw, rescaled, library.decrypt(product), sizes, product.scale


@pytest.fixture(scope="module")
def ours(inputs):
    parameters = ckks.Parameters(RING_DEGREE, Q_BITS, scale_bits=SCALE_BITS, num_special=1)
    generator = ckks.KeyGenerator(parameters)
    evaluator = ckks.Evaluator(parameters, generator.evaluation_keys(steps=[STEPS]))
    encryptor = ckks.Encryptor(parameters, generator.public_key(), evaluator=evaluator)
    decryptor = ckks.Decryptor(parameters, generator.secret_key())
    x, y = encryptor.encrypt_many(inputs)
    product = evaluator.mul(x, y)
    single = evaluator.relinearize(product)
    rescaled = evaluator.rescale(single)
    turned = evaluator.rotate(rescaled, STEPS)
    slots = [decryptor.decrypt(c).real for c in (product, rescaled, turned)]
    return *slots, [product.degree + 1, single.degree + 1], rescaled.scale


@pytest.mark.parametrize("number", range(3), ids=["product", "rescaled", "rotated"])
def test_slots_agree(inputs, ours, theirs, number):
    expected = inputs[0] * inputs[1] if number < 2 else np.roll(inputs[0] * inputs[1], -STEPS)
    np.testing.assert_allclose(ours[number], theirs[number], atol=TOLERANCE)
    np.testing.assert_allclose(ours[number], expected, atol=TOLERANCE)
    mine, other = (np.max(np.abs(slots - expected)) for slots in (ours[number], theirs[number]))
    assert mine <= 4 * other  # not noisier than SEAL at the same sizes, but for chance


def test_sizes_and_scales_agree(ours, theirs):
    assert ours[3] == theirs[3] == [3, 2]
    assert ours[4] == pytest.approx(theirs[4], rel=2.0**-16)
