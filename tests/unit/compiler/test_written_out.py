"""Softmaxes and activations that ONNX files write out in several nodes: found by what they compute, and only then."""

import numpy as np
import pytest
from onnx import helper
from onnx_graphs import array, model, reference
from scipy.special import erf, expit, softmax

import latticework as lw
from latticework.frontend import trace
from latticework.plan.client_steps import Softmax

node = helper.make_node
RNG = np.random.default_rng(3)
V = RNG.normal(size=(4, 4)).astype(np.float32)


def softmax_of(*, keepdims=1, least=(), to=(), stretched=(), axis=-1, shape=(2, 3, 4), top="e", after=()):
    """A file: x is a product with weights; exponentials of x less its largest element, over their sum; reshaped and expanded where `to` says so."""
    nodes = [node("MatMul", ["given", "v"], ["x"]), node("ReduceMax", ["x"], ["m0"], axes=[axis], keepdims=keepdims)]
    nodes += [node("Max", ["least", "m0"], ["m1"]) if least else node("Identity", ["m0"], ["m1"])]
    nodes += [node("Reshape", ["m1", "to"], ["m2"]) if to else node("Identity", ["m1"], ["m2"])]
    nodes += [node("Expand", ["m2", "stretched"], ["m3"]) if stretched else node("Identity", ["m2"], ["m3"])]
    nodes += [node("Sub", ["x", "m3"], ["d"]), node("Exp", ["d"], ["e"]), node("Exp", ["x"], ["f"])]
    nodes += [node("ReduceSum", ["e", "axes"], ["s0"], keepdims=keepdims)]
    nodes += [node("Reshape", ["s0", "to"], ["s1"]) if to else node("Identity", ["s0"], ["s1"])]
    nodes += [node("Div", [top, "s1"], ["y" if not after else "q"]), *after]
    arrays = [
        array("v", V[: shape[-1], : shape[-1]]),
        array("axes", np.array([axis])),
        array("least", np.array(least, np.float32)),
    ]
    arrays += [array("to", np.array(to, np.int64)), array("stretched", np.array(stretched, np.int64))]
    return model(nodes, {"given": list(shape)}, ["y"], [a for a in arrays if a.dims != [0]])


@pytest.mark.parametrize(
    "written",
    [{}, {"axis": 1}, {"least": [-np.inf]}, {"least": [0.5]}, {"keepdims": 0, "to": (2, 3, 1)},
     {"keepdims": 0, "to": (2, -1, 1), "stretched": (2, 3, 1)}, {"keepdims": 0, "to": (2, 1, 4), "axis": 1}],
)  # fmt: skip
def test_a_softmax_at_the_end_is_its_owners_however_it_is_written(written) -> None:
    given, x = softmax_of(**written), RNG.normal(size=(2, 3, 4)) * 3
    program = lw.from_onnx(given)
    (result,) = program.owner.after
    assert result.steps == (Softmax(written.get("axis", 2) - 3),)
    assert [each.operator for each in program.graph.nodes] == ["MatMul"]
    np.testing.assert_allclose(program(x), softmax(x @ V.astype(float), written.get("axis", -1)))
    np.testing.assert_allclose(program(x), reference(given, x)[0], rtol=1e-5)


@pytest.mark.parametrize(
    "written",
    [{"top": "f"}, {"keepdims": 0, "shape": (3, 3, 3)}, {"keepdims": 0, "to": (3, 1, 3), "shape": (3, 3, 3)}],
)
def test_what_looks_like_a_softmax_and_is_none_stays_what_it_is(written) -> None:
    """Another numerator; sums that meet other elements than their own, with and without a shape that says so."""
    given, x = softmax_of(**written), RNG.normal(size=written.get("shape", (2, 3, 4)))
    program = lw.from_onnx(given)
    assert not program.owner
    np.testing.assert_allclose(program(x), reference(given, x)[0], rtol=1e-5)
    scores = x @ V[: x.shape[-1], : x.shape[-1]]
    assert not any(np.allclose(program(x), softmax(scores, axis), rtol=1e-3) for axis in range(3))


def test_a_softmax_in_between_is_one_of_secrets() -> None:
    """Not the owner's, as a product with weights follows: one operation, without a comparison."""
    w = RNG.normal(size=(4, 4)).astype(np.float32)
    given = softmax_of(after=(node("MatMul", ["q", "w"], ["h"]), node("Mul", ["h", "h"], ["y"])))
    given.graph.initializer.append(array("w", w))
    program, x = lw.from_onnx(given), RNG.normal(size=(2, 3, 4))
    names = [op.name for op in trace(program, (), None).walk()]
    assert names.count("tensor.softmax") == 1 and "tensor.apply" not in names
    np.testing.assert_allclose(program(x), (softmax(x @ V.astype(float), -1) @ w.astype(float)) ** 2, rtol=1e-6)


