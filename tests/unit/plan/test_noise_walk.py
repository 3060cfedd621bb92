"""The noise of plans: by hand for small ones, measured budgets against it, and parameters that follow from it."""

from math import log2

import numpy as np
import pytest
from bfv_plans import draw, plan_of
from vec_cases import SLOTS, Vectors

from latticework import _core
from latticework.errors import LayoutError, LevelError, RangeError
from latticework.plan.analysis.bfv_noise_domain import noise_of_outputs
from latticework.plan.parameters.bfv_chain import ChainShape
from latticework.plan.parameters.bfv_noise import ShapeNoiseModel
from latticework.runtime.client.client import Client
from latticework.runtime.server.server import Server

MATRIX = np.random.default_rng(2).integers(-9, 10, (SLOTS, SLOTS)).astype(float)


def one(build, secrets=2, **options):
    v = Vectors(secrets, **options)
    return v.done(build(v, *v.x))


def sum_of(v, *values):
    total = values[0]
    for value in values[1:]:
        total = v.op("add", total, value)
    return total


def power(k):
    def build(v, x):
        for _ in range(k):
            x = v.op("mul", x, x)
        return x

    return one(build, 1)


def variance(build, secrets=2, **options):
    """log2 of the noise of a program, on one chain for all."""
    plan = plan_of(one(build, secrets, **options))
    chain = plan_of(power(3)).chain
    (noise,) = noise_of_outputs(plan, chain)
    return ShapeNoiseModel(ChainShape(chain)).variance(noise)


def test_the_same_value_twice_adds_up_coherently_and_other_values_do_not():
    once = variance(lambda v, x, y: v.op("mul", x, y))
    same = variance(lambda v, x, y: sum_of(v, *[v.op("mul", x, y)] * 4))
    apart = variance(lambda v, *x: sum_of(v, *(v.op("mul", a, b) for a, b in zip(x[::2], x[1::2], strict=True))), 8)
    assert same - once == pytest.approx(4, abs=0.1)  # 4^2
    assert apart - once == pytest.approx(2, abs=0.1)


def test_products_with_nearly_the_same_factor_add_up_coherently():
    once = variance(lambda v, x, y: v.op("mul", x, y))
    shifted = variance(lambda v, x, y: sum_of(v, *(v.op("mul", x, v.op("add", y, v.splat(k))) for k in range(1, 9))))
    turned = variance(lambda v, x, y: sum_of(v, *(v.op("mul", v.op("rotate", x, steps=k), y) for k in range(1, 9))))
    one_turned = variance(lambda v, x, y: v.op("mul", v.op("rotate", x, steps=1), y))
    assert shifted - once == pytest.approx(6, abs=0.1)  # 8^2
    assert turned - one_turned == pytest.approx(3, abs=0.2)


def test_numbers_multiply_the_noise():
    once = variance(lambda v, x, y: v.op("add", x, y))
    many = variance(lambda v, x, y: v.op("mul", v.op("add", x, y), v.splat(-1000)))
    assert many - once == pytest.approx(2 * log2(1000))


PROGRAMS = {
    "sums of products": lambda v, x, y: v.op("rotate", v.op("add", v.op("mul", x, y), v.op("mul", x, x)), steps=3),
    "cube": lambda v, x, y: v.op("mul", v.op("mul", x, x), x),
    "matrix": lambda v, x, y: v.matrix(v.op("mul", x, y), MATRIX),
    "masks": lambda v, x, y: v.op("add", v.op("mul", x, v.constant(np.arange(SLOTS) % 2.0)), y),
    "shifted factors": lambda v, x, y: sum_of(v, *(v.op("mul", x, v.op("add", y, v.splat(k))) for k in range(1, 17))),
    "power of a difference": lambda v, x, y: v.op("mul", (d := v.op("sub", x, y)), v.op("rotate", d, steps=1)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_budgets_are_no_smaller_than_predicted(name):
    plan = plan_of(one(PROGRAMS[name]))
    predicted = {}
    outputs = noise_of_outputs(plan, plan.chain, public_key=False, on_noise=predicted.__setitem__)
    model = ShapeNoiseModel(ChainShape(plan.chain))
    client = Client(plan.client, threads=1, allow_insecure=True)
    server = Server(plan, client.keygen().public(), threads=1)
    decryptor = _core.BfvDecryptor(client.context, client._secret)
    seen = []

    def measure(register, ciphertext):
        seen.append(register)
        have, want = decryptor.noise_budget(ciphertext), model.budget(predicted[register][0])
        assert want - 1 < have < want + 12  # constants, as their polynomials are, make less noise than random ones

    inputs = client.encrypt(*draw(np.random.default_rng(1), plan))
    server.run(inputs, watch=sorted(predicted), on_watch=measure)
    assert set(seen) == set(predicted)
    assert all(model.is_reliable(noise) for noise in outputs)


def test_parameters_grow_with_the_noise_of_the_program():
    rings = [plan_of(power(k), ring_degree=None, insecure=False).chain for k in (1, 3, 6)]
    assert [chain.ring_degree for chain in rings] == [4096, 8192, 16384]
    limbs = [len(plan_of(power(k), ring_degree=16384, insecure=False).chain.primes) for k in (1, 3, 6)]
    assert limbs == sorted(limbs) and limbs[0] < limbs[-1]
    assert not any(chain.insecure for chain in rings)


def test_the_plaintext_modulus_asked_for():
    assert plan_of(power(1), plain_modulus=65537).chain.plain_modulus == 65537
    assert plan_of(power(1), plain_bits=33).chain.plain_modulus.bit_length() == 33
    with pytest.raises(RangeError, match="is not a prime that is 1 modulo 2N"):
        plan_of(power(1), plain_modulus=65539)


def test_what_no_ring_holds():
    with pytest.raises(LevelError, match="ring_degree=8192 at 128-bit security; use a larger ring_degree, a smaller"):
        plan_of(power(4), ring_degree=8192, insecure=False, plain_bits=40)
    with pytest.raises(LayoutError, match="use ring_degree=4096 or more"):
        plan_of(one(lambda v, x: v.op("neg", x), 1, slots=2048), ring_degree=2048)
