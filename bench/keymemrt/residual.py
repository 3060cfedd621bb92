"""Networks shaped like ResNet and AlexNet for pictures of 32 x 32 x 3, with seeded weights.

After K. He et al., Deep residual learning for image recognition (2016), section 4.2: 6 n + 2 layers, widths 16, 32 and
64; its ResNet-18, 34 and 50 have four stages, ResNet-50 of bottlenecks. A. Krizhevsky et al., ImageNet
classification with deep convolutional neural networks (2012): five convolutions and three dense layers, here with a
quarter of its channels and windows of 3 x 3. Weights are drawn by He's rule, scaled down so that what goes into each
ReLU stays of the size of 1; biases and normalisation would be part of the weights, and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

import latticework as lw

SIDE, WIDTH, CLASSES = 32, 16, 10
DEGREE = 127  # of the polynomial for a ReLU, within 0.3 % of the range of its argument
GAIN = 0.7  # of a convolution, against He's
EXPANSION = 4  # channels that a bottleneck leaves, against those inside

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Two convolutions beside a shortcut, which is a convolution of single pixels where the width changes."""

    first: FloatArray
    second: FloatArray
    shortcut: FloatArray | None

    @property
    def stride(self) -> int:
        """Of the first convolution, and of the shortcut."""
        return 1 if self.shortcut is None else 2

    def __call__(self, x: Any) -> Any:
        """Of a picture with channels in front."""
        inside = lw.relu(lw.conv2d(x, self.first, padding=1, stride=self.stride), degree=DEGREE)
        beside = x if self.shortcut is None else lw.conv2d(x, self.shortcut, stride=self.stride)
        return lw.relu(beside + lw.conv2d(inside, self.second, padding=1), degree=DEGREE)


@dataclass(frozen=True)
class Bottleneck:
    """A convolution of windows between two of single pixels, beside a shortcut."""

    into: FloatArray
    inside: FloatArray
    out: FloatArray
    shortcut: FloatArray | None
    stride: int

    def __call__(self, x: Any) -> Any:
        """Of a picture with channels in front."""
        inside = lw.relu(lw.conv2d(x, self.into), degree=DEGREE)
        inside = lw.relu(lw.conv2d(inside, self.inside, padding=1, stride=self.stride), degree=DEGREE)
        beside = x if self.shortcut is None else lw.conv2d(x, self.shortcut, stride=self.stride)
        return lw.relu(beside + lw.conv2d(inside, self.out), degree=DEGREE)


class _Weights:
    """Drawn one after the other."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(20)

    def kernels(self, out: int, into: int, side: int) -> FloatArray:
        return self.rng.normal(scale=GAIN * np.sqrt(2 / (into * side * side)), size=(out, into, side, side))

    def dense(self, into: int, out: int) -> FloatArray:
        return self.rng.normal(scale=np.sqrt(1 / into), size=(into, out))

    def block(self, width: int, into: int) -> Block:
        shortcut = None if into == width else self.kernels(width, into, 1)
        return Block(self.kernels(width, into, 3), self.kernels(width, width, 3), shortcut)

    def bottleneck(self, width: int, into: int, stride: int) -> Bottleneck:
        wide = EXPANSION * width
        shortcut = None if into == wide else self.kernels(wide, into, 1)
        inside = self.kernels(width, width, 3)
        return Bottleneck(self.kernels(width, into, 1), inside, self.kernels(wide, width, 1), shortcut, stride)


def residual_network(blocks: Sequence[int]) -> Callable[..., Any]:
    """A program from a picture to the scores of ten classes, with so many blocks in each stage."""
    drawn = _Weights()
    widths = [WIDTH << stage for stage, count in enumerate(blocks) for _ in range(count)]
    first = drawn.kernels(WIDTH, 3, 3)
    layers = [drawn.block(width, into) for width, into in zip(widths, [WIDTH, *widths], strict=False)]
    return _network(first, layers, drawn.dense(widths[-1], CLASSES))


def bottleneck_network(blocks: Sequence[int], width: int) -> Callable[..., Any]:
    """The same of bottlenecks, so many in each stage; `width` channels inside those of the first."""
    drawn = _Weights()
    first, into = drawn.kernels(width, 3, 3), width
    layers = []
    for stage, count in enumerate(blocks):
        for number in range(count):
            layers.append(drawn.bottleneck(width << stage, into, 2 if stage and not number else 1))
            into = EXPANSION * (width << stage)
    return _network(first, layers, drawn.dense(into, CLASSES))


def _network(first: FloatArray, layers: Sequence[Callable[[Any], Any]], dense: FloatArray) -> Callable[..., Any]:
    @lw.program
    def network(picture: lw.Secret[3, SIDE, SIDE]) -> Any:
        x = lw.relu(lw.conv2d(picture, first, padding=1), degree=DEGREE)
        for layer in layers:
            x = layer(x)
        return np.mean(x, axis=(1, 2)) @ dense

    return network


def alexnet() -> Callable[..., Any]:
    """Five convolutions, pooling after the first, the second and the last, then three dense layers."""
    drawn = _Weights()
    widths, pooled = (3, 24, 64, 96, 64, 64), (True, True, False, False, True)
    convolutions = [drawn.kernels(out, into, 3) for into, out in pairwise(widths)]
    side = SIDE >> sum(pooled)
    dense = [drawn.dense(into, out) for into, out in pairwise((widths[-1] * side * side, 256, 256, CLASSES))]

    @lw.program
    def network(picture: lw.Secret[3, SIDE, SIDE]) -> Any:
        x = picture
        for kernels, pools in zip(convolutions, pooled, strict=True):
            x = lw.relu(lw.conv2d(x, kernels, padding=1), degree=DEGREE)
            x = lw.avg_pool2d(x, 2) if pools else x
        x = np.reshape(x, (widths[-1] * side * side,))
        for weights in dense[:-1]:
            x = lw.relu(x @ weights, degree=DEGREE)
        return x @ dense[-1]

    return network


def pictures(count: int) -> FloatArray:
    """Seeded ones, of numbers in [0, 1]."""
    return np.random.default_rng(1).uniform(0.0, 1.0, (count, 3, SIDE, SIDE))
