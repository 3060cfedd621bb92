"""Sums of products of secrets by baby steps and giant steps: same meaning, fewer rotations."""

from functools import partial

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, counted, expanded, small_chain

import latticework as lw
from latticework.compiler.layout_choice import Counted, code_seconds
from latticework.compiler.levels import program_depth
from latticework.compiler.options.techniques import ALL
from latticework.compiler.passes import giant_products
from latticework.ir import interpret, run_passes, verify
from latticework.values.packing.packed_constants import Diagonal, LinearMap, splat

RNG = np.random.default_rng(11)
SECONDS = partial(code_seconds, costs=Counted())
STEPS = SLOTS


def stepped(module):
    """The module after the pass, which computes the same, also as primitives."""
    result = run_passes(module, (giant_products.PASS,), SECONDS)
    verify(result)
    x = [RNG.uniform(-1, 1, (v.type.count, SLOTS)[v.type.count == 1 :]) for v in module.inputs]
    chain = small_chain(program_depth(result))
    primitives = expanded(result, chain, techniques=ALL)
    for want, got, run in zip(interpret(module, x), interpret(result, x), interpret(primitives, x), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
        np.testing.assert_allclose(run, want, atol=1e-4)
    return result


def made_at_once(count=STEPS, *, conj=False):
    """Two diagonals for each of some vectors, far from those of the others."""
    diagonals = (
        Diagonal((3 * n + 5 * part) % SLOTS, splat(0.5 + part + n / 7, SLOTS), conj and part > 0, n)
        for n in range(count)
        for part in range(2)
    )
    return LinearMap(SLOTS, explicit=tuple(diagonals), count_in=1, count_out=count)


def products(groups=1, *, mapped=True, order=None, conj=False):
    """Sum over k of a[k] rotate(b, k), `groups` of them, of vectors of b one after the other."""
    v = Vectors(2, counts=[1 if mapped else STEPS, groups])
    a = v.op("linear_transform", v.x[0], map=made_at_once(conj=conj)) if mapped else v.x[0]
    b = v.op("concat", v.x[1], *(v.op("rotate", v.x[1], steps=k) for k in range(1, STEPS)))
    a = v.op("take", a, vectors=tuple(k for k in range(STEPS) for _ in range(groups)))
    product = v.op("mul", a, b) if order is None else v.op("mul", *((a, b)[side] for side in order))
    by_group = tuple(k * groups + group for group in range(groups) for k in range(STEPS))
    return v.done(v.op("sum", v.op("take", product, vectors=by_group), groups=groups))


def rotated(module):
    return sum(op.result.type.count for op in module.walk() if op.name == "vec.rotate")


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["right", "left"])
def test_babies_and_giants(groups, order):
    module = products(groups, order=order)
    result = stepped(module)
    assert rotated(module) == 15 * groups
    assert rotated(result) == 6 * groups  # three babies and three giants
    (linear,) = (op.attrs["map"] for op in result.walk() if op.name == "vec.linear_transform")
    assert len(linear.diagonals) == 2 * STEPS
    assert [op.result.type.count for op in result.walk() if op.name == "vec.sum"] == [4 * groups]


def test_maps_of_conjugates():
    assert rotated(stepped(products(conj=True))) == 6


def without_need():
    """Where nothing is spared: factors that no map makes, few steps, sums that steps share unequally."""
    yield products(mapped=False)
    v = Vectors(2, counts=[2, 1])
    both = v.op("concat", v.x[1], v.op("rotate", v.x[1], steps=1))
    yield v.done(v.op("sum", v.op("mul", v.x[0], both), groups=1))
    v = Vectors(2, counts=[1, 1])
    a = v.op("linear_transform", v.x[0], map=made_at_once(6))
    b = v.op("concat", v.x[1], *(v.op("rotate", v.x[1], steps=k * k) for k in range(1, 6)))
    yield v.done(v.op("sum", v.op("mul", a, b), groups=1))


@pytest.mark.parametrize("module", list(without_need()), ids=["inputs", "few", "unequal"])
def test_others_are_left_alone(module):
    assert counted(stepped(module)) == counted(module)


def product(a: lw.Secret[32, 16], b: lw.Secret[16, 32]):
    return a @ b


def test_encrypted_product_of_matrices():
    rows = {"a": RNG.uniform(-1, 1, (1, 32, 16)), "b": RNG.uniform(-1, 1, (1, 16, 32))}
    made = lw.compile(lw.program(product), calibrate=rows, ring_degree=1024, insecure=True)
    assert made.plan.client.outputs[0].reach is not None  # the bound is proved for every accepted input
    client = made.client()
    server = made.server(client.keygen().public())
    a, b = rows["a"][0], rows["b"][0]
    found = client.decrypt(server(client.encrypt(a, b)))
    (simulated,) = made.simulate(a, b)
    for result in (found.reveal(), simulated):
        assert np.max(np.abs(result - a @ b)) <= min(found.error_bound, 2.0**-8)
