"""Quantised ONNX models, restored to numbers: within steps of the file's own results, where their types saturate too."""

import numpy as np
import pytest

import latticework as lw

pytest.importorskip("onnx")
from onnx import helper
from onnx_graphs import array, model, reference

node = helper.make_node
RNG = np.random.default_rng(4)


def pair(name, of, scale, zero):
    """What is quantised and restored at once, and its arrays."""
    arrays = [array(f"{name}_s", np.array(scale)), array(f"{name}_z", zero)]
    nodes = [node("QuantizeLinear", [of, f"{name}_s", f"{name}_z"], [f"{name}_q"]),
             node("DequantizeLinear", [f"{name}_q", f"{name}_s", f"{name}_z"], [name])]  # fmt: skip
    return nodes, arrays


def between(zero, scale=0.05, function=None):
    """x @ w, a function, quantised in the middle, @ v: all that is beyond the ends of the type is cut off there."""
    w, v = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 2))
    nodes, arrays = pair("h", "m" if function is None else "f", scale, zero)
    before = [node("MatMul", ["x", "w"], ["m"])] + ([node(function, ["m"], ["f"])] if function else [])
    nodes = [*before, *nodes, node("MatMul", ["h", "v"], ["y"])]
    return model(nodes, {"x": [3, 4]}, ["y"], [array("w", w), array("v", v), *arrays], opset=19), np.abs(v).sum(0).max()


@pytest.mark.parametrize("spread", [0.5, 20.0])
@pytest.mark.parametrize("zero", [np.uint8(0), np.uint8(128), np.int8(0), np.int8(-128), np.int8(127), np.uint8(40)])
def test_what_saturates_is_cut_off(zero, spread) -> None:
    given, gain = between(zero)
    program = lw.from_onnx(given)
    x = RNG.uniform(-spread, spread, (200, 3, 4))
    off = [np.abs(program(one) - reference(given, one)[0]).max() for one in x.astype(np.float32)]
    assert 0 < max(off) <= 0.025 * gain + 1e-4  # half a step of each of five numbers
    if spread > 1:
        cut = np.abs(x @ np.ones(4)).max()
        assert cut > 0.05 * 255  # else nothing was beyond


def test_scales_of_channels_and_matrices_of_bytes() -> None:
    """QLinearConv and QLinearMatMul, one scale a channel, saturating at both ends."""
    w = RNG.integers(-127, 128, (3, 2, 3, 3)).astype(np.int8)
    arrays = [array("xs", np.array(0.1)), array("xz", np.uint8(100)), array("w", w), array("ws", np.array([0.02, 0.01, 0.05])),
              array("wz", np.zeros(3, np.int8)), array("ys", np.array(0.2)), array("yz", np.uint8(0))]  # fmt: skip
    nodes = [node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
             node("QLinearConv", ["q", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["c"]),
             node("DequantizeLinear", ["c", "ys", "yz"], ["y"])]  # fmt: skip
    given = model(nodes, {"x": [1, 2, 4, 4]}, ["y"], arrays, opset=19)
    program = lw.from_onnx(given)
    gains = (np.abs(w * np.array([0.02, 0.01, 0.05]).reshape(3, 1, 1, 1))).sum((1, 2, 3))
    for spread in (2.0, 40.0):
        x = RNG.uniform(-spread, spread, (1, 2, 4, 4)).astype(np.float32)
        found, expected = program(x), reference(given, x)[0]
        assert np.all(np.abs(found - expected).max((0, 2, 3)) <= 0.05 * gains + 0.1 + 1e-4)
        assert (expected == 51.0).any() or spread == 2.0

    a, b = RNG.integers(0, 256, (4, 3)).astype(np.uint8), np.array([0.1, 0.02, 0.04])
    arrays = [array("xs", np.array(0.1)), array("xz", np.uint8(100)), array("a", a), array("bs", b), array("az", np.full(3, 128, np.uint8)),
              array("ys", np.array(0.1)), array("yz", np.uint8(128))]  # fmt: skip
    nodes = [node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
             node("QLinearMatMul", ["q", "xs", "xz", "a", "bs", "az", "ys", "yz"], ["c"]),
             node("DequantizeLinear", ["c", "ys", "yz"], ["y"])]  # fmt: skip
    given = model(nodes, {"x": [2, 4]}, ["y"], arrays, opset=19)
    gain = (np.abs(a.astype(float) - 128) * b).sum(0).max()
    for spread in (1.0, 30.0):
        x = RNG.uniform(-spread, spread, (2, 4)).astype(np.float32)
        assert np.abs(lw.from_onnx(given)(x) - reference(given, x)[0]).max() <= 0.05 * gain + 0.05 + 1e-4


def test_one_scale_a_channel_of_pairs() -> None:
    arrays = [
        array("s", np.array([0.01, 0.1, 0.02])),
        array("z", np.array([0, 10, -128], np.int8)),
        array("v", np.ones((3, 1))),
    ]
    nodes = [node("Tanh", ["x"], ["t"]), node("QuantizeLinear", ["t", "s", "z"], ["q"], axis=1),
             node("DequantizeLinear", ["q", "s", "z"], ["r"], axis=1), node("MatMul", ["r", "v"], ["y"])]  # fmt: skip
    given = model(nodes, {"x": [2, 3]}, ["y"], arrays, opset=19)
    x = np.array([[-9.0, -9.0, -9.0], [9.0, 9.0, 0.3]], np.float32)
    assert np.abs(lw.from_onnx(given)(x) - reference(given, x)[0]).max() <= 0.065 + 1e-6


def operators(program):
    """Those of the server, with what they do not have to cut off."""
    return [(n.operator, bool(n.options.get("fits"))) for n in program.graph.nodes if n.operator == "QuantizeLinear"]


def test_numbers_that_cannot_reach_the_ends_are_not_cut_off() -> None:
    given, gain = between(np.uint8(0), 1 / 256, "Sigmoid")
    program = lw.from_onnx(given)
    assert operators(program) == [("QuantizeLinear", True)]
    x = RNG.uniform(-9, 9, (3, 4)).astype(np.float32)
    assert np.abs(program(x) - reference(given, x)[0]).max() <= gain / 256 + 1e-5
    for zero, scale in ((np.uint8(0), 1 / 300), (np.uint8(128), 1 / 256)):
        assert operators(lw.from_onnx(between(zero, scale, "Sigmoid")[0])) == [("QuantizeLinear", False)]
    assert operators(lw.from_onnx(between(np.int8(0), 1 / 64, "Tanh")[0])) == [("QuantizeLinear", True)]
    assert operators(lw.from_onnx(between(np.uint8(0), 1 / 256, "Neg")[0])) == [("QuantizeLinear", False)]


@pytest.mark.slow
def test_what_is_cut_off_is_so_when_it_is_compiled() -> None:
    given, gain = between(np.uint8(0))
    program = lw.from_onnx(given)
    x = RNG.uniform(-6, 6, (300, 3, 4))
    compiled = lw.compile(program, calibrate=x, precision_bits=7, ring_degree=4096, insecure=True, progress=False)
    found = compiled.simulate(x[:40])[0]
    exact = np.stack([program(one) for one in x[:40]])
    files = np.stack([reference(given, one)[0] for one in x[:40].astype(np.float32)])
    band = compiled.plan.client.outputs[0].error_bound
    assert np.abs(found - exact).max() <= band and np.abs(found - files).max() <= band + 0.025 * gain
