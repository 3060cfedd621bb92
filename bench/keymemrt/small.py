"""The two smallest networks of KeyMemRT: MLP and LoLa, trained on digits, with squares as activations.

Their layers are those of Orion (ASPLOS'25), whose programs KeyMemRT compiles: a perceptron 784-128-128-10, and after A.
Brutzkus et al., Low latency privacy preserving inference (2019), a convolution with 5 maps of windows of 2 x 2 that do
not overlap, then 980-100-10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import latticework as lw
from bench.lenet.network import CLASSES, SIDE
from bench.lenet.train import Digits, Network, Weights, cross_entropy

MAPS, WINDOW = 5, 2
PLACES = (SIDE // WINDOW) ** 2
MLP_SHAPES = {
    "dense1": (SIDE * SIDE, 128), "bias1": (128,), "dense2": (128, 128), "bias2": (128,), "dense3": (128, CLASSES),
    "bias3": (CLASSES,),
}  # fmt: skip
LOLA_SHAPES = {
    "kernels1": (MAPS, 1, WINDOW, WINDOW), "bias1": (MAPS,), "dense2": (MAPS * PLACES, 100), "bias2": (100,),
    "dense3": (100, CLASSES), "bias3": (CLASSES,),
}  # fmt: skip


@lw.program
def mlp(
    image: lw.Secret[1, SIDE, SIDE], dense1: Any, bias1: Any, dense2: Any, bias2: Any, dense3: Any, bias3: Any
) -> Any:
    """Scores of the ten digits for one image, of numbers in [0, 1]."""
    hidden = lw.square(np.reshape(image, (SIDE * SIDE,)) @ dense1 + bias1)
    hidden = lw.square(hidden @ dense2 + bias2)
    return hidden @ dense3 + bias3


@lw.program
def lola(
    image: lw.Secret[1, SIDE, SIDE], kernels1: Any, bias1: Any, dense2: Any, bias2: Any, dense3: Any, bias3: Any
) -> Any:
    """The same of a convolution and two dense layers."""
    maps = lw.square(lw.conv2d(image, kernels1, bias1, stride=WINDOW))  # (5, 14, 14)
    hidden = lw.square(np.reshape(maps, (MAPS * PLACES,)) @ dense2 + bias2)
    return hidden @ dense3 + bias3


def scores(weights: Weights, images: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scores (n, 10) of images (n, 28, 28)."""
    return _forward(weights, images)[-1]


def _forward(weights: Weights, images: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Inputs and sums of each layer; then the scores. The first layer is one matrix for every window, of which a
    perceptron has one."""
    count, kernels = len(images), weights.get("kernels1")
    if kernels is None:
        rows1, first = images.reshape(count, -1), weights["dense1"]
    else:
        half = SIDE // WINDOW
        windows = images.reshape(count, half, WINDOW, half, WINDOW).transpose(0, 1, 3, 2, 4)
        rows1, first = windows.reshape(count * PLACES, -1), kernels.reshape(MAPS, -1).T
    sums1 = rows1 @ first + weights["bias1"]
    channels = sums1.shape[1]
    rows2 = np.square(sums1).reshape(count, -1, channels).transpose(0, 2, 1).reshape(count, -1)
    sums2 = rows2 @ weights["dense2"] + weights["bias2"]
    rows3 = np.square(sums2)
    return [rows1, sums1, rows2, sums2, rows3, rows3 @ weights["dense3"] + weights["bias3"]]


def gradient(weights: Weights, digits: Digits) -> tuple[float, Weights]:
    """Cross entropy, and its derivative by every weight."""
    count = len(digits.labels)
    rows1, sums1, rows2, sums2, rows3, found = _forward(weights, digits.images)
    loss, slope = cross_entropy(found, digits.labels)
    result: Weights = {"dense3": rows3.T @ slope, "bias3": slope.sum(axis=0)}
    slope = 2 * sums2 * (slope @ weights["dense3"].T)
    result |= {"dense2": rows2.T @ slope, "bias2": slope.sum(axis=0)}
    slope = slope @ weights["dense2"].T
    slope = 2 * sums1 * slope.reshape(count, sums1.shape[1], -1).transpose(0, 2, 1).reshape(sums1.shape)
    first = rows1.T @ slope
    name = "dense1" if "dense1" in weights else "kernels1"
    result |= {name: first if name == "dense1" else first.T.reshape(LOLA_SHAPES[name]), "bias1": slope.sum(axis=0)}
    return loss, result


def _network(name: str, shapes: Mapping[str, tuple[int, ...]]) -> Network:
    return Network(name, shapes, gradient)


MLP, LOLA = _network("mlp", MLP_SHAPES), _network("lola", LOLA_SHAPES)
