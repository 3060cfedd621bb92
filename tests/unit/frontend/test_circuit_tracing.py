"""Tracing of circuits: what is recorded computes what plain Python computes, once."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.lanes.lane_graph import ADD_CONSTANT, INPUT, MUL, MUL_CONSTANT, NEG, SUB, evaluate, graph_of
from latticework.errors import LayoutError, ShapeError, TraceError
from latticework.frontend import trace_circuit
from latticework.ir import interpret, verify
from latticework.ir.parser import parse_module
from latticework.ir.printer import print_module
from latticework.plan.schema.arguments import gather, rebuild_result, scatter


def traced_values(circuit, values, weights=(), **options):
    """What the traced circuit gives, as the function returns it."""
    traced = trace_circuit(circuit, weights, **options)
    verify(traced.module)
    sizes = [value.type.count for value in traced.module.inputs]
    outputs = interpret(traced.module, gather(traced.arguments, sizes, values))
    held = np.array([x[()] for x in outputs], dtype=object)
    arrays = dict(zip((r.name for r in traced.results), scatter(traced.results, [held]), strict=True))
    return rebuild_result(traced.results, lambda r: arrays[r.name].tolist())


def codes(circuit, **options):
    return [node.code for node in graph_of(trace_circuit(circuit, **options).module).nodes if node.code != INPUT]


@lw.circuit
def everything(c: lw.vector(3, replicate=True), a: lw.matrix(2, 2), s: lw.scalar, w, times=2):
    """Arrays, loops and conditions on public values, nested results."""
    total = 0
    for i, x in enumerate(c):
        total += x if i % 2 else -x * w[i]
    for _ in range(times):
        total = total**2 if times > 1 else total
    product = a @ a.T
    rest = [np.sum(c[::-1] * np.array([1, 0, 2])), lw.select(c[0], s, 3 - s)]
    return {"total": total, "product": product, "rest": (rest, s**0 + s)}


def test_a_traced_circuit_computes_what_python_computes():
    values = {"c": [1, -2, 3], "a": [[1, 2], [3, 4]], "s": 10**30}
    plain = everything(**values, w=[5, 6, 7])
    got = traced_values(everything, values, ([5, 6, 7],))
    assert got["total"] == plain["total"] == (-5 - 2 - 21) ** 4
    assert got["product"] == plain["product"].tolist() == [[5, 11], [11, 25]]
    rest, last = got["rest"]
    assert (rest, last) == ([5, 10**30], 1 + 10**30)


def test_a_circuit_in_a_circuit_becomes_part_of_it():
    @lw.circuit
    def distance(x: lw.vector(2), y: lw.vector(2)):
        return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))

    @lw.circuit
    def both(x: lw.vector(2), y: lw.vector(2), z: lw.vector(2)):
        return distance(x, y) + distance([z[0], 0], y)

    values = {"x": [1, 2], "y": [3, 5], "z": [7, 8]}
    assert both(**values) == 13 + 41
    assert traced_values(both, values) == 13 + 41
    with pytest.raises(ShapeError, match=r"input y has shape \(3,\), declared is \(2,\)"):
        distance([1, 2], [1, 2, 3])


def test_equal_operations_are_recorded_once_and_public_ones_computed():
    @lw.circuit
    def f(x: lw.scalar(), y: lw.scalar()):
        return (x - y) * (x - y) + 0 * x + (y * 1 + 0) * (2 - 1), -(0 - x) - 0, x**3

    assert codes(f).count(SUB) == 1
    written = trace_circuit(f, share=False)
    assert written.written.adds == 3 and written.written.muls == 3


def test_public_operands_become_constants():
    @lw.circuit
    def f(x: lw.scalar()):
        return 5 - x, x * 3 + 7, x / 4

    graph = graph_of(trace_circuit(f, dtype="float64").module)
    assert [n.code for n in graph.nodes[1:]] == [NEG, ADD_CONSTANT, MUL_CONSTANT, ADD_CONSTANT, MUL_CONSTANT]
    assert evaluate(graph, [[8.0]]) == [-3.0, 31.0, 2.0]


def test_numpy_functions_of_arrays_of_numbers():
    def f(x):
        outer = np.outer(x, x)
        return (
            np.concatenate([x + np.array([1, 2]), np.roll(x, 1), np.cumsum(x)]),
            np.trace(outer),
            np.einsum("ij,j->i", outer, x),
        )

    f.__annotations__ = {"x": lw.vector(2)}
    got = traced_values(lw.circuit(f), {"x": [3, 4]})
    assert got == ([4, 6, 4, 3, 3, 7], 25, [75, 100])


def test_means_of_real_numbers():
    @lw.circuit
    def f(x: lw.vector(4)):
        return np.mean(x)

    assert traced_values(f, {"x": [1.0, 2.0, 3.0, 6.0]}, dtype="float64") == 3.0


def test_polynomials_of_numbers_and_arrays():
    @lw.circuit
    def f(x: lw.scalar(), y: lw.vector(2)):
        return lw.polynomial(x, [1, 0, 2, 1]), lw.polynomial(y, [0, 3]), lw.square(x)

    assert traced_values(f, {"x": 3, "y": [1, 2]}) == (1 + 18 + 27, [3, 6], 9)


def test_unused_and_returned_inputs():
    @lw.circuit
    def f(x: lw.vector(3), unused: lw.scalar()):
        return x[1], x[1] * x[2]

    graph = graph_of(trace_circuit(f).module)
    assert [node.code for node in graph.nodes] == [INPUT, INPUT, MUL]
    assert evaluate(graph, [[1, 2, 3], [4]]) == [2, 6]


def test_inputs_are_grouped_as_annotated():
    @lw.circuit
    def f(
        a: lw.scalar(),
        b: lw.scalar(),
        c: lw.scalar(replicate=False),
        d: lw.vector(2, group="g", lanes=[3, 5]),
        e: lw.scalar(group="g", lanes=[7]),
        h: lw.matrix(1, 2, replicate=True),
    ):
        return a + b + c + d[0] + e + h[0, 1]

    kinds = {g.name: (g.packing, g.lanes, len(g.labels)) for g in graph_of(trace_circuit(f).module).groups}
    assert kinds == {
        "numbers": ("free", (), 2),
        "c": ("grouped", (), 1),
        "g": ("grouped", (3, 5, 7), 3),
        "h": ("replicated", (), 2),
    }


def test_scalar_modules_have_a_text_form():
    module = trace_circuit(everything, ([1, 2, 3],)).module
    assert print_module(parse_module(print_module(module))) == print_module(module)


def test_weights_are_public_whether_annotated_or_not():
    @lw.circuit
    def f(x: lw.scalar(), w: lw.vector(2, secret=False), n=3):
        return x * w[0] + w[1] * n

    assert traced_values(f, {"x": 2}, ([5, 7],)) == 10 + 21
    assert traced_values(f, {"x": 2}, {"w": [5, 7], "n": 1}) == 17
    with pytest.raises(ShapeError, match=r"input w has shape \(3,\)"):
        trace_circuit(f, ([1, 2, 3],))
    with pytest.raises(TraceError, match=r"circuit f has 2 weights \(w, n\); missing: w"):
        trace_circuit(f)


def test_conflicting_groups_are_refused():
    def build(**annotations):
        def f(a, b):
            return a + b[0]

        f.__annotations__ = annotations
        return lw.circuit(f)

    with pytest.raises(LayoutError, match=r"group 'g': its inputs differ in replicate \(a: False, b: True\)"):
        build(a=lw.scalar(group="g"), b=lw.vector(2, group="g", replicate=True))
    with pytest.raises(LayoutError, match=r"a have lanes=, b have none"):
        build(a=lw.scalar(group="g", lanes=[1]), b=lw.vector(2, group="g"))
    with pytest.raises(LayoutError, match=r"lane 1 is given to two elements"):
        build(a=lw.scalar(group="g", lanes=[1]), b=lw.vector(2, group="g", lanes=[0, 1]))
    with pytest.raises(LayoutError, match=r"'b' names a group and an input outside it"):
        build(a=lw.vector(1, group="b"), b=lw.vector(2))
    with pytest.raises(LayoutError, match=r"lane 70000 is no slot"):
        lw.vector(1, lanes=[70000])
    with pytest.raises(LayoutError, match=r"3 lanes for 2 elements"):
        lw.vector(2, lanes=[1, 2, 3])
    with pytest.raises(LayoutError, match=r"lanes= says where each element lies, replicate=True leaves that"):
        lw.vector(2, lanes=[1, 2], replicate=True)
