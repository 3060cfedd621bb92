"""Numbers of ONNX files that mean nothing are refused: scales not above 0, eps below it, infinite attributes."""

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_graphs import model

import latticework as lw
from latticework.errors import RangeError

node = helper.make_node
WRONG = (0.0, -1.0, np.inf, -np.inf)


def array(name, values, kind=np.float32):
    return numpy_helper.from_array(np.asarray(values, kind), name)


ZERO, FINE = array("z", 3, np.uint8), array("o", 0.1)
WEIGHTS, WEIGHTS_ZERO = array("w", np.ones((3, 2)), np.int8), array("wz", 0, np.int8)
KERNEL = array("k", np.ones((2, 2, 1, 1)), np.int8)
PAIR = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])]
Q = node("QuantizeLinear", ["x", "o", "z"], ["q"])
QUANTISED = {
    "pair": (PAIR, []),
    "alone": ([node("QuantizeLinear", ["x", "s", "z"], ["y"])], []),
    "owner's": ([*PAIR[:1], node("DequantizeLinear", ["q", "s", "z"], ["d"]), node("Softmax", ["d"], ["y"])], []),
    "restored": ([Q, node("DequantizeLinear", ["q", "s", "z"], ["y"])], []),
    "weights": ([node("DequantizeLinear", ["w", "s", "wz"], ["d"]), node("MatMul", ["x", "d"], ["y"])], [WEIGHTS]),
    "after a sigmoid": ([node("Sigmoid", ["x"], ["g"]), node("QuantizeLinear", ["g", "s", "z"], ["q"]), PAIR[1]], []),
    "computed": ([node("Neg", ["o"], ["m"]), node("Neg", ["m"], ["p"]), node("Mul", ["p", "s"], ["t"]),
                  node("QuantizeLinear", ["x", "t", "z"], ["q"]), node("DequantizeLinear", ["q", "t", "z"], ["y"])], []),
    **{f"QLinearMatMul {place}": ([Q, node("QLinearMatMul", [s if i == place else n for i, n in enumerate(
        ["q", "o", "z", "w", "o", "wz", "o", "z"]) for s in ["s"]], ["r"]), node("DequantizeLinear", ["r", "o", "z"], ["y"])],
        [WEIGHTS]) for place in (1, 4, 6)},
}  # fmt: skip


@pytest.mark.parametrize("scale", WRONG)
@pytest.mark.parametrize("name", QUANTISED)
def test_a_scale_that_is_not_positive_and_finite_is_refused(name, scale):
    nodes, arrays = QUANTISED[name]
    file = model(nodes, {"x": [2, 3]}, ["y"], [array("s", scale), ZERO, FINE, WEIGHTS_ZERO, *arrays])
    with pytest.raises(RangeError, match=r"1 of 1 scales are not positive and finite, the first is .*export the model"):
        lw.from_onnx(file)


@pytest.mark.parametrize("scale", WRONG)
def test_one_wrong_scale_of_several_is_refused(scale):
    scales, zeros = array("s", [1.0, scale, 1.0]), array("z", [0, 0, 0], np.uint8)
    for axis in (1, -1):
        pair = [node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=axis),
                node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=axis)]  # fmt: skip
        with pytest.raises(RangeError, match="1 of 3 scales"):
            lw.from_onnx(model(pair, {"x": [2, 3]}, ["y"], [scales, zeros]))


def test_scales_of_a_convolution_are_checked():
    for place in (1, 4, 6):
        names = ["q", "o", "z", "k", "o", "wz", "o", "z"]
        names[place] = "s"
        nodes = [Q, node("QLinearConv", names, ["r"]), node("DequantizeLinear", ["r", "o", "z"], ["y"])]
        file = model(nodes, {"x": [1, 2, 3, 3]}, ["y"], [array("s", -0.1), ZERO, FINE, WEIGHTS_ZERO, KERNEL])
        with pytest.raises(RangeError, match="QLinearConv: 1 of 1 scales"):
            lw.from_onnx(file)


ONES = {name: array(name, np.ones(2)) for name in "gbmv"}
NORMALISED = {
    "BatchNormalization": (["x", "g", "b", "m", "v"], "epsilon"),
    "LayerNormalization": (["x", "g"], "epsilon"),
    "InstanceNormalization": (["x", "g", "b"], "epsilon"),
    "LRN": (["x"], "alpha"),
    "Elu": (["x"], "alpha"),
    "LeakyRelu": (["x"], "alpha"),
    "HardSigmoid": (["x"], "beta"),
}  # fmt: skip


@pytest.mark.parametrize("operator", NORMALISED)
def test_attributes_that_mean_nothing_are_refused(operator):
    operands, name = NORMALISED[operator]
    more = {"size": 3} if operator == "LRN" else {}
    for value in (np.inf, -np.inf, *([-1.0] if operator.endswith("Normalization") or operator == "LRN" else [])):
        nodes = [node(operator, operands, ["y"], **{name: value}, **more)]
        file = model(
            nodes, {"x": [1, 3, 2] if operator == "LayerNormalization" else [1, 2, 3, 3]}, ["y"], ONES.values()
        )
        with pytest.raises(RangeError, match=r"is infinite; repair|eps=-1; give|alpha=-1, .*give alpha and k"):
            lw.from_onnx(file)


def test_an_infinite_variance_is_refused():
    arrays = [array("v", [1.0, np.inf]), *(each for name, each in ONES.items() if name != "v")]
    with pytest.raises(RangeError, match="a variance is inf; repair"):
        lw.from_onnx(model([node("BatchNormalization", [*"xgbmv"], ["y"])], {"x": [1, 2, 3, 3]}, ["y"], arrays))
