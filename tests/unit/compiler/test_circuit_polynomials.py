"""Polynomials of one number: recognised however they are written, evaluated with fewer products in a row."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.lanes.lane_graph import MUL, MUL_CONSTANT, Constant, GraphBuilder, InputGroup, evaluate
from latticework.compiler.lanes.rewrite_polynomials import shorten_polynomials

SIZE = 20


def graph_of(compute):
    builder = GraphBuilder([InputGroup("x", "grouped", (), tuple(f"x[{i}]" for i in range(SIZE)))])
    outputs = compute(builder, [builder.input(0, i) for i in range(SIZE)])
    return builder.build_graph(outputs if isinstance(outputs, list) else [outputs])


def horner(b, x, coefficients):
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = b.add(b.mul(total, x), c)
    return total


def by_powers(b, x, coefficients):
    total, power = coefficients[0], Constant(1)
    for c in coefficients[1:]:
        power = b.mul(power, x)
        total = b.add(total, b.mul(c, power))
    return total


def public(degree):
    return [Constant(3 + k) for k in range(degree + 1)]


def assert_equal(graph, new):
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = [[int(n) for n in rng.integers(-9, 9, SIZE)]]
        assert evaluate(graph, x) == evaluate(new, x)


@pytest.mark.parametrize("written", [horner, by_powers])
@pytest.mark.parametrize(
    ("degree", "deep", "products"), [(4, 2, 2), (5, 3, 3), (7, 3, 4), (8, 3, 4), (12, 4, 5), (16, 4, 8)]
)
def test_public_coefficients(written, degree, deep, products):
    graph = graph_of(lambda b, x: written(b, x[0], public(degree)))
    new = shorten_polynomials(graph)
    assert (new.depth((MUL,)), new.num_products) == (deep, products)
    assert_equal(graph, new)


@pytest.mark.parametrize("written", [horner, by_powers])
@pytest.mark.parametrize(("degree", "deep", "products"), [(4, 3, 5), (7, 3, 9), (8, 4, 10), (16, 5, 20)])
def test_encrypted_coefficients(written, degree, deep, products):
    graph = graph_of(lambda b, x: written(b, x[-1], x[: degree + 1]))
    new = shorten_polynomials(graph)
    assert (new.depth((MUL,)), new.num_products) == (deep, products)
    assert_equal(graph, new)


def test_polynomials_of_one_number_share_powers():
    graph = graph_of(lambda b, x: [horner(b, x[0], public(8)), horner(b, x[0], public(8)[::-1])])
    new = shorten_polynomials(graph)
    assert new.num_products <= 3 + 1 + 1
    assert_equal(graph, new)


def test_polynomials_of_several_numbers_stay_alike():
    graph = graph_of(lambda b, x: [horner(b, x[i], public(8)) for i in range(4)])
    assert shorten_polynomials(graph).num_products == 4 * 4


def test_a_polynomial_of_a_sum_and_one_that_others_read():
    def compute(b, x):
        inner = b.add(b.sub(x[0], x[1]), Constant(-4))
        value = horner(b, inner, public(8))
        return [b.mul(value, x[2]), b.add(value, b.mul(x[1], x[2]))]

    graph = graph_of(compute)
    new = shorten_polynomials(graph)
    assert new.depth((MUL,)) == 4 < graph.depth((MUL,))
    assert_equal(graph, new)


@pytest.mark.parametrize(
    "compute",
    [
        lambda b, x: b.mul(b.mul(b.add(x[0], Constant(1)), b.add(x[0], Constant(2))), b.add(x[0], Constant(3))),
        lambda b, x: squared(b, squared(b, squared(b, b.add(x[0], Constant(1))))),
        lambda b, x: b.add(b.mul(x[0], x[1]), b.mul(x[2], x[3])),
        lambda b, x: [squared(b, x[0]), b.mul(squared(b, x[0]), x[0])],
    ],
    ids=["factors", "power of a sum", "scalar product", "powers"],
)
def test_what_is_short_already_is_kept(compute):
    graph = graph_of(compute)
    assert shorten_polynomials(graph) is graph


def squared(b, x):
    return b.mul(x, x)


@pytest.mark.parametrize("seed", range(20))
def test_any_circuit_keeps_its_outputs_and_gets_no_deeper(seed):
    rng = np.random.default_rng(seed)

    def compute(b, x):
        made = list(x[:3])
        for _ in range(30):
            i, j = rng.integers(0, len(made), 2)
            by = Constant(int(rng.integers(-3, 4)))
            op = [b.add, b.sub, b.mul, lambda p, _, c=by: b.mul(p, c), lambda p, _, c=by: b.add(p, c)][rng.integers(5)]
            new = op(made[i], made[j] if rng.random() < 0.5 else x[0])
            made += [new] if isinstance(new, int) and new not in made else []
        return made[-3:]

    graph = graph_of(compute)
    new = shorten_polynomials(graph)
    assert_equal(graph, new)
    assert new.depth((MUL,)) <= graph.depth((MUL,))
    assert new.depth((MUL, MUL_CONSTANT)) <= graph.depth((MUL, MUL_CONSTANT)) + 1


def test_whole_numbers_that_are_floats():
    builder = GraphBuilder([InputGroup("x", "grouped", (), ("x[0]",))])
    x = builder.input(0, 0)
    assert builder.mul(x, Constant(1.0)) == x and builder.mul(x, Constant(0.0)) == Constant(0)


@pytest.mark.parametrize("scheme", ["bfv", "ckks"])
def test_an_eighth_degree_form_compiles_to_three_levels_of_products(scheme):
    @lw.circuit
    def horner_8(x: lw.vector(3, low=-1, high=1)):
        total = 9
        for c in range(8, 0, -1):
            total = total * x + c
        return total

    exact = {"plain_bits": 20} if scheme == "bfv" else {"precision_bits": 12}
    model = lw.compile(horner_8, scheme=scheme, effort="fast", **exact)
    assert model.plan.circuit.vector is None or model.plan.circuit.vector.muls <= 4
    assert model.plan.chain.ring_degree == 8192
    client = model.client()
    server = model.server(client.keygen().public())
    x = np.array([1, -1, 0])
    got = client.decrypt(server(client.encrypt(x=x)))
    assert got.reveal() == pytest.approx([45, 5, 1], abs=0 if scheme == "bfv" else 0.02)
