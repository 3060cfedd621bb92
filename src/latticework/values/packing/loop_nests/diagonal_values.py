"""The values of one diagonal of a loop nest, from the side of the slots.

At out slot p of vector v, diagonal (v, u, s) holds the weights of the terms that
read the element at slot p + s of vector u. Which those are follows from the two
elements: the accesses are solved for the loop counters, one side at a time, and
what is then still open is walked. So one diagonal takes O(slots), however large
the domain is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.values.extension import _core
from latticework.values.packing.loop_nests.element_copies import row_service, service
from latticework.values.packing.loop_nests.index_equations import Counters, decode, joint, sides
from latticework.values.packing.loop_nests.nest import Access, BoolArray, LoopNest, walk
from latticework.values.packing.loop_nests.separable import separable
from latticework.values.packing.pack import IntArray

Sources = Mapping[str, npt.NDArray[Any]]  # float64, or complex128
SlotArray = npt.NDArray[Any]


def pack_values(nest: LoopNest, sources: Sources) -> SlotArray:
    """A packed constant tensor: (slots,), or (count, slots) if it takes several vectors."""
    pack = nest.out_pack
    array = None if nest.source is None else sources[nest.source].reshape(-1)
    total: SlotArray = np.zeros(pack.size, dtype=_dtype(nest, sources))
    for counters in walk(nest.domain):
        element, valid = nest.out_access.flat(counters)
        values: SlotArray = np.ones(element.size)
        if array is not None:
            assert nest.source_access is not None
            place, inside = nest.source_access.flat(counters)
            valid &= inside
            values = array[np.where(valid, place, 0)]
        np.add.at(total, element[valid], values[valid])
    held = pack.element_of_slot()
    vectors = np.where(held >= 0, total[np.maximum(held, 0)], 0.0)
    return vectors if pack.count == 1 else vectors.reshape(pack.count, pack.slots)


def diagonal_values(
    nest: LoopNest, out: int, in_: int, steps: int, sources: Sources, rotated: int = 0, factor: complex = 1.0
) -> SlotArray:
    """Diagonal (out, in_, steps) of a linear map, shape (slots,): what rotate(x[in_], steps) is multiplied by.

    rotated, factor the vector is rotated left by so many slots, and multiplied by a number
    """
    steps, rotated = steps % nest.slots, rotated % nest.slots
    weights = None if nest.source is None else _weights(sources[nest.source])
    if (form := separable(nest)) is not None:
        also = _serves(nest, in_, steps) if nest.spread > 1 else None
        if isinstance(factor, complex) or (weights is not None and weights.dtype.kind == "c"):
            return scale(_of_parts(form, (out, in_, steps), weights, also, rotated), factor)
        return form.diagonal(out, in_, steps, weights, also, rotated, factor)
    vector = _walk_diagonal(nest, out, in_, steps, sources)
    if rotated:
        vector = np.roll(vector, -rotated, axis=-1)
    return scale(vector, factor)


def scale(vector: SlotArray, factor: complex) -> SlotArray:
    """A vector times a number. Products of complex numbers are made part by part: NumPy's own have other last bits on
    processors that fuse a product and a sum, and a constant is the same on every machine."""
    if factor == 1.0:
        return vector
    if not isinstance(factor, complex) or vector.dtype.kind != "c":
        return vector * factor
    product = np.empty(vector.shape, dtype=np.complex128)
    product.real = vector.real * factor.real - vector.imag * factor.imag
    product.imag = vector.real * factor.imag + vector.imag * factor.real
    return product


def _weights(source: npt.NDArray[Any]) -> SlotArray:
    """A source, flat."""
    flat = source.reshape(-1)
    return flat if flat.dtype.kind == "c" else flat.astype(np.float64, copy=False)


def _of_parts(
    form: _core.maps.SeparableNest,
    place: tuple[int, int, int],
    weights: SlotArray | None,
    also: BoolArray | None,
    rotated: int,
) -> SlotArray:
    """A diagonal whose weights, or whose factor, are complex."""
    if weights is None or weights.dtype.kind != "c":
        return form.diagonal(*place, weights, also, rotated, 1.0)
    result: SlotArray = form.diagonal(*place, np.ascontiguousarray(weights.real), also, rotated, 1.0).astype(complex)
    result.imag = form.diagonal(*place, np.ascontiguousarray(weights.imag), also, rotated, 1.0)
    return result


def _walk_diagonal(nest: LoopNest, out: int, in_: int, steps: int, sources: Sources) -> SlotArray:
    """A diagonal, term by term."""
    vector: SlotArray = np.zeros(nest.slots, dtype=_dtype(nest, sources))
    for slot, counters in _terms(nest, out, in_, steps):
        if nest.source is None:
            vector[slot] += 1.0
            continue
        assert nest.source_access is not None
        place, inside = _flat_of(nest.source_access, counters, slot.size)
        vector[slot[inside]] += sources[nest.source].reshape(-1)[place[inside]]
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


def _dtype(nest: LoopNest, sources: Sources) -> type:
    is_complex = nest.source is not None and sources[nest.source].dtype.kind == "c"
    return np.complex128 if is_complex else np.float64


def _terms(nest: LoopNest, out: int, in_: int, steps: int) -> Iterator[tuple[IntArray, Counters]]:
    """(out slots, all loop counters there) of the terms of a diagonal; no slot stands twice in one item."""
    to, of = sides(nest)
    slots = nest.slots
    steps %= slots
    read = (np.arange(slots) + steps) % slots
    ok = to.valid[out] & of.valid[in_][read] & _serves(nest, in_, steps)
    for j in set(to.counters) & set(of.counters):
        ok &= to.counters[j][out] == of.counters[j][in_][read]
    slot = np.flatnonzero(ok)
    read = read[slot]
    counters = {j: c[in_][read] for j, c in of.counters.items()} | {j: c[out][slot] for j, c in to.counters.items()}
    equations, walked = joint(nest)
    for values in product(*(range(nest.domain[j]) for j in walked)):
        here, at = slot, dict(counters)
        for j, value in zip(walked, values, strict=True):
            at[j] = np.full(here.size, value, dtype=np.int64)
        place = read
        for number, equation in equations:
            index = to.index[equation.axis][out][here] if number == 0 else of.index[equation.axis][in_][place]
            solution, solved = decode(equation, nest.domain, index, at)
            at.update(solution)
            if not solved.all():
                at = {j: c[solved] for j, c in at.items()}
                here, place = here[solved], place[solved]
        if here.size:
            yield here, at


def _serves(nest: LoopNest, in_: int, steps: int) -> BoolArray:
    """Return for each out slot whether slot + steps of a vector is the copy that is read."""
    assert nest.in_pack is not None
    if nest.spread == 1:
        return np.roll(steps < service(nest.in_pack)[in_], -steps)
    begin, below = row_service(nest.in_pack, nest.slots // nest.spread)
    return np.roll((begin[in_] <= steps) & (steps < below[in_]), -steps)
