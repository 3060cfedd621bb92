"""Block linear maps as primitives: meanings, counts, and encrypted runs, with and without complex packing."""

from dataclasses import replace

import numpy as np
import pytest
from array_programs import encrypted
from gather_cases import conv, matmul, matvec, random_gather
from vec_cases import Vectors, counted, expanded, plan_of, small_chain

from latticework.compiler.expand import inner_sums
from latticework.compiler.levels import decide_levels, write_levels
from latticework.compiler.options.techniques import Techniques
from latticework.ir import interpret
from latticework.plan.analysis.error_bounds import Magnitude, predict
from latticework.plan.analysis.memory import peak_value_bytes
from latticework.plan.analysis.simulate import simulate
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.values.packing.loop_nests.baby_giant import ROTOM, TYPICAL, BlockMapPrices, choose, places
from latticework.values.packing.packed_constants import Diagonal, LinearMap, splat

CHEAP_SWITCHES = BlockMapPrices(0, 1, 1, 0.1, 0.1, 5, 0, 0)  # then packing is always worth it
DEAR_KEYS = BlockMapPrices(key=50)  # then giant steps are in Horner's form wherever that saves one


def program(linear_map, sources):
    """A module that applies one map to one secret array."""
    v = Vectors(1, slots=linear_map.slots, counts=(linear_map.count_in,))
    module = v.done(v.op("linear_transform", v.x[0], map=linear_map))
    for name, array in sources.items():
        module.sources[name] = array
    return module


def primitives(linear_map, sources, prices=TYPICAL, packing=False, **techniques):
    """The module expanded on a small chain."""
    module, chain = program(linear_map, sources), small_chain(1)
    allowed = Techniques(complex_packing=packing, **techniques)
    return expanded(module, chain, prices=lambda _: prices, techniques=allowed)


def found(module):
    """(key switches, products) of a module, one for each vector they are of."""
    switches = products = 0
    for op in module.walk():
        if op.name == "rlwe.diag_sums":
            products += len(op.attrs["terms"])
            switches += len(op.operands) - 1 - len(op.attrs["terms"])
        elif op.name == "rlwe.map_sums":
            products += len(op.attrs["sums"].products.values)
            switches += len(op.attrs["sums"].products.switches())
        elif op.name in ("rlwe.key_product", "rlwe.rotate_over_p", "rlwe.rotate"):
            switches += op.result.type.count
        elif op.name == "rlwe.mul_plain":
            products += op.result.type.count
    return switches, products


def agrees(linear_map, sources, rng, **ways):
    """Primitives mean what the map means, and are as many as were counted; returns them."""
    module = primitives(linear_map, sources, **ways)
    shape = (linear_map.count_in, linear_map.slots) if linear_map.count_in > 1 else (linear_map.slots,)
    x = rng.uniform(-1, 1, shape)
    (got,) = interpret(module, [x])
    np.testing.assert_allclose(got, linear_map.apply(x, sources), atol=1e-6)
    if linear_map.diagonals:
        prices, horner = ways.get("prices", TYPICAL), ways.get("horner_giants", True)
        prices = prices if ways.get("hoisting", True) else prices.without_hoisting()
        counts = choose(places(linear_map), prices, packing=ways.get("packing", False), horner=horner).counts
        keys = {op.attrs["spec"].galois_element for op in module.walk() if op.name == "key.demand"}
        assert counts.keys - bool(counts.rotations) <= len(keys) <= counts.keys  # one to pair diagonals may be there
        assert found(module) == (counts.key_switches, counts.products)
    return module


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("ways", [{}, {"prices": ROTOM}, {"prices": CHEAP_SWITCHES, "packing": True},
                                  {"prices": DEAR_KEYS}, {"prices": DEAR_KEYS, "horner_giants": False},
                                  {"prices": DEAR_KEYS, "hoisting": False}],
                         ids=["typical", "rotom", "packed", "horner", "own", "unhoisted"])  # fmt: skip
