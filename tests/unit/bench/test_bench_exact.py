"""The exact models: what they prove is true by trying everything, and nothing that is found otherwise is below it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from circuit_graphs import (
    ADD,
    FREE,
    GROUPED,
    INPUT,
    KERNELS,
    MUL,
    REPLICATED,
    GraphBuilder,
    check_schedule,
    convolution,
    dot,
    matmul,
    random_circuit,
)

from bench.coyote.exact.exact_circuit import COMMUTATIVE, ExactCircuit, Schedule, asap_packs
from bench.coyote.exact.joint import place
from bench.coyote.exact.lower_bounds import rotation_cuts, rotations_needed, rotations_of_any
from bench.coyote.exact.pack_alignment import align, fewest_packs
from latticework._core import lanes
from latticework.errors import LayoutError, MissingPackageError, ShapeError

WEIGHTS = lanes.InstructionWeights(rotate=1, mul=1, mul_constant=0.25, add_constant=0.02, add=0.05, neg=0.02)
ONLY_ROTATIONS = lanes.InstructionWeights(rotate=1, mul=0, mul_constant=0, add_constant=0, add=0, neg=0)
SHORT = {"rounds": 12, "moves": 800, "cooling": 0.02}


def movement(circuit: ExactCircuit, schedule: Schedule) -> tuple[int, int, int]:
    """Rotations, merges and masks of a schedule by the definition. No replicated inputs."""
    where = {node: number for number, (_, nodes) in enumerate(schedule.packs) for node in nodes}
    rotations, merges, masks = set(), 0, 0
    for _, nodes in schedule.packs:
        sides: list[set[Any]] = [set(), set()]
        for node in nodes:
            for position, operand in enumerate(circuit.operands[node]):
                side = sides[position ^ schedule.exchanged[node]]
                if circuit.codes[operand] == INPUT and circuit.packing[circuit.groups[operand]] == FREE:
                    side.add(None)
                    continue
                register = where.get(operand, ("group", circuit.groups[operand]))
                distance = (schedule.lanes[operand] - schedule.lanes[node]) % circuit.width
                side.add((register, distance))
                if distance:
                    rotations.add((register, distance))
        for side in sides:
            if len(side) > 1:
                merges += len(side) - 1
                masks += len(side - {None})
    return len(rotations), merges, masks


def price(circuit: ExactCircuit, schedule: Schedule, weights: lanes.InstructionWeights) -> float:
    rotations, merges, masks = movement(circuit, schedule)
    moved = rotations * weights.rotate + merges * weights.add + masks * weights.mul_constant
    return moved + sum(weights.of(code) for code, _ in schedule.packs)


def all_schedules(circuit: ExactCircuit, num_lanes: int) -> Iterator[Schedule]:
    packs = asap_packs(circuit)
    sets = [nodes for _, nodes in packs]
    sets += [circuit.inputs(group) for group, packing in enumerate(circuit.packing) if packing == GROUPED]
    swappable = [node for node, code in enumerate(circuit.codes) if code in COMMUTATIVE]
    for choice in itertools.product(*(itertools.permutations(range(num_lanes), len(nodes)) for nodes in sets)):
        lane = [-1] * len(circuit.codes)
        for nodes, at in zip(sets, choice, strict=True):
            for node, one in zip(nodes, at, strict=True):
                lane[node] = one
        for bits in itertools.product((False, True), repeat=len(swappable)):
            turned = dict(zip(swappable, bits, strict=True))
            yield Schedule(packs, tuple(lane), tuple(turned.get(node, False) for node in range(len(lane))))


@pytest.mark.parametrize(("seed", "width"), [(0, 1024), (1, 1024), (2, 1024), (3, 4), (4, 1024), (5, 4)])
def test_optimum_is_that_of_all_schedules(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    b = GraphBuilder(width)
    nodes = b.inputs(2, [GROUPED, FREE][seed % 2])
    for _ in range(4):
        left, right = (int(rng.choice(nodes)) for _ in range(2))
        nodes.append(b.node(int(rng.choice([ADD, MUL])), left, right))
    circuit = ExactCircuit.of(b.graph(nodes[-1:]))
    num_lanes = min(3, width)
    found = place(circuit, WEIGHTS, num_lanes=num_lanes)
    assert found is not None
    assert found.is_optimal
    assert found.cost == pytest.approx(price(circuit, found.schedule, WEIGHTS))
    assert found.cost == pytest.approx(min(price(circuit, one, WEIGHTS) for one in all_schedules(circuit, num_lanes)))


@pytest.mark.parametrize(
    ("graph", "rotations", "of_any"),
    [
        (dot(3), 2, 2),
        (dot(6), 3, 3),
        pytest.param(dot(10), 4, 4, marks=pytest.mark.slow),
        (matmul(2), 3, 1),
        (matmul(2, REPLICATED), 2, 1),
        (matmul(2, FREE, FREE), 1, 1),
        (convolution(4, 2), 4, 2),
        (convolution(4, 2, GROUPED, REPLICATED), 2, 1),
    ],
    ids=["dot.3", "dot.6", "dot.10", "mm.2", "mm.2 half", "mm.2 free", "conv.4.2", "conv.4.2 half"],
)
def test_fewest_rotations_of_small_kernels(graph: lanes.ScalarCircuit, rotations: int, of_any: int) -> None:
    """Found, and proved by counting for any number of lanes; some for any movement of data."""
    found = place(ExactCircuit.of(graph), WEIGHTS)
    assert found is not None
    assert found.is_optimal
    assert found.rotations == found.rotations_needed == rotations
    assert found.rotations_of_any == of_any
    check_schedule(graph, found.schedule.for_synthesis())


@pytest.mark.parametrize("seed", range(8))
def test_no_schedule_has_fewer_rotations_than_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    circuit = ExactCircuit.of(random_circuit(rng, 10, packing=GROUPED))
    packs = asap_packs(circuit)
    needed = rotations_needed(rotation_cuts(circuit, packs))
    for _ in range(50):
        lane = [-1] * len(circuit.codes)
        for nodes in [*(nodes for _, nodes in packs), circuit.inputs(0)]:
            for node, at in zip(nodes, rng.permutation(8), strict=False):
                lane[node] = int(at)
        schedule = Schedule(packs, tuple(lane), (False,) * len(lane))
        assert movement(circuit, schedule)[0] >= needed


@pytest.mark.parametrize("seed", range(6))
def test_annealing_does_not_beat_the_optimum(seed: int) -> None:
    graph = random_circuit(np.random.default_rng(seed), 8, packing=[FREE, GROUPED][seed % 2])
    circuit = ExactCircuit.of(graph)
    start = Schedule.from_annealing(lanes.anneal(graph, **SHORT, seed=seed))
    found = place(circuit, ONLY_ROTATIONS, start)
    assert found is not None
    assert found.is_optimal
    assert found.schedule.packs == start.packs
    assert found.rotations_needed <= found.rotations <= movement(circuit, start)[0]
    check_schedule(graph, found.schedule.for_synthesis())


@pytest.mark.parametrize("seed", range(4))
def test_no_code_has_fewer_rotations_than_sums_need(seed: int) -> None:
    graph = dot(2 + 3 * seed, REPLICATED, [GROUPED, FREE][seed % 2])
    circuit = ExactCircuit.of(graph)
    code = lanes.vectorize(graph, WEIGHTS, work=1e5).program
    assert code.counts.rotations >= rotations_of_any(circuit) == (1 + 3 * seed).bit_length()
    assert rotations_of_any(circuit, asap_packs(circuit)) == rotations_of_any(circuit)


def test_contested_copies_take_rotations() -> None:
    """x0 x1 of one vector: in the lane of the product only one of them can lie."""
    b = GraphBuilder()
    x = b.inputs(2, REPLICATED)
    found = place(ExactCircuit.of(b.graph([b.node(MUL, x[0], x[1])])), WEIGHTS, num_lanes=2)
    assert found is not None
    assert (found.rotations, found.merges, found.is_optimal) == (1, 0, True)


def test_fixed_lanes_stay() -> None:
    b = GraphBuilder(16)
    x, y = b.inputs(2, GROUPED, [5, 2]), b.inputs(2, GROUPED, [2, 5])
    graph = b.graph([b.node(MUL, p, q) for p, q in zip(x, y, strict=True)])
    found = place(ExactCircuit.of(graph), WEIGHTS)
    assert found is not None
    check_schedule(graph, found.schedule.for_synthesis())
    assert found.schedule.lanes[:4] == (5, 2, 2, 5)
    assert found.is_optimal
    # A moves or B moves, by +3 and by -3; one of the two lanes may stay in a lane of the other operand.
    assert (found.rotations, found.merges) == (2, 1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_alignment_of_kernels(kernel: str) -> None:
    graph = KERNELS[kernel](FREE, FREE)
    circuit = ExactCircuit.of(graph)
    start = Schedule.from_annealing(lanes.anneal(graph, **SHORT))
    found = align(circuit, start)
    check_schedule(graph, found.schedule.for_synthesis())
    assert found.is_optimal
    assert len(found.schedule.packs) == sum(found.lengths) <= len(start.packs)


def one_epoch(chains: list[list[int]]) -> tuple[lanes.ScalarCircuit, Schedule]:
    """A chain of operations in each lane, all in one epoch, in as many packs as operations."""
    b = GraphBuilder()
    x = b.inputs(1)[0]
    lane, packs = [-1], []
    outputs = []
    for at, chain in enumerate(chains):
        last = x
        for code in chain:
            last = b.node(code, last, x)
            lane.append(at)
            packs.append((code, (last,)))
        outputs.append(last)
    count = len(lane)
    return b.graph(outputs), Schedule(tuple(packs), tuple(lane), (False,) * count, (-1, *[0] * (count - 1)))


@pytest.mark.parametrize("seed", range(5))
def test_alignment_is_a_shortest_common_supersequence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chains = [[int(code) for code in rng.choice([ADD, MUL], 4)] for _ in range(3)]
    graph, schedule = one_epoch(chains)
    circuit = ExactCircuit.of(graph)
    found = align(circuit, schedule)

    def is_within(chain: list[int], sequence: tuple[int, ...]) -> bool:
        rest = iter(sequence)
        return all(code in rest for code in chain)

    shortest = next(
        length
        for length in itertools.count(1)
        if any(all(is_within(c, s) for c in chains) for s in itertools.product((ADD, MUL), repeat=length))
    )
    assert found.lengths == found.bounds == (shortest,)
    assert shortest >= fewest_packs(circuit, schedule, [n for n, code in enumerate(circuit.codes) if code != INPUT])
    check_schedule(graph, found.schedule.for_synthesis())


def test_same_work_same_answer() -> None:
    """Where the work ends before the proof, too."""
    circuit = ExactCircuit.of(convolution(5, 3))
    first, second = (place(circuit, WEIGHTS, effort=0.05, seed=7) for _ in range(2))
    assert first == second
    graph, schedule = one_epoch([[ADD, MUL, MUL, ADD], [MUL, ADD, ADD, MUL], [ADD, ADD, MUL, MUL]])
    assert align(ExactCircuit.of(graph), schedule, seed=3) == align(ExactCircuit.of(graph), schedule, seed=3)


def test_misuse_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = ExactCircuit.of(matmul(2))
    with pytest.raises(LayoutError, match="4 lanes where 8 are needed"):
        place(circuit, WEIGHTS, num_lanes=4)
    start = Schedule.of(lanes.anneal(matmul(2), **SHORT).schedule)
    with pytest.raises(ShapeError, match="epochs of 0 nodes are known, there are 20"):
        align(circuit, start)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'latticework\[exact\]'"):
        place(circuit, WEIGHTS)


@pytest.mark.parametrize("seed", range(3))
def test_the_schedule_of_a_search_is_that_of_its_code(seed: int) -> None:
    graph = random_circuit(np.random.default_rng(seed), 10)
    made = lanes.vectorize(graph, WEIGHTS, work=1e5, seed=seed)
    check_schedule(made.circuit, made.schedule)
    again = lanes.synthesize(made.circuit, made.schedule, WEIGHTS)
    assert (again.cost, again.counts) == (made.program.cost, made.program.counts)
