"""The data that the programs train on: random samples and clusters, breast cancer and iris, all scaled near 1.

Source: HALO (ASPLOS'25), section 6: 4096 random samples for each variable of a regression, random clusters for SVM and
K-means, iris for PCA, breast cancer for logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_iris

Floats = npt.NDArray[np.float64]
Inputs = dict[str, Floats]
NOISE = 0.02  # of what is fitted
SPREAD = 0.2  # of clusters


def line(rng: np.random.Generator, samples: int) -> Inputs:
    """x and y = 0.7 x + 0.2, with noise."""
    x = rng.uniform(-1, 1, samples)
    return {"x": x, "y": 0.7 * x + 0.2 + NOISE * rng.normal(size=samples)}


def parabola(rng: np.random.Generator, samples: int) -> Inputs:
    """x and y = 0.3 - 0.4 x + 0.5 x^2, with noise."""
    x = rng.uniform(-1, 1, samples)
    return {"x": x, "y": 0.3 - 0.4 * x + 0.5 * x**2 + NOISE * rng.normal(size=samples)}


def plane(rng: np.random.Generator, samples: int) -> Inputs:
    """Three variables, (samples, 3), and three linear functions of them, with noise."""
    x = rng.uniform(-1, 1, (samples, 3))
    weights = rng.uniform(-1, 1, (3, 3))
    return {"x": x, "y": x @ weights + NOISE * rng.normal(size=(samples, 3))}


def breast_cancer(_rng: np.random.Generator, samples: int) -> Inputs:
    """30 features and a constant, each standardised and cut at four deviations, over 4; labels 0 and 1."""
    found, labels = load_breast_cancer(return_X_y=True)
    features = np.clip((found - found.mean(axis=0)) / found.std(axis=0), -4, 4) / 4
    x = np.column_stack([features, np.ones(len(features))])
    return {"x": x[:samples], "y": labels[:samples].astype(np.float64)}


def clusters(rng: np.random.Generator, samples: int) -> Inputs:
    """Points (samples, 2) of two clusters, by turns: so the first two are of one each."""
    centres = np.array([[-0.4, -0.3], [0.4, 0.5]])
    return {"points": centres[np.arange(samples) % 2] + SPREAD * rng.normal(size=(samples, 2))}


def two_classes(rng: np.random.Generator, samples: int) -> Inputs:
    """Two clusters whose labels are -1 and 1, and the model that training starts from."""
    y = np.where(np.arange(samples) % 2, 1.0, -1.0)
    x = y[:, None] * [0.4, 0.5] + SPREAD * rng.normal(size=(samples, 2))
    return {"x": x, "y": y, "w": np.ones(2), "b": np.ones(())}


def iris(_rng: np.random.Generator, samples: int) -> Inputs:
    """The covariance matrix of its four measurements, (4, 4)."""
    return {"c": np.cov(load_iris().data[:samples].T)}


SAMPLES: Mapping[str, int] = {
    "linear": 4096, "polynomial": 4096, "multivariate": 4096, "logistic": 569, "k-means": 512, "svm": 1024, "pca": 150,
}  # fmt: skip
_MAKERS: Mapping[str, Callable[[np.random.Generator, int], Inputs]] = {
    "linear": line, "polynomial": parabola, "multivariate": plane, "logistic": breast_cancer, "k-means": clusters,
    "svm": two_classes, "pca": iris,
}  # fmt: skip


def inputs_of(name: str, samples: int | None = None, seed: int = 0) -> Inputs:
    """The encrypted inputs of a program; of as many samples as the paper has if not said."""
    return _MAKERS[name](np.random.default_rng(seed), samples or SAMPLES[name])
