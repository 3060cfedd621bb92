"""Networks whose activations are squares or ReLU, trained on digits with NumPy alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Layers = list[tuple[FloatArray, FloatArray]]  # weights and bias of each

TRAINED, BATCH, TURNS = 8000, 64, 20
RATE, DECAY, MOST_GRADIENT = 1e-3, 1e-4, 1.0
FIRST_MOMENT, SECOND_MOMENT = 0.9, 0.999


class Activation(NamedTuple):
    """A function of hidden units, its slope, and the gain of first weights."""

    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    gain: float


SQUARE = Activation(np.square, lambda z: 2.0 * z, 0.7)  # squares of what is larger grow
RELU = Activation(lambda z: np.maximum(z, 0.0), lambda z: (z > 0.0).astype(np.float64), 2.0**0.5)


def read_digits(path: Path) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Images (n, 784) of numbers from 0 to 1, and their labels, of a file with `images` and `labels`."""
    with np.load(path) as held:
        images, labels = held["images"], held["labels"]
    return images.reshape(len(images), -1) / 255.0, labels.astype(np.int64)


def forward(layers: Layers, rows: FloatArray, activation: Activation) -> FloatArray:
    """Scores of every row."""
    for number, (weights, bias) in enumerate(layers):
        rows = rows @ weights + bias
        if number < len(layers) - 1:
            rows = activation.value(rows)
    return rows


def train(
    images: FloatArray, labels: npt.NDArray[np.int64], widths: tuple[int, ...], activation: Activation, seed: int = 0
) -> Layers:
    """A network trained on the first images, each moved by a pixel at random, by Adam with a falling rate.

    widths  of input, hidden layers and output
    """
    rng = np.random.default_rng(seed)
    layers: Layers = [(rng.normal(0.0, activation.gain / np.sqrt(a), (a, b)), np.zeros(b)) for a, b in pairwise(widths)]
    flat = [part for layer in layers for part in layer]
    first, second = ([np.zeros_like(part) for part in flat] for _ in range(2))
    steps, total = 0, TURNS * (TRAINED // BATCH)
    for _ in range(TURNS):
        order = rng.permutation(TRAINED)
        for begin in range(0, TRAINED, BATCH):
            chosen = order[begin : begin + BATCH]
            moved = np.roll(images[chosen].reshape(-1, 28, 28), tuple(rng.integers(-1, 2, 2)), (1, 2))
            gradients = _gradients(layers, moved.reshape(len(chosen), -1), labels[chosen], activation)
            norm = np.sqrt(sum(float((g * g).sum()) for g in gradients))
            steps += 1
            rate = RATE * (0.51 + 0.49 * np.cos(np.pi * steps / total))
            for part, gradient, mean, square in zip(flat, gradients, first, second, strict=True):
                gradient *= min(1.0, MOST_GRADIENT / norm)
                mean += (1 - FIRST_MOMENT) * (gradient - mean)
                square += (1 - SECOND_MOMENT) * (gradient**2 - square)
                unbiased = mean / (1 - FIRST_MOMENT**steps), square / (1 - SECOND_MOMENT**steps)
                part -= rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
    return layers


def _gradients(
    layers: Layers, rows: FloatArray, labels: npt.NDArray[np.int64], activation: Activation
) -> list[FloatArray]:
    """Gradients of the mean cross entropy, layer by layer: of weights and of the bias."""
    inputs, sums = [rows], []
    for number, (weights, bias) in enumerate(layers):
        sums.append(inputs[-1] @ weights + bias)
        inputs.append(activation.value(sums[-1]) if number < len(layers) - 1 else sums[-1])
    shares = np.exp(inputs[-1] - inputs[-1].max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(labels)), labels] -= 1.0
    back = shares / len(labels)
    found: list[FloatArray] = []
    for number in reversed(range(len(layers))):
        weights = layers[number][0]
        found = [inputs[number].T @ back + DECAY * weights, back.sum(axis=0), *found]
        if number:
            back = (back @ weights.T) * activation.slope(sums[number - 1])
    return found
