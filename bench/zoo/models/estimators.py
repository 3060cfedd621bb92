"""Estimators of scikit-learn, fitted here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import latticework as lw
from bench.zoo.entry import SEED, ZooEntry, ZooModel


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
}  # fmt: skip
