"""Train the network of `bench.lenet.network`, or another, with NumPy alone, and keep the weights in the user's cache.

python -m bench.lenet.train mnist.npz    images (n, 28, 28) of bytes and labels (n,), under any two names
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from bench.lenet.network import CLASSES, SHAPES, SIDE
from latticework.errors import ShapeError, UserError

Array = npt.NDArray[np.float32]
Weights = dict[str, npt.NDArray[Any]]
HELD_OUT = 1000  # images, the last ones
VERSION = 1  # of the training; counts up when its result changes


@dataclass(frozen=True)
class Digits:
    """Images (n, 28, 28) of numbers in [0, 1], and their classes (n,)."""

    images: Array
    labels: npt.NDArray[np.int64]

    def __getitem__(self, chosen: slice) -> Digits:
        return Digits(self.images[chosen], self.labels[chosen])


@dataclass(frozen=True)
class Effort:
    """How long to train.

    rate   of Adam, falling to 0 along a cosine
    shift  images are moved by up to so many pixels, differently in every epoch
    """

    epochs: int = 20
    batch: int = 64
    rate: float = 2e-3
    shift: int = 2
    seed: int = 0


@dataclass(frozen=True)
class Network:
    """What is trained.

    shapes    of the weights by name, in order, the bias of the last layer at the end
    gradient  the loss of some digits, and its derivative by every weight
    """

    name: str
    shapes: Mapping[str, tuple[int, ...]]
    gradient: Callable[[Weights, Digits], tuple[float, Weights]]


def load(path: Path) -> Digits:
    """Digits of a file.

    raises  UserError if it holds no images with labels
    """
    try:
        with np.load(path) as file:
            arrays = [file[name] for name in file.files]
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as .npz: {error}; give a file with images and labels") from None
    images = next((a for a in arrays if a.shape[1:] == (SIDE, SIDE)), None)
    labels = next((a for a in arrays if a.ndim == 1), None)
    if images is None or labels is None or len(images) != len(labels):
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise ShapeError(
            f"{path} holds arrays of shapes {shapes}; needed are images (n, {SIDE}, {SIDE}) and labels (n,)"
        )
    return Digits((images / 255.0).astype(np.float32), labels.astype(np.int64))


def trained(path: Path, effort: Effort = Effort(), network: Network | None = None) -> Weights:
    """Weights trained on all but the last images of a file, from the cache if they were trained before."""
    network = network or LENET
    found = hashlib.sha256(path.read_bytes() + repr((VERSION, effort)).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "latticework"
    kept = folder / f"{network.name}-{found}.npz"
    if kept.exists():
        with np.load(kept) as file:
            return {name: file[name] for name in network.shapes}
    weights = train(load(path)[:-HELD_OUT], effort, network=network)
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}.npz")
    np.savez(partial, **weights)  # type: ignore[arg-type]
    partial.replace(kept)
    return weights


def train(
    digits: Digits,
    effort: Effort,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
    network: Network | None = None,
) -> Weights:
    """Weights by Adam on the cross entropy; `on_epoch` hears the mean loss of every epoch."""
    network = network or LENET
    rng = np.random.default_rng(effort.seed)
    weights = initial(rng, network.shapes)
    mean, spread = ({name: np.zeros_like(w) for name, w in weights.items()} for _ in range(2))
    steps = effort.epochs * -(-len(digits.labels) // effort.batch)
    step = 0
    for epoch in range(effort.epochs):
        losses = []
        for batch in batches(digits, effort, rng):
            loss, gradients = network.gradient(weights, batch)
            losses.append(loss)
            norm = np.sqrt(sum(float(np.sum(np.square(g))) for g in gradients.values()))
            rate = effort.rate * 0.5 * (1 + np.cos(np.pi * step / steps))
            step += 1
            for name, g in gradients.items():
                g = g * min(1.0, 2.0 / norm)  # squares of squares: a rare batch would throw the weights far off
                mean[name] += 0.1 * (g - mean[name])
                spread[name] += 0.001 * (g * g - spread[name])
                slope = mean[name] / (1 - 0.9**step)
                weights[name] -= np.float32(rate) * slope / (np.sqrt(spread[name] / (1 - 0.999**step)) + 1e-8)
        on_epoch(epoch, float(np.mean(losses)))
    return {name: np.asarray(w, dtype=np.float64) for name, w in weights.items()}


def initial(rng: np.random.Generator, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Weights to start from; biases of 1/2 make each square start as x^2 + x + 1/4 of the weighted sum."""
    found, last = {}, list(shapes)[-1]
    for name, shape in shapes.items():
        if name.startswith("bias"):
            found[name] = np.full(shape, 0.0 if name == last else 0.5, dtype=np.float32)
        else:
            inputs = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
            found[name] = (rng.normal(size=shape) * 0.5 / np.sqrt(inputs)).astype(np.float32)
    return found


