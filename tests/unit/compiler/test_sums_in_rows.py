"""Sums over an index of terms of several kinds take the rotations of one sum, however they are spelled."""

from math import ceil, log2

import numpy as np
import pytest
from lane_cases import Circuit

import latticework as lw
from latticework import _core
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel

SPELLED = {
    "hamming": lambda x, y, w: sum(x[i] + y[i] - 2 * x[i] * y[i] for i in range(len(x))),
    "sums apart": lambda x, y, w: sum(x) + sum(y) - 2 * sum(x[i] * y[i] for i in range(len(x))),
    "chosen": lambda x, y, w: sum(x[i] * (1 - y[i]) + y[i] * (1 - x[i]) for i in range(len(x))),
    "matches": lambda x, y, w: sum(x[i] * y[i] + (1 - x[i]) * (1 - y[i]) for i in range(len(x))),
    "weighted": lambda x, y, w: sum((i + 2) * (x[i] + y[i] - 2 * x[i] * y[i]) for i in range(len(x))),
    "squared distance": lambda x, y, w: sum(x[i] ** 2 - 2 * x[i] * y[i] + y[i] ** 2 for i in range(len(x))),
    "squares apart": lambda x, y, w: x @ x - 2 * (x @ y) + y @ y,
    "backwards": lambda x, y, w: sum(x) + sum(y) - sum(x[i] * y[-1 - i] for i in range(len(x))),
    "three vectors": lambda x, y, w: sum(x[i] * y[i] * w[i] + 3 * w[i] + y[i] for i in range(len(x))),
}


def spelled(name, size, high=1):
    def sum_of(x, y, w):
        return SPELLED[name](x, y, w)

    sum_of.__annotations__ = {v: lw.vector(size, low=0, high=high) for v in "xyw"}
    return lw.circuit(sum_of)


def rotations(model):
    return estimate(model.plan, CostModel.load()).counts.rotations


@pytest.mark.parametrize("size", [4, 6])
@pytest.mark.parametrize("name", SPELLED)
def test_integers_take_the_rotations_of_one_sum(name, size):
    model = lw.compile(
        spelled(name, size), scheme="bfv", effort="fast", ring_degree=8192
    )  # so that all ways send alike
    rng = np.random.default_rng(size)
    given = {v: rng.integers(0, 2, size) for v in "xyw"}
    assert model.simulate(**given) == SPELLED[name](**given)
    assert rotations(model) == ceil(log2(size))


@pytest.mark.parametrize("name", ["hamming", "squares apart"])
def test_real_numbers_take_the_rotations_of_one_sum(name):
    model = lw.compile(spelled(name, 16), precision_bits=12, effort="fast")
    rng = np.random.default_rng(3)
    given = {v: rng.uniform(0, 1, 16) for v in "xyw"}
    assert model.simulate(**given) == pytest.approx(SPELLED[name](**given), abs=2**-10)
    assert rotations(model) == 4


@pytest.mark.parametrize("name", ["hamming", "sums apart", "squares apart", "matches"])
def test_arrays_take_the_rotations_of_one_sum(name):
    model = lw.compile(spelled(name, 16), scheme="bfv", algorithm="tensors")
    rng = np.random.default_rng(4)
    given = {v: rng.integers(0, 2, 16) for v in "xyw"}
    assert model.simulate(**given) == SPELLED[name](**given)
    assert rotations(model) == 4


def test_results_decrypt():
    model = lw.compile(spelled("sums apart", 16), scheme="bfv", effort="fast")
    client = model.client()
    server = model.server(client.keygen().public())
    rng = np.random.default_rng(5)
    given = {v: rng.integers(0, 2, 16) for v in "xyw"}
    assert client.decrypt(server(client.encrypt(**given))).reveal() == int(np.sum(given["x"] != given["y"]))


def sum_of_kinds(sizes):
    """One sum of x_i, of x_i * y_i, of x_i * y_i * y_i: so many of each."""
    circuit = Circuit()
    x, y = circuit.inputs(max(sizes), 1), circuit.inputs(max(sizes), 1)
    terms = []
    for power, size in enumerate(sizes):
        for i in range(size):
            term = x[i]
            for _ in range(power):
                term = circuit.mul(term, y[i])
            terms.append(term)
    total = terms[0]
    for term in terms[1:]:
        total = circuit.add(total, term)
    circuit.outputs = [total]
    return circuit.graph()


def additions_deep(graph):
    """Additions on the longest path."""
    depth = []
    for code, left, right in zip(graph.code, graph.left, graph.right, strict=True):
        below = 0 if code == 0 else max(depth[left], depth[right])
        depth.append(below + (code == 1))
    return depth[graph.outputs[0]]


@pytest.mark.parametrize("sizes", [(8, 8), (16, 4), (5, 4), (12, 8, 8), (10, 5), (7, 6, 2)])
def test_frequent_kinds_are_added_up_to_fewer_before_they_meet(sizes):
    graph = sum_of_kinds(sizes)
    made, _ = _core.lanes.rewritten(graph, "rows")
    met = ceil(log2(max(sizes))) + len(sizes) - 1
    assert additions_deep(made) == met
    assert made.code.count(1) == sum(sizes) - 1


def test_a_sum_of_one_kind_is_a_tree():
    graph = sum_of_kinds((9,))
    assert _core.lanes.rewritten(graph, "rows") == _core.lanes.rewritten(graph, "trees")
