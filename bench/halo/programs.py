"""The seven programs, written as users write them; one text for every compiler.

Each takes encrypted data and a trip count, which is an argument of the run or, where `iterations` is given, known.
Constants and numbers of values carried are the paper's; what its public code gets wrong is right here.
Source: HALO (ASPLOS'25), section 6, and its public programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import latticework as lw
from bench.halo import data

SAMPLES = 4096
Trips = Any  # int, or an `lw.Index`


@dataclass(frozen=True)
class Case:
    """One program.

    program   of a number of iterations, or with an argument n
    inputs    encrypted ones by name
    carried   values that its loop carries, as the paper counts them
    """

    name: str
    program: Callable[[int | None], lw.Program]
    inputs: Mapping[str, Any]
    carried: int


# -- regressions ---------------------------------------------------------------------------------


def fit_line(n: Trips, x: Any, y: Any) -> Any:
    """Weight and offset of a line, by gradient descent."""

    def step(_: Any, w: Any, b: Any) -> Any:
        error = w * x + b - y
        return w - 0.01 * np.mean(error * x), b - 0.01 * np.mean(error)

    return lw.for_loop(n, step, (1.0, 0.0))


def fit_parabola(n: Trips, x: Any, y: Any) -> Any:
    """Three coefficients of a polynomial."""

    def step(_: Any, w0: Any, w1: Any, w2: Any) -> Any:
        error = w0 + w1 * x + w2 * x**2 - y
        gradients = np.mean(error), np.mean(error * x), np.mean(error * x**2)
        return tuple(w - 1e-4 * g for w, g in zip((w0, w1, w2), gradients, strict=True))

    return lw.for_loop(n, step, (1.0, 1.0, 1.0))


def fit_plane(n: Trips, x: Any, y: Any) -> Any:
    """Nine weights, of three linear functions of three variables."""

    def step(_: Any, w: Any) -> Any:
        return w - 0.01 * (x.T @ (x @ w - y)) / len(x)

    return lw.for_loop(n, step, np.repeat([[1.0], [1.5], [2.0]], 3, axis=1))


def classify(n: Trips, x: Any, y: Any) -> Any:
    """31 weights of a logistic regression."""

    def step(_: Any, w: Any) -> Any:
        return w - 4.0 * ((lw.sigmoid(x @ w) - y) @ x) / len(x)

    return lw.for_loop(n, step, np.zeros(31))


def linear(iterations: int | None = None, samples: int = SAMPLES) -> lw.Program:
    """Linear regression of one variable."""
    if iterations is not None:

        @lw.program
        def linear(x: lw.Secret[samples], y: lw.Secret[samples]) -> Any:
            return fit_line(iterations, x, y)

        return linear

    @lw.program
    def linear_of(x: lw.Secret[samples], y: lw.Secret[samples], n: lw.Index) -> Any:
        return fit_line(n, x, y)

    return linear_of


def polynomial(iterations: int | None = None, samples: int = SAMPLES) -> lw.Program:
    """Polynomial regression."""
    if iterations is not None:

        @lw.program
        def polynomial(x: lw.Secret[samples], y: lw.Secret[samples]) -> Any:
            return fit_parabola(iterations, x, y)

        return polynomial

    @lw.program
    def polynomial_of(x: lw.Secret[samples], y: lw.Secret[samples], n: lw.Index) -> Any:
        return fit_parabola(n, x, y)

    return polynomial_of


def multivariate(iterations: int | None = None, samples: int = SAMPLES) -> lw.Program:
    """Multivariate regression."""
    if iterations is not None:

        @lw.program
        def multivariate(x: lw.Secret[samples, 3], y: lw.Secret[samples, 3]) -> Any:
            return fit_plane(iterations, x, y)

        return multivariate

    @lw.program
    def multivariate_of(x: lw.Secret[samples, 3], y: lw.Secret[samples, 3], n: lw.Index) -> Any:
        return fit_plane(n, x, y)

    return multivariate_of


def logistic(iterations: int | None = None, samples: int = data.MARGIN_ROWS) -> lw.Program:
    """Logistic regression."""
    if iterations is not None:

        @lw.program
        def logistic(x: lw.Secret[samples, 31], y: lw.Secret[samples]) -> Any:
            return classify(iterations, x, y)

        return logistic

    @lw.program
    def logistic_of(x: lw.Secret[samples, 31], y: lw.Secret[samples], n: lw.Index) -> Any:
        return classify(n, x, y)

    return logistic_of


# -- with a sign -----------------------------------------------------------------------------

SHARP = np.array([0, 4589, 0, -16577, 0, 25614, 0, -12860]) / 1024
FLAT = np.array([0, 35, 0, -35, 0, 21, 0, -5]) / 16


def sign(x: Any) -> Any:
    """Of numbers in [-1, 1], within 0.009 of it from 0.01 on: four polynomials of degree 7, of depth 3 each.

    Source: Cheon, Kim and Kim, Efficient homomorphic comparison methods with optimal complexity (Asiacrypt'20).
    """
    for coefficients in (SHARP, SHARP, FLAT, FLAT):
        x = lw.polynomial(x, coefficients)
    return x


def cluster(n: Trips, x: Any) -> Any:
    """The centres of two clusters, from two points."""

    def step(_: Any, c0: Any, c1: Any) -> Any:
        d0, d1 = np.sum((x - c0) ** 2, axis=1), np.sum((x - c1) ** 2, axis=1)
        one = 0.5 + sign(0.2 * (d0 - d1)) / 2  # how much of each point is in the second cluster
        zero = 1.0 - one
        return tuple(
            (label @ x / len(x)) * inverse(np.sum(label) / len(x), 2.0, 5) for label in (zero, one)
        )  # fmt: skip

    return lw.for_loop(n, step, (x[0], x[1]))


def separate(n: Trips, x: Any, y: Any, w: Any, b: Any) -> Any:
    """Weights and offset of a support vector machine."""

    def step(_: Any, w0: Any, w1: Any, b: Any) -> Any:
        margin = y * (w0 * x[:, 0] + w1 * x[:, 1] - b) - 1.0
        violated = (0.5 - sign(0.1 * margin) / 2) * y
        g0, g1 = (0.02 * w - np.mean(violated * x[:, i]) for i, w in enumerate((w0, w1)))
        return w0 - 0.1 * g0, w1 - 0.1 * g1, b - 0.1 * np.mean(violated)

    return lw.for_loop(n, step, (w[0], w[1], b))


def inverse(a: Any, start: float, steps: int) -> Any:
    """1 / a by Newton's method, from one start for all a."""
    y = start
    for _ in range(steps):
        y = y * (2.0 - a * y)
    return y


def kmeans(iterations: int | None = None, points: int = 512) -> lw.Program:
    """K-means."""
    if iterations is not None:

        @lw.program
        def kmeans(x: lw.Secret[points, 2]) -> Any:
            return cluster(iterations, x)

        return kmeans

    @lw.program
    def kmeans_of(x: lw.Secret[points, 2], n: lw.Index) -> Any:
        return cluster(n, x)

    return kmeans_of


def svm(iterations: int | None = None, points: int = 1024) -> lw.Program:
    """A support vector machine, from encrypted weights."""
    if iterations is not None:

        @lw.program
        def svm(x: lw.Secret[points, 2], y: lw.Secret[points], w: lw.Secret[2], b: lw.Secret[()]) -> Any:
            return separate(iterations, x, y, w, b)

        return svm

    @lw.program
    def svm_of(x: lw.Secret[points, 2], y: lw.Secret[points], w: lw.Secret[2], b: lw.Secret[()], n: lw.Index) -> Any:
        return separate(n, x, y, w, b)

    return svm_of


# -- principal components ----------------------------------------------------------------------


def principal(outer: Trips, inner: Trips, c: Any) -> Any:
    """The largest eigenvalue of a matrix: power steps, each normalised by a Babylonian square root."""

    def normalised(v: Any) -> Any:
        a = np.sum(v * v)
        root = lw.for_loop(inner, lambda _, x: (x + a * inverse(x, 0.1, 4)) / 2, a)
        return v * inverse(root, 0.1, 4)

    start = c @ np.ones(4) / 4.0
    b = lw.for_loop(outer, lambda _, b: normalised(c @ b), start)
    return np.sum(b * (c @ b)), b


def pca(iterations: tuple[int, int] | None = None, size: int = 4) -> lw.Program:
    """PCA: (outer, inner) iterations."""
    if iterations is not None:
        outer, inner = iterations

        @lw.program
        def pca(c: lw.Secret[size, size]) -> Any:
            return principal(outer, inner, c)

        return pca

    @lw.program
    def pca_of(c: lw.Secret[size, size], n: lw.Index, m: lw.Index) -> Any:
        return principal(n, m, c)

    return pca_of


# -- all of them -------------------------------------------------------------------------------


def cases() -> dict[str, Case]:
    """By name, with their data."""

    def named(*names: str, of: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(names, of, strict=True))

    covariance = data.iris()
    start = {"w": np.ones(2), "b": 1.0}
    found = [
        Case("linear", linear, named("x", "y", of=data.line(SAMPLES)), 2),
        Case("polynomial", polynomial, named("x", "y", of=data.parabola(SAMPLES)), 3),
        Case("multivariate", multivariate, named("x", "y", of=data.plane(SAMPLES)), 9),
        Case("logistic", logistic, named("x", "y", of=data.breast_cancer()), 1),
        Case("kmeans", kmeans, {"x": data.clusters()}, 2),
        Case("svm", svm, named("x", "y", of=data.classes()) | start, 3),
        Case("pca", pca, {"c": covariance / np.max(covariance)}, 1),  # type: ignore[arg-type]
    ]
    return {case.name: case for case in found}
