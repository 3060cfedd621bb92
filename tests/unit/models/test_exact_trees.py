"""Trees on exact integers: numbers in parts, features on their grid, and what clients do not learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lane_cases import run_program

import latticework as lw
from latticework.compiler.circuits.circuit_pipeline import to_scalars
from latticework.compiler.lanes.codes import V_ROTATE
from latticework.compiler.lanes.lane_graph import evaluate
from latticework.compiler.lanes.scalar_code import scalar_code
from latticework.errors import UserError
from latticework.frontend.circuits.circuit_inputs import matrix_by_rows
from latticework.ir.location import Loc
from latticework.models.trees.grid import FeatureGrid
from latticework.models.trees.integer_digits import NumberParts
from latticework.models.trees.leaves import Leaf, TreeSplit, TreeSum
from latticework.models.trees.tree_circuits import TreeCircuit
from latticework.plan.files.serialise import read_client, write_client

SMALL = {"scheme": "bfv", "ring_degree": 4096, "insecure": True, "effort": "fast"}


@pytest.mark.parametrize("digits", range(1, 9))
def test_numbers_in_parts_compare_as_numbers_do(digits) -> None:
    parts, numbers = NumberParts(digits), np.arange(1 << digits)
    coded = parts.encode(numbers)
    assert coded.shape == (1 << digits, parts.size) and len(np.unique(coded, axis=0)) == 1 << digits
    for least in (*range(-1, (1 << digits) + 2), 1 << 20):
        found = np.broadcast_to(parts.at_least(coded.T, least), numbers.shape)
        assert np.array_equal(found, numbers >= least), least


@pytest.mark.parametrize("digits", range(9, 25))
def test_long_numbers_in_parts_compare_as_numbers_do(digits) -> None:
    parts, rng = NumberParts(digits), np.random.default_rng(digits)
    assert sum(parts.widths) == digits and max(parts.widths) - min(parts.widths) <= 1
    ends = [0, 1, 62, 63, 64, (1 << digits) - 64, (1 << digits) - 2, (1 << digits) - 1]
    drawn = rng.integers(0, 1 << digits, 30)
    for least in (-5, *ends, *drawn, 1 << digits):
        numbers = np.unique(np.clip([*ends, *drawn, least - 1, least, least + 1], 0, (1 << digits) - 1))
        found = np.broadcast_to(parts.at_least(parts.encode(numbers).T, int(least)), numbers.shape)
        assert np.array_equal(found, numbers >= least), least


@pytest.mark.parametrize("single", [False, True])
def test_decimals_have_a_number_each_and_are_always_right(single) -> None:
    """On thresholds too, which runtimes compare in float32, where 0.1 + 0.2 is 0.3 and 16.82 above 16.82."""
    values = np.arange(-350, 1700) / 100
    samples = np.stack([values, np.arange(2050.0), np.sqrt(np.arange(2050)), np.full(2050, 0.7)], axis=1)
    grid = FeatureGrid(samples.astype(np.float32).astype(np.float64) if single else samples, 12)
    assert grid.step[:2].tolist() == [0.01, 1.0] and grid.is_whole.tolist() == [False, True, False, False]
    assert grid.step[2] == pytest.approx(np.sqrt(2049) / 4095, rel=1e-6) and grid.low[0] == -3.5
    numbers = grid.numbers(samples)
    assert np.array_equal(numbers[:, 0], np.arange(2050))
    compared = values.astype(np.float32).astype(np.float64) if single else values
    for threshold in [*compared[::50], *(values[:-1:50] + 0.005), -9.0, 99.0]:
        least = grid.least(TreeSplit(0, float(threshold), True), single)
        assert np.array_equal(numbers[:, 0] >= least, compared > threshold)


def test_large_numbers_that_are_no_decimals_get_even_steps() -> None:
    """As far as float32 tells every number around 10^9 is whole, and half a step is no decimal."""
    samples = np.array([[1e9, 0.5], [1e9 + 100.4, 1e-12], [1e9 + 31.7, 3e-11]])
    grid = FeatureGrid(samples, 8)
    assert grid.step == pytest.approx(np.ptp(samples, axis=0) / 255) and not grid.is_whole.any()


def test_features_with_long_tails_get_steps_of_a_logarithm() -> None:
    """Of which even steps would leave two or three to most samples; thresholds and numbers are told alike."""
    rng = np.random.default_rng(0)
    samples = np.stack([-7 + np.exp(2 * rng.normal(size=2000)), rng.uniform(size=2000)], axis=1)
    grid = FeatureGrid(samples, 8)
    assert grid.unit[0] > 0 and grid.unit[1] == 0
    numbers = grid.numbers(samples)
    assert numbers.min(axis=0).tolist() == [0, 0] and numbers.max(axis=0).tolist() == [255, 255]
    assert len(np.unique(numbers[:, 0])) > 150  # 30 even steps
    assert np.array_equal(grid.numbers(np.array([[-1e30, -1e30], [1e30, 1e30]])), [[0, 0], [255, 255]])
    ordered = np.sort(samples[:, 0])
    for threshold in (-9.0, *ordered[::100], 1e9):
        least = grid.least(TreeSplit(0, float(threshold), True), False)
        told, wanted = numbers[:, 0] >= least, samples[:, 0] > threshold
        step = (samples[:, 0] - grid.low[0] + grid.unit[0]) * grid.step[0]
        assert np.array_equal(
            told[np.abs(samples[:, 0] - threshold) > step], wanted[np.abs(samples[:, 0] - threshold) > step]
        )


def test_grids_that_are_too_coarse_for_thresholds_are_told() -> None:
    pytest.importorskip("sklearn")
    from sklearn.tree import DecisionTreeClassifier

    x = np.random.default_rng(0).uniform(size=(400, 2))
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, x[:, 0] > x[:, 1])
    with pytest.warns(lw.ApproximationWarning, match=r"on 3 digits \d+ of 400 samples get other results"):
        circuit = lw.from_sklearn(fitted, trees="exact", samples=x, digits=3)
    coded = circuit.finished([circuit(row) for row in circuit.encoded(x)])
    assert np.array_equal(circuit.decides_alike(x), coded == fitted.predict(x))
    assert np.all(circuit.decides_alike(x)[circuit.keeps_apart(x)])
    assert circuit.decides_alike(x[:0]).shape == (0,)
    for asked in (circuit.encoded, circuit.keeps_apart, circuit.decides_alike):
        with pytest.raises(UserError, match=r"rows of shape \(400, 1\); give \(n, 2\)"):
            asked(x[:, :1])


def drawn_tree(rng, features, depth) -> tuple[Leaf, ...]:
    """A full tree with other thresholds on the same features in the same places each time."""
    leaves = []
    thresholds = rng.uniform(1, 254, size=1 << depth)
    for number in range(1 << depth):
        path, node = [], 1
        for level in range(depth):
            side = (number >> level) & 1
            path.append(TreeSplit(features[node % len(features)], float(thresholds[node]), bool(side)))
            node = 2 * node + side
        leaves.append(Leaf(tuple(path), rng.integers(-9, 10, 2).astype(float)))
    return tuple(leaves)


def drawn_circuit(seed: int, digits: int = 8) -> TreeCircuit:
    rng = np.random.default_rng(seed)
    trees = tuple(drawn_tree(rng, (1, 4, 2), 2) for _ in range(2))
    grid = FeatureGrid(np.array([np.zeros(6), np.full(6, 255.0)]), digits)
    return TreeCircuit("trees", TreeSum(trees, np.zeros(2), 2), grid, (), Loc("trees", 1))


def of_trees(circuit: TreeCircuit, x) -> np.ndarray:
    """By the comparisons on the path to each leaf."""
    total = np.zeros((len(x), 2))
    for leaf in circuit._trees.leaves:
        total += (
            np.all([(x[:, s.feature] > s.threshold) == s.is_above for s in leaf.path], axis=0)[:, None] * leaf.value
        )
    return total


@pytest.mark.parametrize("digits", [1, 3, 6, 7, 8, 13])
def test_a_circuit_is_the_sum_of_its_trees(digits) -> None:
    circuit = drawn_circuit(digits, digits)
    x = np.random.default_rng(0).uniform(-9, 265, size=(200, 6))
    x = x[circuit.keeps_apart(x)]
    coded = circuit.encoded(x)
    assert coded.shape == (len(x), NumberParts(digits).size, len(circuit.features)) and len(x) > 10
    assert set(circuit.features) <= {1, 2, 4}
    sums = np.array([circuit(row) for row in coded]) * circuit._unit
    assert np.abs(sums - of_trees(circuit, x)).max() <= 4 * circuit._unit


@pytest.mark.parametrize("batch", [None, "fill"])
def test_clients_do_not_learn_thresholds(batch) -> None:
    """Of trees that differ in their thresholds alone, files are the same but for how often keys are used."""
    made = [lw.compile(drawn_circuit(seed), **SMALL, batch=batch).plan for seed in (1, 2)]
    one, other = (
        replace(plan.client, manifest=replace(plan.client.manifest, uses=tuple(replace(u, count=0) for u in uses)))
        for plan in made
        for uses in [plan.client.manifest.uses]
    )
    assert one == other and len(made[0].keys) == (8 if batch is None else 3)
    (given,) = one.inputs
    assert len(given.pack.table) == 30 * 3 * one.rows  # all are sent, read or not
    assert given.pack.count == (1 if batch is None else 30)
    assert read_client(write_client(one)) == one


@pytest.mark.slow
@pytest.mark.parametrize("batch", [None, 8])
def test_encrypted_trees_are_right(batch) -> None:
    circuit = drawn_circuit(5)
    x = np.random.default_rng(0).uniform(-9, 265, size=(100, 6))
    coded = circuit.encoded(x[circuit.keeps_apart(x)][:8])
    model = lw.compile(circuit, **SMALL, batch=batch)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    if batch is None:
        found = [client.decrypt(server(client.encrypt(digits=row))).reveal() for row in coded[:2]]
    else:
        found = client.decrypt(server(client.encrypt(digits=coded))).reveal()
    assert np.array_equal(np.asarray(found), [circuit(row) for row in coded[: len(found)]])


def test_what_encodes_nothing_is_refused() -> None:
    circuit = drawn_circuit(1)
    with pytest.raises(UserError, match=r"encoded: rows of shape \(2, 3\); give \(n, 6\)"):
        circuit.encoded(np.zeros((2, 3)))
    with pytest.raises(UserError, match=r"algorithm='annealing' chooses lanes by what the circuit reads.*leave"):
        lw.compile(circuit, scheme="bfv", algorithm="annealing")


@pytest.mark.parametrize("width", [4, 8, 16, 64])
@pytest.mark.parametrize("seed", range(4))
def test_code_of_matrices_by_rows_computes_the_circuit(width, seed) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = 6, 3

    def function(x):
        """Some numbers of one column, some of several; some rows are not read."""
        picked = [x[row, column] for row in (0, 2, 5) for column in range(columns) if rng.random() < 0.7] or [x[0, 0]]
        while len(picked) > 1:
            a, b = (picked.pop(int(rng.integers(len(picked)))) for _ in range(2))
            picked.append((a * b, a + b, a - b + 3, 2 * a - b)[int(rng.integers(4))])
        return picked[0], -x[2, 2]

    function.__annotations__ = {"x": matrix_by_rows(rows, columns, low=0, high=1)}
    graph = to_scalars(lw.Circuit(function), (), exact=True).graph
    values = rng.integers(-9, 10, rows * columns).tolist()
    nodes = [values[node.right] if node.code == 0 else 0 for node in graph.nodes]
    program = scalar_code(graph, width)
    registers = run_program(width, program, nodes, list(graph.constants))
    expected = evaluate(graph, [values])
    assert [registers[register][lane] for register, lane in program.outputs] == expected
    steps = {one.steps for one in program.code if one.code == V_ROTATE}
    assert {step for step in steps if step >= 4} == {4 << bit for bit in range(3) if 4 << bit < min(width, 24)}
