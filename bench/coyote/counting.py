"""What a kernel costs as scalar code: it is run on symbols that note every operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ADD = 0.1  # what an addition costs in the paper's model, where a product costs 1


@dataclass
class Counts:
    """Operations of a kernel.

    adds, muls                    as written; subtractions and negations count as additions
    shared_adds, shared_muls      equal ones once
    uses                          by input: how often its elements are operands, or results
    longest                       the most expensive path, in the paper's model;  depth  products on one path
    """

    adds: int = 0
    muls: int = 0
    shared_adds: int = 0
    shared_muls: int = 0
    uses: dict[str, int] = field(default_factory=dict)
    longest: float = 0.0
    depth: int = 0

    @property
    def work(self) -> float:
        """All operations, in the paper's model."""
        return self.muls + ADD * self.adds

    @property
    def ideal(self) -> float:
        """How much faster vectors can be at best: work by the longest path."""
        return self.work / self.longest


class Symbol:
    """A value of the circuit.

    key  what it computes, as a number;  cost  of the most expensive path to it;  depth  products on one
    """

    __slots__ = ("cost", "depth", "key", "name", "trace")

    def __init__(self, trace: Trace, key: int, name: str | None = None, cost: float = 0.0, depth: int = 0) -> None:
        self.trace, self.key, self.name, self.cost, self.depth = trace, key, name, cost, depth

    def __add__(self, other: Any) -> Symbol:
        return self.trace.note("+", self, other)

    def __sub__(self, other: Any) -> Symbol:
        return self.trace.note("-", self, other)

    def __rsub__(self, other: Any) -> Symbol:
        return self.trace.note("r-", self, other)

    def __neg__(self) -> Symbol:
        return self.trace.note("neg", self, 0)

    def __mul__(self, other: Any) -> Symbol:
        return self.trace.note("*", self, other)

    __radd__, __rmul__ = __add__, __mul__


class Trace:
    """Notes the operations on its symbols."""

    def __init__(self) -> None:
        self.counts = Counts()
        self._keys: dict[tuple[Any, ...], int] = {}

    def inputs(self, name: str, shape: tuple[int, ...]) -> Any:
        """New symbols: nested lists of this shape."""
        if not shape:
            return Symbol(self, self._key((name, len(self._keys)))[0], name)
        return [self.inputs(name, shape[1:]) for _ in range(shape[0])]

    def note(self, op: str, a: Symbol, b: Any) -> Symbol:
        """An operation, and its result."""
        self.use(a)
        self.use(b)
        right = ("number", b) if not isinstance(b, Symbol) else b.key
        operands = sorted((a.key, right), key=str) if op in "+*" else (a.key, right)
        key, is_new = self._key((op, *operands))
        both = (a, b) if isinstance(b, Symbol) else (a,)
        cost, depth = max(x.cost for x in both), max(x.depth for x in both)
        if op == "*":
            self.counts.muls += 1
            self.counts.shared_muls += is_new
            return Symbol(self, key, None, cost + 1, depth + 1)
        self.counts.adds += 1
        self.counts.shared_adds += is_new
        return Symbol(self, key, None, cost + ADD, depth)

    def use(self, x: Any) -> None:
        """An operand or a result."""
        if isinstance(x, Symbol) and x.name is not None:
            self.counts.uses[x.name] = self.counts.uses.get(x.name, 0) + 1

    def _key(self, what: tuple[Any, ...]) -> tuple[int, bool]:
        is_new = what not in self._keys
        return self._keys.setdefault(what, len(self._keys)), is_new


def count(kernel: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]]) -> Counts:
    """The operations of a kernel on inputs of these shapes."""
    trace = Trace()
    results = kernel(**{name: trace.inputs(name, shape) for name, shape in shapes.items()})
    for result in np.asarray(results, object).ravel():
        trace.use(result)
        trace.counts.longest = max(trace.counts.longest, result.cost)
        trace.counts.depth = max(trace.counts.depth, result.depth)
    return trace.counts
