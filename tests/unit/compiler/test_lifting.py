"""Regular circuits become array programs that compute the same; irregular ones are left alone."""

from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
import latticework.compiler.lifting.lift_circuit as program_of
from latticework.compiler.lanes.lane_graph import graph_of
from latticework.compiler.lanes.nests import loops_in_shape, loops_of, replay
from latticework.compiler.lifting import lift
from latticework.compiler.lifting.check_equality import agrees
from latticework.errors import UserError
from latticework.frontend.circuits.circuit import circuit, trace_circuit
from latticework.frontend.circuits.circuit_inputs import matrix, scalar, vector
from latticework.ir import interpret, verify
from latticework.plan.schema.arguments import rebuild_result, scatter

RNG = np.random.default_rng(5)
WEIGHTS = RNG.integers(-3, 4, (4, 6))  # zeros and ones among them


@circuit
def product(a: matrix(3, 4), b: matrix(4, 2)):
    return [[sum(a[i, k] * b[k, j] for k in range(4)) for j in range(2)] for i in range(3)]


@circuit
def transposed_product(a: matrix(3, 4), b: matrix(2, 3)):
    return [[sum(b[j, k] * a[k, i] for k in range(3)) for j in range(2)] for i in range(4)]


@circuit
def chain(a: matrix(2, 3), b: matrix(3, 4), c: matrix(4, 2)):
    return ((a @ b) @ c) @ (a @ b)


@circuit
def gram(a: matrix(3, 4)):
    return a @ a.T


@circuit
def matrix_vector(a: matrix(4, 3), x: vector(3)):
    return a @ x, x * 2 - 1


@circuit
def dot(x: vector(6), y: vector(6)):
    return sum(x * y)


@circuit
def outer(x: vector(3), y: vector(4)):
    return np.outer(x, y)


@circuit
def correlation(signal: vector(9), kernel: vector(4)):
    return [sum(signal[o + i] * kernel[i] for i in range(4)) for o in range(6)]


@circuit
def correlation2d(image: matrix(6, 5), kernel: matrix(3, 2)):
    return [
        [sum(image[y + i, x + j] * kernel[i, j] for i in range(3) for j in range(2)) for x in range(4)]
        for y in range(4)
    ]


@circuit
def strided(signal: vector(12), kernel: vector(4)):
    return [sum(signal[2 * o + i] * kernel[3 - i] for i in range(4)) for o in range(5)]


@circuit
def distances(x: vector(4), y: vector(4)):
    return [(x[i] - y[j]) * (x[i] - y[j]) for i in range(4) for j in range(4)]


@circuit
def diagonal(a: matrix(4, 4), x: vector(4)):
    return [a[i, i] * x[3 - i] for i in range(4)]


@circuit
def dense(x: vector(6)):
    hidden = [sum(int(WEIGHTS[i, j]) * x[j] for j in range(6)) + i for i in range(4)]
    return [h * h - 3 * h for h in hidden]


@circuit
def complex_product(a: matrix(2, 5), b: matrix(2, 5)):
    return {"real": a[0] * b[0] - a[1] * b[1], "imaginary": a[0] * b[1] + a[1] * b[0]}


@circuit
def scaled(s: scalar(), x: vector(5), y: vector(5)):
    return -(s * x + 3 * (y - x))


@circuit
def block(a: matrix(4, 4), b: matrix(4, 4)):
    return a[:2, 2:] @ b[2:, :2]


@circuit
def cube(x: vector(7)):
    return x**3 + x


@circuit
def batch(a: matrix(6, 3), b: matrix(6, 3)):
    return [sum(a[2 * g + r, k] * b[2 * g + r, k] for k in range(3)) for g in range(3) for r in range(2)]


REGULAR = [
    product, transposed_product, chain, gram, matrix_vector, dot, outer, correlation, correlation2d, strided, distances,
    diagonal, dense, complex_product, scaled, block, cube, batch,
]  # fmt: skip


@circuit
def decisions(c: vector(3), labels: vector(4)):
    def choose(bit, yes, no):
        return bit * yes + (1 - bit) * no

    return choose(c[0], choose(c[1], labels[0], labels[1]), choose(c[2], labels[2], labels[3] * labels[0]))


@circuit
def nearly_a_product(a: matrix(3, 3), b: matrix(3, 3)):
    made = a @ b
    made[1, 2] = made[1, 2] + a[0, 0] * a[0, 0]
    return made


