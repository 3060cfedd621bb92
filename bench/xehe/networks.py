"""Compiled networks, one encrypted image at a time: LeNet-5 and the network of the digits demo, with seeded weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import latticework as lw
from bench.lenet.network import PROGRAM, SHAPES
from bench.reports import Row
from bench.xehe.bounds import bounded
from bench.xehe.place import Place, counted, host_seconds

CALIBRATED = 16
Weights = list[npt.NDArray[Any]]


@dataclass(frozen=True)
class Network:
    """program: of an image and weights; shape: of the image, of numbers in [0, 1]; options: of `lw.compile`."""

    name: str
    program: Any
    shape: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    precision_bits: int
    options: dict[str, Any]

    def weights(self, random: np.random.Generator) -> Weights:
        """Random, such that values do not grow much."""
        return [random.normal(0, 0.5 / np.sqrt(inputs(shape)), shape) for shape in self.shapes]


def inputs(shape: tuple[int, ...]) -> int:
    """How many numbers go into one of a layer's results: of (inputs, outputs), (outputs, channels, height, width)."""
    return int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]


@lw.program
def digits(x: lw.Secret[1, 64], w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """As in examples/digits.py."""
    return lw.relu(x @ w1 + b1, degree=15) @ w2 + b2


@lw.program
def small_digits(x: lw.Secret[1, 8], w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """The same for a simulation."""
    return lw.relu(x @ w1 + b1, degree=3) @ w2 + b2


@lw.program
def small_lenet(image: lw.Secret[1, 6, 6], kernels: Any, bias: Any, dense: Any, last: Any) -> Any:
    """A convolution, a square, a pool and a dense layer, for a simulation."""
    maps = lw.avg_pool2d(lw.square(lw.conv2d(image, kernels, bias)), 2)
    return np.reshape(maps, (8,)) @ dense + last


INSECURE = {"insecure": True, "ring_degree": 2048}
NETWORKS = (
    Network("digits 64-32-10", digits, (1, 64), ((64, 32), (32,), (32, 10), (10,)), 2, {}),
    Network("LeNet-5", PROGRAM, (1, 28, 28), tuple(SHAPES.values()), 8, {}),
)
SMALL = (
    Network("digits 64-32-10", small_digits, (1, 8), ((8, 4), (4,), (4, 2), (2,)), 1, INSECURE),
    Network("LeNet-5", small_lenet, (1, 6, 6), ((2, 1, 3, 3), (2,), (8, 4), (4,)), 8, INSECURE),
)


@dataclass(frozen=True)
class Deployed:
    """A compiled network with its owner's keys and one encrypted image."""

    model: lw.Model
    client: lw.Client
    keys: lw.PublicKeys
    sent: lw.Encrypted
    expected: npt.NDArray[Any]

    @classmethod
    def of(cls, network: Network) -> Deployed:
        """With seeded weights."""
        random = np.random.default_rng(0)
        weights, image = network.weights(random), random.uniform(0, 1, network.shape)
        samples = random.uniform(0, 1, (CALIBRATED, *network.shape))
        if len(network.shape) == 2:  # of one row
            samples = samples.reshape(-1, network.shape[1])
        model = lw.compile(
            network.program, weights=tuple(weights), calibrate=samples, precision_bits=network.precision_bits,
            progress=False, **network.options,
        )  # fmt: skip
        client = model.client()
        expected = np.asarray(network.program(image, *weights))
        return cls(model, client, client.keygen().public(), client.encrypt(image), expected)


def network_row(place: Place, network: Network) -> Row:
    """The second run of a server on the device, beside that of one on the host."""
    made = Deployed.of(network)
    server, at_home = made.model.server(made.keys, device=place.device), made.model.server(made.keys)
    found = server(made.sent)
    error = np.max(np.abs(np.asarray(made.client.decrypt(found).reveal()) - made.expected))
    error /= max(np.max(np.abs(made.expected)), 1.0)
    checked = bool(found.to_bytes() == at_home(made.sent).to_bytes() and error <= 2.0**-network.precision_bits)
    chain = made.model.plan.chain
    details = {"N": chain.ring_degree, "levels": chain.main.top}

    def run() -> Any:
        return server(made.sent)

    case = f"{network.name}, one image"
    if not place.is_timed:
        note = f"a network of this kind, N = {chain.ring_degree}"
        return counted(case, place.counts(run, is_first=False), checked=checked, note=note, details=details)
    seconds, host = place.seconds(run, repeats=5), host_seconds(lambda: at_home(made.sent))
    return bounded(place, case, seconds, [], "ms", name=network.name, host=host, checked=checked, **details)


def profile(place: Place, trace: Path) -> str:
    """The table of one run of the first network, kernel by kernel; all kernels go to a Chrome trace."""
    made = Deployed.of((NETWORKS if place.is_timed else SMALL)[0])
    server = made.model.server(made.keys, device=place.device)
    server(made.sent)
    with lw.profile(place.device) as found:
        server(made.sent)
    found.trace(trace)
    return found.table()


def rows(place: Place) -> Iterator[Row]:
    """A row for each network."""
    for network in NETWORKS if place.is_timed else SMALL:
        yield network_row(place, network)
