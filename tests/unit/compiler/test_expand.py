"""Expansion into primitives: meanings kept, depths and numbers of products and rotations as stated."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, counted, expanded, managed, plan_of, small_chain

from latticework.compiler.expand import paterson_stockmeyer
from latticework.compiler.expand.paterson_stockmeyer import Factors, cheapest_baby_limit, divide
from latticework.compiler.expand.primitive_builder import Primitives
from latticework.compiler.levels import program_depth
from latticework.errors import ScaleError
from latticework.ir import Block, Builder, Loc, interpret
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.plan.analysis.simulate import simulate
from latticework.values.packing.key_manifest import galois_element
from latticework.values.packing.loop_nests.baby_giant import choose, places
from latticework.values.packing.packed_constants import Diagonal, LinearMap, splat

RNG = np.random.default_rng(11)


def agrees(module, slots=SLOTS, tolerance=1e-6):
    """Expanded means what managed means; returns the expanded module."""
    chain = small_chain(program_depth(module))
    result = expanded(module, chain)
    inputs = [RNG.uniform(-1, 1, slots) for _ in module.inputs]
    for got, want in zip(interpret(result, inputs), interpret(managed(module, chain), inputs), strict=True):
        assert np.max(np.abs(got - want)) < tolerance
    outputs = zip(result.body.terminator.operands, managed(module, chain).body.terminator.operands, strict=True)
    assert all(a.type == b.type for a, b in outputs)
    return result


def steps_used(module):
    """Galois elements of all key switches but relinearisations."""
    return {op.attrs["spec"].galois_element for op in module.walk() if op.name == "key.demand"} - {0}


# -- rotations --------------------------------------------------------------------------------


def test_rotations_of_one_value_share_its_decomposition():
    v = Vectors(2)
    turned = [v.op("rotate", v.x[0], steps=k) for k in (1, 2, -3)] + [v.op("rotate", v.x[1], steps=1)]
    found = counted(agrees(v.done(*turned)))
    assert found["rlwe.hoist"] == 1 and found["rlwe.key_product"] == 3 and found["rlwe.rotate"] == 1


def test_rotations_in_a_loop_do_not_lean_on_a_decomposition_inside_it():
    v = Vectors(1)
    (y,) = v.loop(lambda i, h: [v.op("add", h, v.op("rotate", v.x[0], steps=1))], [v.x[0]], 2)
    agrees(v.done(y, v.op("rotate", v.x[0], steps=2)))


@pytest.mark.parametrize("steps", [0, SLOTS, -SLOTS, 3 * SLOTS])
def test_full_turns_are_free(steps):
    v = Vectors(1)
    result = agrees(v.done(v.op("rotate", v.x[0], steps=steps)))
    assert [op.name for op in result.walk()] == ["loop.yield"]


def test_steps_equal_modulo_the_slots_share_a_key():
    v = Vectors(1)
    result = agrees(v.done(*(v.op("rotate", v.x[0], steps=k) for k in (3, 3 - SLOTS, 3 + SLOTS))))
    assert steps_used(result) == {galois_element(3, 1024)}


def test_conjugation():
    v = Vectors(1)
    found = counted(agrees(v.done(v.op("add", v.op("conjugate", v.x[0]), v.x[0]))))
    assert found["key.demand"] == 1


# -- linear maps ------------------------------------------------------------------------------


def product(matrix):
    v = Vectors(1, slots=len(matrix))
    result = agrees(v.done(v.matrix(v.x[0], matrix)), len(matrix))
    x = RNG.uniform(-1, 1, len(matrix))
    assert np.max(np.abs(interpret(result, [x])[0] - matrix @ x)) < 1e-6
    return result


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
def test_dense_maps_of_every_size(n):
    product(RNG.normal(size=(n, n)))


def rotations_of(module):
    """(babies that are turned, giants, plaintext products)."""
    babies = terms = 0
    for op in module.walk():
        if op.name == "rlwe.diag_sums":
            terms += len(op.attrs["terms"])
            babies += len(op.operands) - 1 - len(op.attrs["terms"])
    found = counted(module)
    return babies, found["rlwe.key_product"] + found["rlwe.rotate_over_p"], terms + found["rlwe.mul_plain"]


def test_a_dense_map_of_64_takes_18_rotations():
    # 15 baby steps, and 3 giant steps at three times the price: near 2 sqrt(64) = 16.
    result = product(RNG.normal(size=(64, 64)) / 8)
    babies, giants, terms = rotations_of(result)
    assert (babies, giants, terms) == (15, 3, 64)
    assert counted(result)["key.demand"] <= babies + giants


def explicit(slots, steps):
    return LinearMap(slots, None, 1.0, tuple(Diagonal(s, splat(s + 0.5, slots)) for s in steps))


def of_steps(slots, steps):
    v = Vectors(1, slots=slots)
    module = v.done(v.op("linear_transform", v.x[0], map=explicit(slots, steps)))
    x = RNG.uniform(-1, 1, slots)
    result = agrees(module, slots, 1e-4)
    expected = sum((s + 0.5) * np.roll(x, -s) for s in steps) if steps else np.zeros(slots)
    assert np.max(np.abs(interpret(result, [x])[0] - expected)) < 1e-4
    return result


@pytest.mark.parametrize(
    ("steps", "rotations", "divisions"),
    [
        ([0], 0, 1),  # diagonal
        ([], 0, 1),  # nothing at all
        ([1], 1, 1),
        ([-1], 1, 1),
        ([-1, 0, 1], 2, 1),  # all over QP
        ([8, 24, 40, 56], 4, 1),  # multiples: 8 is the unit
        ([3, 35], 2, 1),
        ([0, 32], 1, 1),
        ([63, 1], 2, 1),
    ],
)
def test_few_diagonals_need_one_rotation_each(steps, rotations, divisions):
    result = of_steps(64, steps)
    found = counted(result)
    assert sum(rotations_of(result)[:2]) == rotations
    assert found["rlwe.mod_down"] == divisions
    assert found["rlwe.hoist"] == min(rotations, 1)


@pytest.mark.parametrize("seed", range(20))
def test_random_sets_of_diagonals(seed):
    rng = np.random.default_rng(seed)
    slots = 1 << int(rng.integers(0, 7))
    steps = sorted({int(s) for s in rng.integers(-slots, slots, int(rng.integers(1, 20)))})
    babies, giants, _ = rotations_of(of_steps(slots, steps))
    assert babies + giants <= max(len({s % slots for s in steps} - {0}), 0)


def test_diagonals_of_equal_steps_add_up():
    of_steps(16, [3, 19, -13])  # all rotate by 3


def test_baby_count_is_the_best_of_all_widths():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        steps = [int(s) for s in rng.choice(64, int(rng.integers(1, 40)), replace=False) - 31]
        chosen = choose(places(explicit(64, steps))).split.width

        def rotations(width, steps=steps):
            babies, giants = {s % width for s in steps} - {0}, {(s - s % width) % 64 for s in steps} - {0}
            return len(babies) + 3 * len(giants)

        assert rotations(chosen) == min(map(rotations, range(1, 65)))


def conjugating(slots, places, rng):
    """Random complex diagonals at (conj, steps), and what they do to a vector."""
    values = [complex(*rng.uniform(-1, 1, 2)) for _ in places]
    diagonals = tuple(
        Diagonal(steps, splat(value, slots), conj=conj) for (conj, steps), value in zip(places, values, strict=True)
    )

    def apply(x):
        turned = (np.roll(np.conj(x) if conj else x, -steps) for conj, steps in places)
        return sum((v * t for v, t in zip(values, turned, strict=True)), 0 * x)

    return LinearMap(slots, None, 1.0, diagonals), apply


@pytest.mark.parametrize("seed", range(20))
def test_maps_on_the_conjugate_share_the_decomposition(seed):
    rng = np.random.default_rng(seed)
    slots = 1 << int(rng.integers(1, 7))
    places = [(bool(rng.integers(2)), int(s)) for s in rng.integers(-slots, slots, int(rng.integers(1, 12)))]
    linear_map, apply = conjugating(slots, places, rng)
    v = Vectors(1, slots=slots)
    result = expanded(v.done(v.op("linear_transform", v.x[0], map=linear_map)), small_chain(1))
    x = rng.standard_normal(slots) + 1j * rng.standard_normal(slots)
    np.testing.assert_allclose(interpret(result, [x])[0], apply(x), atol=1e-6)
    found = counted(result)
    assert found["rlwe.diag_sums"] <= 1
    assert found["rlwe.hoist"] <= 1 + found["rlwe.key_product"]


def test_a_conjugate_needs_one_key_and_no_giant_step():
    linear_map, _ = conjugating(16, [(False, 0), (True, 0)], RNG)
    v = Vectors(1, slots=16)
    chain = small_chain(1)
    result = expanded(v.done(v.op("linear_transform", v.x[0], map=linear_map)), chain)
    assert steps_used(result) == {2 * chain.ring_degree - 1}
    assert not {"rlwe.key_product", "rlwe.rotate_over_p"} & set(counted(result))


def test_a_map_with_zeros_in_its_matrix_is_as_its_matrix():
    product(np.zeros((8, 8)))
    product(np.diag(RNG.normal(size=8)))


# -- polynomials ------------------------------------------------------------------------------


def coefficients(degree, kind):
    c = RNG.normal(size=degree + 1) / (degree + 1)
    if kind == "odd":
        c[::2] = 0
    elif kind == "even":
        c[1::2] = 0
    elif kind == "top":
        c[:-1] = 0
    elif kind == "sparse":
        c[RNG.random(degree + 1) < 0.7] = 0
    c[-1] = c[-1] or 0.5
    return c if kind != "odd" or degree % 2 else np.append(c[:-1], 0.0)


def product_bound(degree):
    """Ciphertext products that Paterson-Stockmeyer makes do with: sqrt(2 d) + log2(d) + O(1)."""
    return int(np.sqrt(2 * degree) + np.log2(degree + 1)) + 1


@pytest.mark.parametrize("kind", ["dense", "odd", "even", "top", "sparse"])
@pytest.mark.parametrize("degree", [*range(1, 18), 23, 24, 27, 31, 32, 33, 47, 48, 57, 62, 63])
def test_polynomials_are_numpys_at_optimal_depth(degree, kind):
    c = coefficients(degree, kind)
    if not c[1:].any():
        c[1] = 0.5  # a constant is no polynomial of the argument
    v = Vectors(1)
    module = v.done(v.polynomial(v.x[0], np.trim_zeros(c, "b")))
    depth = (len(np.trim_zeros(c, "b")) - 1).bit_length()
    assert program_depth(module) == depth
    chain = small_chain(depth)
    plan = plan_of(module, chain)
    x = RNG.uniform(-1, 1, SLOTS)
    x[:3] = -1, 0, 1
    (got,) = simulate(plan, [x])
    assert np.max(np.abs(got - np.polynomial.chebyshev.chebval(x, c))) < 2.0**-30
    products = sum(i.op in ("mul", "square") for _, _, i in plan.walk())
    assert products <= product_bound(degree)
    assert plan.client.outputs[0].level == 0


@pytest.mark.parametrize(("degree", "products"), [(2, 1), (3, 2), (7, 5), (15, 8), (31, 13), (63, 18)])
def test_products_of_common_degrees(degree, products):
    v = Vectors(1)
    module = v.done(v.polynomial(v.x[0], RNG.normal(size=degree + 1) / (degree + 1)))
    found = counted(expanded(module, small_chain(int(degree).bit_length())))
    assert found["ckks.mul"] + found["ckks.square"] == products


@pytest.mark.parametrize("zeros", [1, 5])
def test_zero_coefficients_at_the_top_do_no_harm(zeros):
    c = [0.5, -0.25, 0.125] + [0.0] * zeros
    v = Vectors(1)
    module = v.done(v.polynomial(v.x[0], c))
    (got,) = interpret(agrees(module), [np.linspace(-1, 1, SLOTS)])
    assert np.max(np.abs(got - np.polynomial.chebyshev.chebval(np.linspace(-1, 1, SLOTS), c))) < 1e-9


@pytest.mark.parametrize("c", [[0.0, 0.0], [0.7], [0.0]])
def test_constant_polynomials(c):
    v = Vectors(1)
    module = v.done(v.polynomial(v.x[0], c))
    (got,) = interpret(agrees(module), [np.linspace(-1, 1, SLOTS)])
    assert np.max(np.abs(got - c[0])) < 1e-9


def test_a_coefficient_too_large_for_an_integer_is_an_error():
    v = Vectors(1)
    module = v.done(v.polynomial(v.x[0], [0.0, 1e7, 1e7]))
    with pytest.raises(ScaleError, match="2\\^62"):
        expanded(module, small_chain(2))


@pytest.mark.parametrize("degree", [7, 19, 31])
def test_products_of_a_polynomial_depend_on_the_number_of_levels_alone(degree, monkeypatch):
    """So the cheapest form found at one level, for one scale, is that at all others, and is found once."""
    monkeypatch.setattr(paterson_stockmeyer, "_CHEAPEST", {})
    p = Primitives(Builder(Block(), Loc.unknown()), small_chain(9))
    c, depth = tuple(RNG.uniform(-1, 1, degree + 1)), degree.bit_length()
    limits, scales, found = [2, 4, 8, 16, 32], p.chain.main.scales, set()
    for top, finer in ((9, 1.0), (9, 3.7), (7, 0.9)):
        level = top - depth
        kind, scale = CipherType("ckks", 1, 1, Level(0, top), scales[top]), scales[level] * finer
        x = p.builder.block.add_arg(kind, None)
        counts = [paterson_stockmeyer._products(p, kind, c, level, scale, limit, Factors(p)) for limit in limits]
        assert counts[limits.index(cheapest_baby_limit(p, x, c, level, scale))] == min(counts)
        found.add(tuple(counts))
    assert len(found) == 1 == len(paterson_stockmeyer._CHEAPEST)


@pytest.mark.parametrize("degree", range(1, 40))
def test_chebyshev_division(degree):
    c = tuple(RNG.normal(size=degree + 1))
    giant = 1 << (degree.bit_length() - 1)
    quotient, remainder = divide(c, giant)
    x = np.linspace(-1, 1, 9)
    series = np.polynomial.chebyshev.chebval
    t = np.cos(giant * np.arccos(x))
    np.testing.assert_allclose(series(x, quotient) * t + series(x, remainder), series(x, c), atol=1e-9)
    assert len(remainder) <= giant


def test_a_rescale_takes_the_relinearisation_before_it_along():
    v = Vectors(2)
    result = agrees(v.done(v.op("mul", v.x[0], v.x[1])))
    (switch,) = (op for op in result.walk() if op.name == "rlwe.relinearize")
    assert switch.result.type.level.index == switch.operands[0].type.level.index - 1
    assert not counted(result)["rlwe.mod_down"]


def test_polynomials_settle_each_product_in_one_operation():
    v = Vectors(1)
    result = agrees(v.done(v.polynomial(v.x[0], [0.1, 0.2, -0.3, 0.05, 0.1])), tolerance=1e-5)
    switches = [op for op in result.walk() if op.name == "rlwe.relinearize"]
    assert len(switches) >= 2
    for op in switches:
        assert op.result.type.level.index == op.operands[0].type.level.index - 1


# -- all of it --------------------------------------------------------------------------------


def test_every_key_switch_has_its_key():
    v = Vectors(2)
    y = v.matrix(v.op("mul", v.x[0], v.op("rotate", v.x[1], steps=1)), RNG.normal(size=(SLOTS, SLOTS)))
    result = agrees(v.done(v.polynomial(y, [0, 0.01, 0.01, 0.01])), tolerance=1e-5)
    switches = [
        op
        for op in result.walk()
        if op.name in ("rlwe.key_product", "rlwe.rotate_over_p", "rlwe.rotate", "rlwe.relinearize")
    ]
    assert switches
    for op in switches:
        demand = op.operands[1].owner
        assert demand.name == "key.demand"
        assert (demand.attrs["spec"].kind == "relin") == (op.name == "rlwe.relinearize")
    symbolic = {"ckks.linear_transform", "ckks.polynomial", "rlwe.rescale", "rlwe.conjugate"}
    assert not symbolic & set(counted(result))
    for op in result.walk():
        for value in op.results:
            if isinstance(value.type, CipherType) and value.type.basis == "QP":
                assert value.type.degree == 1
