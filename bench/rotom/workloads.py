"""The workloads as programs, with data: shapes for 8192 slots as the paper has them, and for 32768.

Sources: Rotom (section 7 and its public code) for the shapes and what is encrypted. TTM contracts the last mode. The
convolution has "same" padding and one filter of ones over all channels, as the public code runs it; the
8-to-8-channel one is what networks do. Logistic regression is one of its 32 iterations without the
sigmoid. Attention has projections with biases and (Q K^T) V for each head, no softmax and no scaling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

import latticework as lw

FloatArray = npt.NDArray[np.float64]
SLOTS = (8192, 32768)
# The seven of the paper; a convolution to 8 channels is ours.
PAPER = ("distance", "matmul", "double matmul", "ttm", "convolution", "logistic regression", "attention")


@dataclass(frozen=True)
class Workload:
    """One program with data.

    function   as a user writes it: of traced or of NumPy arrays
    inputs     what is encrypted, by parameter;  weights: what is public
    published  figures of the paper by name;  measured: counts of the public code, rolls on
    """

    name: str
    function: Callable[..., FloatArray]
    inputs: dict[str, FloatArray]
    weights: dict[str, FloatArray]
    measured: dict[str, int]
    published: dict[str, float]

    @property
    def program(self) -> Any:
        """The program, its encrypted parameters annotated with their shapes."""
        found = FunctionType(self.function.__code__, self.function.__globals__, self.function.__name__)
        found.__annotations__ = {name: lw.Secret[array.shape] for name, array in self.inputs.items()}
        return lw.program(found)

    def expected(self) -> FloatArray:
        """The result by NumPy."""
        return np.asarray(self.function(**self.inputs, **self.weights))


def uniform(seed: int, *shape: int, size: float = 1.0) -> FloatArray:
    """Numbers in [-size, size)."""
    return np.random.default_rng(seed).uniform(-size, size, shape)


def distance(x: Any, points: Any) -> Any:
    """Squared Euclidean distances of one vector to many points."""
    return ((x - points) ** 2).sum(axis=1)


def matmul(a: Any, b: Any) -> Any:
    """One product."""
    return a @ b


def double_matmul(a: Any, b: Any, c: Any) -> Any:
    """Two products."""
    return (a @ b) @ c


def ttm(t: Any, m: Any) -> Any:
    """A third-order tensor times a matrix along the last mode."""
    return t @ m


def convolution(image: Any, filters: Any) -> Any:
    """3 x 3, stride 1, "same" padding."""
    return lw.conv2d(image, filters, padding="same")


def logreg(w: Any, features: Any) -> Any:
    """Gradient of a batch without the sigmoid: X^T (X w)."""
    return features.T @ (features @ w)


def attention(h: Any, wq: Any, bq: Any, wk: Any, bk: Any, wv: Any, bv: Any) -> Any:
    """Multi-head attention scores times values, 64 dimensions a head."""
    tokens, width = h.shape
    heads = width // 64

    def split(x: Any) -> Any:
        return np.transpose(np.reshape(x, (tokens, heads, 64)), (1, 0, 2))

    q, k, v = split(h @ wq + bq), split(h @ wk + bk), split(h @ wv + bv)
    scores = q @ np.transpose(k, (0, 2, 1))
    return np.reshape(np.transpose(scores @ v, (1, 0, 2)), (tokens, width))


def workloads(slots: int) -> list[Workload]:
    """All of one size."""
    k = 1 if slots == SLOTS[0] else 2
    rows, inner, batch, side = 128 * k, 64 * k, 1024, 32 * k
    filters = {"filters": np.ones((1, 8, 3, 3))}
    width = 768
    square, line = (width, width), (width,)
    shapes = {"wq": square, "bq": line, "wk": square, "bk": line, "wv": square, "bv": line}
    projections = {name: uniform(seed, *shape, size=0.05) for seed, (name, shape) in enumerate(shapes.items(), 20)}
    small = slots == SLOTS[0]
    return [
        Workload("distance", distance, {"x": uniform(1, 64)},
                 {"points": uniform(2, 128, 64)},
                 {"rotations": 13, "ciphertexts": 1, "ct products": 1, "pt products": 1} if small else {}, {}),
        Workload("matmul", matmul, {"a": uniform(3, rows, inner)}, {"b": uniform(4, inner, rows)},
                 {"rotations": 21 if small else 29, "ciphertexts": 1, "pt products": 128 * k},
                 {"over Fhelipe": 39.0 if small else 20.0}),
        Workload("double matmul", double_matmul,
                 {"a": uniform(5, rows, inner), "b": uniform(6, inner, rows), "c": uniform(7, rows, inner)}, {},
                 {"rotations": 1792 if small else 4096, "ciphertexts": 3, "ct products": 256 * k,
                  "pt products": 128 * k},
                 {"over Fhelipe": 7.45 if small else 8.6}),
        Workload("ttm", ttm, {"t": uniform(8, 64, 64, 64), "m": uniform(9, 64, 64)}, {}, {}, {}),
        Workload("convolution", convolution, {"image": uniform(10, 8, side, side)}, filters,
                 {"rotations": 11, "ciphertexts": 1, "pt products": 18}, {}),
        Workload("convolution to 8 channels", convolution,
                 {"image": uniform(10, 8, side, side)}, {"filters": uniform(11, 8, 8, 3, 3)},
                 {"rotations": 15, "ciphertexts": 1, "pt products": 72}, {}),
        Workload("logistic regression", logreg, {"w": uniform(12, 256, size=0.1)},
                 {"features": uniform(13, batch, 256, size=0.1)},
                 {"rotations": 89, "ciphertexts": 1, "pt products": 128} if small else {}, {}),
        Workload("attention", attention, {"h": uniform(14, 128, width, size=0.5)}, projections,
                 {}, {"over Fhelipe": 10.0 if small else 80.3}),
    ]  # fmt: skip
