"""The values of one diagonal of a gather, from the side of the slots.

At out slot p of vector v, diagonal (v, u, s) holds the weights of the terms that
read the element at slot p + s of vector u. Which those are follows from the two
elements: the accesses are solved for the loop counters, one side at a time, and
what is then still open is walked. So one diagonal takes O(slots), however large
the domain is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.plan.gathers.copies import nearest, service
from latticework.plan.gathers.gather import Access, BoolArray, Gather, walk
from latticework.plan.pack import IntArray, PackMap

Sources = Mapping[str, npt.NDArray[Any]]  # float64, or complex128
SlotArray = npt.NDArray[Any]
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


class Side:
    """What the element at each place of one packing says by itself about the loop counters.

    counters  of the loops that it determines, shape (count, slots)
    valid     whether it holds an element that some iteration reaches, as far as that can be seen
    left      equations that need the other side too
    index     along the view's axes, of each place, for those
    """

    def __init__(self, pack: PackMap, access: Access, domain: tuple[int, ...]) -> None:
        element = pack.element_of_slot().reshape(pack.count, pack.slots)
        index = np.unravel_index(np.maximum(element, 0), access.view) if access.view else ()
        self.counters: Counters = {j: np.zeros_like(element) for j, extent in enumerate(domain) if extent == 1}
        self.valid: BoolArray = element >= 0
        self.left = [Equation(a, row, access.offset[a]) for a, row in enumerate(access.matrix)]
        progress = True
        while progress:
            progress = False
            for equation in list(self.left):
                unknown = equation.unknowns(set(self.counters))
                if unknown and not decodable(equation, unknown, domain):
                    continue
                found, ok = decode(equation, domain, index[equation.axis], self.counters)
                self.counters.update(found)
                self.valid &= ok
                self.left.remove(equation)
                progress = True
        self.index = {e.axis: index[e.axis] for e in self.left}


@lru_cache(maxsize=32)
def _sides(gather: Gather) -> tuple[Side, Side]:
    assert gather.in_pack is not None and gather.in_access is not None
    return (
        Side(gather.out_pack, gather.out_access, gather.domain),
        Side(gather.in_pack, gather.in_access, gather.domain),
    )


def open_loops(gather: Gather) -> tuple[int, ...]:
    """The loops that have to be walked at every slot, because the two elements do not determine their counters."""
    if gather.in_access is None:
        return tuple(range(len(gather.domain)))
    return _joint(gather)[1]


@lru_cache(maxsize=64)
def _joint(gather: Gather) -> tuple[tuple[tuple[int, Equation], ...], tuple[int, ...]]:
    """Equations that need both sides, in the order in which they can be solved, and the loops walked before them."""
    sides = _sides(gather)
    known = set(sides[0].counters) | set(sides[1].counters)
    left = [(number, equation) for number, side in enumerate(sides) for equation in side.left]
    order: list[tuple[int, Equation]] = []
    walked: list[int] = []
    while left:
        ready = next((e for e in left if _is_ready(e[1], known, gather.domain)), None)
        if ready is None:
            smallest = min({j for _, e in left for j in e.unknowns(known)}, key=lambda j: (gather.domain[j], j))
            walked.append(smallest)
            known.add(smallest)
            continue
        order.append(ready)
        known.update(ready[1].unknowns(known))
        left.remove(ready)
    walked += [j for j in range(len(gather.domain)) if j not in known]
    return tuple(order), tuple(walked)


def _is_ready(equation: Equation, known: set[int], domain: tuple[int, ...]) -> bool:
    unknown = equation.unknowns(known)
    return not unknown or decodable(equation, unknown, domain)


def packed_values(gather: Gather, sources: Sources) -> SlotArray:
    """A packed constant tensor: (slots,), or (count, slots) if it takes several vectors."""
    pack = gather.out_pack
    array = None if gather.source is None else sources[gather.source].reshape(-1)
    total: SlotArray = np.zeros(pack.size, dtype=_dtype(gather, sources))
    for counters in walk(gather.domain):
        element, valid = gather.out_access.flat(counters)
        values: SlotArray = np.ones(element.size)
        if array is not None:
            assert gather.source_access is not None
            place, inside = gather.source_access.flat(counters)
            valid &= inside
            values = array[np.where(valid, place, 0)]
        np.add.at(total, element[valid], values[valid])
    held = pack.element_of_slot()
    vectors = np.where(held >= 0, total[np.maximum(held, 0)], 0.0)
    return vectors if pack.count == 1 else vectors.reshape(pack.count, pack.slots)


def diagonal_values(gather: Gather, out: int, in_: int, steps: int, sources: Sources) -> SlotArray:
    """Diagonal (out, in_, steps) of a linear map, shape (slots,): what rotate(x[in_], steps) is multiplied by."""
    vector: SlotArray = np.zeros(gather.slots, dtype=_dtype(gather, sources))
    for slot, counters in _terms(gather, out, in_, steps):
        if gather.source is None:
            vector[slot] += 1.0
            continue
        assert gather.source_access is not None
        place, inside = _flat_of(gather.source_access, counters, slot.size)
        vector[slot[inside]] += sources[gather.source].reshape(-1)[place[inside]]
    return vector


def _flat_of(access: Access, counters: Counters, size: int) -> tuple[IntArray, BoolArray]:
    """Flat element index and validity, as `Access.flat`."""
    flat, valid = np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool)
    for extent, row, start in zip(access.view, access.matrix, access.offset, strict=True):
        index: IntArray | int = start
        for j, weight in enumerate(row):
            if weight:
                index = index + (counters[j] if weight == 1 else weight * counters[j])
        valid &= (index >= 0) & (index < extent)
        flat = flat * extent + index
    return flat, valid


def _dtype(gather: Gather, sources: Sources) -> type:
    is_complex = gather.source is not None and sources[gather.source].dtype.kind == "c"
    return np.complex128 if is_complex else np.float64


def _terms(gather: Gather, out: int, in_: int, steps: int) -> Iterator[tuple[IntArray, Counters]]:
    """(out slots, all loop counters there) of the terms of a diagonal; no slot stands twice in one item."""
    to, of = _sides(gather)
    slots = gather.slots
    steps %= slots
    read = (np.arange(slots) + steps) % slots
    ok = to.valid[out] & of.valid[in_][read] & _serves(gather, out, in_, steps)
    for j in set(to.counters) & set(of.counters):
        ok &= to.counters[j][out] == of.counters[j][in_][read]
    slot = np.flatnonzero(ok)
    read = read[slot]
    counters = {j: c[in_][read] for j, c in of.counters.items()} | {j: c[out][slot] for j, c in to.counters.items()}
    equations, walked = _joint(gather)
    for values in product(*(range(gather.domain[j]) for j in walked)):
        here, at = slot, dict(counters)
        for j, value in zip(walked, values, strict=True):
            at[j] = np.full(here.size, value, dtype=np.int64)
        place = read
        for number, equation in equations:
            index = to.index[equation.axis][out][here] if number == 0 else of.index[equation.axis][in_][place]
            found, solved = decode(equation, gather.domain, index, at)
            at.update(found)
            if not solved.all():
                at = {j: c[solved] for j, c in at.items()}
                here, place = here[solved], place[solved]
        if here.size:
            yield here, at


def _serves(gather: Gather, out: int, in_: int, steps: int) -> BoolArray:
    """At each out slot, whether what lies `steps` further in a vector is the copy that is read."""
    assert gather.in_pack is not None
    slots, pack = gather.slots, gather.in_pack
    slot = np.arange(slots)
    read = (slot + steps) % slots
    serves: BoolArray = steps < service(pack)[in_][read]
    if gather.spread == 1:
        return serves
    element = pack.element_of_slot()[in_ * slots + read]
    at = np.flatnonzero(serves & (element >= 0))
    width = slots // gather.spread
    own = at // width
    best = np.ones(at.size, dtype=bool)
    for copy in range(gather.spread):
        _, other = nearest(pack, element[at], (at % width) + copy * width)
        best &= (other > steps) | ((other == steps) & (copy >= own))
    result = np.zeros(slots, dtype=bool)
    result[at[best]] = True
    return result
