"""Ensembles of trees: exactly on digits, and by signs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import latticework as lw
from bench.zoo.entry import SEED, ZooEntry, ZooModel
from bench.zoo.packages import onnx_file

GAP = 2.0**-12  # of the boosted trees: nine in ten rows keep it


def _split() -> Any:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    x, y = load_breast_cancer(return_X_y=True)
    return train_test_split(x, y, test_size=0.3, random_state=SEED, stratify=y)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    parts = _split()
    return RandomForestClassifier(10, max_depth=4, random_state=SEED).fit(parts[0], parts[2]), *parts


def _exact(prepared: Any, digits: int = 8) -> ZooModel:
    fitted, x, held, _, labels = prepared
    circuit = lw.from_sklearn(fitted, "predict", trees="exact", samples=x, digits=digits)
    options = {"scheme": "bfv", "effort": "fast"}
    return ZooModel(circuit, None, held, labels, options, itself=fitted.predict)


def _boosting() -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    parts = _split()
    return GradientBoostingClassifier(n_estimators=100, max_depth=3, random_state=SEED).fit(parts[0], parts[2]), *parts


def _signs(prepared: Any) -> ZooModel:
    """On rows outside the band, which are those that signs have to be right for."""
    fitted, x, held, _, labels = prepared
    program = lw.from_sklearn(fitted, "predict", trees="sign", samples=x, gap=GAP)
    kept = program.keeps_apart(held, everywhere=False)
    calibrate = x[program.keeps_apart(x)]
    return ZooModel(program, calibrate, held[kept], labels[kept], {"precision_bits": 8})


def _surfaces(file: bytes) -> ZooModel:
    """On whole numbers around its thresholds, as hyperparameters are."""
    x = np.random.default_rng(SEED).integers(0, [3, 6, 8, 160], size=(512, 4)).astype(np.float64)
    program = lw.from_onnx(file, {"input": (1, 4)}, trees="sign", samples=x)
    options = {"precision_bits": 8}
    return ZooModel(program, x[:256, None], x[256:, None], None, options)


ENTRIES = {
    "surfaces-trees": ZooEntry(
        "surfaces-onnx-files 0.0.1: k_neighbors_classifier.validity.onnx, a tree of 24 leaves",
        onnx_file("surfaces-onnx-files", "surfaces_onnx_files/k_neighbors_classifier.validity.onnx"), _surfaces, 5.0,
    ),
    "forest-exact": ZooEntry(
        "scikit-learn: RandomForestClassifier, 10 trees of depth 4, exact on 8 digits of 30 raw columns", _forest,
        _exact, 2.0, filled_seconds=0.02,
    ),
    "forest-exact-fine": ZooEntry(
        "scikit-learn: the same forest, exact on 16 digits", _forest, partial(_exact, digits=16), 2.0,
        filled_seconds=0.02,
    ),
    "boosting-exact": ZooEntry(
        "scikit-learn: GradientBoostingClassifier, 100 trees of depth 3, exact on 8 digits", _boosting, _exact, 10.0,
    ),
    "boosting-signs": ZooEntry(
        "scikit-learn: GradientBoostingClassifier, 100 trees of depth 3, by signs on rows outside the band", _boosting,
        _signs, 10.0,
    ),
}  # fmt: skip
