"""Random circuits give the same numbers in plain Python, as graphs, rewritten, as vector code, and encrypted."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_circuits import random_circuits

import latticework as lw
from latticework import _core
from latticework.compiler.lanes.emit_vectors import emit_vectors
from latticework.compiler.lanes.lane_graph import evaluate, graph_of
from latticework.compiler.lanes.rewrite_circuit import improve
from latticework.compiler.lanes.scalar_code import scalar_code
from latticework.frontend import trace_circuit
from latticework.ir import interpret, verify
from latticework.plan.schema.arguments import gather, scatter

WIDTH = 64
MODULUS = (1 << 20) + 7  # any: it keeps numbers small enough for float64 slots
WEIGHTS, LITTLE_WORK = _core.lanes.InstructionWeights(1.0, 2.0, 0.15, 0.05, 0.02, 0.02), 1e5


def annealed(graph, width):
    """Coyote's search, hardly any of it."""
    circuit = graph.for_lanes(width)
    schedule = _core.lanes.anneal(circuit, weights=WEIGHTS, rounds=2, moves=50).schedule
    return _core.lanes.synthesize(circuit, schedule, WEIGHTS)


PROGRAMS = {
    "annealing": annealed,
    "scalar": scalar_code,
    "search": lambda graph, width: _core.lanes.vectorize(graph.for_lanes(width), WEIGHTS, work=LITTLE_WORK).program,
}
RELAXED = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


def check_vector_code(random, seed):
    circuit = random.circuit
    traced = trace_circuit(circuit)
    graph = graph_of(traced.module)
    better = improve(graph)
    values = random.values(np.random.default_rng(seed), 3)
    want = [int(x) % MODULUS for x in circuit(**values)]
    sizes = [len(group.labels) for group in graph.groups]
    inputs = gather(traced.arguments, sizes, values)
    assert [int(x) % MODULUS for x in interpret(traced.module, inputs)] == want
    assert better.num_products <= graph.num_products
    for each in (graph, better):
        assert [x % MODULUS for x in evaluate(each, inputs)] == want
    for name, program in PROGRAMS.items() if better.ends else [("public", scalar_code)]:
        emitted = emit_vectors(better, program(better, WIDTH), WIDTH, modulus=MODULUS)
        verify(emitted.module)
        packed = [
            pack.pack(inputs[g].astype(float)) for g, pack in zip(emitted.groups, emitted.input_packs, strict=True)
        ]
        got = run_modulo(emitted.module, packed)
        held = [pack.unpack(out) for pack, out in zip(emitted.output_packs, got, strict=True)]
        assert [int(held[r][e]) % MODULUS for r, e in emitted.places] == want, name
    assert [np.asarray(x).tolist() for x in scatter(traced.results, [np.array(want)])] == [want]


def run_modulo(module, inputs):
    """The vec interpreter with all values reduced modulo MODULUS, so that float64 holds them exactly."""

    def reduce(_value, array):
        array[...] = np.mod(array + MODULUS // 2, MODULUS) - MODULUS // 2

    return interpret(module, inputs, on_value=reduce)


@settings(max_examples=100, **RELAXED)
@given(random_circuits(), st.integers(0, 99))
def test_vector_code_equals_python(random, seed):
    check_vector_code(random, seed)


@pytest.mark.slow
@settings(max_examples=1000, **RELAXED)
@given(random_circuits(), st.integers(0, 99))
def test_vector_code_equals_python_often(random, seed):
    check_vector_code(random, seed)


def check_ckks(random, seed):
    circuit = random.circuit
    model = lw.compile(circuit, ring_degree=2048, insecure=True, precision_bits=10, effort="fast")
    client = model.client()
    server = model.server(client.keygen().public())
    rng = np.random.default_rng(seed)
    values = {name: rng.uniform(-1, 1, kind.shape) for name, kind in random.inputs.items()}
    got = client.decrypt(server(client.encrypt(**values)))
    assert np.all(np.abs(got.reveal() - np.array(circuit(**values), dtype=float)) <= got.error_bound + 1e-9)


@settings(max_examples=3, **RELAXED)
@given(random_circuits(20, 2), st.integers(0, 99))
def test_ckks_decrypts_to_what_python_computes(random, seed):
    check_ckks(random, seed)


@pytest.mark.slow
@settings(max_examples=100, **RELAXED)
@given(random_circuits(60, 3), st.integers(0, 99))
def test_ckks_decrypts_to_what_python_computes_often(random, seed):
    check_ckks(random, seed)


def check_bfv(random, seed):
    circuit = random.circuit
    model = lw.compile(circuit, scheme="bfv", ring_degree=4096, insecure=True, plain_bits=20, effort="fast")
    client = model.client()
    server = model.server(client.keygen().public())
    values = random.values(np.random.default_rng(seed), 3)
    modulus = model.plan.chain.plain_modulus
    want = [(int(x) + modulus // 2) % modulus - modulus // 2 for x in circuit(**values)]
    assert client.decrypt(server(client.encrypt(**values))).reveal().tolist() == want
    assert model.plaintext(**values).tolist() == model.simulate(**values).tolist() == want


@pytest.mark.filterwarnings("ignore::latticework.RangeWarning")
@settings(max_examples=3, **RELAXED)
@given(random_circuits(20, 2), st.integers(0, 99))
def test_bfv_decrypts_to_exactly_what_python_computes(random, seed):
    check_bfv(random, seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latticework.RangeWarning")
@settings(max_examples=100, **RELAXED)
@given(random_circuits(60, 3), st.integers(0, 99))
def test_bfv_decrypts_to_exactly_what_python_computes_often(random, seed):
    check_bfv(random, seed)
