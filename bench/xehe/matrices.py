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
from latticework.runtime.devices.device import Device

Shape = tuple[int, int, int]  # rows and columns of the result, and terms of an element
SHAPES: dict[str, Shape] = {"100x10x1": (100, 10, 1), "10x9x8": (10, 9, 8)}
SMALL: dict[str, Shape] = {"100x10x1": (4, 3, 1), "10x9x8": (2, 2, 3)}  # on a simulation
LOG_DEGREE, SMALL_LOG_DEGREE = 13, 10
LEAST_GAIN = 5.0  # over the host, from numbers to numbers
SLOTS = 64  # of each element that hold numbers, the same again and again
WAYS = {  # (how elements are multiplied, memory is kept)
    "two reductions, memory given back": ("in two", False),
    "one reduction, memory given back": ("fused", False),
    "two reductions, memory cache": ("in two", True),
    "one reduction, memory cache": ("fused", True),
    "all at once on the device": ("at once", True),
}


@dataclass(frozen=True)
class Product:
    """A product of one shape, by parameters of one place; left (m, k, slots), right (k, n, slots)."""

    shape: Shape
    parameters: Any
    secret: Any
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]

    def encrypted(self, way: str) -> tuple[list[_core.Ciphertext], list[_core.Ciphertext]]:
        """Both factors, element by element: on the device if all is done at once, and else on the host."""
        encryptor = ckks.Encryptor(self.parameters, self.secret, device=self._client(way))
        factors = (x.reshape(-1, SLOTS) for x in (self.left, self.right))
        left, right = ([x.core for x in encryptor.encrypt_many(factor)] for factor in factors)
        return left, right

    def multiplied(
        self, factors: tuple[list[_core.Ciphertext], list[_core.Ciphertext]], way: str
    ) -> list[_core.Ciphertext]:
        """The product alone."""
        m, n, k = self.shape
        return _core.matrix_product(self.parameters.context, *factors, (m, k, n), way)

    def run(self, way: str) -> npt.NDArray[Any]:
        """Encode, encrypt, multiply, decrypt and decode."""
        m, n, _ = self.shape
        there = ckks.Evaluator(self.parameters)
        decryptor = ckks.Decryptor(self.parameters, self.secret, device=self._client(way))
        found = [there._out(x) for x in self.multiplied(self.encrypted(way), way)]
        return np.asarray(decryptor.decrypt_many(found, dtype=np.float64)).reshape(m, n, -1)[:, :, :SLOTS]

    def is_right(self, way: str) -> bool:
        """Whether the numbers are those of NumPy."""
        error = np.max(np.abs(self.run(way) - np.einsum("iks,kjs->ijs", self.left, self.right)))
        return bool(error < 2.0**-15)

    def _client(self, way: str) -> Device | None:
        """Where keys go; None: nowhere."""
        return self.parameters._place if way == "at once" else None


def rows(place: Place) -> Iterator[Row]:
    """Each shape in each way, and what the ways gain."""
    for name, shape in (SHAPES if place.is_timed else SMALL).items():
        yield from shape_rows(place, name, shape)


def product_of(shape: Shape, log_degree: int) -> Product:
    """The product of a shape on the host, of numbers that are the same each time."""
    m, n, k = shape
    parameters = ckks.Parameters(1 << log_degree, [45, 40], scale_bits=40, insecure=log_degree < LOG_DEGREE)
    random = np.random.default_rng(0)
    factors = random.uniform(-1, 1, (m, k, SLOTS)), random.uniform(-1, 1, (k, n, SLOTS))
    return Product(shape, parameters, ckks.KeyGenerator(parameters).secret_key(), *factors)


def shape_rows(place: Place, name: str, shape: Shape) -> Iterator[Row]:
    """One shape."""
    m, n, k = shape
    log_degree = LOG_DEGREE if place.is_timed else SMALL_LOG_DEGREE
    at_home = product_of(shape, log_degree)
    parameters = at_home.parameters
    whole, alone = [], []
    host = host_seconds(partial(at_home.run, "fused"), repeats=1) if place.is_timed else 0.0
    for name_of_way, (way, keeps) in WAYS.items():
        there = Place.of(place.device.name, place.device.arithmetic, cache=keeps)
        product = replace(at_home, parameters=parameters.on(device=there.device))
        checked, case = product.is_right(way), f"matMul_{name}, {name_of_way}"
        run, multiply = partial(product.run, way), partial(product.multiplied, product.encrypted(way), way)
        if place.is_timed:
            whole.append(there.seconds(run, repeats=3))
            alone.append(there.seconds(multiply, repeats=3))
            yield Row(case, "time, whole", "ms", 1e3 * whole[-1], 1e3 * host, HOST, checked=checked)
            yield Row(case, "time, product alone", "ms", 1e3 * alone[-1], checked=checked)
        else:
            size = f"{m}x{n}x{k} of N = 2^{log_degree}"
            yield counted(case, there.counts(multiply), checked=checked, note=f"{size}, the product alone")
            yield counted(f"{case}, whole", there.counts(run), checked=checked, note=f"{size}, from numbers to numbers")
    if place.is_timed:
        yield from gains(name, "whole", whole)
        yield from gains(name, "product alone", alone)
        yield Row(f"matMul_{name}", "gain of all at once over the host, whole", "", host / whole[-1], LEAST_GAIN,
                  "target", better="higher", checked=True)  # fmt: skip


def gains(name: str, of: str, seconds: list[float]) -> Iterator[Row]:
    """seconds: in the order of the ways. The paper's figures are of whole times."""
    neither, fused, kept, both, at_once = seconds
    tables = TABLES["matrix_products"]
    overall = tables["overall_gain"][name]
    for what, gain, published, details in (
        ("one reduction", neither / fused, tables["fused_gain"][name], {}),
        ("the memory cache", neither / kept, tables["cache_gain"], {}),
        ("both", neither / both, max(overall), {"XeHE, devices 1 and 2": overall}),
        ("all at once", neither / at_once, max(overall), {"XeHE, devices 1 and 2": overall}),
    ):
        reference = published if of == "whole" else None
        yield Row(f"matMul_{name}", f"gain of {what}, {of}", "", gain, reference, SOURCE if reference else None,
                  better="higher", checked=True, details=details)  # fmt: skip
