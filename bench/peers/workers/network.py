"""The digits demo's network as both sides get it, and its results by NumPy. Python 3.10, NumPy only."""

from __future__ import annotations

from pathlib import Path

import numpy as np

INPUTS, HIDDEN, OUTPUTS = 64, 32, 10
DEGREE = 15


class Network:
    """Weights, some images, and the activation as a Chebyshev series on [low, high], from an .npz file."""

    def __init__(self, path: Path | str) -> None:
        with np.load(path) as content:
            self.w1, self.b1, self.w2, self.b2 = (content[name] for name in ("w1", "b1", "w2", "b2"))
            self.images, self.series = content["images"], content["series"]
            self.low, self.high = float(content["low"]), float(content["high"])

    def scaled(self) -> tuple[np.ndarray, np.ndarray]:
        """(weights, bias) of the first layer that bring its results to [-1, 1]."""
        half = (self.high - self.low) / 2
        return self.w1 / half, (self.b1 - (self.high + self.low) / 2) / half

    def logits(self) -> np.ndarray:
        """Results for all images, with the polynomial."""
        w1, b1 = self.scaled()
        return np.polynomial.chebyshev.chebval(self.images @ w1 + b1, self.series) @ self.w2 + self.b2

    def different_classes(self, found: np.ndarray) -> int:
        """Images whose largest logit is another one."""
        return int(np.count_nonzero(found.argmax(axis=1) != self.logits().argmax(axis=1)))
