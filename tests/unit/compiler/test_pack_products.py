"""Sums of products of secrets hold two products in one, as real and imaginary parts of slots: same meaning, half of them."""

from functools import partial

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, counted, expanded, small_chain

import latticework as lw
from latticework.compiler.layout_choice import Counted, code_seconds
from latticework.compiler.levels import program_depth
from latticework.compiler.options.techniques import ALL
from latticework.compiler.passes import pack_products
from latticework.ir import interpret, run_passes, verify
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.values.packing.packed_constants import ConstRef, Diagonal, LinearMap, splat

RNG = np.random.default_rng(9)
SECONDS = partial(code_seconds, costs=Counted())


def packed(module):
    """The module after the pass, which computes the same, also as primitives."""
    result = run_passes(module, (pack_products.PASS,), SECONDS)
    verify(result)
    x = [RNG.uniform(-1, 1, (v.type.count, SLOTS)) for v in module.inputs]
    chain = small_chain(program_depth(result))
    primitives = expanded(result, chain, techniques=ALL)
    for want, got, run in zip(interpret(module, x), interpret(result, x), interpret(primitives, x), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
        np.testing.assert_allclose(run, want, atol=1e-5)
    return result


def count_vectors(module, name):
    return sum(op.result.type.count for op in module.walk() if op.name == name)


def two_blocks(second=2.0, *, conj=False):
    """Four vectors of each half made of one of the half: what they were, rotated and doubled."""
    places = [(half, n, steps) for half in range(2) for n, steps in enumerate((0, 1, 5, 7))]
    diagonals = tuple(
        Diagonal(steps, splat(second if half else 2.0, SLOTS), conj, 4 * half + n, half) for half, n, steps in places
    )
    return LinearMap(SLOTS, explicit=diagonals, count_in=2, count_out=8)


def sum_of_products(second=2.0, *, conj=False):
    v = Vectors(2, counts=[2, 8])
    left = v.op("linear_transform", v.x[0], map=two_blocks(second, conj=conj))
    left = v.op("concat", left, v.op("rotate", left, steps=3))
    right = v.op("take", v.x[1], vectors=tuple(n for n in range(8)) * 2)
    both = v.op("take", v.op("mul", left, right), vectors=tuple(range(16)))
    return v.done(v.op("sum", both, groups=2))


def test_half_of_the_products_and_rotations():
    module = sum_of_products()
    result = packed(module)
    assert count_vectors(module, "vec.mul") == 16
    assert [op.result.type.count for op in result.walk() if op.name == "vec.mul"] == [8, 2]
    assert count_vectors(result, "vec.rotate") == 4
    (linear,) = (op.attrs["map"] for op in result.walk() if op.name == "vec.linear_transform")
    assert (linear.count_in, linear.count_out, len(linear.diagonals)) == (1, 4, 4)
    assert count_vectors(result, "vec.twice_real") == 2


def test_maps_of_unequal_blocks_make_packed_vectors_at_once():
    result = packed(sum_of_products(second=3.0))
    (linear,) = (op.attrs["map"] for op in result.walk() if op.name == "vec.linear_transform")
    assert (linear.count_in, linear.count_out, len(linear.diagonals), linear.is_real) == (2, 4, 8, False)
    assert count_vectors(result, "vec.rotate") == 4


def test_diagonals_of_both_halves_may_be_of_one_step():
    """What is real in one and imaginary in the other is complex, and has no room for a second packing."""
    v = Vectors(2, counts=[2, 4])
    values = ConstRef(splat(1.0, SLOTS).gather, factor=2.0)
    diagonals = tuple(Diagonal(steps, values.times(1 + n), False, n, n % 2) for n in range(4) for steps in (0, 1, 2))
    left = v.op("linear_transform", v.x[0], map=LinearMap(SLOTS, explicit=diagonals, count_in=2, count_out=4))
    result = packed(v.done(v.op("sum", v.op("mul", left, v.x[1]), groups=1)))
    (linear,) = (op.attrs["map"] for op in result.walk() if op.name == "vec.linear_transform")
    assert (linear.count_out, len(linear.diagonals), linear.is_real) == (2, 6, False)


@pytest.mark.parametrize("blocks", ["equal", "one"])
def test_maps_of_conjugates_stay_whole(blocks):
    if blocks == "equal":
        packed(sum_of_products(conj=True))
        return
    v = Vectors(2, counts=[16, 16])
    one = LinearMap(SLOTS, explicit=(Diagonal(1, splat(2.0, SLOTS), True, 0, 0),), count_in=1, count_out=1)
    packed(v.done(v.op("sum", v.op("mul", v.op("linear_transform", v.x[0], map=one), v.x[1]), groups=1)))


def without_need():
    """Products that none of another may hide behind: of one vector, of one array with itself, of an odd number."""
    v = Vectors(3, counts=[2, 2, 3])
    yield v.done(v.op("sum", v.op("mul", v.x[0], v.x[0]), groups=1))
    v = Vectors(2, counts=[3, 3])
    yield v.done(v.op("sum", v.op("mul", *v.x), groups=1))
    v = Vectors(1, counts=[2])
    yield v.done(v.op("sum", v.op("mul", v.x[0], v.constant(RNG.normal(size=(2, SLOTS)))), groups=1))
    v = Vectors(2, counts=[4, 4])  # a conjugation takes as long as two products spare
    yield v.done(v.op("sum", v.op("mul", *v.x), groups=2))


@pytest.mark.parametrize("module", list(without_need()), ids=["square", "odd", "public", "dear"])
def test_others_are_left_alone(module):
    assert counted(packed(module)) == counted(module)


def product(a: lw.Secret[16, 64], b: lw.Secret[64, 16]):
    return a @ b


def test_encrypted_product_of_matrices():
    rows = {"a": RNG.uniform(-1, 1, (1, 16, 64)), "b": RNG.uniform(-1, 1, (1, 64, 16))}
    made = lw.compile(lw.program(product), calibrate=rows, ring_degree=1024, insecure=True)
    elements, slots = 16 * 64 * 16, 512
    assert estimate(made.plan, CostModel.load()).counts.ciphertext_products == elements // slots // 2
    assert made.plan.client.outputs[0].reach is not None  # the bound is proved for every accepted input
    client = made.client()
    server = made.server(client.keygen().public())
    halves = np.where(np.arange(64) < 32, 1.0, -1.0)  # real parts cancel, imaginary ones are as large as they may be
    for a, b in ((rows["a"][0], rows["b"][0]), (np.tile(halves, (16, 1)), np.ones((64, 16)))):
        found = client.decrypt(server(client.encrypt(a, b)))
        (simulated,) = made.simulate(a, b)
        for result in (found.reveal(), simulated):
            assert np.max(np.abs(result - a @ b)) <= min(found.error_bound, 2.0**-8)