def batches(digits: Digits, effort: Effort, rng: np.random.Generator) -> Iterator[Digits]:
    """All digits in a new order, each moved a little."""
    count, most = len(digits.labels), effort.shift
    framed = np.pad(digits.images, ((0, 0), (most, most), (most, most)))
    order = rng.permutation(count)
    moves = rng.integers(0, 2 * most + 1, (count, 2))
    for start in range(0, count, effort.batch):
        chosen = order[start : start + effort.batch]
        moved = [framed[i, r : r + SIDE, c : c + SIDE] for i, (r, c) in zip(chosen, moves[chosen], strict=True)]
        yield Digits(np.stack(moved), digits.labels[chosen])


def scores(weights: Weights, images: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scores (n, 10) of images (n, 28, 28)."""
    return forward(weights, images)[-1]


def accuracy(weights: Weights, digits: Digits) -> float:
    """Share of the digits whose class has the largest score."""
    return float(np.mean(scores(weights, digits.images).argmax(axis=1) == digits.labels))


def windows(maps: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows (n * h' * w', 25 c) of the 5 x 5 windows of maps (n, h, w, c)."""
    view = np.lib.stride_tricks.sliding_window_view(maps, (5, 5), axis=(1, 2))
    return view.reshape(-1, 25 * maps.shape[3])


def pooled(maps: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Means of 2 x 2 blocks of maps (n, h, w, c)."""
    return 0.25 * (maps[:, ::2, ::2] + maps[:, 1::2, ::2] + maps[:, ::2, 1::2] + maps[:, 1::2, 1::2])


def forward(weights: Weights, images: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """All that the gradient needs: of each layer its inputs (rows) and its sums before the square; then the scores."""
    count = len(images)
    rows1 = windows(images[..., None])
    sums1 = rows1 @ weights["kernels1"].reshape(6, -1).T + weights["bias1"]
    maps = pooled(np.square(sums1).reshape(count, 24, 24, 6))
    rows2 = windows(maps)
    sums2 = rows2 @ weights["kernels2"].reshape(16, -1).T + weights["bias2"]
    rows3 = pooled(np.square(sums2).reshape(count, 8, 8, 16)).transpose(0, 3, 1, 2).reshape(count, 256)
    sums3 = rows3 @ weights["dense3"] + weights["bias3"]
    rows4 = np.square(sums3)
    sums4 = rows4 @ weights["dense4"] + weights["bias4"]
    rows5 = np.square(sums4)
    return [rows1, sums1, rows2, sums2, rows3, sums3, rows4, sums4, rows5, rows5 @ weights["dense5"] + weights["bias5"]]


def cross_entropy(found: npt.NDArray[Any], labels: npt.NDArray[np.int64]) -> tuple[float, npt.NDArray[Any]]:
    """Of scores (n, 10): its mean, and its derivative by the scores."""
    count = len(labels)
    shifted = found - found.max(axis=1, keepdims=True)
    chances = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    loss = -float(np.mean(np.log(chances[np.arange(count), labels] + 1e-12)))
    return loss, (chances - np.eye(CLASSES, dtype=np.float32)[labels]) / count


def gradient(weights: Weights, digits: Digits) -> tuple[float, Weights]:
    """Cross entropy, and its derivative by every weight."""
    count = len(digits.labels)
    rows1, sums1, rows2, sums2, rows3, sums3, rows4, sums4, rows5, found = forward(weights, digits.images)
    loss, slope = cross_entropy(found, digits.labels)
    result: Weights = {}
    for number, rows, sums in ((5, rows5, sums4), (4, rows4, sums3), (3, rows3, None)):
        result[f"dense{number}"], result[f"bias{number}"] = rows.T @ slope, slope.sum(axis=0)
        slope = slope @ weights[f"dense{number}"].T
        if sums is not None:
            slope = 2 * sums * slope
    slope = slope.reshape(count, 16, 4, 4).transpose(0, 2, 3, 1)
    slope = 2 * sums2 * _spread(slope).reshape(-1, 16)
    result["kernels2"], result["bias2"] = (slope.T @ rows2).reshape(SHAPES["kernels2"]), slope.sum(axis=0)
    parts = (slope @ weights["kernels2"].reshape(16, -1)).reshape(count, 8, 8, 6, 5, 5)
    maps = np.zeros((count, 12, 12, 6), dtype=slope.dtype)
    for i, j in np.ndindex(5, 5):
        maps[:, i : i + 8, j : j + 8] += parts[..., i, j]
    slope = 2 * sums1 * _spread(maps).reshape(-1, 6)
    result["kernels1"], result["bias1"] = (slope.T @ rows1).reshape(SHAPES["kernels1"]), slope.sum(axis=0)
    return loss, result


def _spread(slope: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The derivative by what was pooled."""
    return 0.25 * slope.repeat(2, axis=1).repeat(2, axis=2)


LENET = Network("lenet", SHAPES, gradient)


def main(file: Annotated[Path, typer.Argument(help="An .npz of images (n, 28, 28) and labels (n,).")]) -> None:
    """Train, or take the weights from the cache, and print the accuracy on the images held out."""
    weights = trained(file)
    print(f"{accuracy(weights, load(file)[-HELD_OUT:]):.2%} of {HELD_OUT} images held out")


if __name__ == "__main__":
    typer.run(main)
