"""Small ONNX files that skl2onnx wrote, as packages carry them."""

from __future__ import annotations

import numpy as np

import latticework as lw
from bench.zoo.entry import SEED, ZooEntry, ZooModel
from bench.zoo.packages import onnx_file


def _logreg_iris(file: bytes) -> ZooModel:
    from sklearn.datasets import load_iris

    x, y = load_iris(return_X_y=True)
    program = lw.from_onnx(file, {"float_input": (1, 4)})
    return ZooModel(program, x[::2, None], x[1::2, None], y[1::2])


def _perceptron(file: bytes) -> ZooModel:
    """On rows as its first operator, which scales them, says that they are."""
    import onnx

    first = onnx.load_from_string(file).graph.node[0]
    offset, scale = (np.array(each.floats) for each in sorted(first.attribute, key=lambda a: a.name) if each.floats)
    program = lw.from_onnx(file, {"input": (1, 4)})
    x = offset + np.random.default_rng(SEED).uniform(-1.7, 1.7, (192, 1, 4)) / scale
    return ZooModel(program, x[:128], x[128:], None, {"precision_bits": 6})


_SURFACES = "surfaces_onnx_files/"

ENTRIES = {
    "logreg-iris": ZooEntry(
        "onnxruntime 1.23.2: logreg_iris.onnx",
        onnx_file("onnxruntime", "onnxruntime/datasets/logreg_iris.onnx"), _logreg_iris, 4e-3,
    ),
    "perceptron-classifier": ZooEntry(
        "surfaces-onnx-files 0.0.1: k_neighbors_classifier.onnx, 4-64-64-1",
        onnx_file("surfaces-onnx-files", f"{_SURFACES}k_neighbors_classifier.onnx"), _perceptron,
    ),
    "perceptron-regressor": ZooEntry(
        "surfaces-onnx-files 0.0.1: k_neighbors_regressor.onnx, 4-64-64-1",
        onnx_file("surfaces-onnx-files", f"{_SURFACES}k_neighbors_regressor.onnx"), _perceptron,
    ),
    "perceptron-boosting": ZooEntry(
        "surfaces-onnx-files 0.0.1: gradient_boosting_regressor.onnx, 4-64-64-1",
        onnx_file("surfaces-onnx-files", f"{_SURFACES}gradient_boosting_regressor.onnx"), _perceptron,
    ),
}  # fmt: skip