def test_random_block_maps(seed, ways):
    rng = np.random.default_rng(seed)
    gather, sources = random_gather(rng)
    agrees(LinearMap.of(gather), sources, rng, **ways)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("packing", [False, True])
def test_random_explicit_blocks(seed, packing):
    rng = np.random.default_rng(seed)
    count_in, count_out = (int(n) for n in rng.integers(1, 4, 2))
    held = {
        (int(rng.integers(16)), int(rng.integers(count_out)), int(rng.integers(count_in)))
        for _ in range(int(rng.integers(1, 40)))
    }
    diagonals = tuple(Diagonal(s, splat(float(rng.normal()), 16), False, v, u) for s, v, u in sorted(held))
    linear_map = LinearMap(16, explicit=diagonals, count_in=count_in, count_out=count_out)
    agrees(linear_map, {}, rng, prices=CHEAP_SWITCHES, packing=packing)


@pytest.mark.parametrize("way", ["least-cost", "iterated", "powers-of-two"])
def test_a_map_of_single_vectors_is_applied_to_each_of_an_array(way):
    rng = np.random.default_rng(4)
    linear_map = LinearMap.of(matvec(16, 16, 16))
    v = Vectors(1, slots=16, counts=(3,))
    module = v.done(v.op("linear_transform", v.x[0], map=linear_map))
    sources = {"w": rng.normal(size=(16, 16))}
    module.sources["w"] = sources["w"]
    x = rng.uniform(-1, 1, (3, 16))
    made = expanded(module, small_chain(1), techniques=Techniques(rotation_keys=way), prices=lambda _: DEAR_KEYS)
    (got,) = interpret(made, [x])
    np.testing.assert_allclose(got, [linear_map.apply(row, sources) for row in x], atol=1e-6)


def test_babies_are_shared_by_outputs_and_giants_by_inputs():
    rng = np.random.default_rng(0)
    gather = matmul(8, 16, 16, 64)  # two vectors to two
    module = agrees(LinearMap.of(gather), {"w": rng.normal(size=(16, 16))}, rng)
    kinds = counted(module)
    assert kinds["rlwe.rotate_over_p"] == 1  # an array of giants is one operation
    assert kinds["rlwe.map_sums"] == 1 and kinds["rlwe.encode"] == 0


def test_two_outputs_are_one_product_of_complex_weights():
    rng = np.random.default_rng(1)
    linear_map = LinearMap.of(matmul(8, 4, 8, 32))
    sources = {"w": rng.normal(size=(4, 8))}
    plain = agrees(linear_map, sources, rng, prices=ROTOM)
    packed = agrees(linear_map, sources, rng, prices=ROTOM, packing=True)
    assert found(packed)[1] * 2 == found(plain)[1]
    assert counted(packed)["rlwe.mul_monomial"] == 1


def test_two_diagonals_are_one_product_of_complex_weights():
    rng = np.random.default_rng(2)
    gather = replace(conv(2, 2, 4, 3, 32))
    sources = {"w": rng.normal(size=(2, 2, 3, 3))}
    plain = agrees(LinearMap.of(gather), sources, rng, prices=ROTOM)
    packed = agrees(LinearMap.of(gather), sources, rng, prices=CHEAP_SWITCHES, packing=True)
    assert found(packed)[1] * 2 == found(plain)[1]


def test_complex_vectors_are_not_packed():
    v = Vectors(1, slots=16)
    x = v.op("linear_transform", v.x[0], map=LinearMap(16, explicit=(Diagonal(0, splat(1j, 16)),)))
    module = v.done(v.op("linear_transform", x, map=LinearMap.of(matvec(16, 16, 16))))
    module.sources["w"] = np.ones((16, 16))
    chain = small_chain(2)
    for op in write_levels(decide_levels(module), chain).walk():
        if op.name == "ckks.linear_transform":
            assert op.attrs.get("real") is None


