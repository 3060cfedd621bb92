"""The cost model: seconds of an operation, from one calibrated table."""

from __future__ import annotations

from itertools import pairwise
from math import log2
from pathlib import Path

from latticework.cost.table import CostTable, OpRow, default_table, read_table
from latticework.cost.work import Shape, Work, work
from latticework.errors import FormatError

_N_LOG_N = ("ntt", "fft")


class CostModel:
    """Prices operations by a table: by its rows for whole operations where there are any, else by units."""

    def __init__(self, table: CostTable) -> None:
        self.table = table

    @classmethod
    def load(cls, path: Path | str | None = None) -> CostModel:
        """The model of a table file, or of the shipped table.

        raises  FormatError
        """
        return cls(default_table() if path is None else read_table(Path(path)))

    @property
    def table_hash(self) -> str:
        """Names the table's content."""
        return self.table.hash

    def seconds(self, op: str, shape: Shape) -> float:
        """Predicted seconds of one plan instruction on one thread."""
        rows = _matching(self.table, op, shape)
        if rows:
            return _interpolated(rows, shape.q_limbs)
        return self.work_seconds(work(op, shape), shape.ring_degree) * self.table.overhead.get(op, 1.0)

    def work_seconds(self, units: Work, ring_degree: int) -> float:
        """Seconds of some work, without any operation's overhead."""
        return sum(count * self.unit_seconds(unit, ring_degree) for unit, count in units.items() if count)

    def unit_seconds(self, unit: str, ring_degree: int) -> float:
        """Seconds of one unit; at a ring degree that is not in the table, scaled from the nearest one that is.

        raises  FormatError if the table has no price for the unit at all
        """
        prices = self.table.units.get(unit)
        if not prices:
            raise FormatError(f"the cost table of {self.table.date} has no price for {unit!r}; measure it again")
        if ring_degree in prices:
            return prices[ring_degree]
        nearest = min(prices, key=lambda known: (abs(log2(known / ring_degree)), known))
        if unit == "read_byte":
            return prices[nearest]
        factor = ring_degree / nearest
        return prices[nearest] * factor * (log2(ring_degree) / log2(nearest) if unit in _N_LOG_N else 1.0)


def _matching(table: CostTable, op: str, shape: Shape) -> list[OpRow]:
    """The rows that hold for a shape, by ascending number of limbs."""
    rows = [
        row
        for row in table.ops
        if row.op == op
        and row.ring_degree == shape.ring_degree
        and row.p_limbs in (None, shape.p_limbs)
        and row.digits in (None, len(shape.digit_limbs))
        and row.target in (None, shape.target)
    ]
    return sorted(rows, key=lambda row: row.q_limbs)


def _interpolated(rows: list[OpRow], q_limbs: int) -> float:
    """Linear in the number of limbs between rows, in proportion to it outside of them."""
    first, last = rows[0], rows[-1]
    if q_limbs <= first.q_limbs:
        return first.seconds * q_limbs / first.q_limbs
    if q_limbs >= last.q_limbs:
        return last.seconds * q_limbs / last.q_limbs
    low, high = next((a, b) for a, b in pairwise(rows) if a.q_limbs <= q_limbs <= b.q_limbs)
    if low.q_limbs == high.q_limbs:
        return low.seconds
    share = (q_limbs - low.q_limbs) / (high.q_limbs - low.q_limbs)
    return low.seconds + share * (high.seconds - low.seconds)
