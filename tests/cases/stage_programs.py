"""Small programs of each kind, compiled with their stages kept: a dozen of each."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import latticework as lw

SMALL = {"ring_degree": 2048, "insecure": True, "keep_ir": True}
TINY = {"bootstrap_set": "T11", "insecure": True, "precision_bits": 8, "keep_ir": True}
RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, (12, 4))
WEIGHTS = RNG.uniform(-1, 1, (4, 3))


def array_program(body: Callable[..., object], *weights: np.ndarray, **options: object) -> lw.Model:
    """A program of four numbers, on data in [-1, 1]."""
    if weights:

        def run(x: lw.Secret[4], w):
            return body(x, w)
    else:

        def run(x: lw.Secret[4]):
            return body(x)

    return lw.compile(lw.program(run), weights=weights, calibrate=ROWS, **{**SMALL, "precision_bits": 6, **options})


def circuit(body: Callable[..., object], **options: object) -> lw.Model:
    """A circuit of four numbers from -3 to 3."""

    def run(x: lw.vector(4, low=-3, high=3)):
        return body(x)

    return lw.compile(lw.circuit(run), **{**SMALL, "effort": "fast", **options})


def exact(body: Callable[..., object], **options: object) -> lw.Model:
    """The same on integers."""
    return circuit(body, **{"scheme": "bfv", "ring_degree": 4096, **options})


def loop(step: Callable[..., object], turns: int = 6, **options: object) -> lw.Model:
    """A loop that bootstraps."""

    def run(x: lw.Secret[4], n: lw.Index):
        return lw.for_loop(n, lambda i, y: step(y, x), x)

    return lw.compile(lw.program(run), calibrate={"x": ROWS, "n": turns}, **TINY, **options)


def imported(make: Callable[[], object], **options: object) -> lw.Model:
    """A model of scikit-learn that was fitted on 60 rows."""
    return lw.compile(lw.from_sklearn(make()), calibrate=features(), **{**SMALL, "precision_bits": 5, **options})


@cache
def features() -> np.ndarray:
    """Return rows to fit models on."""
    return np.random.default_rng(1).normal(size=(60, 3))


def fitted(name: str, **options: object) -> Callable[[], object]:
    """A function that fits a linear model of scikit-learn."""

    def make() -> object:
        from sklearn import linear_model

        rows = features()
        target = rows @ np.array([1.0, -2.0, 0.5])
        is_class = "Classifier" in name or name in ("LogisticRegression", "Perceptron")
        return getattr(linear_model, name)(**options).fit(rows, target > 0 if is_class else target)

    return make


def shifted(function: Callable[..., object]) -> Callable[..., object]:
    """A function of what is well above 0."""
    return lambda x: function(x + 3)


ARRAYS = {
    "sum": lambda: array_program(lambda x, w: x @ w + 0.5, WEIGHTS),
    "square": lambda: array_program(np.square),
    "relu": lambda: array_program(lw.relu),
    "exp": lambda: array_program(np.exp),
    "root": lambda: array_program(shifted(np.sqrt)),
    "layers": lambda: array_program(lambda x, w: np.square(x @ w) @ w.T, WEIGHTS),
    "mean": lambda: array_program(lambda x: np.mean(x) * x),
    "roll": lambda: array_program(lambda x: np.roll(x, 1) * x - x),
    "outer": lambda: array_program(lambda x: np.outer(x, x)),
    "power": lambda: array_program(lambda x: x * x * x * x * x + 0.25 * x),
    "batch": lambda: array_program(lambda x, w: x @ w, WEIGHTS, batch=4),
    "batch by elements": lambda: array_program(lambda x, w: x @ w, WEIGHTS, batch=4, objective="throughput"),
    "two functions of one name": lambda: array_program(
        lambda x: lw.approximate(lambda v: np.sin(v))(x) * lw.approximate(lambda v: np.cos(v))(x)
    ),
}
CIRCUITS = {
    "dot": lambda: circuit(lambda x: x[0] * x[1] + x[2] * x[3]),
    "powers": lambda: circuit(lambda x: [v**3 for v in x]),
    "sums": lambda: circuit(sum),
    "scaled": lambda: circuit(lambda x: [0.5 * v - 0.25 for v in x]),
    "scalar code": lambda: circuit(lambda x: x[0] * x[1] - x[2], algorithm="scalar"),
    "annealed": lambda: circuit(lambda x: [x[0] * x[1], x[2] * x[3]], algorithm="annealing"),
    "as arrays": lambda: circuit(lambda x: [v * v for v in x], algorithm="tensors"),
    "spare": lambda: circuit(lambda x: x[0] * x[3], spare_levels=1),
    "rows": lambda: circuit(lambda x: x[0] * x[3] + x[1], batch=4),
    "differences": lambda: circuit(lambda x: [(x[i] - x[i - 1]) ** 2 for i in range(4)]),
    "polynomial": lambda: circuit(lambda x: 0.1 * x[0] ** 4 - x[0] + 0.3),
    "bootstrapped": lambda: circuit(lambda x: [0.01 * v**12 for v in x], ring_degree=None, **TINY),
    "exact dot": lambda: exact(lambda x: x[0] * x[1] + x[2] * x[3]),
    "exact powers": lambda: exact(lambda x: [v**3 for v in x]),
    "exact sums": lambda: exact(sum),
    "exact scaled": lambda: exact(lambda x: [5 * v - 2 for v in x]),
    "exact arrays": lambda: exact(lambda x: [v * v for v in x], algorithm="tensors"),
    "exact rows": lambda: exact(lambda x: x[0] * x[3] + x[1], batch=4),
    "exact scalars": lambda: exact(lambda x: x[0] * x[1] - x[2], algorithm="scalar"),
    "exact spare": lambda: exact(lambda x: x[0] * x[3], spare_levels=1),
    "exact differences": lambda: exact(lambda x: [(x[i] - x[i - 1]) ** 2 for i in range(4)]),
    "exact choice": lambda: exact(lambda x: lw.select(x[0] * x[0], x[1], x[2])),
    "exact maximum": lambda: exact(lambda x: lw.maximum(x[0], x[1])),
    "exact product": lambda: exact(lambda x: x[0] * x[1] * x[2] * x[3]),
}
LOOPS = {
    "multiplied": lambda: loop(lambda y, x: y * (0.5 + 0.4 * x)),
    "squared": lambda: loop(lambda y, x: 0.5 * y * y + 0.2),
    "added": lambda: loop(lambda y, x: 0.3 * y * x + 0.1),
    "rolled": lambda: loop(lambda y, x: np.roll(y, 1) * 0.7 * x),
    "mixed": lambda: loop(lambda y, x: 0.5 * y - 0.3 * y * x),
    "mean": lambda: loop(lambda y, x: np.mean(y) * 0.5 + 0.3 * x * y),
    "cubed": lambda: loop(lambda y, x: 0.5 * y * y * y + 0.1 * x),
    "masked": lambda: loop(lambda y, x: y * np.array([0.5, 0.25, 0.5, 0.25]) * x),
    "matrix": lambda: loop(lambda y, x: 0.4 * (y @ np.eye(4)[::-1]) * x),
    "negated": lambda: loop(lambda y, x: -0.6 * y * x),
    "few turns": lambda: loop(lambda y, x: 0.5 * y * x + 0.25, 3),
    "many turns": lambda: loop(lambda y, x: 0.5 * y * x - 0.25, 40),
    "rows of a loop": lambda: loop(lambda y, x: np.roll(y, 1) * 0.7 * x, batch=4),
}
MODELS = {
    "LinearRegression": lambda: imported(fitted("LinearRegression")),
    "Ridge": lambda: imported(fitted("Ridge")),
    "Lasso": lambda: imported(fitted("Lasso", alpha=0.01)),
    "ElasticNet": lambda: imported(fitted("ElasticNet", alpha=0.01)),
    "BayesianRidge": lambda: imported(fitted("BayesianRidge")),
    "Lars": lambda: imported(fitted("Lars")),
    "HuberRegressor": lambda: imported(fitted("HuberRegressor")),
    "LogisticRegression": lambda: imported(fitted("LogisticRegression")),
    "RidgeClassifier": lambda: imported(fitted("RidgeClassifier")),
    "Perceptron": lambda: imported(fitted("Perceptron")),
    "without margin": lambda: imported(fitted("LinearRegression"), margin=0.0),
    "rows": lambda: imported(fitted("Ridge"), batch=8),
}
HEIR_TEXTS = Path(__file__).parents[1] / "data" / "heir"
HEIR = {
    f"heir {name}": lambda name=name: lw.compile(
        lw.from_heir(gzip.decompress((HEIR_TEXTS / f"{name}.mlir.gz").read_bytes())), keep_ir=True
    )
    for name in ("dot", "matvec16")
}