@circuit
def shuffled(x: vector(8), y: vector(8)):
    return [x[i] * y[j] for i, j in enumerate((3, 1, 4, 0, 7, 2, 6, 5))]


def lifted(function):
    traced = trace_circuit(function)
    graph = graph_of(traced.module)
    return lift(graph, traced.arguments, traced.results), traced, graph


@pytest.mark.parametrize("function", REGULAR, ids=lambda f: f.name)
def test_lifted_programs_compute_what_the_function_does(function):
    program, traced, _ = lifted(function)
    verify(program.module)
    given = {p.name: RNG.integers(-9, 10, p.kind.shape) for p in function.inputs}
    expected = function(**given)
    outputs = [np.asarray(array).reshape(-1) for array in interpret(program.module, given)]
    results, first = [], 0
    for result in traced.results:
        elements = tuple(range(first, first + len(result.elements)))
        results.append(replace(result, elements=elements))
        first += len(elements)
    by_name = {r.name: array for r, array in zip(results, scatter(results, outputs), strict=True)}
    found = rebuild_result(results, lambda r: by_name[r.name])
    parts = expected if isinstance(expected, tuple) else [expected]
    for got, wanted in zip(found if isinstance(found, tuple) else [found], parts, strict=True):
        if isinstance(wanted, dict):
            assert all(np.array_equal(got[key].astype(int), wanted[key].astype(int)) for key in wanted)
        else:
            assert np.array_equal(got.astype(int), np.array(wanted).astype(int))


def test_formulas_say_what_was_found():
    assert lifted(product)[0].formulas == ("result[i, j] = sum over k of a[i, k] * b[k, j]",)
    assert lifted(strided)[0].formulas == ("result[i] = sum over j of signal[2i + j] * kernel[3 - j]",)
    assert lifted(scaled)[0].formulas[-1].startswith("result[i] = ")
    assert len(lifted(chain)[0].formulas) == 3
    first, last = lifted(distances)[0].formulas
    assert first.endswith("[i, j] = x[i] - y[j]")
    assert last.count(".flat[i]") == 2


def test_a_matrix_product_is_one_operation():
    for function in (product, transposed_product, gram):
        names = [op.name for op in lifted(function)[0].module.body.ops[:-1]]
        assert names.count("tensor.matmul") == 1
        assert set(names) <= {"tensor.matmul", "tensor.transpose"}


@pytest.mark.parametrize("function", [decisions, nearly_a_product, shuffled], ids=lambda f: f.name)
def test_irregular_circuits_are_left_alone(function):
    assert lifted(function)[0] is None


def test_a_wrong_guess_is_not_used(monkeypatch):
    traced = trace_circuit(product)
    graph = graph_of(traced.module)
    program = lift(graph, traced.arguments, traced.results)
    assert agrees(program.module, graph, traced.arguments, traced.results)
    right = program_of.lift_circuit

    def wrong(*given):
        found = right(*given)
        last = found.stages[-1]
        nest = replace(last.nests[0], coefficients=np.float64(2.0))
        return replace(found, stages=(*found.stages[:-1], replace(last, nests=(nest,))))

    monkeypatch.setattr(program_of, "lift_circuit", wrong)
    assert lift(graph, traced.arguments, traced.results) is None


@pytest.mark.parametrize("seed", range(20))
def test_loops_of_a_sequence_replay_it(seed):
    rng = np.random.default_rng(seed)
    loops = [(int(rng.integers(2, 5)), rng.integers(-7, 8, 2)) for _ in range(int(rng.integers(0, 4)))]
    sequence = np.stack([replay(loops, channel) for channel in range(2)])
    found = loops_of(sequence)
    assert found is not None
    assert np.array_equal(np.stack([replay(found, channel) for channel in range(2)]), sequence)


def test_loops_end_at_the_axes_of_a_shape():
    sequence = np.arange(12)[None, :]
    assert [extent for extent, _ in loops_of(sequence)] == [12]
    assert [extent for extent, _ in loops_in_shape(sequence, (3, 4))] == [3, 4]
    assert loops_of(np.array([[0, 1, 3, 4, 9]])) is None


def test_a_large_product_is_recognised():
    @circuit
    def large(a: matrix(16, 16), b: matrix(16, 16)):
        return a @ b

    program, _, graph = lifted(large)
    assert graph.num_products == 4096
    assert [op.name for op in program.module.body.ops[:-1]] == ["tensor.matmul"]


