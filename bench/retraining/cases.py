"""Twenty models, each trained on one sample of its data and, as often as is asked, on others.

A case takes a generator of data and gives a trained program, its options, and what it computes in the clear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import latticework as lw

FloatArray = npt.NDArray[np.float64]
ROWS, FEATURES = 400, 8


@dataclass(frozen=True)
class Trained:
    """A model that was trained.

    data    like what is encrypted, a row each;  shown  what is encrypted of it, as the program takes it
    oracle  the model itself, on what is encrypted
    """

    program: Any
    data: Any
    shown: FloatArray
    oracle: Callable[[FloatArray], FloatArray]
    options: dict[str, Any] = field(default_factory=dict)


def _table(rng: np.random.Generator, classes: int = 2) -> tuple[FloatArray, npt.NDArray[np.int64], FloatArray]:
    """Rows, classes and numbers of one population: other rows each time."""
    fixed = np.random.default_rng(7)
    mixing, effects = fixed.normal(size=(FEATURES, FEATURES)) / 3, fixed.normal(size=(FEATURES, classes))
    rows = np.clip(rng.normal(size=(ROWS, FEATURES)), -2.5, 2.5) @ mixing + fixed.normal(size=FEATURES)
    scores = rows @ effects + rng.normal(size=(ROWS, classes)) / 2
    labels = np.asarray(scores.argmax(1)) if classes > 2 else (scores[:, 0] > np.median(scores[:, 0])).astype(np.int64)
    return rows, labels, scores[:, 0]


def _sklearn(make: Callable[[], Any], method: str, classes: int = 2, **options: Any) -> Callable[..., Trained]:
    """A case of an estimator; of classifiers `method` may be any that gives numbers."""

    def train(rng: np.random.Generator) -> Trained:
        rows, labels, numbers = _table(rng, classes)
        fitted = make()
        fitted.fit(rows, numbers if method == "predict" else labels)
        shown = rows[:1]
        program = lw.from_sklearn(fitted, method)
        return Trained(program, rows, shown, getattr(fitted, method), options)

    return train


def _scaled(model: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def _estimators() -> dict[str, Callable[..., Trained]]:
    from sklearn import linear_model as linear
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures
    from sklearn.svm import LinearSVC, LinearSVR

    return {
        "logistic regression": _sklearn(linear.LogisticRegression, "predict_proba"),
        "logistic regression, 3 classes": _sklearn(linear.LogisticRegression, "decision_function", 3),
        "scaler and logistic regression": _sklearn(lambda: _scaled(linear.LogisticRegression()), "predict_proba"),
        "ridge regression": _sklearn(linear.Ridge, "predict"),
        "scaler and lasso": _sklearn(lambda: _scaled(linear.Lasso(0.01)), "predict"),
        "linear SVM": _sklearn(lambda: LinearSVC(dual=False), "decision_function"),
        "linear SVR": _sklearn(lambda: LinearSVR(max_iter=9000), "predict"),
        "discriminant analysis": _sklearn(LinearDiscriminantAnalysis, "decision_function", 3),
        "PCA and ridge": _sklearn(lambda: make_pipeline(PCA(4), linear.Ridge()), "predict"),
        "squares and ridge": _sklearn(lambda: make_pipeline(PolynomialFeatures(2), linear.Ridge()), "predict"),
        "scaler and MLP, tanh": _sklearn(
            lambda: _scaled(MLPRegressor(hidden_layer_sizes=(8,), activation="tanh", random_state=0, max_iter=300)),
            "predict",
        ),
        "MLP, logistic": _sklearn(
            lambda: MLPClassifier(hidden_layer_sizes=(8,), activation="logistic", random_state=0, max_iter=300),
            "predict_proba",
        ),
    }


def train_tree(rng: np.random.Generator) -> Trained:
    """Train a decision tree that compares by composed signs; rows keep away from its thresholds."""
    from sklearn.tree import DecisionTreeRegressor

    rows, _, numbers = _table(rng)
    fitted = DecisionTreeRegressor(max_depth=2, random_state=0).fit(rows, numbers)
    program = lw.from_sklearn(fitted, "predict", trees="sign", samples=rows, gap=0.05)
    kept = rows[np.asarray(program.keeps_apart(rows))]
    return Trained(program, kept, kept[:1], fitted.predict)


def _torch(make: Callable[[Any], Any], shape: tuple[int, ...]) -> Callable[..., Trained]:
    """A case of a PyTorch module, trained for a few steps towards one fixed function of its inputs."""

    def train(rng: np.random.Generator) -> Trained:
        import torch

        torch.manual_seed(0)
        module = make(torch.nn)
        data = np.clip(rng.normal(size=(256, *shape)), -2.5, 2.5)
        inputs = torch.tensor(data, dtype=torch.float32)
        wanted = inputs.flatten(1)[:, :3].sin()
        optimiser = torch.optim.Adam(module.parameters(), 0.01)
        for _ in range(60):
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(module(inputs), wanted).backward()
            optimiser.step()
        module.eval()

        def oracle(x: FloatArray) -> FloatArray:
            with torch.no_grad():
                return np.asarray(module(torch.tensor(x, dtype=torch.float32)).numpy(), dtype=np.float64)

        program = lw.from_torch(module, inputs[:1])
        return Trained(program, data[:, None], data[:1], oracle, {"precision_bits": 8})

    return train


def _networks() -> dict[str, Callable[..., Trained]]:
    def dense(nn: Any, activation: str) -> Any:
        return nn.Sequential(nn.Linear(8, 16), getattr(nn, activation)(), nn.Linear(16, 3))

    def images(nn: Any) -> Any:
        return nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.SiLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 3)
        )  # fmt: skip

    return {
        "PyTorch, ReLU": _torch(lambda nn: dense(nn, "ReLU"), (8,)),
        "PyTorch, GELU": _torch(lambda nn: dense(nn, "GELU"), (8,)),
        "PyTorch CNN": _torch(images, (1, 8, 8)),
    }


def train_batch(rng: np.random.Generator) -> Trained:
    """Fit a regression for rows that fill the slots."""
    rows, _, numbers = _table(rng)
    weights = np.linalg.lstsq(rows, numbers, rcond=None)[0][:, None] / 8

    @lw.program
    def likely(x: lw.Secret[FEATURES], w: Any) -> Any:
        return lw.sigmoid(x @ w)

    def oracle(x: FloatArray) -> FloatArray:
        return np.asarray(1 / (1 + np.exp(-(x @ weights))))

    return Trained(likely, rows, rows[:5], oracle, {"weights": (weights,), "batch": "fill"})


def train_circuit(rng: np.random.Generator) -> Trained:
    """Fit a quadratic in two numbers, as a circuit."""
    rows = rng.uniform(-1, 1, (200, 2))
    features = np.stack([rows[:, 0], rows[:, 1], rows[:, 0] * rows[:, 1]], 1)
    noisy = features @ [0.4, -0.3, 0.5] + rng.normal(size=200) / 50
    weights = np.linalg.lstsq(features, noisy, rcond=None)[0]

    @lw.circuit
    def quadratic(x: lw.vector(2, low=-1, high=1), w: Any) -> Any:  # type: ignore[valid-type]
        return w[0] * x[0] + w[1] * x[1] + w[2] * x[0] * x[1]

    def oracle(x: FloatArray) -> FloatArray:
        return np.asarray(weights[0] * x[0] + weights[1] * x[1] + weights[2] * x[0] * x[1])

    return Trained(quadratic, None, rows[0], oracle, {"weights": (weights,), "effort": "fast"})


def train_exact(rng: np.random.Generator) -> Trained:
    """Draw whole weights of a circuit on integers."""
    weights = rng.integers(-9, 10, 4)

    @lw.circuit
    def total(x: lw.vector(4, low=-9, high=9), w: Any) -> Any:  # type: ignore[valid-type]
        return sum(int(w[i]) * x[i] * x[i] for i in range(4))

    def oracle(x: FloatArray) -> FloatArray:
        return np.asarray(np.sum(weights * x * x))

    return Trained(
        total, None, np.array([3, -2, 9, 1]), oracle, {"weights": (weights,), "scheme": "bfv", "effort": "fast"}
    )


def train_loop(rng: np.random.Generator) -> Trained:
    """Fit the map of a loop that is bootstrapped; the set is one for tests, as larger ones take minutes."""
    rows = rng.uniform(-1, 1, (32, 4))
    weights = np.array([0.5, -0.3, 0.1]) + rng.normal(size=3) / 100

    @lw.program
    def looped(x: lw.Secret[4], w: Any) -> Any:
        return lw.for_loop(6, lambda _, y: y * y * float(w[0]) + float(w[1]) * y + float(w[2]), x)

    def oracle(x: FloatArray) -> FloatArray:
        for _ in range(6):
            x = x * x * weights[0] + weights[1] * x + weights[2]
        return x

    options = {"weights": (weights,), "precision_bits": 8, "bootstrap_set": "T12", "insecure": True}
    return Trained(looped, rows, rows[0], oracle, options)


def cases() -> dict[str, Callable[..., Trained]]:
    """All of them, by name."""
    return {
        **_estimators(),
        "tree by signs": train_tree,
        **_networks(),
        "logistic program, batch": train_batch,
        "circuit": train_circuit,
        "circuit of integers": train_exact,
        "bootstrapped loop": train_loop,
    }
