"""The search by annealing: its costs are those of the definition, its schedules are valid, and it is repeatable."""

from __future__ import annotations

import numpy as np
import pytest
from circuit_graphs import (
    FREE,
    GROUPED,
    INPUT,
    KERNELS,
    MUL,
    NEG,
    REPLICATED,
    GraphBuilder,
    check_schedule,
    distances,
    matmul,
    operands,
    pair_of_products,
    random_circuit,
)

from latticework._core import lanes

SHORT = {"rounds": 12, "moves": 800, "cooling": 0.02}
PRICES = {1: 0.1, 2: 0.1, 3: 1.0, 4: 0.1, 5: 0.1, 6: 1.0}  # of codes; a rotation costs 1


def defined_cost(graph: lanes.ScalarCircuit, found: lanes.AnnealedSchedule) -> tuple[int, float]:
    """Rotations and weighted height, from what the paper says. No replicated inputs."""
    epoch = dict(enumerate(found.epoch)) | {node: at for node, at, _ in found.loads}
    lane = dict(enumerate(found.schedule.lane)) | {node: at for node, _, at in found.loads}
    rotations = set()
    height: dict[tuple[int, int], dict[int, int]] = {}
    for node, code in enumerate(graph.code):
        if code == INPUT:
            continue
        columns = height.setdefault((epoch[node], code), {})
        columns[lane[node]] = columns.get(lane[node], 0) + 1
        for operand in operands(graph, node):
            assert epoch[operand] < epoch[node] or (epoch[operand], lane[operand]) == (epoch[node], lane[node])
            if epoch[operand] < 0 or lane[operand] == lane[node]:
                continue
            rotations.add((epoch[operand], lane[node] - lane[operand]))
    return len(rotations), sum(max(columns.values()) * PRICES[code] for (_, code), columns in height.items())


@pytest.mark.parametrize("contraction", ["arc", "class"])
@pytest.mark.parametrize("start", ["enumerated", "matched"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_costs_are_those_of_the_definition(kernel: str, start: str, contraction: str) -> None:
    graph = KERNELS[kernel](GROUPED, GROUPED)
    found = lanes.anneal(graph, **SHORT, start=start, contraction=contraction)
    assert (found.rotations, found.height) == pytest.approx(defined_cost(graph, found))
    assert found.cost == pytest.approx(found.rotations + found.height)
    assert found.cost == found.best[-1] == min(found.tried)
    assert found.best == list(np.minimum.accumulate(found.tried))
    check_schedule(graph, found.schedule)


@pytest.mark.parametrize("seed", range(12))
def test_random_circuits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_circuit(rng, 24, packing=[FREE, GROUPED][seed % 2])
    found = lanes.anneal(graph, **SHORT, seed=seed)
    assert (found.rotations, found.height) == pytest.approx(defined_cost(graph, found))
    check_schedule(graph, found.schedule)


@pytest.mark.parametrize("packings", [(REPLICATED, GROUPED), (REPLICATED, REPLICATED), (FREE, FREE)])
@pytest.mark.parametrize("kernel", KERNELS)
def test_copies_of_inputs(kernel: str, packings: tuple[int, int]) -> None:
    """A place that reads a replicated input has a copy of its own; copies in one vector lie in different lanes."""
    graph = KERNELS[kernel](*packings)
    found = lanes.anneal(graph, **SHORT)
    check_schedule(graph, found.schedule)
    assert len({(epoch, lane) for _, epoch, lane in found.loads}) == len(found.loads)
    for group, packing in enumerate(packings):
        loads = [load for load in found.loads if graph.group[load[0]] == group]
        reading = {
            (found.epoch[node], found.schedule.lane[node], operand)
            for node in range(len(graph.code))
            for operand in operands(graph, node)
            if graph.group[operand] == group
        }
        inputs = sum(1 for g in graph.group if g == group)
        assert len(loads) == {FREE: 0, GROUPED: inputs, REPLICATED: len(reading)}[packing]


def test_worked_example() -> None:
    """Scalar code costs 2.5, packed gates in epochs 3.2, the best schedule 2.3."""
    found = lanes.anneal(pair_of_products())
    assert found.cost == pytest.approx(2.3)
    assert found.rotations == 1
    assert found.tried[0] == pytest.approx(3.2)
    assert [len(nodes) for _, nodes in found.schedule.packs] == [2, 2, 2, 1]


@pytest.mark.parametrize("contraction", ["arc", "class"])
def test_same_seed_same_schedule(contraction: str) -> None:
    graph = matmul(3, REPLICATED, GROUPED)
    options = SHORT | {"contraction": contraction, "seed": 5}
    first, again = (lanes.anneal(graph, **options) for _ in range(2))
    assert (first.schedule, first.tried, first.loads) == (again.schedule, again.tried, again.loads)
    assert first.tried != lanes.anneal(graph, **options | {"seed": 6}).tried


def test_fixed_lanes_stay() -> None:
    b = GraphBuilder(width=16)
    x, y = b.inputs(4, GROUPED, [3, 0, 9, 1]), b.inputs(4, GROUPED)
    graph = b.graph([b.node(MUL, p, q) for p, q in zip(x, y, strict=True)])
    found = lanes.anneal(graph, rounds=10)
    check_schedule(graph, found.schedule)
    assert (found.rotations, found.height) == pytest.approx(defined_cost(graph, found))
    assert found.rotations == 0


def test_more_operations_than_lanes() -> None:
    b = GraphBuilder(width=4)
    x = b.inputs(11)
    graph = b.graph([b.node(NEG, one) for one in x])
    found = lanes.anneal(graph, **SHORT)
    check_schedule(graph, found.schedule)
    assert len(found.schedule.packs) == 3


def test_distances_count_modulo_a_narrow_width() -> None:
    """What moves by +1 and by -3 moves by the same rotation of four lanes."""
    graph = distances(2, REPLICATED, REPLICATED, width=4)
    check_schedule(graph, lanes.anneal(graph, **SHORT).schedule)
    b = GraphBuilder(width=4)
    x = b.inputs(4, GROUPED, [0, 1, 2, 3])
    y = b.inputs(4, GROUPED, [1, 2, 3, 0])
    graph = b.graph([b.node(MUL, p, q) for p, q in zip(x, y, strict=True)])
    found = lanes.anneal(graph, **SHORT)
    assert found.rotations == 1


def test_what_does_not_fit_is_refused() -> None:
    b = GraphBuilder(width=4)
    x = b.inputs(5, GROUPED)
    with pytest.raises(ValueError, match="input group 0 has 5 elements for 4 lanes"):
        lanes.anneal(b.graph([b.node(NEG, x[0])]))
    with pytest.raises(ValueError, match="node 2 reads node 7"):
        lanes.ScalarCircuit([0, 0, 4], [-1, -1, 7], [-1] * 3, [0, 1, -1], [GROUPED] * 2, [[], []], [2], 1024)
    with pytest.raises(ValueError, match="left has 1 entries for 2 nodes"):
        lanes.ScalarCircuit([0, 4], [-1], [-1] * 2, [0, -1], [FREE], [[]], [1], 8)
    with pytest.raises(ValueError, match="width 6 is not a power of two"):
        matmul(2, width=6)
    with pytest.raises(ValueError, match="code 7"):
        lanes.LaneSchedule([(7, [0])], [0], [False])
    with pytest.raises(TypeError):
        lanes.ScalarCircuit(["add"], [-1], [-1], [0], [FREE], [[]], [0], 8)
    with pytest.raises(ValueError, match='start is "enumerated" or "matched", not "random"'):
        lanes.anneal(matmul(2), start="random")
