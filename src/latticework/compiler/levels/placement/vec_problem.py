"""The placement problem of vec code: what values need, and what everything takes by prices handed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from typing import Protocol

from latticework.compiler.levels.bootstrap_calls import ciphertexts
from latticework.compiler.levels.depth import Levels, is_public, spent_by
from latticework.compiler.levels.placement.problem import OpPrices, Problem, ValuePrices, spending
from latticework.ir import Block, Op, Value
from latticework.ir.core import walk_regions
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import PiecewiseLinearComposition

IMPOSSIBLE = float("inf")


class VecPrices(Protocol):
    """Prices of vec code on a chain with bootstraps, in seconds."""

    def operation(self, op: Op, level: int) -> float:
        """Price an operation whose operands are read at a level above the floor."""

    def bootstrap(self, target: int, *, real: bool, count: int = 1) -> float:
        """Price bootstraps of `count` ciphertexts to a target above the floor; real: imaginary parts are dropped."""


@dataclass
class VecProblem:
    """The problem of a block, and the values and operations behind its numbers.

    exponents  k where a value lies within [-2^k, 2^k]; values that have none, or None, are not refreshed
    starts     levels above the floor at which arguments and values from outside are given; the highest if not said
    """

    block: Block
    residual: int
    prices: VecPrices
    exponents: Mapping[Value, int | None]
    starts: Mapping[Value, int] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    _numbers: dict[Value, int] = field(default_factory=dict)
    _value_prices: list[ValuePrices] = field(default_factory=list)
    _refreshing: dict[tuple[int, str], ValuePrices] = field(default_factory=dict)

    def problem(self, wanted: Sequence[int] | None = None) -> Problem:
        """Numbered operations.

        wanted  levels above the floor of what the block ends with; the floor if not given
        """
        for value in self.block.args:
            self._add_input(value)
        op_prices = []
        for op in self.block.ops[:-1]:
            secret = [v for v in op.results if isinstance(v.type, VecType) and v.is_secret]
            if secret and (op.regions or not is_public(op)):
                self.ops.append(op)
                op_prices.append(self._op(op, secret))
        ends: dict[int, int] = {}
        outputs = self.block.terminator.operands
        for value, level in zip(outputs, wanted or [0] * len(outputs), strict=True):
            if (number := self._read(value)) is not None:
                ends[number] = max(ends.get(number, 0), level)
        return Problem(self.residual, self._value_prices, op_prices, ends)

    def number(self, value: Value) -> int | None:
        """The number of a secret value; None for others."""
        return self._numbers.get(value)

    # -- values ----------------------------------------------------------------------------------

    def _add_input(self, value: Value) -> int | None:
        if not isinstance(value.type, VecType) or not value.is_secret:
            return None
        return self._add(value, self.starts.get(value, self.residual))

    def _read(self, value: Value) -> int | None:
        """The number of a value that is read, from outside of the block too; None if it is public."""
        if value in self._numbers:
            return self._numbers[value]
        owner = value.owner.block if isinstance(value.owner, Op) else value.owner
        if owner is self.block or (isinstance(value.owner, Op) and value.owner.name == "vec.trivial"):
            return None  # public ones of its own were passed over
        return self._add_input(value)

    def _add(self, value: Value, available: int | None) -> int:
        kind = value.type
        assert isinstance(kind, VecType)
        prices = self._refreshing_of(kind) if self.exponents.get(value) is not None else ValuePrices(count=kind.count)
        self._numbers[value] = len(self.values)
        self.values.append(value)
        self._value_prices.append(
            ValuePrices(available, prices.alone, prices.kind, prices.shared, prices.count)
        )  # fmt: skip
        return self._numbers[value]

    def _refreshing_of(self, kind: VecType) -> ValuePrices:
        """Seconds of refreshing values of a type."""
        key = kind.count, kind.elem
        if key not in self._refreshing:
            is_real = kind.elem == "real"
            pairs, single = divmod(kind.count, 2) if is_real else (kind.count, 0)
            alone = self._by_target(pairs, real=False, single=single)
            shared = self._by_target(kind.count, real=False) if is_real else None
            self._refreshing[key] = ValuePrices(None, alone, (*key, kind.slots), shared, kind.count)
        return self._refreshing[key]

    def _by_target(self, count: int, *, real: bool, single: int = 0) -> Sequence[float]:
        """Complex bootstraps and real ones, by target; a higher one never takes less."""
        prices = [0.0]
        for target in range(1, self.residual + 1):
            seconds = self.prices.bootstrap(target, real=real, count=count) if count else 0.0
            prices.append(seconds + (self.prices.bootstrap(target, real=True, count=single) if single else 0.0))
        return tuple(accumulate(prices, max))

    # -- operations ------------------------------------------------------------------------------

    def _op(self, op: Op, secret: Sequence[Value]) -> OpPrices:
        reads = [v for v in values_read(op) if self._read(v) is not None]
        operands = tuple(self._numbers[v] for v in reads)
        if op.regions:
            enters, seconds = self._price_nested(op, reads)
        elif op.name == "vec.bootstrap":
            target: int = op.attrs["target"]
            enters = tuple(0 if need <= target else self.residual + 1 for need in range(self.residual + 1))
            seconds = (self._refresh_seconds(op),) * (self.residual + 1)
        else:
            by_level = accumulate((self.prices.operation(op, level) for level in range(self.residual + 1)), max)
            enters, seconds = spending(spent_by(op), tuple(by_level), self.residual)
        results = tuple(self._add(v, None) for v in secret)
        return OpPrices(operands, results, enters, seconds, _name_of(op), op.loc)

    def _price_nested(self, op: Op, reads: Sequence[Value]) -> tuple[Sequence[int], Sequence[float]]:
        """A loop or condition, as a whole: what it leaves by what all it reads is given at, and what it takes."""
        left = [self._result_level(op, reads, level) for level in range(self.residual + 1)]
        by_level = [self._nested_seconds(op, level) for level in range(self.residual + 1)]
        enters, seconds = [], []
        for need in range(self.residual + 1):
            level = next((lv for lv, leaves in enumerate(left) if leaves is not None and leaves >= need), None)
            enters.append(self.residual + 1 if level is None else level)
            seconds.append(IMPOSSIBLE if level is None else by_level[level])
        return enters, seconds

    def _result_level(self, op: Op, reads: Sequence[Value], level: int) -> int | None:
        """The lowest level of a result when all that is read lies on a level; None if something is below the floor."""
        levels = Levels(dict.fromkeys(reads, level - self.residual), residual=self.residual)
        for value in values_read(op):
            levels.of.setdefault(value, None)
        levels.add(op)
        known = [result_level for result_level in levels.of.values() if result_level is not None]
        if min(known, default=0) < -self.residual:
            return None
        return min(levels.of[v] or 0 for v in op.results) + self.residual

    def _nested_seconds(self, op: Op, level: int) -> float:
        """Every operation as if it were read on one level, by the trips that are known of."""
        trip_count = op.attrs.get("static_trip") or op.attrs.get("at_most") or 1
        inside = 0.0
        for region in op.regions:
            for nested in region.block.ops[:-1]:
                if nested.regions:
                    inside += self._nested_seconds(nested, level)
                elif nested.name == "vec.bootstrap":
                    inside += self._refresh_seconds(nested)
                elif nested.name.startswith("vec.") and not is_public(nested):
                    inside += self.prices.operation(nested, level)
        return trip_count * inside

    def _refresh_seconds(self, op: Op) -> float:
        """A bootstrap that is there already."""
        target: int = op.attrs["target"]
        return sum(self.prices.bootstrap(target, real=group.real, count=group.number) for group in ciphertexts(op))


def values_read(op: Op) -> list[Value]:
    """The values made outside of an operation that it reads, also inside of its regions."""
    nested = list(walk_regions(op.regions))
    inside = {v for each in nested for v in each.results}
    inside.update(v for each in (op, *nested) for region in each.regions for v in region.block.args)
    read = [*op.operands, *(v for each in nested for v in each.operands)]
    return [v for v in dict.fromkeys(read) if v not in inside]


def _name_of(op: Op) -> str:
    """The name of an operation in messages."""
    match op.name:
        case "vec.polynomial":
            polynomial = op.attrs["polynomial"]
            if isinstance(polynomial, PiecewiseLinearComposition):
                return f"a comparison, which is composed of polynomials on {spent_by(op)} levels,"
            return f"a polynomial of degree {polynomial.degree}"
        case "loop.for":
            return "a loop"
        case "loop.if":
            return "a condition"
    return f"a {op.name.removeprefix('vec.').replace('_', ' ')}"
