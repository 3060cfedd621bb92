"""The seven programs, written as users write them; one text for every compiler.

Each takes encrypted data and numbers of iterations, which are arguments of a run or, as weights, of compilation.
Constants are the paper's, but for those that do not lead to what the program is to find (the guess of K-means' inverse,
which diverges, and of PCA's; the rate of logistic regression, by which it learns nothing). Means are over all samples.
Source: HALO (ASPLOS'25), section 6, and its public programs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import latticework as lw

Trips = Any  # int, or an `lw.Index`
# Cheon, Kim, Kim: Efficient Homomorphic Comparison Methods with Optimal Complexity (2020): g_3 and f_3
STEEP = (0.0, 4589 / 1024, 0.0, -16577 / 1024, 0.0, 25614 / 1024, 0.0, -12860 / 1024)
FLAT = (0.0, 35 / 16, 0.0, -35 / 16, 0.0, 21 / 16, 0.0, -5 / 16)


# -- regressions ---------------------------------------------------------------------------------


def linear(x: Any, y: Any, n: Trips) -> Any:
    """Weight and offset of a line, by gradient descent on samples (m,)."""

    def step(_: Any, w: Any, b: Any) -> Any:
        e = x * w + b - y
        return w - 0.01 * np.mean(e * x), b - 0.01 * np.mean(e)

    return lw.for_loop(n, step, (1.0, 0.0))


def polynomial(x: Any, y: Any, n: Trips) -> Any:
    """Three coefficients of a polynomial."""

    def step(_: Any, w0: Any, w1: Any, w2: Any) -> Any:
        e = w0 + w1 * x + w2 * x**2 - y
        return w0 - 1e-4 * np.mean(e), w1 - 1e-4 * np.mean(e * x), w2 - 1e-4 * np.mean(e * x**2)

    return lw.for_loop(n, step, (1.0, 1.0, 1.0))


def multivariate(x: Any, y: Any, n: Trips) -> Any:
    """Nine weights, of three linear functions of three variables; x and y are (m, 3)."""

    def step(_: Any, w: Any) -> Any:
        return w - 0.01 * (x.T @ (x @ w - y)) / len(x)

    return lw.for_loop(n, step, np.repeat([[1.0], [1.5], [2.0]], 3, axis=1))


def logistic(x: Any, y: Any, n: Trips) -> Any:
    """Weights of a logistic regression on rows x (m, features) and labels 0 and 1."""

    def step(_: Any, w: Any) -> Any:
        return w - 4.0 * ((lw.sigmoid(x @ w) - y) @ x) / len(x)

    return lw.for_loop(n, step, np.zeros(x.shape[1]))


# -- clusters and classes ------------------------------------------------------------------------


def k_means(points: Any, n: Trips) -> Any:
    """The centres of two clusters of points (m, 2), which start at the first two of them."""
    guess = 2.0 / len(points)  # of one over a number of points: right for half of them, and below 2 over all

    def step(_: Any, first: Any, second: Any) -> Any:
        to_first = np.sum((points - first) ** 2, axis=1)
        to_second = np.sum((points - second) ** 2, axis=1)
        in_second = 0.5 + 0.5 * sign(0.1 * (to_first - to_second))
        in_first = 1.0 - in_second
        return (
            in_first @ points * inverse(np.sum(in_first), guess, 5),
            in_second @ points * inverse(np.sum(in_second), guess, 5),
        )

    return lw.for_loop(n, step, (points[0], points[1]))


def svm(x: Any, y: Any, w: Any, b: Any, n: Trips) -> Any:
    """A linear support vector machine on rows x (m, 2) and labels -1 and 1, from an encrypted model."""

    def step(_: Any, w: Any, b: Any) -> Any:
        excess = y * (x @ w - b) - 1.0
        pull = (0.5 - 0.5 * sign(0.1 * excess)) * y  # of samples on the wrong side of the margin
        return w - 1e-3 * (0.02 * w - pull @ x / len(x)), b - 1e-3 * np.mean(pull)

    return lw.for_loop(n, step, (w, b))


def sign(x: Any) -> Any:
    """The sign of numbers in [-1, 1], as a composition of odd polynomials."""
    for _ in range(4):
        x = lw.polynomial(x, STEEP)
    return lw.polynomial(x, FLAT)


# -- principal components ------------------------------------------------------------------------


def pca(c: Any, outer: Trips, inner: Trips) -> Any:
    """The largest eigenvalue of a covariance matrix and its vector: power steps, norms by Babylonian square roots."""

    def power(_: Any, b: Any) -> Any:
        v = c @ b
        a = v @ v
        root = lw.for_loop(inner, lambda _, x: (x + a * inverse(x, 0.25, 4)) / 2, 5.0)
        return v * inverse(root, 0.25, 4)

    b = lw.for_loop(outer, power, power(0, np.full(len(c), 0.5)))
    return b @ (c @ b), b


def inverse(a: Any, guess: float, steps: int) -> Any:
    """1 / a by Newton's method, from one guess for all a, between 0 and 2 / a."""
    found: Any = guess
    for _ in range(steps):
        found = found * (2.0 - a * found)
    return found


# -- as programs ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class HaloProgram:
    """One of the seven.

    carried  values that its loops carry, as the paper counts them, the outer loop's first
    trips    parameters that are numbers of iterations; all others are encrypted
    """

    text: Callable[..., Any]
    carried: tuple[int, ...]
    trips: tuple[str, ...] = ("n",)

    def as_program(self, *, run_time: bool = False) -> lw.Program:
        """To be compiled: numbers of iterations are arguments of a run, or weights. Shapes come from an example."""

        def same(*args: Any, **kwargs: Any) -> Any:
            return self.text(*args, **kwargs)

        kinds = dict.fromkeys(self.trips, lw.Index if run_time else inspect.Parameter.empty)
        parameters = [
            each.replace(annotation=kinds.get(name, lw.Secret))
            for name, each in inspect.signature(self.text).parameters.items()
        ]
        same.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        same.__name__, same.__doc__ = self.text.__name__, self.text.__doc__
        same.__annotations__ = {p.name: p.annotation for p in parameters if p.annotation is not p.empty}
        return lw.program(same)


PROGRAMS = {
    "linear": HaloProgram(linear, (2,)),
    "polynomial": HaloProgram(polynomial, (3,)),
    "multivariate": HaloProgram(multivariate, (9,)),
    "logistic": HaloProgram(logistic, (1,)),
    "k-means": HaloProgram(k_means, (2,)),
    "svm": HaloProgram(svm, (3,)),
    "pca": HaloProgram(pca, (1, 1), ("outer", "inner")),
}
