"""The cost model: seconds of an operation, from one measured table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from math import log2
from pathlib import Path
from statistics import mean, median

from latticework.errors import FormatError
from latticework.plan.cost.operation_work import WEIGHTED_SUM, work
from latticework.plan.cost.table import BootstrapRow, CostTable, OpRow, default_table, read_table
from latticework.plan.instructions.work_units import Shape, Work
from latticework.plan.parameters import ModulusChain
from latticework.values.sums import add_up

_N_LOG_N = ("ntt", "fft")
_BYTES = ("read_byte", "fresh_byte")
_DEARER = {"matrix_mac": "plain_mac"}  # a unit that stands for one that a table of an earlier version has not got
_TENSORS = ("mul", "square")  # whose work grows with the square of polynomials; measured are those of degree 1
_ALIKE = {WEIGHTED_SUM: "add"}  # whose overhead an operation has that is not measured by itself: memory's


class CostModel:
    """Prices operations by a table: by its rows for whole operations where there are any, else by units.

    key_price  seconds of a run that one gigabyte (10^9 bytes) less of stored keys is worth
    """

    def __init__(self, table: CostTable, key_price: float = 0.0) -> None:
        self.table = table
        self.key_price = key_price

    @classmethod
    def load(cls, path: Path | str | None = None) -> CostModel:
        """The model of a table file, or of the shipped table.

        raises  FormatError
        """
        return cls(default_table() if path is None else read_table(Path(path)))

    def on(self, threads: int) -> CostModel:
        """Prices on several threads, if the table has them; else these."""
        parallel = self.table.parallel
        return self if threads == self.table.threads or parallel is None else CostModel(parallel, self.key_price)

    def with_key_price(self, seconds_per_gb: float) -> CostModel:
        """Return the same prices, with another one of keys."""
        return CostModel(self.table, seconds_per_gb)

    @property
    def table_hash(self) -> str:
        """Names the table's content."""
        return self.table.hash

    def seconds(self, op: str, shape: Shape) -> float:
        """Predicted seconds of one plan instruction.

        The time of its kernels, times how much longer the operation took where it was measured; a price that holds
        for any number of special limbs and digits is taken as it is.
        """
        rows = [] if op in _TENSORS and shape.polys > 2 else _matching(self.table, op, shape)
        if rows:
            return _interpolate([(row.q_limbs, row.seconds) for row in rows], shape.q_limbs, in_proportion=True)
        return self.kernel_seconds(op, shape) * self._overhead(op, shape)

    def kernel_seconds(self, op: str, shape: Shape) -> float:
        """Seconds of an operation's kernels by themselves."""
        return self.work_seconds(work(op, shape), shape.ring_degree)

    def _overhead(self, op: str, shape: Shape) -> float:
        """Time of an operation over that of its kernels, from the measured chains of the nearest ring degree."""
        op = _ALIKE.get(op, op)
        rows = [r for r in self.table.ops if r.op == op and r.is_exact and bool(r.p_limbs) == bool(shape.p_limbs)]
        if not rows:
            return self.table.overhead.get(op, 1.0)
        nearest = _nearest((row.ring_degree for row in rows), shape.ring_degree)
        ratios: dict[int, list[float]] = {}
        for row in rows:
            kernels = self.kernel_seconds(op, row.shape) if row.ring_degree == nearest else 0.0
            if kernels > 0:
                ratios.setdefault(row.q_limbs, []).append(row.seconds / kernels)
        means = [(q_limbs, add_up(values) / len(values)) for q_limbs, values in sorted(ratios.items())]
        return _interpolate(means, shape.q_limbs) if means else 1.0

    def work_seconds(self, units: Work, ring_degree: int) -> float:
        """Seconds of some work, without any operation's overhead."""
        return add_up(count * self.unit_seconds(unit, ring_degree) for unit, count in units.items() if count)

    def bootstrap_seconds(
        self,
        chain: ModulusChain,
        target: int,
        slots: int,
        expected: Callable[[], float],
        *,
        real: bool,
        count: int = 1,
        iterations: int = 1,
        in_proportion: bool = False,
    ) -> float:
        """Predicted seconds of refreshing `count` ciphertexts to `target` levels above the floor of a chain.

        As was measured, between and beyond measured targets on straight lines; where this width or chain was not, what
        the operations add up to, times how much longer bootstraps took where they were measured.

        expected       of one bootstrap: what its operations add up to. Called only where that is needed
        in_proportion  to that, for a bootstrap that is carried out otherwise than the measured one
        """
        rows = [row for row in self.table.bootstraps if _is_of(row, chain) and row.slots in (None, slots)]
        rows = [row for row in rows if row.real in (None, real)]
        points = sorted({row.target: row.seconds for row in rows}.items())
        seconds = (
            _on_lines(points, target) if points else expected() * self.bootstrap_ratio(chain.ring_degree, real=real)
        )
        known = sorted({row.target: row.expected for row in rows if row.expected}.items())
        if in_proportion and known and len(known) == len(points):
            seconds *= expected() / _on_lines(known, target)
        return count * iterations * seconds

    def bootstrap_ratio(self, ring_degree: int, *, real: bool) -> float:
        """Time of bootstraps over what their operations add up to, in the nearest ring where that is known."""
        known = [row for row in self.table.bootstraps if row.expected is not None and row.real in (None, real)]
        if not known:
            return 1.0
        nearest = _nearest((row.ring_degree for row in known), ring_degree)
        return mean(row.seconds / (row.expected or 1.0) for row in known if row.ring_degree == nearest)

    def fresh_seconds(self, fresh_bytes: int) -> float:
        """Seconds for the first use of memory from the system; 0 if the table was measured without them.

        How much that takes depends on the system's state more than on the place in the table, so all of them count.
        """
        prices = self.table.units.get("fresh_byte")
        return fresh_bytes * median(prices.values()) if prices else 0.0

    def unit_seconds(self, unit: str, ring_degree: int) -> float:
        """Seconds of one unit; at a ring degree that is not in the table, scaled from the nearest one that is.

        raises  FormatError if the table has no price for the unit at all
        """
        prices = self.table.units.get(unit) or self.table.units.get(_DEARER.get(unit, ""))
        if not prices:
            raise FormatError(f"the cost table of {self.table.date} has no price for {unit!r}; measure it again")
        if ring_degree in prices:
            return prices[ring_degree]
        nearest = _nearest(prices, ring_degree)
        if unit in _BYTES:
            return prices[nearest]
        factor = ring_degree / nearest
        return prices[nearest] * factor * (log2(ring_degree) / log2(nearest) if unit in _N_LOG_N else 1.0)


