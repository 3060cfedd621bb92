"""Prices of one machine brought to another: of a whole table, by the few that were measured there.

An operation takes as many times longer as it was measured to, in the nearest rings where it was; one that was not, as
key switches and products do. Kernels say how that goes on in larger rings, where caches end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from math import exp, log, log2
from statistics import median

from latticework.lazy_dataclass import dataclass
from latticework.plan.cost import CostModel, CostTable
from latticework.plan.cost.table import BootstrapRow, OpRow

GROWING = ("ntt", "pointwise")  # kernels that tell how much slower larger rings are
OF_BYTES = ("read_byte", "fresh_byte")  # the same in all rings
FRESH = "fresh_byte"  # up to twenty times as long where a virtual machine gets its memory from its host first
TYPICAL = ("rotate", "mul")  # operations that those which were not measured are like
KEY_SWITCH = "rotate"  # what bootstraps consist of
MOST_APART = 1e4  # times that prices of two machines differ at most; beyond, a measurement went wrong

Ratios = dict[int, float]  # by ring degree


@dataclass(frozen=True)
class SpeedRatios:
    """Times of operations and kernels on one machine over those on another."""

    ops: Mapping[str, Ratios]
    units: Mapping[str, Ratios]

    def of_op(self, op: str, ring_degree: int) -> float:
        """The ratio of an operation."""
        if op not in self.ops:
            return _mean(self.of_op(each, ring_degree) for each in TYPICAL if each in self.ops)
        known = self.ops[op]
        return _between(known, ring_degree) * self._growth(max(known), ring_degree)

    def of_unit(self, unit: str, ring_degree: int) -> float:
        """The ratio of a kernel."""
        return _between(self.units[unit], ring_degree) if unit in self.units else self.of_op(KEY_SWITCH, ring_degree)

    def _growth(self, largest: int, ring_degree: int) -> float:
        """The growth of the ratio of kernels from the largest ring that was measured to one beyond."""
        known = [self.units[unit] for unit in GROWING if unit in self.units]
        if ring_degree <= largest or not known:
            return 1.0
        return _mean(_between(each, ring_degree) / _between(each, largest) for each in known)


def compare_speeds(table: CostTable, measured: CostTable) -> SpeedRatios:
    """The ratios of measured prices to those of a table.

    raises  ValueError if there are too few, or they are further apart than machines can be
    """
    model, found = CostModel(table), dict[str, dict[int, list[float]]]()
    for row in measured.ops:
        known = model.seconds(row.op, row.shape)
        if known > 0:
            found.setdefault(row.op, {}).setdefault(row.ring_degree, []).append(row.seconds / known)
    ops = {op: {degree: _mean(ratios) for degree, ratios in rows.items()} for op, rows in found.items()}
    units = {
        unit: {degree: seconds / model.unit_seconds(unit, degree) for degree, seconds in prices.items()}
        for unit, prices in measured.units.items()
    }
    every = [ratio for known in (*ops.values(), *units.values()) for ratio in known.values()]
    if any(op not in ops for op in TYPICAL) or not all(1 / MOST_APART <= ratio <= MOST_APART for ratio in every):
        raise ValueError("prices that cannot be compared")
    return SpeedRatios(ops, units)


def adapt_prices(table: CostTable, measured: CostTable, words: str) -> CostTable:
    """A table for the machine that some prices were measured on, on one thread; those are taken as they are.

    The price of fresh memory is half way between both tables, since it depends on the system's state from one second to
    the next.

    words   on how that came about
    raises  as `compare_speeds`; ValueError for an operation that there is not
    """
    ratios = compare_speeds(table, measured)
    known_ops = {_shape_of(row) for row in measured.ops}
    known_bootstraps = {_kind_of(row) for row in measured.bootstraps}
    units = {
        unit: {degree: seconds * ratios.of_unit(unit, degree) for degree, seconds in prices.items()}
        | measured.units.get(unit, {})
        for unit, prices in table.units.items()
    }
    ops = [
        replace(row, seconds=row.seconds * ratios.of_op(row.op, row.ring_degree))
        for row in table.ops
        if _shape_of(row) not in known_ops
    ]
    bootstraps = [
        _scale_bootstrap(row, ratios.of_op(KEY_SWITCH, row.ring_degree))
        for row in table.bootstraps
        if _kind_of(row) not in known_bootstraps
    ]
    return replace(
        table,
        units=units | {unit: _by_byte(table, measured, unit) for unit in OF_BYTES if unit in measured.units},
        ops=(*ops, *measured.ops),
        bootstraps=(*bootstraps, *measured.bootstraps),
        overhead=table.overhead | measured.overhead,
        parallel=None,
        backend=measured.backend,
        adapted=words,
    )


def _by_byte(table: CostTable, measured: CostTable, unit: str) -> Ratios:
    """Prices of bytes, by ring degree."""
    if unit != FRESH or unit not in table.units:
        return measured.units[unit]
    known = median(table.units[unit].values())
    return {degree: (known + seconds) / 2 for degree, seconds in measured.units[unit].items()}


def _shape_of(row: OpRow) -> OpRow:
    """A row without its price."""
    return replace(row, seconds=1.0)


def _kind_of(row: BootstrapRow) -> BootstrapRow:
    return replace(row, seconds=1.0, expected=None)


def _scale_bootstrap(row: BootstrapRow, ratio: float) -> BootstrapRow:
    return replace(row, seconds=row.seconds * ratio, expected=None if row.expected is None else row.expected * ratio)


def _mean(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [log(ratio) for ratio in ratios]
    return exp(sum(logs) / len(logs))


def _between(known: Ratios, ring_degree: int) -> float:
    """The ratio at a ring degree: between two known ones on a line of logarithms, outside as at the nearest."""
    degrees = sorted(known)
    if ring_degree <= degrees[0] or ring_degree >= degrees[-1]:
        return known[degrees[0] if ring_degree <= degrees[0] else degrees[-1]]
    low, high = next((a, b) for a, b in pairwise(degrees) if a <= ring_degree <= b)
    part = log2(ring_degree / low) / log2(high / low)
    return exp((1 - part) * log(known[low]) + part * log(known[high]))
