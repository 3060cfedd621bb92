"""Straight-line graphs to place bootstraps in: operations by chance, and residual networks as they are once laid out.

One price for real and complex bootstraps, as the published tables have it, so two real values take half each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil, log2

import numpy as np

from bench.placement.published import RESIDUAL, latencies
from latticework.compiler.levels.placement.problem import OpPrices, Problem, ValuePrices, spending

SIGN = (15, 15, 27)  # degrees of a composite sign: 4 + 4 + 5 levels, with the product 14
PUBLIC_SHARE = 0.3


@dataclass
class Graph:
    """A problem that is put together operation by operation."""

    residual: int = RESIDUAL
    values: list[ValuePrices] = field(default_factory=list)
    ops: list[OpPrices] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    real: list[bool] = field(default_factory=list)

    def value(self, count: int, real: bool, available: int | None = None) -> int:
        """A value of so many vectors."""
        alone, shared = _refreshing(count, real, self.residual)
        self.values.append(ValuePrices(available, alone, ("real", count) if real else None, shared, count))
        self.counts.append(count)
        self.real.append(real)
        return len(self.values) - 1

    def op(self, name: str, operands: Sequence[int], spent: int, seconds: np.ndarray, real: bool | None = None) -> int:
        """An operation on values of equal count."""
        count = max(self.counts[v] for v in operands)
        made = self.value(count, all(self.real[v] for v in operands) if real is None else real)
        enters, by_need = spending(spent, (count * seconds).tolist(), self.residual)
        self.ops.append(OpPrices(tuple(operands), (made,), enters, by_need, name))
        return made

    def times(self, a: int, b: int) -> int:
        """A product of two ciphertexts."""
        return self.op("product", (a, b), 1, self.latency("multcc") + self.latency("rescale"))

    def plus(self, a: int, b: int) -> int:
        """A sum."""
        return self.op("sum", (a, b), 0, self.latency("multcp"))

    def transform(self, a: int, diagonals: int, name: str = "linear map") -> int:
        """A linear map of so many diagonals, by baby steps and giant steps."""
        steps = 2 * ceil(diagonals**0.5)
        cost = steps * self.latency("rotate") + diagonals * self.latency("multcp") + self.latency("rescale")
        return self.op(name, (a,), 1, cost)

    def polynomial(self, a: int, degree: int) -> int:
        """A polynomial of this degree."""
        spent = ceil(log2(degree + 1))
        products = spent + ceil(degree**0.5)
        return self.op(f"polynomial of degree {degree}", (a,), spent, products * self.latency("multcc"))

    def latency(self, name: str) -> np.ndarray:
        """Seconds by level."""
        return np.array(latencies(name, self.residual))

    def problem(self, wanted: Sequence[int]) -> Problem:
        """The whole, with these outputs wanted at the floor."""
        return Problem(self.residual, tuple(self.values), tuple(self.ops), dict.fromkeys(wanted, 0))


@cache
def _refreshing(count: int, real: bool, residual: int) -> tuple[tuple[float, ...], tuple[float, ...] | None]:
    """Seconds by target, of one value and of two."""
    one = tuple((ceil(count / 2) if real else count) * seconds for seconds in latencies("bootstrap", residual))
    return one, tuple(count * seconds for seconds in latencies("bootstrap", residual)) if real else None


def random_graph(seed: int, most: int = 60) -> Problem:
    """Sums, products, rotations, linear maps and polynomials of values made before, most of them not long before."""
    rng = np.random.default_rng(seed)
    residual = int(rng.choice([4, 6, 9, 12, RESIDUAL]))
    graph = Graph(residual)
    size = int(rng.integers(min(8, most), most + 1))
    window = float(rng.choice([1.0, 2.0, 4.0, 12.0]))
    real_share, array_share = rng.choice([0.0, 0.5, 1.0]), rng.choice([0.0, 0.3])
    counts = [1 if rng.random() >= array_share else int(rng.integers(2, 4)) for _ in range(2)]
    for number in range(int(rng.integers(1, 4))):
        available = residual if rng.random() < 0.7 else int(rng.integers(0, residual + 1))
        graph.value(counts[number % 2], bool(rng.random() < real_share), available)
    while len(graph.values) < size:
        a = _earlier(rng, graph, window)
        fitting = [v for v in range(len(graph.values)) if graph.counts[v] == graph.counts[a]]
        b = fitting[max(len(fitting) - 1 - int(rng.exponential(window)), 0)]
        match rng.choice(["product", "sum", "rotation", "map", "polynomial"], p=[0.35, 0.25, 0.1, 0.15, 0.15]):
            case "product":
                graph.times(a, b)
            case "sum":
                graph.plus(a, b)
            case "rotation":
                graph.op("rotation", (a,), 0, graph.latency("rotate"))
            case "map":
                graph.transform(a, int(rng.integers(4, 200)))
            case _:
                graph.polynomial(a, int(rng.choice([3, 5, 7, 13, 15])))
    read = {v for op in graph.ops for v in op.operands}
    return graph.problem([v for v in range(len(graph.values)) if v not in read])


def _earlier(rng: np.random.Generator, graph: Graph, window: float) -> int:
    return max(len(graph.values) - 1 - int(rng.exponential(window)), 0)


def synthetic_bodies(carried: int, depth: int, iterations: int) -> Problem:
    """Iterations of a body that carries so many real values, each of which goes into all, unrolled."""
    graph = Graph()
    values = [graph.value(1, True, RESIDUAL) for _ in range(carried)]
    for _ in range(iterations):
        total = values[0]
        for value in values[1:]:
            total = graph.plus(total, value)
        for number in range(carried):
            value = graph.plus(values[number], total)
            for _ in range(depth):
                value = graph.times(value, value)
            values[number] = value
    return graph.problem(values)


def residual_network(blocks: int, residual: int = RESIDUAL) -> Problem:
    """A ResNet of 6 `blocks` + 2 layers for 32 x 32 pictures: blocks = 3, 5 and 9 make ResNet-20, -32 and -56.

    A convolution is a map and, where it changes the layout, a mask after it: 1 or 2 levels. A ReLU is
    x (1 + sign(x)) / 2 with a composite sign: 14 levels. Real values: halves of one vector may be one complex one.
    """
    graph = Graph(residual)
    x = graph.value(1, True, residual)
    x = _relu(graph, _convolution(graph, x, 27))
    for stage in range(3):
        for block in range(blocks):
            strided = stage > 0 and block == 0
            y = _relu(graph, _convolution(graph, x, 144, masked=strided))
            y = _convolution(graph, y, 144)
            shortcut = _convolution(graph, x, 16, masked=True) if strided else x
            x = _relu(graph, graph.plus(y, shortcut))
    return graph.problem([graph.transform(x, 64, "pooling and dense layer")])


def _convolution(graph: Graph, x: int, diagonals: int, *, masked: bool = False) -> int:
    y = graph.transform(x, diagonals, "convolution")
    if masked:
        return graph.op("mask", (y,), 1, graph.latency("multcp") + graph.latency("rescale"))
    return y


def _relu(graph: Graph, x: int) -> int:
    sign = x
    for degree in SIGN:
        sign = graph.polynomial(sign, degree)
    return graph.times(x, sign)
