"""The data that the programs train on: random samples and clusters, breast cancer and iris, all scaled near 1.

Source: HALO (ASPLOS'25), section 6: 4096 random samples for each variable of a regression, random clusters for SVM and
K-means, iris for PCA, breast cancer for logistic regression.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
NOISE = 0.02  # of what is fitted
MARGIN_ROWS = 569  # of breast cancer


@cache
def line(samples: int, seed: int = 0) -> tuple[Floats, Floats]:
    """x and y = 0.7 x + 0.2, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, samples)
    return x, 0.7 * x + 0.2 + NOISE * rng.normal(size=samples)


@cache
def parabola(samples: int, seed: int = 1) -> tuple[Floats, Floats]:
    """x and y = 0.3 - 0.4 x + 0.5 x^2, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, samples)
    return x, 0.3 - 0.4 * x + 0.5 * x**2 + NOISE * rng.normal(size=samples)


@cache
def plane(samples: int, seed: int = 2) -> tuple[Floats, Floats]:
    """Three variables, (samples, 3), and three linear functions of them, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (samples, 3))
    weights = rng.uniform(-1, 1, (3, 3))
    return x, x @ weights + NOISE * rng.normal(size=(samples, 3))


@cache
def breast_cancer() -> tuple[Floats, Floats]:
    """30 features and a constant, (569, 31), each standardised and cut at four deviations, over 4; labels 0 and 1."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    features = np.clip((found.data - found.data.mean(axis=0)) / found.data.std(axis=0), -4, 4) / 4
    return np.column_stack([features, np.ones(len(features))]), found.target.astype(np.float64)


@cache
def iris() -> Floats:
    """The covariance matrix of its four measurements, (4, 4)."""
    from sklearn.datasets import load_iris

    return np.cov(load_iris().data.T)


@cache
def clusters(points: int = 512, seed: int = 3) -> Floats:
    """Points about two centres, (points, 2), of which the first two are of one cluster each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, points)
    labels[:2] = 0, 1
    centres = np.array([[-0.45, -0.35], [0.4, 0.45]])
    return np.clip(centres[labels] + 0.12 * rng.normal(size=(points, 2)), -1, 1)


@cache
def classes(points: int = 1024, seed: int = 4) -> tuple[Floats, Floats]:
    """Points about two centres, (points, 2), and their labels -1 and 1."""
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], points)
    x = labels[:, None] * np.array([0.35, 0.25]) + 0.2 * rng.normal(size=(points, 2))
    return np.clip(x, -1, 1), labels