SHARED = {"ring_degree": 1024, "insecure": True, "precision_bits": 8}


def inputs_of(function):
    return {p.name: RNG.uniform(-1, 1, p.kind.shape) for p in function.inputs}


@pytest.mark.parametrize("function", [complex_product, matrix_vector, scaled], ids=lambda f: f.name)
def test_models_of_arrays_compute_the_circuit_encrypted(function):
    model = lw.compile(function, algorithm="tensors", **SHARED)
    given = inputs_of(function)
    wanted = function(**given)
    assert model.plan.circuit.method == "tensors"
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(**given)))
    for got, expected in pairs(found, wanted):
        assert np.allclose(got.reveal(), np.array(expected, dtype=float), atol=2**-5)
    for got, expected in [*pairs(model.plaintext(**given), wanted), *pairs(model.simulate(**given), wanted)]:
        assert np.allclose(got, np.array(expected, dtype=float), atol=2**-5)


@pytest.mark.parametrize("function", [product, complex_product], ids=lambda f: f.name)
def test_models_of_arrays_are_exact_under_bfv(function):
    model = lw.compile(function, scheme="bfv", algorithm="tensors", plain_bits=20, ring_degree=2048, insecure=True)
    given = {p.name: RNG.integers(-9, 10, p.kind.shape) for p in function.inputs}
    wanted = function(**given)
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(**given)))
    for got, expected in pairs(found, wanted):
        assert np.array_equal(got.reveal().astype(int), np.array(expected).astype(int))
    for got, expected in [*pairs(model.plaintext(**given), wanted), *pairs(model.simulate(**given), wanted)]:
        assert np.array_equal(np.array(got).astype(int), np.array(expected).astype(int))


def test_the_cheaper_form_is_compiled_under_bfv():
    model = lw.compile(product, scheme="bfv", ring_degree=4096, insecure=True)
    ways = {way.name: way.seconds for way in model.plan.circuit.ways}
    assert {"tensors", "search"} <= ways.keys()
    assert model.plan.circuit.method == min(ways, key=ways.get)


def pairs(found, wanted):
    if isinstance(wanted, dict):
        return [(found[name], wanted[name]) for name in wanted]
    return list(zip(found, wanted, strict=True)) if isinstance(wanted, tuple) else [(found, wanted)]


def test_the_cheaper_of_lanes_and_arrays_is_compiled():
    model = lw.compile(dense, **SHARED)
    ways = {way.name: way for way in model.plan.circuit.ways}
    assert {"tensors", "search"} <= ways.keys()
    chosen = next(way for way in ways.values() if way.chosen)
    assert chosen.seconds == min(way.seconds for way in ways.values())
    assert model.plan.circuit.method == chosen.name
    assert "predicted time" in model.report().html()
    assert lw.compile(decisions, **SHARED).plan.circuit.method != "tensors"


def test_circuits_that_cannot_be_arrays_are_refused_if_they_have_to_be():
    with pytest.raises(UserError, match="no regular arithmetic"):
        lw.compile(decisions, algorithm="tensors", **SHARED)

    @circuit
    def fixed(x: vector(4, lanes=[0, 2, 4, 6]), y: vector(4)):
        return x * y

    with pytest.raises(UserError, match="lanes="):
        lw.compile(fixed, algorithm="tensors", **SHARED)
    assert lw.compile(fixed, **SHARED).plan.circuit.method == "search"


def test_arrays_are_computed_on_the_lines_of_their_numbers():
    module = lifted(product)[0].module
    (line,) = {loc.text for op in module.walk() for loc, _ in op.loc.shares} - {""}
    assert line.startswith("return [[sum(a[i, k] * b[k, j]")

    @circuit
    def written_out(x: vector(8), y: vector(8)):
        total = x[0] * y[0]
        for i in range(1, 8):
            total = total + x[i] * y[i]
        return total

    shares = [op.loc.shares for op in lifted(written_out)[0].module.walk() if op.loc.parts]
    lines = {loc.text for loc, _ in shares[0]}
    assert lines == {"total = x[0] * y[0]", "total = total + x[i] * y[i]"}
    assert min(share for _, share in shares[0]) == pytest.approx(1 / 15)
    assert sum(share for _, share in shares[0]) == pytest.approx(1.0)
