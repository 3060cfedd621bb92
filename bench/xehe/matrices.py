"""The paper's products of matrices whose elements are encrypted polynomials: from numbers to numbers, and alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.reports import Row
from bench.xehe.place import HOST, Place, counted, host_seconds
from bench.xehe.published import SOURCE, TABLES
from latticework import _core, ckks

Shape = tuple[int, int, int]  # rows and columns of the result, and terms of an element
SHAPES: dict[str, Shape] = {"100x10x1": (100, 10, 1), "10x9x8": (10, 9, 8)}
SMALL: dict[str, Shape] = {"100x10x1": (4, 3, 1), "10x9x8": (2, 2, 3)}  # on a simulation
LOG_DEGREE, SMALL_LOG_DEGREE = 13, 10
SLOTS = 64  # of each element that hold numbers, the same again and again
WAYS = {  # (one reduction a term, memory is kept)
    "two reductions, memory given back": (False, False),
    "one reduction, memory given back": (True, False),
    "two reductions, memory cache": (False, True),
    "one reduction, memory cache": (True, True),
}


@dataclass(frozen=True)
class Product:
    """A product of one shape, by parameters of one place; left (m, k, slots), right (k, n, slots)."""

    shape: Shape
    parameters: Any
    secret: Any
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]

    def encrypted(self) -> tuple[list[_core.Ciphertext], list[_core.Ciphertext]]:
        """Both factors, element by element."""
        encryptor = ckks.Encryptor(self.parameters, self.secret)
        left, right = ([encryptor.encrypt(x).core for x in x.reshape(-1, SLOTS)] for x in (self.left, self.right))
        return left, right

    def multiplied(
        self, factors: tuple[list[_core.Ciphertext], list[_core.Ciphertext]], is_fused: bool
    ) -> list[_core.Ciphertext]:
        """The product alone."""
        m, n, k = self.shape
        return _core.matrix_product(self.parameters.context, *factors, (m, k, n), is_fused)

    def run(self, is_fused: bool) -> npt.NDArray[Any]:
        """Encode, encrypt, multiply, decrypt and decode."""
        m, n, _ = self.shape
        there = ckks.Evaluator(self.parameters)
        decryptor = ckks.Decryptor(self.parameters, self.secret)
        found = self.multiplied(self.encrypted(), is_fused)
        numbers = [decryptor.decrypt(there._out(x), dtype=np.float64) for x in found]
        return np.asarray(numbers).reshape(m, n, -1)[:, :, :SLOTS]

    def is_right(self, is_fused: bool) -> bool:
        """Whether the numbers are those of NumPy."""
        error = np.max(np.abs(self.run(is_fused) - np.einsum("iks,kjs->ijs", self.left, self.right)))
        return bool(error < 2.0**-15)


def rows(place: Place) -> Iterator[Row]:
    """Each shape in each way, and what the ways gain."""
    for name, shape in (SHAPES if place.is_timed else SMALL).items():
        yield from shape_rows(place, name, shape)


def shape_rows(place: Place, name: str, shape: Shape) -> Iterator[Row]:
    """One shape."""
    m, n, k = shape
    log_degree = LOG_DEGREE if place.is_timed else SMALL_LOG_DEGREE
    parameters = ckks.Parameters(1 << log_degree, [45, 40], scale_bits=40, insecure=not place.is_timed)
    random = np.random.default_rng(0)
    factors = random.uniform(-1, 1, (m, k, SLOTS)), random.uniform(-1, 1, (k, n, SLOTS))
    at_home = Product(shape, parameters, ckks.KeyGenerator(parameters).secret_key(), *factors)
    whole, alone = [], []
    host = host_seconds(partial(at_home.run, True), repeats=1) if place.is_timed else 0.0
    for way, (is_fused, keeps) in WAYS.items():
        there = Place.of(place.device.name, place.device.arithmetic, cache=keeps)
        product = replace(at_home, parameters=parameters.on(device=there.device))
        checked, case = product.is_right(is_fused), f"matMul_{name}, {way}"
        multiply = partial(product.multiplied, product.encrypted(), is_fused)
        if place.is_timed:
            whole.append(there.seconds(partial(product.run, is_fused), repeats=3))
            alone.append(there.seconds(multiply, repeats=3))
            yield Row(case, "time, whole", "ms", 1e3 * whole[-1], 1e3 * host, HOST, checked=checked)
            yield Row(case, "time, product alone", "ms", 1e3 * alone[-1], checked=checked)
        else:
            note = f"{m}x{n}x{k} of N = 2^{log_degree}, the product alone"
            yield counted(case, there.counts(multiply), checked=checked, note=note)
    if place.is_timed:
        yield from gains(name, "whole", whole)
        yield from gains(name, "product alone", alone)


def gains(name: str, of: str, seconds: list[float]) -> Iterator[Row]:
    """seconds: in the order of the ways. The paper's figures are of whole times."""
    neither, fused, kept, both = seconds
    tables = TABLES["matrix_products"]
    overall = tables["overall_gain"][name]
    for what, gain, published, details in (
        ("one reduction", neither / fused, tables["fused_gain"][name], {}),
        ("the memory cache", neither / kept, tables["cache_gain"], {}),
        ("both", neither / both, max(overall), {"XeHE, devices 1 and 2": overall}),
    ):
        reference = published if of == "whole" else None
        yield Row(f"matMul_{name}", f"gain of {what}, {of}", "", gain, reference, SOURCE if reference else None,
                  better="higher", checked=True, details=details)  # fmt: skip
