"""Small ONNX models, made with onnx.helper, and what ONNX's own evaluator says of them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def array(name, values):
    """An initializer of float32, or of whole numbers as they are."""
    values = np.asarray(values)
    return numpy_helper.from_array(values.astype(np.float32) if values.dtype.kind == "f" else values, name)


def model(nodes, inputs, outputs, arrays=(), *, opset=17, types=None, name="net", ml=0, functions=()):
    """A model; inputs by name with their shapes, outputs by name; real numbers, unless `types` says otherwise."""
    types = types or {}
    given = [helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), shape) for n, shape in inputs.items()]
    made = [helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), None) for n in outputs]
    graph = helper.make_graph(list(nodes), name, given, made, list(arrays))
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid("ai.onnx.ml", ml)] * bool(ml)
    opsets += [helper.make_opsetid(f.domain, 1) for f in functions]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=9)


def reference(of, *arrays):
    """The outputs by ONNX's reference evaluator."""
    session = ReferenceEvaluator(of)
    kinds = [onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in of.graph.input]
    given = {v.name: np.asarray(a).astype(k) for v, a, k in zip(of.graph.input, arrays, kinds, strict=False)}
    return session.run(None, given)


def perceptron(rng, batch="N"):
    """Two layers: 6 features, 5 hidden, 3 results."""
    node = helper.make_node
    return model(
        [node("Gemm", ["x", "w1", "b1"], ["h"], transB=1), node("Sigmoid", ["h"], ["s"]),
         node("MatMul", ["s", "w2"], ["m"]), node("Add", ["m", "b2"], ["y"])],
        {"x": [batch, 6]}, ["y"],
        [array("w1", rng.normal(size=(5, 6)) / 3), array("b1", rng.normal(size=5)),
         array("w2", rng.normal(size=(5, 3))), array("b2", rng.normal(size=3))],
    )  # fmt: skip


def convolutional(rng, batch="N"):
    """A convolution with uneven borders, a square, an average pool and a linear layer, on pictures of 8 x 8."""
    node = helper.make_node
    return model(
        [node("Conv", ["x", "w", "b"], ["c"], name="/layer1/conv", pads=[0, 1, 1, 0], strides=[2, 1]),
         node("Mul", ["c", "c"], ["q"]), node("AveragePool", ["q"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
         node("Shape", ["p"], ["shape"]), node("Gather", ["shape", "first"], ["n"]),
         node("Concat", ["n", "rest"], ["to"], axis=0), node("Reshape", ["p", "to"], ["f"]),
         node("Gemm", ["f", "W", "B"], ["y"])],
        {"x": [batch, 2, 8, 8]}, ["y"],
        [array("w", rng.normal(size=(3, 2, 3, 3)) / 4), array("b", rng.normal(size=3)), array("first", np.array([0])),
         array("rest", np.array([-1])), array("W", rng.normal(size=(18, 4)) / 4), array("B", rng.normal(size=4))],
    )  # fmt: skip
