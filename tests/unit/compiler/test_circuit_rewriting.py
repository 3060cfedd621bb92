"""Each rewriting rule applies where it should, keeps every output, and never adds a product."""

import numpy as np
import pytest

from latticework.compiler.lanes.circuit_ranges import bits_that_hold, intervals, overflowing
from latticework.compiler.lanes.lane_graph import (
    ADD,
    ADD_CONSTANT,
    MUL,
    MUL_CONSTANT,
    NEG,
    SUB,
    Constant,
    GraphBuilder,
    InputGroup,
    evaluate,
)
from latticework.compiler.lanes.rewrite_circuit import balance, improve, rewrite
from latticework.compiler.lanes.rewrite_rules import RULES, cancel, factor, minus, select

ONE = Constant(1)


def graph_of(compute, size=5):
    """The graph of a function of a builder and its inputs."""
    builder = GraphBuilder([InputGroup("x", "grouped", (), tuple(f"x[{i}]" for i in range(size)))])
    outputs = compute(builder, [builder.input(0, i) for i in range(size)])
    return builder.build_graph(outputs if isinstance(outputs, list) else [outputs])


def mux(b, bit, one, zero):
    return b.add(b.mul(bit, one), b.mul(b.sub(ONE, bit), zero))


CASES = {
    "select": (select, lambda b, x: mux(b, x[0], x[1], x[2]), {MUL: 1, ADD: 1, SUB: 1}),
    "factors": (factor, lambda b, x: b.add(b.mul(x[0], x[1]), b.mul(x[2], x[0])), {MUL: 1, ADD: 1}),
    "difference": (factor, lambda b, x: b.sub(b.mul(x[0], x[1]), b.mul(x[2], x[0])), {MUL: 1, SUB: 1}),
    "constants": (factor, lambda b, x: b.add(b._times(x[0], 3), b._times(x[1], 3)), {ADD: 1, MUL_CONSTANT: 1}),
    "same terms": (cancel, lambda b, x: b.sub(b.add(x[0], x[1]), b.sub(x[0], x[2])), {ADD: 1}),
    "terms turned": (cancel, lambda b, x: b.sub(b.sub(x[0], x[1]), b.add(x[2], x[0])), {NEG: 1, SUB: 1}),
    "a part": (cancel, lambda b, x: b.mul(b.sub(b.add(x[0], x[1]), x[0]), x[2]), {MUL: 1}),
    "taken and given": (cancel, lambda b, x: b.mul(b.add(b.sub(x[0], x[1]), x[1]), x[2]), {MUL: 1}),
    "plus minus": (minus, lambda b, x: b.add(x[0], b.neg(x[1])), {SUB: 1}),
    "minus plus": (minus, lambda b, x: b.add(b.neg(x[0]), x[1]), {SUB: 1}),
    "minus minus": (minus, lambda b, x: b.sub(x[0], b.neg(x[1])), {ADD: 1}),
    "times": (minus, lambda b, x: b.mul(b.neg(x[0]), b.neg(x[1])), {MUL: 1}),
    "turned": (minus, lambda b, x: b.neg(b.sub(x[0], x[1])), {SUB: 1}),
}


def counts(graph):
    codes = [node.code for node in graph.nodes if node.code]
    return {code: codes.count(code) for code in codes}


def assert_equal(a, b):
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = [[int(n) for n in rng.integers(-99, 99, 5)]]
        assert evaluate(a, x) == evaluate(b, x)


@pytest.mark.parametrize("case", CASES)
def test_a_rule_makes_what_it_says(case):
    rule, compute, want = CASES[case]
    graph = graph_of(compute)
    new = rewrite(graph, (rule,))
    assert counts(new) == want
    assert_equal(graph, new)


@pytest.mark.parametrize("case", ["select", "factors"])
def test_products_that_something_else_reads_are_kept(case):
    rule, compute, _ = CASES[case]

    def shared(b, x):
        return [compute(b, x), b.add(b.mul(x[0], x[1]), x[4])]

    graph = graph_of(shared)
    assert counts(rewrite(graph, (rule,)))[MUL] == counts(graph)[MUL]


def random_graph(rng, operations=40):
    def compute(b, x):
        made = list(x)
        for _ in range(operations):
            i, j = rng.integers(0, len(made), 2)
            op = [b.add, b.sub, b.mul, lambda p, _: b.neg(p), lambda p, q: mux(b, p, q, x[0])][rng.integers(5)]
            new = op(made[i], made[j])
            made += [new] if isinstance(new, int) and new not in made else []
        return made[-3:]

    return graph_of(compute)


@pytest.mark.parametrize("seed", range(20))
def test_rewriting_keeps_outputs_and_adds_no_product(seed):
    graph = random_graph(np.random.default_rng(seed))
    for new in (*(rewrite(graph, (rule,)) for rule in RULES), balance(graph), improve(graph)):
        assert_equal(graph, new)
        assert new.num_products <= graph.num_products


def test_sums_and_products_become_trees():
    def chain(b, x):
        total, product = x[0], x[0]
        for y in (*x[1:], *x[:3]):
            total, product = b.sub(total, b.neg(y)), b.mul(product, y)
        return [b.add(total, ONE), product]

    graph = balance(rewrite(graph_of(chain)))
    assert graph.depth() == 3 and counts(graph)[ADD_CONSTANT] == 1
    assert_equal(graph_of(chain), graph)


