"""Index equations of each side of a loop nest for its loop counters, and those that need both sides.

Which terms read or make the element at a place follows from its accesses, solved for the loop counters one side at a
time; what is then still open is solved from both, or walked.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.loop_nests.nest import Access, BoolArray, LoopNest
from latticework.values.packing.pack import IntArray, PackMap

Counters = dict[int, IntArray]  # by loop


@dataclass(frozen=True, slots=True)
class Equation:
    """sum of row[j] * t_j + offset = index along one axis of one side's view."""

    axis: int
    row: tuple[int, ...]
    offset: int

    def unknowns(self, known: set[int]) -> list[int]:
        """Loops in it that are not known yet."""
        return [j for j, weight in enumerate(self.row) if weight and j not in known]


def decodable(equation: Equation, unknown: list[int], domain: tuple[int, ...]) -> bool:
    """Whether the unknown counters follow from their weighted sum: its weights are those of a mixed radix."""
    reach = 0
    for j in sorted(unknown, key=lambda j: abs(equation.row[j])):
        if abs(equation.row[j]) <= reach:
            return False
        reach += abs(equation.row[j]) * (domain[j] - 1)
    return bool(unknown)


def decode(
    equation: Equation, domain: tuple[int, ...], index: IntArray, counters: Counters
) -> tuple[Counters, BoolArray]:
    """Counters that an equation determines given those in `counters`, and where they solve it."""
    rest = index - equation.offset
    unknown = []
    for j, weight in enumerate(equation.row):
        if weight and j in counters:
            rest = rest - weight * counters[j]
        elif weight:
            unknown.append(j)
            rest = rest - min(weight * (domain[j] - 1), 0)  # a counter that runs down is one that runs up from its end
    found: Counters = {}
    ok = rest >= 0
    for j in sorted(unknown, key=lambda j: -abs(equation.row[j])):
        weight = abs(equation.row[j])
        digit = rest // weight
        ok &= digit < domain[j]
        rest = rest - digit * weight
        found[j] = digit if equation.row[j] > 0 else domain[j] - 1 - digit
    return found, ok & (rest == 0)


@dataclass(frozen=True, slots=True)
class Solution:
    """Loop counters that one side determines, whatever its elements are.

    order  equations that give counters one after another;  left  those that need the other side too
    known  loops that are determined
    """

    order: tuple[Equation, ...]
    left: tuple[Equation, ...]
    known: frozenset[int]


@lru_cache(maxsize=256)
def solution(access: Access, domain: tuple[int, ...]) -> Solution:
    """Solve the equations of one access; loops of one iteration are known."""
    known = {j for j, extent in enumerate(domain) if extent == 1}
    left = [Equation(a, row, access.offset[a]) for a, row in enumerate(access.matrix)]
    order: list[Equation] = []
    while ready := [e for e in left if _is_ready(e, known, domain)]:
        order.append(ready[0])
        known.update(ready[0].unknowns(known))
        left.remove(ready[0])
    return Solution(tuple(order), tuple(left), frozenset(known))


class Side:
    """Loop counters that the element at each place of one packing determines by itself.

    counters  of the loops that it determines, shape (count, slots)
    valid     whether it holds an element that some iteration reaches, as far as that can be seen
    index     along the view's axes, of each place, for the equations that need the other side too
    """

    def __init__(self, pack: PackMap, access: Access, domain: tuple[int, ...]) -> None:
        element = pack.element_of_slot().reshape(pack.count, pack.slots)
        index = np.unravel_index(np.maximum(element, 0), access.view) if access.view else ()
        self.counters: Counters = {j: np.zeros_like(element) for j, extent in enumerate(domain) if extent == 1}
        self.valid: BoolArray = element >= 0
        known = solution(access, domain)
        for equation in known.order:
            solved, ok = decode(equation, domain, index[equation.axis], self.counters)
            self.counters.update(solved)
            self.valid &= ok
        self.index = {e.axis: index[e.axis] for e in known.left}


@lru_cache(maxsize=32)
def sides(nest: LoopNest) -> tuple[Side, Side]:
    """Return the side of the output and that of the input."""
    assert nest.in_pack is not None and nest.in_access is not None
    return (
        Side(nest.out_pack, nest.out_access, nest.domain),
        Side(nest.in_pack, nest.in_access, nest.domain),
    )


def open_loops(nest: LoopNest) -> tuple[int, ...]:
    """The loops that have to be walked at every slot, because the two elements do not determine their counters."""
    if nest.in_access is None:
        return tuple(range(len(nest.domain)))
    return joint(nest)[1]


@lru_cache(maxsize=64)
def joint(nest: LoopNest) -> tuple[tuple[tuple[int, Equation], ...], tuple[int, ...]]:
    """Equations that need both sides, in the order in which they can be solved, and the loops walked before them."""
    assert nest.in_access is not None
    both = [solution(access, nest.domain) for access in (nest.out_access, nest.in_access)]
    known = set(both[0].known | both[1].known)
    left = [(number, equation) for number, side in enumerate(both) for equation in side.left]
    order: list[tuple[int, Equation]] = []
    walked: list[int] = []
    while left:
        ready = next((e for e in left if _is_ready(e[1], known, nest.domain)), None)
        if ready is None:
            smallest = min({j for _, e in left for j in e.unknowns(known)}, key=lambda j: (nest.domain[j], j))
            walked.append(smallest)
            known.add(smallest)
            continue
        order.append(ready)
        known.update(ready[1].unknowns(known))
        left.remove(ready)
    walked += [j for j in range(len(nest.domain)) if j not in known]
    return tuple(order), tuple(walked)


def _is_ready(equation: Equation, known: set[int], domain: tuple[int, ...]) -> bool:
    unknown = equation.unknowns(known)
    return not unknown or decodable(equation, unknown, domain)
