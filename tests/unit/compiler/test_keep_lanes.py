"""Lanes of an old circuit for one that is like it: no new key for the same circuit, and never a wrong result.

The adversary is an old placement that is wrong for the circuit that is compiled: of another circuit, or of a record that
was changed. The oracle runs the vector code in Python's integers.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lane_cases import CONSTANTS, graphs, run_program

import latticework as lw
from latticework import _core
from latticework.compiler.circuits.circuit_pipeline import to_scalars
from latticework.compiler.lanes.emit_vectors import emit_vectors
from latticework.compiler.lanes.keep_lanes import OldLanes, keep_lanes
from latticework.compiler.lanes.lane_graph import INPUT, Graph, InputGroup, Node, evaluate
from latticework.compiler.lanes.lane_record import record_lanes, scalar_counts
from latticework.compiler.lanes.lane_values import computes
from latticework.ir import Loc
from latticework.ir.dialects.scalar_dialect import PACKINGS
from latticework.plan.files.serialise import write_client

WEIGHTS = _core.lanes.InstructionWeights(1.0, 3.0, 0.15, 0.05, 0.03, 0.03)


def graph_of(circuit) -> Graph:
    """The same circuit as the compiler has it."""
    sizes = [0] * len(circuit.packing)
    nodes = []
    for code, left, right, group in zip(circuit.code, circuit.left, circuit.right, circuit.group, strict=True):
        if code == INPUT:
            left, right = group, sizes[group]
            sizes[group] += 1
        nodes.append(Node(code, left, right))
    groups = [
        InputGroup(f"g{n}", PACKINGS[kind], (), tuple(f"g{n}[{i}]" for i in range(size)))
        for n, (kind, size) in enumerate(zip(circuit.packing, sizes, strict=True))
    ]
    lines = (Loc.unknown(),) * len(nodes)
    return Graph(tuple(nodes), tuple(CONSTANTS), tuple(groups), tuple(circuit.outputs), lines)


def names_of(graph: Graph) -> list[str]:
    return [f"out{n}" for n in range(len(graph.outputs))]


def old_lanes(circuit, **options) -> tuple[Graph, OldLanes, _core.lanes.VectorProgram]:
    """A circuit, its lanes as an old plan has them, and its code."""
    graph = graph_of(circuit)
    program = _core.lanes.vectorize(graph.for_lanes(circuit.width), WEIGHTS, work=3e4, **options).program
    record = record_lanes(
        graph.for_lanes(circuit.width), program, method="search",
        names={n: graph.groups[x.left].labels[x.right] for n, x in enumerate(graph.nodes) if x.code == INPUT},
        groups=[group.name for group in graph.groups], outputs=names_of(graph), written=scalar_counts([]),
    )  # fmt: skip
    emitted = emit_vectors(graph, program, circuit.width)
    packs = {graph.groups[n].name: pack for n, pack in zip(emitted.groups, emitted.input_packs, strict=True)}
    return graph, OldLanes(record, packs), program


def rotations(program, width) -> set[int]:
    return {one.steps % width for one in program.code if one.code == 1}


def check(graph: Graph, width: int, program) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-50, 50, len(group.labels)).tolist() for group in graph.groups]
    values = [inputs[node.left][node.right] if node.code == INPUT else 0 for node in graph.nodes]
    registers = run_program(width, program, values)
    assert [registers[register][lane] for register, lane in program.outputs] == evaluate(graph, inputs)


@settings(max_examples=25, deadline=None)
@given(graphs(), st.integers(0, 3))
def test_the_same_circuit_takes_no_new_rotation(circuit, seed):
    graph, old, program = old_lanes(circuit, seed=seed)
    kept = keep_lanes(graph, names_of(graph), old)
    assert (kept is None) == (not old.is_whole)
    if kept is not None:
        check(graph, circuit.width, kept)
        assert rotations(kept, circuit.width) <= rotations(program, circuit.width)
        assert [lane for _, lane in kept.outputs] == [lane for _, lane in program.outputs]


@settings(max_examples=25, deadline=None)
@given(graphs(), graphs())
def test_lanes_of_any_other_circuit_give_this_one_or_nothing(old_circuit, circuit):
    graph, width = graph_of(circuit), old_circuit.width
    kept = keep_lanes(graph, names_of(graph), old_lanes(old_circuit)[1])
    if kept is not None:
        check(graph, width, kept)


@settings(max_examples=25, deadline=None)
@given(graphs(most=15), st.data())
def test_a_record_that_is_wrong_gives_no_wrong_code(circuit, data):
    graph, old, _ = old_lanes(circuit)
    steps = list(old.record.steps)
    number = data.draw(st.integers(0, len(steps) - 1))
    step = steps[number]
    shifted = tuple(sorted(((lane + 1) % circuit.width, label) for lane, label in step.lanes))
    changed = {
        "steps": replace(step, steps=step.steps + 1),
        "left": replace(step, left=max(step.left - 1, min(step.left, 0))),
        "lanes": replace(step, lanes=shifted),
    }
    steps[number] = changed[data.draw(st.sampled_from(sorted(changed)))]
    outputs = tuple((name, register, lane + 1) for name, register, lane in old.record.outputs)
    kept = keep_lanes(graph, names_of(graph), replace(old, record=replace(old.record, steps=tuple(steps))))
    moved = keep_lanes(graph, names_of(graph), replace(old, record=replace(old.record, outputs=outputs)))
    for each in (kept, moved):
        if each is not None:
            check(graph, circuit.width, each)


def test_code_of_another_circuit_is_found_out():
    @lw.circuit
    def total(x: lw.vector(4, low=-9, high=9)):
        return x[0] * x[1] + x[2] * x[3]

    graph = to_scalars(total, (), exact=True).graph
    program = _core.lanes.vectorize(graph.for_lanes(64), WEIGHTS, work=1e4).program
    (register, lane), code = program.outputs[0], program.code
    assert computes(graph, 64, code, [(register, lane)])
    assert not computes(graph, 64, code, [(register, lane + 1)])
    for number, one in enumerate(code):
        if one.code == 1:
            other = _core.lanes.VectorInstruction(1, one.left, -1, one.steps + 1)
            assert not computes(graph, 64, [*code[:number], other, *code[number + 1 :]], [(register, lane)])


@lw.circuit
def mixed(a: lw.vector(8, low=-3, high=3), b: lw.vector(8, low=-3, high=3), w):
    first = sum(a[i] * b[3 * i % 8] for i in range(8))
    return first * sum(int(w[i]) * a[i] * a[(i * i + 1) % 8] for i in range(5)) + b[3]


def same_but(more):
    """The circuit under its name, with an operation more."""

    def mixed(a: lw.vector(8, low=-3, high=3), b: lw.vector(8, low=-3, high=3), w):
        first = sum(a[i] * b[3 * i % 8] for i in range(8))
        return more(first * sum(int(w[i]) * a[i] * a[(i * i + 1) % 8] for i in range(5)) + b[3], a, b)

    return lw.circuit(mixed)


SMALL = {"ring_degree": 1024, "insecure": True, "effort": "fast"}
SCHEMES = {"bfv": {"scheme": "bfv", "plain_bits": 20, **SMALL}, "ckks": {"precision_bits": 8, **SMALL}}


def run(model, *inputs):
    client = model.client()
    return client.decrypt(model.server(client.keygen().public())(client.encrypt(*inputs)))


@pytest.mark.parametrize("options", SCHEMES.values(), ids=SCHEMES)
def test_a_circuit_keeps_its_lanes_and_takes_only_keys_that_are_missing(options):
    weights, others = np.array([2, 3, 4, 5, 6]), np.array([3, 7, 2, 9, 4])
    old = lw.compile(mixed, weights=(weights,), **options)

    def again(circuit, numbers):
        return lw.compile(circuit, weights=(numbers,), like=old, **options)

    same = again(mixed, weights)
    assert same.plan.kept.list_kept() == ("secret key", "evaluation keys", "client file")
    assert write_client(same.plan.client) == write_client(old.plan.client)
    changed = again(mixed, others)
    assert changed.plan.kept.new_keys == 0
    assert [each.pack for each in changed.plan.client.inputs] == [each.pack for each in old.plan.client.inputs]
    more = again(same_but(lambda y, a, b: y + a[1] * b[5]), others)
    assert more.plan.kept.new_keys <= 1 and more.plan.chain == old.plan.chain
    rng = np.random.default_rng(3)
    a, b = rng.integers(-3, 4, (2, 8))
    exact = sum(a[i] * b[3 * i % 8] for i in range(8)) * sum(others[i] * a[i] * a[(i * i + 1) % 8] for i in range(5))
    for model, wanted in ((changed, exact + b[3]), (more, exact + b[3] + a[1] * b[5])):
        got = run(model, a, b)
        assert np.abs(got.reveal() - wanted).max() <= got.error_bound


def test_a_circuit_as_arrays_stays_one():
    @lw.circuit
    def product(a: lw.matrix(8, 8, low=-2, high=2), x: lw.vector(8, low=-2, high=2)):
        return [sum(a[i, j] * x[j] for j in range(8)) for i in range(8)]

    old = lw.compile(product, **SCHEMES["bfv"], algorithm="tensors")
    new = lw.compile(product, **SCHEMES["bfv"], like=old)
    assert old.plan.circuit.method == new.plan.circuit.method == "tensors"
    assert write_client(new.plan.client) == write_client(old.plan.client)