def test_choices_between_sums_add_no_depth():
    def chain(b, x):
        total = x[0]
        for y in (*x[2:], *x[2:]):
            total = mux(b, x[1], b.add(total, y), b.sub(total, y))
        return total

    assert graph_of(chain).depth() == 6
    graph = improve(graph_of(chain))
    assert graph.depth() == 1
    assert_equal(graph_of(chain), graph)


def test_negations_leave_sums():
    graph = improve(graph_of(lambda b, x: b.neg(b.add(b.neg(x[0]), b.neg(x[1])))))
    assert counts(graph) == {ADD: 1} or NEG not in counts(graph)


def test_ranges_hold_every_value_that_inputs_in_theirs_give():
    rng = np.random.default_rng(1)
    for seed in range(10):
        graph = random_graph(np.random.default_rng(seed), 12)
        box = [[(-int(a), int(b)) for a, b in rng.integers(0, 9, (5, 2))]]
        found = intervals(graph, box)
        for _ in range(20):
            x = [[int(rng.integers(low, high + 1)) for low, high in box[0]]]
            for output, value in zip(graph.outputs, evaluate(graph, x), strict=True):
                assert found[output][0] <= value <= found[output][1]


def test_squares_and_bits():
    graph = graph_of(lambda b, x: [b.mul(x[0], x[0]), b.mul(x[0], x[1])])
    assert [intervals(graph, [[(-3, 2)] * 5])[o] for o in graph.outputs] == [(0, 9), (-6, 9)]
    assert overflowing(graph, [[(-3, 2)] * 5], 17) == [(0, (0, 9)), (1, (-6, 9))]
    assert (
        overflowing(graph, [[(-3, 2)] * 5], 19) == []
        and bits_that_hold((0, 9), 3) == 5
        and bits_that_hold((0, 9), 17) == 6
    )


def times(b, c, x, y):
    return b.mul(b.mul(x, y), Constant(c))


SQUARES = {
    "difference": (
        lambda b, x: b.add(b.sub(times(b, 1, x[0], x[0]), times(b, 2, x[0], x[1])), times(b, 1, x[1], x[1])),
        1,
    ),
    "scaled": (
        lambda b, x: b.add(times(b, -3, x[0], x[0]), b.sub(times(b, -6, x[1], x[0]), times(b, 3, x[1], x[1]))),
        1,
    ),
    "factor inside": (
        lambda b, x: b.add(b.mul(x[0], x[0]), b.sub(b.mul(x[1], x[1]), b.mul(b.mul(x[0], Constant(2)), x[1]))),
        1,
    ),
    "of a sum": (
        lambda b, x: b.sub(
            b.add(b.mul(x[0], x[0]), b.mul(x[1], x[1])), b.mul(b.add(b.mul(x[0], x[1]), x[2]), Constant(2))
        ),
        1,
    ),
    "of sums": (lambda b, x: squared(b, b.neg(b.add(x[0], x[1])), x[2]), 1),
    "not twice": (
        lambda b, x: b.add(b.sub(times(b, 1, x[0], x[0]), times(b, 3, x[0], x[1])), times(b, 1, x[1], x[1])),
        3,
    ),
    "no other": (lambda b, x: b.sub(b.add(b.mul(x[0], x[0]), b.mul(x[2], x[2])), times(b, 2, x[0], x[1])), 3),
}


def squared(b, p, q):
    return b.add(b.add(b.mul(p, p), times(b, 2, p, q)), b.mul(q, q))


@pytest.mark.parametrize("case", SQUARES)
def test_squares_are_completed_where_all_three_terms_are_there(case):
    compute, products = SQUARES[case]
    graph = graph_of(compute)
    new = balance(graph)
    assert new.num_products == products <= graph.num_products
    assert_equal(graph, new)


def test_a_square_that_something_else_reads_is_kept():
    graph = graph_of(lambda b, x: [squared(b, x[0], x[1]), b.mul(b.mul(x[0], x[1]), x[3])])
    new = improve(graph)
    assert new.num_products <= graph.num_products
    assert_equal(graph, new)


LARGE = 1 << 53  # floats, as which vectors have public numbers, round LARGE + 1 to it


@pytest.mark.parametrize("constant", [LARGE - 1, LARGE, LARGE + 1, -LARGE - 1, 5 * LARGE + 3, (1 << 64) - 1])
def test_large_public_integers_are_taken_apart(constant):
    computed = {
        "added": (lambda b, x: b.add(b.add(x, Constant(constant)), ONE), lambda x: x + constant + 1),
        "once more": (lambda b, x: b.add(b.add(x, Constant(LARGE - 1)), Constant(2)), lambda x: x + LARGE + 1),
        "times": (lambda b, x: b.mul(b.mul(x, Constant(constant)), Constant(3)), lambda x: x * constant * 3),
        "summed": (lambda b, x: b.add(b.mul(x, Constant(constant)), x), lambda x: x * constant + x),
    }
    for name, (compute, wanted) in computed.items():
        if name == "added" and abs(constant) > 64 * LARGE:
            continue  # so many parts are left to be refused
        graph = graph_of(lambda b, x, compute=compute: compute(b, x[0]))
        for made in (graph, improve(graph)):
            assert all(abs(c) < LARGE for c in made.constants), name
            assert evaluate(made, [[7, 0, 0, 0, 0]]) == [wanted(7)], name
