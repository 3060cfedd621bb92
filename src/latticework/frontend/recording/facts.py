"""Facts about the numbers of a circuit on integers while it is traced: their ranges, and how deep they are.

Sums and products modulo t are right wherever the result itself fits, whatever happens on the way; so a range is that of
the number which is meant, whichever residue stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from latticework.functions.approximation.intervals import Interval, minus, negative, plus, times
from latticework.ir.core import OpSpec, Value
from latticework.ir.dialects import scalar_dialect
from latticework.lazy_dataclass import dataclass

ASSUMED: Interval = (-1, 1)  # of an input without a declared range, where a warning has to take something


@dataclass(frozen=True, slots=True)
class Fact:
    """The range and depth of one number.

    accepted  between what it lies for all inputs that clients accept
    assumed   the same where inputs without a declared range are taken to be -1 to 1
    depth     products of encrypted numbers in a row that it takes
    """

    accepted: Interval
    assumed: Interval
    depth: int = 0


class Facts:
    """The facts about all numbers of one run.

    most  the largest number that is accepted where no range is declared
    """

    def __init__(self, most: float = inf) -> None:
        self._most = most
        self._of: dict[Value, Fact] = {}

    def __getitem__(self, value: Value) -> Fact:
        return self._of[value]

    def declare(self, value: Value, low: float | None, high: float | None) -> None:
        """An input, between these numbers, or with no range declared."""
        if low is None or high is None:
            self._of[value] = Fact((-self._most, self._most), ASSUMED)
        else:
            self._of[value] = Fact((int(low), int(high)), (int(low), int(high)))

    def public(self, value: Value, number: int) -> None:
        """A public number."""
        self._of[value] = Fact((number, number), (number, number))

    def record_result(self, value: Value, spec: OpSpec, operands: Sequence[Value]) -> None:
        """Record the result of an operation."""
        one = self._of[operands[0]]
        if spec is scalar_dialect.NEG:
            self._of[value] = Fact(negative(one.accepted), negative(one.assumed), one.depth)
            return
        other = self._of[operands[1]]
        depth = max(one.depth, other.depth)
        if spec is scalar_dialect.MUL:
            same = operands[0] is operands[1]
            accepted, assumed = (times(a, b, same=same) for a, b in _both(one, other))
            is_public = any(f.accepted[0] == f.accepted[1] for f in (one, other))
            self._of[value] = Fact(accepted, assumed, depth + (not is_public))
            return
        join = plus if spec is scalar_dialect.ADD else minus
        accepted, assumed = (join(a, b) for a, b in _both(one, other))
        self._of[value] = Fact(accepted, assumed, depth)

    def narrow(self, value: Value, low: float, high: float) -> None:
        """Take note that a number lies between these, for reasons that its operations do not show."""
        old = self._of[value]
        accepted, assumed = ((max(a, low), min(b, high)) for a, b in (old.accepted, old.assumed))
        self._of[value] = Fact(accepted, assumed, old.depth)

    def mean(self, value: Value, low: float, high: float) -> None:
        """Take note that a number stands for one between these: its residue, while its operations may give another."""
        self._of[value] = Fact((low, high), (low, high), self._of[value].depth)


def _both(one: Fact, other: Fact) -> tuple[tuple[Interval, Interval], tuple[Interval, Interval]]:
    return (one.accepted, other.accepted), (one.assumed, other.assumed)
