"""The search for lanes and the synthesis of vector code: equal to the scalar circuit, counted and bounded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lane_cases import Circuit, graphs, run_program, run_scalar, tree_sum

from latticework import _core
from latticework.errors import RangeError

WEIGHTS = _core.lanes.InstructionWeights(1.0, 3.0, 0.15, 0.05, 0.03, 0.03)
FREE, GROUPED, REPLICATED = 0, 1, 2


def vectorized(circuit: Circuit, **options):
    graph = circuit.graph(**{k: options.pop(k) for k in ("width",) if k in options})
    found = _core.lanes.vectorize(graph, WEIGHTS, **{"work": 1e6, **options}).program
    check(graph, found)
    return found


def check(graph, found) -> None:
    values = np.random.default_rng(0).integers(-50, 50, len(graph.code)).tolist()
    expected = run_scalar(graph, values)
    registers = run_program(graph.width, found, values)
    got = [registers[register][lane] for register, lane in found.outputs]
    assert got == [expected[node] for node in graph.outputs]
    for register, one in zip(registers, found.code, strict=True):
        for lane, node in one.computes:
            assert node < 0 or register[lane] == expected[node]


def dot(size: int, packing: int) -> Circuit:
    circuit = Circuit()
    a, b = circuit.inputs(size, packing), circuit.inputs(size, packing)
    circuit.outputs = [tree_sum(circuit, [circuit.mul(x, y) for x, y in zip(a, b, strict=True)])]
    return circuit


def matrix_product(size: int, left: int, right: int) -> Circuit:
    circuit = Circuit()
    a, b = circuit.inputs(size * size, left), circuit.inputs(size * size, right)
    circuit.outputs = [
        tree_sum(circuit, [circuit.mul(a[i * size + k], b[k * size + j]) for k in range(size)])
        for i in range(size)
        for j in range(size)
    ]
    return circuit


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 3))
def test_any_circuit_equals_its_scalar_interpreter(graph, seed):
    found = _core.lanes.vectorize(graph, WEIGHTS, work=3e4, seed=seed, copies=seed % 2 == 1)
    check(graph, found.program)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.booleans(), st.booleans(), st.booleans())
def test_scalar_schedules_and_any_means_of_movement_are_exact(graph, spread, joined, zero_lanes):
    graph, _ = _core.lanes.rewritten(graph, "as written")
    options = {"spread": spread, "joined": joined, "zero_lanes": zero_lanes}
    check(graph, _core.lanes.synthesize(graph, _core.lanes.scalar_schedule(graph), WEIGHTS, **options))
    check(graph, _core.lanes.vectorize(graph, WEIGHTS, work=1e4, **options).program)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 9), st.sampled_from([0.01, 1.0]))
def test_the_quick_estimate_is_kept_up_by_its_moves(graph, seed, temperature):
    graph, _ = _core.lanes.rewritten(graph, "as written")
    first = _core.lanes.first_schedule(graph)
    options = {"moves": 300, "seed": seed, "temperature": temperature}
    moved, estimate, recounted = _core.lanes.anneal_spans(graph, first, WEIGHTS, **options)
    assert estimate == pytest.approx(recounted, abs=1e-9)
    check(graph, _core.lanes.synthesize(graph, moved, WEIGHTS))


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_trees_of_sums_and_products_keep_the_meaning(graph):
    values = np.random.default_rng(1).integers(-9, 9, len(graph.code)).tolist()
    expected = run_scalar(graph, values)
    for association in ("as written", "trees", "rows"):
        made, origins = _core.lanes.rewritten(graph, association)
        given_values = [values[origin] if origin >= 0 else 0 for origin in origins]
        got = run_scalar(made, given_values)
        assert [got[node] for node in made.outputs] == [expected[node] for node in graph.outputs]
        for node, origin in enumerate(origins):
            assert origin < 0 or got[node] == expected[origin]
        triples = [t for t in zip(made.code, made.left, made.right, strict=True) if t[0]]
        assert len(set(triples)) == len(triples)


def test_counts_are_those_of_the_code():
    found = vectorized(matrix_product(3, GROUPED, GROUPED))
    codes = [one.code for one in found.code]
    rotated = {(one.left, one.steps) for one in found.code if one.code == 1}
    assert found.counts.rotations == codes.count(1) == len(rotated)
    assert found.counts.muls == codes.count(4) == 1
    assert found.counts.masks == sum(one.is_mask for one in found.code)
    assert found.counts.inputs == codes.count(0) == 2


@pytest.mark.parametrize(("size", "rotations"), [(3, 2), (6, 3), (8, 3), (10, 4)])
@pytest.mark.parametrize("packing", [FREE, GROUPED, REPLICATED])
def test_a_sum_of_lanes_takes_the_logarithm_of_their_number(size, rotations, packing):
    counts = vectorized(dot(size, packing)).counts
    assert (counts.rotations, counts.blends, counts.muls) == (rotations, 0, 1)


@pytest.mark.parametrize(
    ("size", "left", "right", "rotations"),
    [
        (2, REPLICATED, REPLICATED, 1),
        (2, REPLICATED, GROUPED, 2),
        (2, GROUPED, GROUPED, 3),
        (3, REPLICATED, REPLICATED, 2),
        (3, GROUPED, GROUPED, 6),
        (16, REPLICATED, REPLICATED, 4),
    ],
)
def test_matrix_products_copy_and_add_up_by_doubling(size, left, right, rotations):
    counts = vectorized(matrix_product(size, left, right)).counts
    assert (counts.rotations, counts.blends, counts.muls) == (rotations, 0, 1)


def selections(copies: int) -> Circuit:
    """The same tree of five selections, on other inputs each time."""
    circuit = Circuit()
    circuit.packing.append(FREE)
    circuit.fixed.append([])

    def select(bit, one, other):
        return circuit.add(other, circuit.mul(bit, circuit._node(2, one, other)))

    for _ in range(copies):
        a, b, c, *labels = (circuit._node(0, group=0) for _ in range(9))
        first = select(b, labels[0], select(c, labels[1], labels[2]))
        circuit.outputs.append(select(a, first, select(c, labels[3], select(b, labels[4], labels[5]))))
    return circuit


def test_copies_of_a_kernel_cost_as_much_as_one():
    one, many = (vectorized(selections(copies)).counts for copies in (1, 30))
    assert one == many
    assert (one.rotations, one.muls) == (1, 3)


@settings(max_examples=30, deadline=None)
@given(graphs(most=12), graphs(most=12), st.integers(1, 3))
def test_circuits_side_by_side_are_exact(first, second, copies):
    code, left, right, group, packing, fixed, outputs = ([] for _ in range(7))
    for part in [first] + [second] * copies + [first]:
        shift, groups = len(code), len(packing)
        code += part.code
        left += [x + shift if x >= 0 else x for x in part.left]
        right += [x + shift if of in (1, 2, 3) else x for of, x in zip(part.code, part.right, strict=True)]
        group += [x + groups if x >= 0 else x for x in part.group]
        packing += part.packing
        fixed += part.fixed
        outputs += [x + shift for x in part.outputs]
    joint = _core.lanes.ScalarCircuit(code, left, right, group, packing, fixed, outputs, 4096)
    check(joint, _core.lanes.vectorize(joint, WEIGHTS, work=1e5).program)


def test_fixed_lanes_are_kept():
    circuit = dot(4, GROUPED)
    circuit.fixed[0] = [9, 3, 100, 50]
    found = vectorized(circuit)
    table = next(one.table for one in found.code if (one.code, one.left) == (0, 0))
    assert {node: lane for lane, node in table} == {0: 9, 1: 3, 2: 100, 3: 50}


def test_rotations_wrap_around_a_narrow_vector():
    found = vectorized(matrix_product(2, GROUPED, GROUPED), width=8)
    assert all(0 <= lane < 8 for one in found.code for lane, _ in one.table)


def test_scalar_code_is_chosen_where_it_is_cheapest():
    circuit = Circuit()
    x = circuit.inputs(1, FREE)[0]
    power = x
    for _ in range(5):
        power = circuit.mul(power, x)
        x = circuit.add(x, power)
    circuit.outputs = [power]
    counts = vectorized(circuit).counts
    assert counts.rotations == counts.blends == 0


def test_masks_are_avoided_where_levels_are_dear():
    circuit = selections(1)
    circuit.packing[0] = GROUPED
    graph = circuit.graph()
    cheap, dear = (
        _core.lanes.vectorize(
            graph, _core.lanes.InstructionWeights(1.0, 3.0, 0.01, 0.05, 0.03, 0.03, level), work=2e6
        ).program
        for level in (0.0, 1.0)
    )
    assert dear.depth == 3 <= cheap.depth
    check(graph, dear)


def test_the_same_seed_gives_the_same_program():
    first, second = (vectorized(matrix_product(2, GROUPED, GROUPED), seed=5) for _ in range(2))
    assert first == second


def test_more_lanes_than_a_vector_has_become_more_instructions():
    assert vectorized(matrix_product(3, REPLICATED, REPLICATED), width=32).counts.muls == 1
    for packing in (FREE, GROUPED, REPLICATED):
        assert vectorized(matrix_product(2, packing, packing), width=4).counts.muls >= 2


def test_schedules_that_are_none_are_refused():
    circuit = Circuit()
    a, b = circuit.inputs(2, FREE)
    first, second = circuit.mul(a, b), circuit.add(a, b)
    circuit.outputs = [circuit.mul(first, second)]
    graph = circuit.graph()
    schedule = _core.lanes.scalar_schedule(graph)
    late = _core.lanes.LaneSchedule(schedule.packs[::-1], schedule.lane, schedule.exchanged)
    with pytest.raises(ValueError, match="no pack before it computes"):
        _core.lanes.synthesize(graph, late, WEIGHTS)
    shared = _core.lanes.LaneSchedule([(3, [2, 4]), (1, [3])], schedule.lane, schedule.exchanged)
    with pytest.raises(ValueError, match="share lane"):
        _core.lanes.synthesize(graph, shared, WEIGHTS)


def test_more_inputs_than_lanes_are_refused():
    with pytest.raises(RangeError, match="group 0 has 9 inputs, a vector has 8 lanes"):
        vectorized(dot(9, GROUPED), width=8)


def test_what_has_several_uses_may_be_computed_for_each():
    """(a + b) c, (a + b) d: without copies of the sum a product has to wait or something to move."""
    circuit = Circuit()
    a, b, c, d = circuit.inputs(4, FREE)
    total = circuit.add(a, b)
    circuit.outputs = [circuit.mul(total, c), circuit.mul(total, d)]
    counts = vectorized(circuit, copies=True).counts
    assert (counts.muls, counts.adds, counts.rotations) == (1, 1, 0)
    assert vectorized(circuit).cost > vectorized(circuit, copies=True).cost
