"""Sums of many products are computed part by part: same meaning and operations, fewer vectors in memory at a time."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, counted, expanded, plan_of, small_chain

import latticework as lw
from latticework.compiler.levels import program_depth
from latticework.compiler.options.techniques import ALL
from latticework.compiler.passes import split_products
from latticework.ir import interpret, run_passes, verify
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.values.packing.packed_constants import Diagonal, LinearMap, splat

RNG = np.random.default_rng(17)
HEADS, STEPS = 3, 8


def split(module, part=4):
    """The module after the pass for maps of 8 vectors and more, which computes the same, also as primitives."""
    result = run_passes(module, (split_products.splitting(8, part),))
    verify(result)
    x = [RNG.uniform(-1, 1, (v.type.count, SLOTS)[v.type.count == 1 :]) for v in module.inputs]
    primitives = expanded(result, small_chain(program_depth(result)), techniques=ALL)
    for want, got, run in zip(interpret(module, x), interpret(result, x), interpret(primitives, x), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
        np.testing.assert_allclose(run, want, atol=1e-4)
    return result


def heads(steps=STEPS, *, count=HEADS, conj=False, shared=False, empty=False, factor=1.0):
    """Of each input its vectors by `steps`, by masked rotations; `shared`: one reads all inputs; `empty`: one none."""
    diagonals = [
        Diagonal((3 * n + part) % SLOTS, splat(factor * (0.5 + part + n / 7), SLOTS), conj and part > 0, n, n // steps)
        for n in range(count * steps)
        for part in range(2)
    ]
    if shared:
        diagonals += [Diagonal(1, splat(0.25, SLOTS), False, 0, head) for head in range(1, count)]
    if empty:
        diagonals = [d for d in diagonals if d.out >= steps]
    return LinearMap(SLOTS, explicit=tuple(diagonals), count_in=count, count_out=count * steps)


def attention(linear_map, groups=2 * HEADS, order=None, *, on_left=True):
    """Sums of the map's vectors times others, `order` of them."""
    v = Vectors(2, counts=[linear_map.count_in, linear_map.count_out if order is None else len(order)])
    made = v.op("linear_transform", v.x[0], map=linear_map)
    if order is not None:
        made = v.op("take", made, vectors=tuple(order))
    product = v.op("mul", made, v.x[1]) if on_left else v.op("mul", v.x[1], made)
    return v.done(v.op("sum", product, groups=groups))


def map_sizes(module):
    maps = [op.attrs["map"] for op in module.walk() if op.name == "vec.linear_transform"]
    return [(m.count_in, m.count_out, len(m.diagonals)) for m in maps]


@pytest.mark.parametrize("on_left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize(
    "linear_map",
    [heads(), heads(conj=True), heads(factor=1j), heads(factor=0.25 - 3j, conj=True)],
    ids=["real", "conj", "imaginary", "complex"],
)
def test_each_head_by_itself(linear_map, on_left):
    module = attention(linear_map, on_left=on_left)
    result = split(module)
    assert map_sizes(module) == [(HEADS, HEADS * STEPS, 2 * HEADS * STEPS)]
    assert map_sizes(result) == [(1, STEPS, 2 * STEPS)] * HEADS
    assert counted(result)["vec.sum"] == HEADS


def test_sums_in_any_order_of_vectors_read_twice():
    """Sums of one head lie apart, vectors are read several times or not at all, and parts are ragged."""
    order = [int(n) for group in RNG.permutation(2 * HEADS) for n in RNG.integers(4 * group, 4 * group + 4, 5)]
    assert len(map_sizes(split(attention(heads(), order=order)))) == HEADS


def test_small_parts_go_together():
    module = attention(heads())
    assert map_sizes(split(module, STEPS + 1)) == [(2, 2 * STEPS, 4 * STEPS), (1, STEPS, 2 * STEPS)]
    assert len(map_sizes(split(module, 3 * STEPS))) == 1


def test_heads_with_an_input_in_common_stay_together():
    assert map_sizes(split(attention(heads(shared=True)))) == [(HEADS, HEADS * STEPS, 2 * HEADS * STEPS + 2)]


def without_need():
    """Maps that are small, whose vectors something else reads, of which some are zero, or one sum of all."""
    yield attention(heads(2), groups=HEADS)
    yield attention(heads(empty=True))
    yield attention(heads(), groups=1)
    v = Vectors(2, counts=[HEADS, HEADS * STEPS])
    made = v.op("linear_transform", v.x[0], map=heads())
    total = v.op("sum", v.op("mul", made, v.x[1]), groups=HEADS)
    yield v.done(total, v.op("take", made, vectors=(0, 1)))
    v = Vectors(1, counts=[HEADS])
    made = v.op("linear_transform", v.x[0], map=heads())
    yield v.done(v.op("sum", v.op("mul", made, made), groups=HEADS))


@pytest.mark.parametrize("module", list(without_need()), ids=["small", "zeros", "one", "read twice", "squares"])
def test_others_are_left_alone(module):
    assert counted(split(module)) == counted(module)


def test_fewer_vectors_are_in_memory():
    module = attention(heads(16, count=6), groups=12)
    result = split(module)
    whole, parts = (
        estimate(plan_of(each, small_chain(program_depth(each)), techniques=ALL), CostModel.load())
        for each in (module, result)
    )
    assert parts.counts == whole.counts
    assert parts.memory.values < 0.7 * whole.memory.values


@pytest.mark.parametrize("count", [4, 3], ids=["heads", "ragged"])
def test_products_of_heads_run_encrypted(monkeypatch, count):
    """With inputs at their bounds and rows of zeros, beside NumPy and the simulator."""
    monkeypatch.setattr(split_products, "PASS", split_products.splitting(8, 4))

    def product(a: lw.Secret[count, 32, 16], b: lw.Secret[count, 16, 32]):
        return a @ b

    rows = {"a": RNG.uniform(-1, 1, (1, count, 32, 16)), "b": RNG.uniform(-1, 1, (1, count, 16, 32))}
    made = lw.compile(lw.program(product), calibrate=rows, ring_degree=1024, insecure=True)
    assert sum(instruction.op == "map_sums" for _, _, instruction in made.plan.walk()) >= 4
    client = made.client()
    server = made.server(client.keygen().public())
    a, b = rows["a"][0], rows["b"][0]
    most = min(a.max(), -a.min(), b.max(), -b.min())
    for left, right in ((a, b), (most * np.sign(a), most * np.sign(b)), (a * (np.arange(32) % 3 > 0)[:, None], b)):
        found = client.decrypt(server(client.encrypt(left, right)))
        (simulated,) = made.simulate(left, right)
        for result in (found.reveal(), simulated):
            assert np.max(np.abs(result - left @ right)) <= min(found.error_bound, 2.0**-7)