def activation(kind):
    """A file that writes an activation out, and what it is."""
    numbers = {"half": 0.5, "one": 1.0, "root": np.sqrt(2.0), "cubic": 0.044715, "slope": np.sqrt(2 / np.pi)}
    ways = {
        "gelu": ([("Div", "x", "root", "a"), ("Erf", "a", "b"), ("Add", "b", "one", "c"), ("Mul", "x", "c", "d"),
                  ("Mul", "d", "half", "y")], lambda x: x * 0.5 * (1 + erf(x / np.sqrt(2)))),
        "gelu_tanh": ([("Mul", "cubic", "x", "a"), ("Mul", "x", "a", "b"), ("Mul", "x", "b", "c"), ("Add", "x", "c", "d"),
                       ("Mul", "slope", "d", "e"), ("Tanh", "e", "f"), ("Add", "one", "f", "g"), ("Mul", "half", "g", "h"),
                       ("Mul", "x", "h", "y")],
                      lambda x: x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
        "silu": ([("Sigmoid", "x", "a"), ("Mul", "a", "x", "y")], lambda x: x * expit(x)),
        "mish": ([("Softplus", "x", "a"), ("Tanh", "a", "b"), ("Mul", "x", "b", "y")],
                 lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    }  # fmt: skip
    steps, meaning = ways[kind]
    nodes = [node(operator, [name for name in names[:-1]], [names[-1]]) for operator, *names in steps]
    return nodes, [array(name, np.array([[value]])) for name, value in numbers.items()], meaning


@pytest.mark.parametrize("kind", ["gelu", "gelu_tanh", "silu", "mish"])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)])
def test_an_activation_is_one_function_on_the_range_of_its_own_argument(kind, shape) -> None:
    nodes, numbers, meaning = activation(kind)
    given = model([*nodes, node("Add", ["y", "y"], ["z"])], {"x": list(shape)}, ["z"], numbers)
    program, x = lw.from_onnx(given), RNG.normal(size=shape) * 3
    np.testing.assert_allclose(program(x), reference(given, x)[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(program(x).reshape(shape), 2 * meaning(x), rtol=1e-6, atol=1e-6)
    applied = [op for op in trace(program, (), None).walk() if op.name == "tensor.apply"]
    assert [op.attrs["function"].name for op in applied] == [kind]
    assert any("one function each" in note for note in program.notes)


def test_activations_of_something_that_is_computed_before_are_found_there() -> None:
    """The argument is itself a product and a sum with numbers."""
    nodes, numbers, meaning = activation("gelu")
    before = [node("Mul", ["given", "half"], ["u"]), node("Add", ["u", "one"], ["x"])]
    given = model([*before, *nodes], {"given": [2, 3]}, ["y"], numbers)
    x = RNG.normal(size=(2, 3))
    np.testing.assert_allclose(lw.from_onnx(given)(x), meaning(0.5 * x + 1), rtol=1e-6, atol=1e-6)
    assert any(each.operator == "Gelu" for each in lw.from_onnx(given).graph.nodes)


@pytest.mark.parametrize(("name", "value"), [("root", 1.5), ("half", 0.4), ("one", 1.001)])
def test_what_is_nearly_an_activation_is_none(name, value) -> None:
    nodes, numbers, _ = activation("gelu")
    kept = [n for n in numbers if n.name != name] + [array(name, np.array(value))]
    program = lw.from_onnx(model(nodes, {"x": [1, 3]}, ["y"], kept))
    assert [each.operator for each in program.graph.nodes] == [each.op_type for each in nodes]


def test_numbers_for_every_channel_are_no_function_of_one_number() -> None:
    nodes, numbers, _ = activation("gelu")
    kept = [n for n in numbers if n.name != "half"] + [array("half", np.array([0.5, 0.5, 0.5]))]
    program = lw.from_onnx(model(nodes, {"x": [1, 3]}, ["y"], kept))
    assert all(each.operator != "Gelu" for each in program.graph.nodes)


def test_values_that_are_outputs_too_stay() -> None:
    nodes, numbers, meaning = activation("silu")
    x = RNG.normal(size=(1, 3))
    a, y = lw.from_onnx(model(nodes, {"x": [1, 3]}, ["a", "y"], numbers))(x)
    np.testing.assert_allclose(a, expit(x))
    np.testing.assert_allclose(y, meaning(x))
