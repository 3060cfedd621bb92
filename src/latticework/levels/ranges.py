"""Interval arithmetic on slot vectors: the values that a `vec` program can take for inputs anywhere in a box.

Calibration data say what values usually are; a client may encrypt anything
inside the accepted range of every element, and that has to fit the modulus too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.ir import Block, Loc, Module, Op, Value, last_uses
from latticework.plan.arrays import as_value, as_vectors, concat_vectors, sum_vectors, take_vectors

Array = npt.NDArray[np.float64]
GRID = np.linspace(-1.0, 1.0, 2049)
TOLERANCE = 1e-9
MAX_TRIPS = 256
_INDEX = {"loop.index_add": int.__add__, "loop.index_sub": int.__sub__, "loop.index_mul": int.__mul__,
          "loop.index_min": min, "loop.index_less": lambda a, b: int(a < b)}  # fmt: skip


@dataclass(frozen=True)
class Interval:
    """Lowest and highest value of every slot, shape (slots,), or (count, slots) of an array of vectors."""

    low: Array
    high: Array


@dataclass
class Ranges:
    """What was found.

    outputs  an interval per output, or None where loops are too long to follow
    leaving  lines whose polynomial may be given arguments outside the interval it approximates on
    """

    outputs: list[Interval | None]
    leaving: set[Loc] = field(default_factory=set)


def ranges(module: Module, inputs: list[Interval | int]) -> Ranges:
    """Ranges of a `vec` module whose polynomials are on [-1, 1]; an int per run-time integer."""
    found = Ranges([])
    run = _Run(module, found.leaving)
    with np.errstate(over="ignore", invalid="ignore"):
        found.outputs = run.block(module.body, list(inputs))
    return found


class _Run:
    def __init__(self, module: Module, leaving: set[Loc]) -> None:
        self.module = module
        self.leaving = leaving
        self.env: dict[Value, Any] = {}

    def block(self, block: Block, arguments: list[Any]) -> list[Any]:
        """Ranges of what a block yields."""
        self.env.update(zip(block.args, arguments, strict=True))
        until = last_uses(block)
        for place, op in enumerate(block.ops):
            operands = [self.env[v] for v in op.operands]
            if op.name == "loop.yield":
                return operands
            self.env.update(zip(op.results, self.results(op, operands), strict=True))
            for value in {*op.operands, *op.results}:  # what comes from outside a loop is read again
                if until[value] == place and _made_in(value, block):
                    self.env.pop(value, None)
        raise AssertionError("block without loop.yield")

    def results(self, op: Op, operands: list[Any]) -> list[Any]:
        """Ranges of one operation's results."""
        if op.name == "loop.for":
            return self.loop(op, operands)
        if op.name == "loop.index_constant":
            return [op.attrs["value"]]
        if op.name in _INDEX:
            return [_INDEX[op.name](*operands)]  # type: ignore[operator]
        return [None if any(x is None for x in operands) else self.vector(op, operands)]

    def loop(self, op: Op, operands: list[Any]) -> list[Any]:
        """Every iteration in turn."""
        static = op.attrs.get("static_trip")
        trips, carried = (static, operands) if static is not None else (operands[0], operands[1:])
        if trips > MAX_TRIPS:
            return [None] * len(carried)
        for i in range(trips):
            carried = self.block(op.regions[0].block, [i, *carried])
        return carried

    def vector(self, op: Op, x: list[Interval]) -> Interval:
        """Range of one vector operation."""
        match op.name:
            case "vec.constant":
                value = np.real(op.attrs["value"].evaluate(self.module.sources))
                return Interval(value, value)
            case "vec.splat":
                value = np.full(op.attrs["slots"], float(op.attrs["value"]))
                return Interval(value, value)
            case "vec.add":
                return Interval(x[0].low + x[1].low, x[0].high + x[1].high)
            case "vec.sub":
                return Interval(x[0].low - x[1].high, x[0].high - x[1].low)
            case "vec.neg":
                return Interval(-x[0].high, -x[0].low)
            case "vec.mul":
                return product(x[0], x[1], same=op.operands[0] is op.operands[1])
            case "vec.rotate":
                return Interval(*(np.roll(bound, -op.attrs["steps"], axis=-1) for bound in (x[0].low, x[0].high)))
            case "vec.take" | "vec.concat" | "vec.sum":
                return Interval(moved(op, [i.low for i in x]), moved(op, [i.high for i in x]))
            case "vec.linear_transform":
                return self.transformed(op, x[0])
            case "vec.polynomial":
                return self.polynomial(op, x[0])
        return x[0]  # vec.conjugate, vec.trivial

    def transformed(self, op: Op, x: Interval) -> Interval:
        """Range of a linear map: each weight takes the end of the interval that suits its sign."""
        linear_map = op.attrs["map"]
        lows, highs = as_vectors(x.low), as_vectors(x.high)
        is_block = (linear_map.count_in, linear_map.count_out) != (1, 1)  # else it acts on each vector of an array
        count = linear_map.count_out if is_block else len(lows)
        low, high = np.zeros((count, linear_map.slots)), np.zeros((count, linear_map.slots))
        for diagonal in linear_map.diagonals:
            weights = np.real(diagonal.values.evaluate(self.module.sources))
            positive, negative = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
            read, made = (diagonal.in_, diagonal.out) if is_block else (slice(None), slice(None))
            turned_low, turned_high = (np.roll(bound[read], -diagonal.steps, axis=-1) for bound in (lows, highs))
            low[made] += positive * turned_low + negative * turned_high
            high[made] += positive * turned_high + negative * turned_low
        return Interval(as_value(low), as_value(high))

    def polynomial(self, op: Op, x: Interval) -> Interval:
        """Range of a polynomial on [-1, 1]; arguments that may lie outside are noted, and taken as inside."""
        if np.min(x.low) < -1 - TOLERANCE or np.max(x.high) > 1 + TOLERANCE:
            self.leaving.add(op.loc)
        values = op.attrs["polynomial"](GRID)
        return Interval(np.full(x.low.shape, values.min()), np.full(x.low.shape, values.max()))


def _made_in(value: Value, block: Block) -> bool:
    return (value.owner.block if isinstance(value.owner, Op) else value.owner) is block


def moved(op: Op, bounds: list[Array]) -> Array:
    """One end of the range of an operation on whole vectors: the same operation on that end of its operands."""
    arrays = [as_vectors(b) for b in bounds]
    match op.name:
        case "vec.take":
            return as_value(take_vectors(arrays[0], op.attrs["vectors"]))
        case "vec.concat":
            return as_value(concat_vectors(arrays))
    return as_value(sum_vectors(arrays[0], op.attrs["groups"]))


def product(a: Interval, b: Interval, *, same: bool = False) -> Interval:
    """Range of a product; of a square if both operands are one value."""
    low = a.low * b.low
    high = low.copy()
    for left, right in ((a.low, b.high), (a.high, b.low), (a.high, b.high)):
        corner = left * right
        np.minimum(low, corner, out=low)
        np.maximum(high, corner, out=high)
    if same:
        low = np.where((a.low <= 0) & (a.high >= 0), 0.0, np.minimum(a.low**2, a.high**2))
    return Interval(low, high)
