"""Programs of the sizes of real models, with seeded weights: what `bench.compile_time` compiles.

Shapes, not models: L. P. de Lima Camillo et al., A pan-tissue DNA-methylation epigenetic clock based on deep learning
(2022: AltumAge, 20318 sites, five layers of 32, SELU, batch norms as affine maps); L. Pion-Tonachini et al., ICLabel
(2019: a map of the scalp and two curves of 100 points, ten convolutions, 2.9 million weights); W. Wang et al., MiniLM
(2020: one encoder layer of 384 in 12 heads on 32 tokens). An LSTM is a loop of 64 turns. Weights keep what goes into
each function near the size of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

import latticework as lw
from bench.keymemrt.residual import pictures, residual_network
from bench.lenet.network import PROGRAM as LENET
from bench.lenet.network import SHAPES as LENET_SHAPES

Options = dict[str, Any]
FloatArray = npt.NDArray[np.float64]
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
SITES, WIDTH, ACTIVATIONS = 20_318, 32, 5
TOKENS, HIDDEN, HEADS, FEED = 32, 384, 12, 1536
FEATURES, STATES = 8, 16
GB = 1 << 30


@dataclass(frozen=True)
class Case:
    """One compilation.

    options  those of `lw.compile`, `program` included
    seconds  of the processor, and  memory  in bytes, that it is to take at most
    """

    options: Callable[[], Options]
    seconds: float
    memory: int = 2 * GB


def product(rows: int, columns: int) -> Options:
    """One public matrix."""
    rng = np.random.default_rng(1)
    weights = rng.normal(scale=rows**-0.5, size=(rows, columns))

    @lw.program
    def multiply(x: lw.Secret[rows]) -> Any:  # type: ignore[valid-type]
        return x @ weights

    return {"program": multiply, "calibrate": rng.uniform(-1, 1, (4, rows))}


def selu(x: FloatArray) -> FloatArray:
    """Of one number."""
    return SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0.0)))


def clock(sites: int) -> Options:
    """AltumAge: a batch norm before each of six dense layers, SELU after all but the last."""
    rng = np.random.default_rng(2)
    widths = [sites, *[WIDTH] * ACTIVATIONS]
    layers = [(_affine(rng, into), _dense(rng, into, out)) for into, out in pairwise([*widths, 1])]

    @lw.program
    def age(x: lw.Secret[sites]) -> Any:  # type: ignore[valid-type]
        for number, ((scale, shift), (weights, bias)) in enumerate(layers):
            x = (x * scale + shift) @ weights + bias
            if number < ACTIVATIONS:
                x = lw.approximate(selu, degree=15)(x)
        return x

    return {"program": age, "calibrate": rng.uniform(0, 1, (16, sites)), "precision_bits": 4}


def convolution() -> Options:
    """From 128 to 256 channels, 16 x 16 to 8 x 8."""
    rng = np.random.default_rng(3)
    kernels = _kernels(rng, 256, 128, 4, 4)

    @lw.program
    def convolve(x: lw.Secret[128, 16, 16]) -> Any:
        return lw.conv2d(x, kernels, stride=2, padding=1)

    return {"program": convolve, "calibrate": rng.uniform(-1, 1, (2, 128, 16, 16))}


def lenet() -> Options:
    """LeNet-5 with squares."""
    rng = np.random.default_rng(4)
    weights = [
        np.zeros(shape) if len(shape) == 1 else rng.normal(scale=np.prod(shape[1:]) ** -0.5, size=shape)
        if len(shape) == 4 else rng.normal(scale=shape[0] ** -0.5, size=shape)
        for shape in LENET_SHAPES.values()
    ]  # fmt: skip
    return {"program": LENET, "weights": weights, "calibrate": rng.uniform(0, 1, (16, 1, 28, 28)), "precision_bits": 8}


def leaky(x: Any) -> Any:
    """LeakyReLU with slope 0.2."""
    return lw.approximate(lambda t: np.where(t > 0, t, 0.2 * t), degree=7)(x)


def components() -> Options:
    """ICLabel: three convolutions a branch, the curves spread over the map, one convolution to seven classes."""
    rng = np.random.default_rng(5)
    maps = [_kernels(rng, out, into, 4, 4) for into, out in pairwise((1, 128, 256, 512))]
    curves = [[_kernels(rng, out, into, 1, 3) for into, out in pairwise((1, 128, 256, 1))] for _ in range(2)]
    last = _kernels(rng, 7, 712, 4, 4)

    @lw.program
    def label(image: lw.Secret[1, 32, 32], spectrum: lw.Secret[1, 1, 100], lags: lw.Secret[1, 1, 100]) -> Any:
        for kernels in maps:
            image = leaky(lw.conv2d(image, kernels, stride=2, padding=1))
        parts = [image]
        for curve, branch in zip((spectrum, lags), curves, strict=True):
            for kernels in branch:
                curve = leaky(lw.conv2d(curve, kernels, padding=(0, 1)))
            parts.append(np.broadcast_to(np.reshape(curve, (100, 1, 1)), (100, 4, 4)))
        return lw.conv2d(np.concatenate(parts), last)

    inputs = {"image": (1, 32, 32), "spectrum": (1, 1, 100), "lags": (1, 1, 100)}
    calibrate = {name: rng.uniform(-1, 1, (4, *shape)) for name, shape in inputs.items()}
    return {"program": label, "calibrate": calibrate, "precision_bits": 4}


def resnet() -> Options:
    """ResNet-20 on a picture of 32 x 32 x 3."""
    return {
        "program": residual_network((3, 3, 3)),
        "calibrate": pictures(16),
        "precision_bits": 1,
        "bootstrap_set": "A14",
    }


def encoder() -> Options:
    """One encoder layer: attention, two norms, GELU."""
    rng = np.random.default_rng(6)
    queries, keys, values, joined = (_dense(rng, HIDDEN, HIDDEN) for _ in range(4))
    up, down = _dense(rng, HIDDEN, FEED), _dense(rng, FEED, HIDDEN)
    norms = [_affine(rng, HIDDEN) for _ in range(2)]

    def heads(x: Any) -> Any:
        return np.transpose(np.reshape(x, (TOKENS, HEADS, HIDDEN // HEADS)), (1, 0, 2))

    def normed(x: Any, norm: tuple[FloatArray, FloatArray]) -> Any:
        centred = x - np.mean(x, axis=1, keepdims=True)
        return centred * lw.rsqrt(np.mean(centred * centred, axis=1, keepdims=True)) * norm[0] + norm[1]

    @lw.program
    def layer(x: lw.Secret[TOKENS, HIDDEN]) -> Any:
        q, k, v = (heads(x @ weights + bias) for weights, bias in (queries, keys, values))
        scores = lw.softmax(q @ np.transpose(k, (0, 2, 1)) * (HEADS / HIDDEN) ** 0.5, axis=-1)
        mixed = np.reshape(np.transpose(scores @ v, (1, 0, 2)), (TOKENS, HIDDEN))
        x = normed(x + mixed @ joined[0] + joined[1], norms[0])
        return normed(x + lw.gelu(x @ up[0] + up[1]) @ down[0] + down[1], norms[1])

    return {"program": layer, "calibrate": rng.normal(size=(4, TOKENS, HIDDEN)), "precision_bits": 4}


def recurrent(steps: int) -> Options:
    """An LSTM, its last state into four numbers."""
    rng = np.random.default_rng(7)
    of_input, of_state = ([_dense(rng, into, STATES) for _ in range(4)] for into in (FEATURES, STATES))
    head, nothing = _dense(rng, STATES, 4)[0], np.zeros(STATES)

    def step(carried: Any, part: Any) -> Any:
        state, cell = carried
        gates = [part @ w + bias + state @ u for (w, bias), (u, _) in zip(of_input, of_state, strict=True)]
        into, forget, out = (lw.sigmoid(gates[number]) for number in (0, 1, 3))
        cell = forget * cell + into * np.tanh(gates[2])
        return (out * np.tanh(cell), cell), None

    @lw.program
    def last(x: lw.Secret[steps, FEATURES]) -> Any:  # type: ignore[valid-type]
        (state, _), _ = lw.scan(step, (nothing, nothing), x)
        return state @ head

    return {"program": last, "calibrate": rng.normal(size=(20, steps, FEATURES)), "precision_bits": 6}


def _dense(rng: np.random.Generator, into: int, out: int) -> tuple[FloatArray, FloatArray]:
    return rng.normal(scale=into**-0.5, size=(into, out)), rng.normal(scale=0.1, size=out)


def _affine(rng: np.random.Generator, width: int) -> tuple[FloatArray, FloatArray]:
    return rng.uniform(0.5, 1.5, width), rng.normal(scale=0.1, size=width)


def _kernels(rng: np.random.Generator, out: int, into: int, *sides: int) -> FloatArray:
    return rng.normal(scale=(into * np.prod(sides)) ** -0.5, size=(out, into, *sides))


CASES: dict[str, Case] = {
    "product-784x10": Case(partial(product, 784, 10), 0.5),
    "product-1024x32": Case(partial(product, 1024, 32), 0.5),
    "product-4096x32": Case(partial(product, 4096, 32), 1.5),
    "product-20318x32": Case(partial(product, SITES, 32), 3.0, 300 << 20),
    "activations": Case(partial(clock, 1000), 10.0),
    "convolution": Case(convolution, 20.0),
    "lenet": Case(lenet, 8.0),
    "altumage": Case(partial(clock, SITES), 30.0),
    "iclabel": Case(components, 90.0),
    "resnet-20": Case(resnet, 120.0),
    "minilm-layer": Case(encoder, 120.0),
    "lstm-64": Case(partial(recurrent, 64), 20.0),
}