def test_two_inputs_are_one_product_of_complex_weights():
    rng = np.random.default_rng(3)
    linear_map = LinearMap.of(matmul(8, 16, 4, 32))  # four vectors to one
    sources = {"w": rng.normal(size=(16, 4))}
    plain = agrees(linear_map, sources, rng, prices=ROTOM)
    packed = agrees(linear_map, sources, rng, prices=ROTOM, packing=True)
    assert found(packed)[1] * 2 == found(plain)[1]
    assert counted(packed)["rlwe.rotate"] == 0 and counted(packed)["rlwe.mul_monomial"] == 1


CASES = {
    "four inputs": (matmul(8, 16, 4, 32), (16, 4)),
    "outputs": (matmul(8, 4, 8, 32), (4, 8)),
    "three outputs": (matmul(8, 4, 12, 32), (4, 12)),
    "two inputs": (matmul(8, 8, 8, 32), (8, 8)),
    "diagonals": (matvec(16, 16, 16), (16, 16)),
    "channels": (conv(2, 2, 4, 3, 32), (2, 2, 3, 3)),
}


@pytest.mark.parametrize("way", ["plain", "packed", "horner", "iterated", "powers-of-two"])
@pytest.mark.parametrize("name", CASES)
def test_plans_simulated_predicted_and_encrypted(name, way):
    """At insecure parameters of N = 2^11."""
    rng = np.random.default_rng(5)
    gather, shape = CASES[name]
    linear_map, sources = LinearMap.of(gather), {"w": rng.uniform(-1, 1, shape)}
    chain, packing = small_chain(1, ring_degree=2048), way == "packed"
    allowed, prices = Techniques(complex_packing=packing), DEAR_KEYS if way == "horner" else CHEAP_SWITCHES
    if way in ("iterated", "powers-of-two"):
        allowed, prices = replace(allowed, rotation_keys=way), TYPICAL
    plan = plan_of(program(linear_map, sources), chain, prices=lambda _: prices, techniques=allowed)
    if way == "horner":
        assert choose(places(linear_map), prices, horner=True).order != "own" or len(plan.keys) == 1
    assert any(key.galois_element == 4095 for key in plan.keys) == packing  # conjugation
    in_shape = (linear_map.count_in, linear_map.slots) if linear_map.count_in > 1 else (linear_map.slots,)
    x = rng.uniform(-1, 1, in_shape)
    want = linear_map.apply(x, sources)
    (exact,) = simulate(plan, [x])
    np.testing.assert_allclose(exact, want, atol=1e-9)
    (noisy,) = simulate(plan, [x], noise=np.random.default_rng(6))
    (bound,) = predict(plan, [Magnitude.of(x)])
    assert np.abs(noisy - want).max() <= bound.worst
    (got,) = encrypted(plan, [np.atleast_2d(x)])
    np.testing.assert_allclose(got, np.atleast_2d(want), atol=bound.worst)
    assert bound.worst < 1e-4
    assert read_plan(write_plan(plan)).constants == plan.constants


def test_many_diagonals_are_multiplied_with_in_runs_of_babies(monkeypatch):
    """Of single vectors: those of one operation are in memory together, however little is kept of constants."""
    rng = np.random.default_rng(5)
    linear_map, sources = LinearMap.of(matvec(64, 64, 64)), {"w": rng.uniform(-1, 1, (64, 64))}
    x, found = rng.uniform(-1, 1, 64), []
    for most in (1 << 30, 1 << 20, 1):
        monkeypatch.setattr(inner_sums, "DIAGONAL_BYTES", most)
        plan = plan_of(program(linear_map, sources), small_chain(1, ring_degree=2048))
        sums = [instruction for _, _, instruction in plan.walk() if instruction.op == "diag_sums"]
        key_products = sum(instruction.immediate[0] for instruction in sums)
        found.append((len(sums), key_products, peak_value_bytes(plan, TripCounts(plan), lambda rows: 0)))
        (got,) = encrypted(plan, [x[None]])
        np.testing.assert_allclose(got[0], sources["w"] @ x, atol=1e-4)
    numbers, products, peaks = zip(*found, strict=True)
    assert numbers[0] == 1 < numbers[1] < numbers[2] and peaks[0] > peaks[1] > peaks[2]
    assert products[0] == products[1] < products[2]  # whole babies, until not even one fits
