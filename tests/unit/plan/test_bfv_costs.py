"""Prices of BFV plans: work against the transforms that the core counts, and totals of plans."""

import numpy as np
import pytest
from bfv_plans import plan_of
from vec_cases import SLOTS, Vectors, small_chain

from latticework import _core
from latticework.commands.machine.operations_bfv import BfvOperations
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel, Shape, bfv_weights, ckks_weights, work
from latticework.plan.files.code_file import encode_code
from latticework.plan.machine.measured_operations import MeasuredChain
from latticework.plan.parameters.bfv_chain import chain_for_depth, chain_transforms, extension_primes, plain_prime
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.parameters.select import Need, build_chain
from latticework.runtime.client.coding import coding_of
from latticework.values.packing.packed_constants import slot_vectors

CHAIN = chain_for_depth(4, 8192, plain_prime(8192, 20, None))
assert CHAIN is not None
LIMBS, EXTRA = len(CHAIN.primes), len(extension_primes(CHAIN, CHAIN.main.top))
SHAPE = Shape(8192, LIMBS, len(CHAIN.special), tuple(map(len, CHAIN.digits)), b_limbs=EXTRA)


def test_a_product_has_the_transforms_of_the_algorithm():
    # 2L more than `chain_transforms` counts for a rotation are those of the polynomial that is switched
    assert work("mul_relinearize", SHAPE)["ntt"] == chain_transforms(CHAIN)["mul"]
    assert work("rotate", SHAPE)["ntt"] == chain_transforms(CHAIN)["rotate"]
    whole, square = (work(f"bfv.{op}", SHAPE)["ntt"] for op in ("mul", "square"))
    assert whole - square == 2 * LIMBS


def test_products_are_relinearized_cheaper_with_one_division():
    model = CostModel.load()
    apart = model.seconds("bfv.mul", Shape(8192, LIMBS, b_limbs=EXTRA)) + model.seconds(
        "relinearize", Shape(8192, LIMBS, SHAPE.p_limbs, SHAPE.digit_limbs, polys=3)
    )
    assert model.seconds("mul_relinearize", SHAPE) < apart


def test_weights_are_those_of_the_table():
    weights = bfv_weights(CHAIN)
    assert weights.rotate == CostModel.load().seconds("rotate", Shape(8192, LIMBS, SHAPE.p_limbs, SHAPE.digit_limbs))
    assert weights.mul > weights.rotate > weights.mul_plain > weights.add > 0
    ckks = build_chain(8192, Need(3, 16, 40, 10), 1, insecure=True)
    top, low = ckks_weights(ckks, 3), ckks_weights(ckks, 1)
    assert all(a > b for a, b in zip(top, low, strict=True))
    assert top.mul_plain > 3 * top.add  # it is rescaled


def test_a_plan_is_priced_and_counted():
    v = Vectors(2)
    x, y = v.x
    product = v.op("mul", x, y)
    turned = v.op("rotate", v.op("add", product, v.op("mul", x, x)), steps=2)
    masked = v.op("mul", turned, v.constant(np.arange(SLOTS) % 2.0))
    plan = plan_of(v.done(v.op("mul", masked, v.op("add", x, v.constant(np.arange(float(SLOTS)))))))
    cost = estimate(plan, CostModel.load())
    counts = cost.counts
    assert (counts.ciphertext_products, counts.plaintext_products, counts.rotations) == (3, 1, 1)
    assert (counts.relinearizations, counts.encodes, counts.additions) == (2, 2, 2)
    assert cost.seconds == pytest.approx(sum(cost.by_op.values()))
    assert all(cost.by_op[op] > 0 for op in ("mul", "square", "mul_relinearize", "encode", "rotate", "mul_plain"))
    assert cost.memory.total > 0


@pytest.mark.parametrize("limbs", [(2, 1), (3, 2)])
def test_what_is_measured_is_what_is_priced(limbs):
    operations = BfvOperations(MeasuredChain(1 << 10, *limbs), "ref", 1)
    assert [op for op, _, _ in operations.calls()] == [
        "bfv.mul",
        "bfv.square",
        "mul_relinearize",
        "bfv.decrypt",
        "bfv.encode",
    ]
    for op, shape, call in operations.calls():
        assert work(op, shape)["ntt"] > 0
        call()


def test_ckks_products_are_priced_as_they_were():
    chain = small_chain(2)
    assert work("mul", Shape(chain.ring_degree, 3)) == {"pointwise": 12}


@pytest.mark.parametrize("bits", [20, 45])
def test_predicted_memory_is_the_cores_own(bits):
    v = Vectors(2)
    x, y = v.x
    total = v.op("add", v.op("mul", x, y), v.op("mul", x, x))
    module = v.done(v.op("mul", v.op("rotate", total, steps=1), v.op("mul", y, v.constant(np.arange(SLOTS) % 2.0))))
    plan = plan_of(module, ring_degree=1024, plain_bits=bits)
    parameters = core_parameters(plan.chain)
    context = _core.Context(parameters, "ref", 1)
    generator = _core.KeyGenerator(context)
    secret = generator.secret_key()
    specs = [{name: getattr(k, name) for name in ("kind", "galois_element", "track", "level")} for k in plan.keys]
    keys = generator.evaluation_keys(secret, specs)
    executor = _core.Executor(
        context, _core.Plan(parameters, encode_code(plan)), keys,
        lambda number: slot_vectors(plan.constants[number], plan.sources),
    )  # fmt: skip
    coding = coding_of(plan.chain, [context])
    encryptor = _core.Encryptor(context, secret)
    inputs = [encryptor.encrypt(coding.encode(np.arange(SLOTS)[None], spec)) for spec in plan.client.secret_inputs]
    executor.run(inputs)
    cost = estimate(plan, CostModel.load())
    resident = context.live_bytes - cost.memory.constants - sum(x.num_bytes for x in inputs)
    context.reset_peak()
    executor.run(inputs)
    assert context.peak_bytes - resident == pytest.approx(cost.memory.values + cost.memory.constants, rel=0.02)