def _nearest(known: Iterable[int], ring_degree: int) -> int:
    """Return the known ring degree that is the fewest doublings away, of two the smaller."""
    return min(known, key=lambda degree: (abs(log2(degree / ring_degree)), degree))


def _is_of(row: BootstrapRow, chain: ModulusChain) -> bool:
    """Whether a bootstrap was measured on such a chain."""
    return (
        row.ring_degree == chain.ring_degree
        and row.q_limbs in (None, len(chain.primes))
        and row.p_limbs in (None, len(chain.special))
    )


def _on_lines(points: list[tuple[int, float]], at: int) -> float:
    """Interpolate between points, and go on beyond them along the line of the two at the end."""
    if len(points) == 1:
        return points[0][1]
    pairs = list(pairwise(points))
    low, high = next((pair for pair in pairs if at <= pair[1][0]), pairs[-1])
    return low[1] + (at - low[0]) / (high[0] - low[0]) * (high[1] - low[1])


def _matching(table: CostTable, op: str, shape: Shape) -> list[OpRow]:
    """The rows that are for just this shape, or for any chain, by ascending number of limbs."""
    rows = [
        row
        for row in table.ops
        if row.op == op
        and row.ring_degree == shape.ring_degree
        and row.p_limbs in (None, shape.p_limbs)
        and row.digits in (None, len(shape.digit_limbs))
        and row.target in (None, shape.target)
        and (not row.is_exact or row.q_limbs == shape.q_limbs)
    ]
    return sorted(rows, key=lambda row: row.q_limbs)


def _interpolate(points: list[tuple[int, float]], q_limbs: int, in_proportion: bool = False) -> float:
    """Linear in the number of limbs between points; outside of them in proportion to it, or as at the end."""
    first, last = points[0], points[-1]
    for end, is_outside in ((first, q_limbs <= first[0]), (last, q_limbs >= last[0])):
        if is_outside:
            return end[1] * (q_limbs / end[0] if in_proportion else 1.0)
    low, high = next((a, b) for a, b in pairwise(points) if a[0] <= q_limbs <= b[0])
    if low[0] == high[0]:
        return low[1]
    return low[1] + (q_limbs - low[0]) / (high[0] - low[0]) * (high[1] - low[1])
