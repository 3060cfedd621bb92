"""The twenty cases whose processor time is kept over commits. A case that changes gets a new name."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import latticework as lw
from latticework import _core, ckks
from latticework.runtime.devices import device
from latticework.values.packing.key_manifest import galois_element

Action = Callable[[], Any]
RING, PRIME_BITS, LIMBS = 1 << 14, 49, 8
RNG = np.random.default_rng(11)
MATRIX = RNG.normal(size=(256, 64)) / 16
HIDDEN, LAST = RNG.normal(size=(64, 32)) / 8, RNG.normal(size=(32, 10)) / 6
KERNELS = RNG.normal(size=(4, 2, 3, 3)) / 4
QUERIES, VALUES = RNG.normal(size=(2, 16, 16)) / 4


@lw.program
def product(x: lw.Secret[256]) -> Any:
    """One public matrix."""
    return x @ MATRIX


@lw.program
def network(x: lw.Secret[64]) -> Any:
    """Two layers."""
    return lw.relu(x @ HIDDEN, degree=7) @ LAST


@lw.program
def convolution(x: lw.Secret[2, 12, 12]) -> Any:
    """Four channels from two, squared."""
    return lw.square(lw.conv2d(x, KERNELS))


@lw.program
def attention(x: lw.Secret[4, 16]) -> Any:
    """Scores of rows by rows, and sums of values by them."""
    return lw.polynomial((x @ QUERIES) @ x.T, [0.5, 0.25, 0.1]) @ (x @ VALUES)


@lw.circuit
def distances(a: lw.vector(6, low=0, high=9), b: lw.vector(6, low=0, high=9)) -> Any:
    """Squares of differences, and their sum."""
    squares = [(x - y) * (x - y) for x, y in zip(a, b, strict=True)]
    return [*squares, sum(squares[1:], squares[0])]


def samples(*shape: int) -> Any:
    """Four random inputs."""
    return np.random.default_rng(5).uniform(-0.5, 0.5, (4, *shape))


def compile_network() -> lw.Model:
    """The network that later cases run."""
    return lw.compile(network, calibrate=samples(64))


def compile_distances() -> lw.Model:
    """The circuit that later cases run."""
    return lw.compile(distances, scheme="bfv")


def compilations() -> Iterator[tuple[str, Action]]:
    """The whole of `lw.compile`."""
    yield "compile: product with a matrix", lambda: lw.compile(product, calibrate=samples(256))
    yield "compile: network of two layers", compile_network
    yield "compile: convolution", lambda: lw.compile(convolution, calibrate=samples(2, 12, 12))
    yield "compile: attention", lambda: lw.compile(attention, calibrate=samples(4, 16))
    yield "compile: circuit of integers", compile_distances


def run_python(*arguments: str) -> Action:
    """Start this interpreter with these arguments, and wait for its end."""
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True, timeout=120)


def starts() -> Iterator[tuple[str, Action]]:
    """Processes of their own."""
    yield "start: import of the package", run_python("-c", "import latticework")
    yield "start: import of the compiler", run_python("-c", "import latticework; latticework.compile")
    yield "start: help of the command line", run_python("-m", "latticework", "--help")


def runs() -> Iterator[tuple[str, Action]]:
    """A model's plan file, keys, encryption, runs and decryption, on one thread."""
    model, x = compile_network(), samples(64)[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.lwplan"

        def through_a_file() -> None:
            model.save(file)
            lw.load(file)

        yield "plan file: write and read", through_a_file
    client = model.client(threads=1)
    keys = client.keygen()
    yield "keys: generate", lambda: model.client(threads=1).keygen()
    yield "network: encrypt", lambda: client.encrypt(x)
    sent = client.encrypt(x)
    for backend in ("cpu", "ref"):
        with mock.patch.object(device, "HOST", backend):
            server = model.server(keys.public(), threads=1)
        yield f"network: run on {backend}", lambda server=server: server(sent)  # type: ignore[misc]
    result = server(sent)
    yield "network: decrypt", lambda: client.decrypt(result)
    yield "network: simulate", lambda: model.simulate(x, noise=True)
    integers = compile_distances()
    owner = integers.client(threads=1)
    public = owner.keygen().public()
    numbers = owner.encrypt(a=[1, 2, 3, 4, 5, 6], b=[6, 5, 4, 3, 2, 1])
    counter = integers.server(public, threads=1)
    yield "integers: run on cpu", lambda: counter(numbers)


def kernels() -> Iterator[tuple[str, Action]]:
    """Transforms and key switches of one ring, on one thread."""
    parameters = ckks.Parameters(
        RING, [PRIME_BITS, *[40] * (LIMBS - 1)], scale_bits=40, num_special=2, num_digits=4
    ).on(backend="cpu", threads=1)  # fmt: skip
    context, scale = parameters.context, 2.0**40
    maker, level = ckks.KeyGenerator(parameters), (0, LIMBS - 1)
    chain = [*parameters.chain.primes]
    ring = _core.Ring(RING, chain, backend="cpu", threads=1)
    for name, kernel in (("transform, forward", "ntt"), ("transform, inverse", "intt")):
        loop = _core.KernelLoop(ring, kernel, list(range(LIMBS)))
        yield f"kernel: {name}", lambda loop=loop: loop.run(4)  # type: ignore[misc]
    element = galois_element(1, RING)
    rotations, products = maker.galois_keys([1]).core, maker.relin_key().core
    secret, evaluator = maker.secret_key().core, _core.Evaluator(context)
    plain = _core.Encoder(context).encode(RNG.uniform(-1, 1, parameters.slots), level, scale)
    x = _core.Encryptor(context, secret).encrypt(plain)
    yield "key switch: rotate", lambda: evaluator.rotate(x, element, rotations)
    yield "key switch: multiply and relinearize", lambda: evaluator.relinearize(evaluator.mul(x, x), products)


def all_cases() -> Iterator[tuple[str, Action]]:
    """Names and what is timed."""
    for group in (compilations, starts, runs, kernels):
        yield from group()
