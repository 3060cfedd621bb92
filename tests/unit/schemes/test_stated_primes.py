"""Parameters of primes that are stated one by one, in both schemes: the same chains, the same table, clear refusals."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from latticework import bfv, ckks
from latticework.errors import PrecisionError, RangeError, SecurityError

N = 1024


def primes_of(bits: int, count: int, ring_degree: int = N) -> list[int]:
    """The largest primes below 2^bits that are 1 modulo 2N, by trial of Fermat and small factors."""
    found, candidate = [], (1 << bits) - 2 * ring_degree + 1
    while len(found) < count:
        if all(candidate % f for f in (3, 5, 7, 11, 13)) and all(
            pow(a, candidate - 1, candidate) == 1 for a in (2, 3, 5, 7)
        ):
            found.append(candidate)
        candidate -= 2 * ring_degree
    return found


def test_the_primes_that_sizes_give_make_the_same_parameters():
    real = ckks.Parameters(2**14, [50, 40, (20, 20), 40], scale_bits=40)
    groups = [tuple(real.chain.limb_primes(group)) for group in real.chain.main.groups]
    assert ckks.Parameters(2**14, primes=groups, special=real.special, scale_bits=40) == real
    exact = bfv.Parameters(2**13, [40, 40, 40], p_bits=[42], plain_bits=17)
    assert bfv.Parameters(2**13, primes=exact.primes, special=exact.special, plain_bits=17) == exact
    with_sizes = bfv.Parameters(2**13, [40, 40, 40], special=exact.special, plain_bits=17)
    assert with_sizes.special == exact.special
    chosen = ckks.Parameters(2**14, primes=groups, scale_bits=40)
    assert chosen.primes == real.primes and not set(chosen.special) & set(chosen.primes)


@pytest.mark.parametrize("bits", [30, 49, 58])
def test_any_primes_compute(bits):
    *primes, first = primes_of(bits, 4)
    special = primes_of(bits + 1, 1)
    real = ckks.Parameters(N, primes=primes, special=special, scale_bits=bits - 4, insecure=True)
    assert real.primes == tuple(primes) and real.special == tuple(special) and real.is_insecure
    generator = ckks.KeyGenerator(real)
    evaluator = ckks.Evaluator(real, generator.evaluation_keys(steps=[1]))
    x = ckks.Encryptor(real, generator.secret_key(), evaluator=evaluator).encrypt(np.linspace(-1, 1, N // 2))
    product = evaluator.rotate(evaluator.rescale(evaluator.mul_relin(x, x)), 1)
    wanted = np.roll(np.linspace(-1, 1, N // 2) ** 2, -1)
    scale = 2.0 ** (2 * bits - 8) / primes[-1]
    assert product.scale == pytest.approx(scale, rel=1e-12)
    opened = ckks.Decryptor(real, generator.secret_key()).decrypt(product, float)
    np.testing.assert_allclose(opened, wanted, atol=2.0**14 / scale + 1e-9)
    exact = bfv.Parameters(N, primes=[*primes, first], special=special, plain_bits=17, insecure=True)
    keys = bfv.KeyGenerator(exact)
    server = bfv.Evaluator(exact, keys.evaluation_keys())
    y = bfv.Encryptor(exact, keys.public_key(), evaluator=server).encrypt([3, 5])
    decryptor = bfv.Decryptor(exact, keys.secret_key())
    assert decryptor.decrypt(y * y)[0, :3].tolist() == [9, 25, 0]
    model = bfv.NoiseModel(exact)
    assert abs(model.budget(model.mul(model.fresh(), model.fresh())) - decryptor.noise_budget(y * y)) < 4


def test_security_is_counted_on_the_primes_themselves():
    ring = 2**13
    primes, special = primes_of(42, 4, ring), primes_of(46, 1, ring)
    assert 213.9 < sum(map(log2, primes + special)) <= 214
    assert not bfv.Parameters(ring, primes=primes, special=special, plain_bits=17).is_insecure
    special = primes_of(47, 1, ring)
    for refused in (
        lambda **o: bfv.Parameters(ring, primes=primes, special=special, plain_bits=17, **o),
        lambda **o: ckks.Parameters(ring, primes=primes, special=special, scale_bits=35, **o),
    ):
        with pytest.raises(
            SecurityError, match=r"log2\(QP\) = 215\.0, but 128-bit security at N=8192 allows at most 214"
        ):
            refused()
        assert refused(insecure=True).is_insecure


GOOD = primes_of(40, 4)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"primes": None}, RangeError, "give one of q_bits, sizes of primes, and primes"),
        ({"q_bits": [40]}, RangeError, "give one of q_bits, sizes of primes, and primes"),
        ({"p_bits": [45]}, RangeError, "give special, or p_bits or num_special, not both"),
        ({"primes": []}, RangeError, "give a list of primes"),
        ({"primes": "12"}, RangeError, "give a list of primes"),
        ({"special": []}, RangeError, "give a list of special primes, at least one"),
        ({"primes": [GOOD[0], float(GOOD[1])]}, RangeError, "a float; give whole numbers"),
        ({"primes": [GOOD[0] + 2]}, RangeError, r"no prime that is 1 modulo 2N = 2048; near it are \d+, \d+, \d+"),
        ({"primes": [2049]}, RangeError, r"2049, which is no prime that is 1 modulo"),
        ({"primes": [1]}, RangeError, r"has 1, which is no prime"),
        ({"primes": [-GOOD[0]]}, RangeError, "no prime that is 1 modulo"),
        ({"primes": [GOOD[0], GOOD[0]]}, RangeError, "twice, or among the special primes too; all have to be different"),
        ({"primes": GOOD, "special": GOOD[:1]}, RangeError, "twice, or among the special primes too"),
        ({"primes": primes_of(61, 1)}, RangeError, "of 61 bits; primes have at most 60"),
        ({"primes": primes_of(55, 1), "insecure": False}, RangeError, r"at most 49 \(up to 60 with insecure=True"),
        ({"special": primes_of(30, 1)}, PrecisionError, "largest digit of key switching has 40.0 bits, the special primes"),
        ({"num_digits": 1}, PrecisionError, "key switching would drown the values in noise"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("module", [ckks, bfv])
def test_primes_that_do_not_fit(module, options, error, text):
    size = {"scale_bits": 30} if module is ckks else {"plain_bits": 17}
    given = {"primes": GOOD[:3], "special": primes_of(42, 1), "insecure": True, **size, **options}
    if "p_bits" not in options:
        with pytest.raises(error, match=r"test_stated_primes\.py:\d+: Parameters: .*" + text):
            module.Parameters(N, **given)
    else:
        with pytest.raises(error, match=text):
            module.Parameters(N, **given)


def test_what_only_one_scheme_refuses():
    t = primes_of(30, 1)[0]
    with pytest.raises(RangeError, match="is plain_modulus and one of the primes"):
        bfv.Parameters(N, primes=[*GOOD, t], special=primes_of(42, 1), plain_modulus=t, insecure=True)
    with pytest.raises(RangeError, match="of BFV each prime is a level, give no tuples"):
        bfv.Parameters(N, primes=[tuple(GOOD[:2])], special=primes_of(42, 1), plain_bits=17, insecure=True)
    with pytest.raises(RangeError, match="primes, or of tuples of two"):
        ckks.Parameters(N, primes=[tuple(GOOD[:3])], special=primes_of(42, 1), scale_bits=30, insecure=True)
    with pytest.raises(RangeError, match="nothing would fit"):
        ckks.Parameters(N, primes=GOOD[:1], special=primes_of(42, 1), scale_bits=50, insecure=True)


def test_special_primes_are_chosen_large_enough():
    exact = bfv.Parameters(N, primes=primes_of(58, 2), plain_bits=17, insecure=True)
    assert len(exact.special) >= 2 and exact.is_insecure
    real = ckks.Parameters(N, primes=primes_of(58, 2), scale_bits=50, insecure=True)
    assert len(real.special) >= 2 and real.is_insecure
