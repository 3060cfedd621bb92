"""Diagonals of a loop nest: all (out vector, in vector, steps) that some term needs.

A product y = W x, one vector of 4 slots to one, is the nest  y[t0] += W[t0, t1] * x[t1]  over a box of 4 x 4. The
term (t0, t1) reads slot q = t1 and adds to slot p = t0; rotating x by q - p brings what it reads to where it adds. So
all terms on one generalised diagonal, q - p = s modulo 4, are done by one rotation and one product:

            x0   x1   x2   x3
      y0  [ s=0  s=1  s=2  s=3 ]      y = d0 * x + d1 * rotate(x, 1) + d2 * rotate(x, 2) + d3 * rotate(x, 3)
      y1  [ s=3  s=0  s=1  s=2 ]      ds[p] = W[p, (p + s) mod 4]
      y2  [ s=2  s=3  s=0  s=1 ]
      y3  [ s=1  s=2  s=3  s=0 ]      4 products, 3 rotations, 3 additions instead of 16 products of numbers

Walking all terms finds the diagonals, but a large product has tens of millions. Instead each loop says by how much it
moves p and q: t0 moves p by 0, 1, 2 or 3, and so q - p by 0, 3, 2 or 1 modulo 4; t1 moves q by 0, 1, 2 or 3. The
diagonals are the sums of a move of each: {0, 1, 2, 3}, found from 4 + 4 moves instead of 4 * 4 terms. With a third loop
over rows of a batch, which moves p and q by the same, there is nothing to add: its one move is 0.

What a loop adds to the place of the output and of the input does not depend on
loops that share no axis, dimension or roll with it. So the nest falls into parts
that are walked by themselves, and the moves (v, u, q - p) of all of it, out vector v,
in vector u, are the sums of one move of each part. A loop that moves both places
alike is a part with the one move 0, however long it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.values.extension import _core
from latticework.values.packing.loop_nests.element_copies import nearest
from latticework.values.packing.loop_nests.nest import CHUNK, Access, BoolArray, LoopNest, distinct, walk
from latticework.values.packing.pack import GAP, REPEAT, IntArray, PackMap, Roll

Node = tuple[str, int, int]  # ("loop", 0, j), or ("axis" of the view or "dim" of the packing, side, number)
WALKED = 256  # terms of a nest that is not worth taking apart
TABLE = 1 << 25
MOST_LISTED = 1 << 16  # diagonals of a map for which it is worth knowing which they are
UNSORTED = 1 << 22  # codes that are kept before equal ones are dropped
MOST_ADDED = 1 << 5  # sums a slot that are added one by one; a convolution takes as long as so many
JOINT = 1 << 18  # iterations of a part beyond which its two ends are looked at one by one


@dataclass(frozen=True)
class Structure:
    """Diagonals of a loop nest: one for each of `moves` and each of `vectors`, whose numbers add up.

    moves    (out, in, steps), ascending; shape (moves, 3)
    vectors  (out, in): what loops that only number vectors add to both; shape (pairs, 2)
    """

    moves: IntArray
    vectors: IntArray

    @property
    def size(self) -> int:
        """Number of diagonals."""
        return len(self.moves) * len(self.vectors)


@lru_cache(maxsize=1024)
def structure(nest: LoopNest) -> Structure:
    """The diagonals that are not structurally zero."""
    moves = None if prod(nest.domain) <= WALKED else _moves_of(nest)
    codes = (_walk(nest), np.zeros(1, dtype=np.int64)) if moves is None else _sum_moves(nest, moves)
    pair, steps = np.divmod(codes[0], nest.slots)
    vectors = codes[1] // nest.slots
    result = Structure(
        np.stack([pair // nest.count_in, pair % nest.count_in, steps], axis=1),
        np.stack([vectors // nest.count_in, vectors % nest.count_in], axis=1),
    )
    result.moves.setflags(write=False)
    result.vectors.setflags(write=False)
    return result


@lru_cache(maxsize=128)
def find_diagonals(nest: LoopNest) -> IntArray:
    """The diagonals that are not structurally zero: rows (out, in, steps), ascending; shape (diagonals, 3)."""
    structured = structure(nest)
    if len(structured.vectors) == 1 and not structured.vectors.any():
        return structured.moves
    rows = np.repeat(structured.moves, len(structured.vectors), axis=0)
    rows[:, :2] += np.tile(structured.vectors, (len(structured.moves), 1))
    rows = rows[np.lexsort(rows.T[::-1])]
    rows.setflags(write=False)
    return rows


def num_diagonals(nest: LoopNest) -> int:
    """Diagonals that are not structurally zero."""
    return structure(nest).size


def bounded_diagonals(nest: LoopNest, enough: int) -> int:
    """Diagonals that are not structurally zero; a bound where that is `enough` or less, or they are very many."""
    bound = at_most(nest).diagonals
    return num_diagonals(nest) if enough < bound <= MOST_LISTED else bound


class _SeenCodes:
    """A set of codes (v * count_in + u) * slots + steps: a list, for few of all possible ones are there."""

    def __init__(self) -> None:
        self.chunks: list[IntArray] = []
        self.unsorted = 0

    def add(self, codes: IntArray) -> None:
        """Put codes in."""
        self.chunks.append(distinct(codes))
        self.unsorted += self.chunks[-1].size
        if self.unsorted > UNSORTED:
            self.chunks, self.unsorted = [self.all()], 0

    def all(self) -> IntArray:
        """Everything that was put in, ascending."""
        return distinct(np.concatenate(self.chunks)) if self.chunks else np.zeros(0, dtype=np.int64)


def _walk(nest: LoopNest) -> IntArray:
    """Diagonals by visiting every term: for small nests, and packings that fit no pattern."""
    assert nest.in_pack is not None and nest.in_access is not None
    seen, slots = _SeenCodes(), nest.slots
    places = nest.out_pack.slots_of_element()
    for counters in walk(nest.domain, max(1, CHUNK // places.shape[1])):
        out_element, valid = nest.out_access.flat(counters)
        in_element, inside = nest.in_access.flat(counters)
        valid &= inside
        if nest.source_access is not None:
            valid &= nest.source_access.flat(counters)[1]
        out = places[out_element[valid]]  # (terms, copies)
        vector, steps = nearest(nest.in_pack, np.repeat(in_element[valid], out.shape[1]), out.reshape(-1) % slots)
        code = ((out.reshape(-1) // slots) * nest.count_in + vector) * slots + steps
        if nest.spread > 1:
            code = _nearest_copies(nest, out, code.reshape(out.shape))
        seen.add(code.reshape(-1))
    return seen.all()


def _nearest_copies(nest: LoopNest, out: IntArray, code: IntArray) -> IntArray:
    """Choose the code with the fewest steps among the spread copies of each output place."""
    slots, width = nest.slots, nest.slots // nest.spread
    vector, slot = out // slots, out % slots
    order = np.lexsort((slot // width, slot % width, vector), axis=-1)
    code = np.take_along_axis(code, order, 1).reshape(len(code), code.shape[1] // nest.spread, nest.spread)
    best = np.argmin(code % slots, axis=2)[:, :, None]
    return np.take_along_axis(code, best, 2)


@dataclass(frozen=True)
class _Digits:
    """A packing whose places are sums over dimensions: index along each times its weight.

    weights  of one step along each dimension: (vectors, slots)
    rolls    those that move elements
    """

    pack: PackMap
    weights: tuple[tuple[int, int], ...]
    rolls: tuple[Roll, ...]

    def repeats(self) -> list[int]:
        """Dimensions along which places hold the same element."""
        return [i for i, d in enumerate(self.pack.all_dims) if d.axis == REPEAT and d.extent > 1]


@lru_cache(maxsize=64)
def _digits(pack: PackMap) -> _Digits | None:
    """Return a packing's mixed radix; None unless the dimensions of every axis are its digits."""
    dims = pack.all_dims
    for axis, extent in enumerate(pack.shape):
        stride = 1
        for dim in sorted((d for d in dims if d.axis == axis and d.extent > 1), key=lambda d: d.stride):
            if dim.stride != stride and extent > 1:
                return None
            stride *= dim.extent
        if stride < extent:
            return None
    weights: list[tuple[int, int]] = []
    vector, slot = 1, 1
    for dim in reversed(pack.dims):
        weights.insert(0, (0, slot))
        slot *= dim.extent
    for dim in reversed(pack.vector_dims):
        weights.insert(0, (vector, 0))
        vector *= dim.extent
    rolls: list[Roll] = []
    for i, j in reversed(pack.rolls):  # a repetition may be rotated freely, as long as nothing is rotated by it later
        is_free = dims[i].axis == REPEAT and all(i != by for _, by in rolls)
        if not is_free and dims[j].axis != GAP and dims[j].extent > 1 and dims[i].extent > 1:
            rolls.insert(0, (i, j))
    return _Digits(pack, tuple(weights), tuple(rolls))


@dataclass
class _Part:
    """Loops and dimensions that depend on each other.

    loops    of the nest
    dims     of the packings of output and input
    free     dimensions of each that repeat, and are walked like loops
    """

    loops: list[int]
    axes: tuple[list[int], list[int]]
    dims: tuple[list[int], list[int]]
    free: tuple[list[int], list[int]]


def _parts(nest: LoopNest) -> list[_Part] | None:
    """The nest taken apart, or None where a packing has no digits."""
    assert nest.in_pack is not None and nest.in_access is not None
    sides = ((nest.out_pack, nest.out_access), (nest.in_pack, nest.in_access))
    parent: dict[Node, Node] = {("loop", 0, j): ("loop", 0, j) for j in range(len(nest.domain))}

    def root(node: Node) -> Node:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def join(*nodes: Node) -> None:
        for node in nodes[1:]:
            parent[root(node)] = root(nodes[0])

    def loops(row: tuple[int, ...]) -> list[Node]:
        return [("loop", 0, j) for j, weight in enumerate(row) if weight and nest.domain[j] > 1]

    for side, (pack, access) in enumerate(sides):
        digits = _digits(pack)
        if digits is None:
            return None
        dims: list[Node] = [("dim", side, i) for i in range(len(pack.all_dims))]
        axes: list[Node] = [("axis", side, a) for a in range(len(access.view))]
        for node in (*dims, *axes):
            root(node)
        for a, row in enumerate(access.matrix):
            join(axes[a], *loops(row))
        if access.view == pack.shape:
            for a in range(len(pack.shape)):
                join(axes[a], *(dims[i] for i, d in enumerate(pack.all_dims) if d.axis == a))
        else:
            join(*axes, *(dims[i] for i, d in enumerate(pack.all_dims) if d.axis >= 0))
        for i, j in digits.rolls:
            join(dims[i], dims[j])
    for a, extent in enumerate(nest.source_access.view if nest.source_access else ()):
        assert nest.source_access is not None
        low, high = nest.source_access.reach(a, nest.domain)
        if low < 0 or high >= extent:
            join(*loops(nest.source_access.matrix[a]))
    spread = ("dim", 0, len(nest.out_pack.vector_dims))
    if nest.spread > 1 and sum(root(node) == root(spread) for node in list(parent)) > 1:
        return None
    copied = [("dim", 1, i) for i in _digits(nest.in_pack).repeats()]  # type: ignore[union-attr]
    held = [node for node in copied if sum(root(other) == root(node) for other in list(parent)) > 1]
    if held:
        join(*held)  # copies that depend on elements are chosen together
    return [_part(nest, nodes) for nodes in _classes(parent, root)]


def _classes(parent: dict[Node, Node], root: object) -> list[list[Node]]:
    groups: dict[Node, list[Node]] = {}
    for node in parent:
        groups.setdefault(root(node), []).append(node)  # type: ignore[operator]
    return list(groups.values())


def _part(nest: LoopNest, nodes: list[Node]) -> _Part:
    assert nest.in_pack is not None
    packs = (nest.out_pack, nest.in_pack)

    def of(kind: str, side: int) -> list[int]:
        return sorted(number for name, which, number in nodes if (name, which) == (kind, side))

    dims = (of("dim", 0), of("dim", 1))
    spread = len(nest.out_pack.vector_dims) if nest.spread > 1 else -1
    free = [[i for i in dims[side] if packs[side].all_dims[i].axis == REPEAT] for side in (0, 1)]
    free[0] = [i for i in free[0] if i != spread]
    return _Part(of("loop", 0), (of("axis", 0), of("axis", 1)), dims, (free[0], free[1]))


@dataclass(frozen=True)
class _Moves:
    """Moves of the parts of a nest.

    each     moves of every part without copies to choose from, the fewest first
    chosen   the part whose copies are to be chosen from, if there is one
    offsets  slots of the copies that do not depend on elements
    """

    each: list[IntArray]
    chosen: _Part | None
    offsets: IntArray


@lru_cache(maxsize=256)
def _moves_of(nest: LoopNest) -> _Moves | None:
    parts = _parts(nest)
    if parts is None:
        return None
    offsets: IntArray = np.zeros(1, dtype=np.int64)
    chosen: _Part | None = None
    moves: list[IntArray] = []
    for part in parts:
        repeats = part.free[1]
        if repeats and not part.loops and part.dims == ([], repeats):
            offsets = _copy_offsets(nest, repeats, offsets)
        elif repeats:
            chosen = part
        else:
            moves.append(_moves(nest, part))
    return _Moves(sorted(moves, key=len), chosen, offsets)


class AtMost(NamedTuple):
    """Bounds from above: distinct steps of diagonals, and diagonals."""

    steps: int
    diagonals: int


@lru_cache(maxsize=1024)
def at_most(nest: LoopNest) -> AtMost:
    """Bound the number of a loop nest's diagonals, without finding them: in a fraction of the time."""
    moves = None if prod(nest.domain) <= WALKED else _moves_of(nest)
    if moves is None or moves.chosen is not None:
        structured = structure(nest)
        return AtMost(distinct(structured.moves[:, 2]).size, structured.size)
    slots = nest.slots
    steps: IntArray = np.zeros(1, dtype=np.int64)
    pairs = product_of_sizes = 1
    for each in moves.each:
        steps = _sums_of_steps(steps, distinct(each & (slots - 1)), slots)
        pairs *= distinct(each // slots).size
        product_of_sizes *= each.size
    return AtMost(steps.size, min(product_of_sizes, pairs * steps.size))


def _sums_of_steps(a: IntArray, b: IntArray, slots: int) -> IntArray:
    """Return all sums of one of a and one of b, modulo the slots: by a cyclic convolution where there are many."""
    if a.size * b.size <= slots * MOST_ADDED:
        return _core.maps.sums(a, b, slots)
    (x, y) = (np.bincount(part, minlength=slots).astype(np.float64) for part in (a, b))
    return np.flatnonzero(np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y), slots) > 0.5)


def _sum_moves(nest: LoopNest, moved: _Moves) -> tuple[IntArray, IntArray]:
    """Diagonals as sums of the moves of all parts, of each output place to the nearest input; and moves of vectors."""
    total: IntArray = np.zeros(1, dtype=np.int64)
    vectors, chosen = total, moved.chosen
    period = nest.slots if chosen is not None else min(_period(nest.slots, moved.offsets), nest.slots // nest.spread)
    for found in moved.each:
        if not (found & (nest.slots - 1)).any():
            vectors = _sums(vectors, found, nest.slots)
        elif period < nest.slots:
            total = _sums(total, distinct(found // nest.slots * period + found % period), period)
        else:
            total = _sums(total, found, period)
    nearest_copy = _nearest_steps(nest.slots, moved.offsets)
    if chosen is None:
        fewest = nearest_copy.reshape(nest.spread, -1).min(axis=0)  # to any of the outputs that share a sum
        codes = total // period * nest.slots + fewest[total % period]
        return codes if (codes[1:] > codes[:-1]).all() else distinct(codes), vectors
    if total.size == 1 and not total[0]:  # all of the nest is one part
        settled = (_settle(nest, total, rows, nearest_copy) for rows in _walked_rows(nest, chosen))
        return _distinct_codes(settled), vectors
    return _settle(nest, total, _rows(nest, chosen), nearest_copy), vectors


def _distinct_codes(parts: Iterable[IntArray]) -> IntArray:
    """The different codes of several arrays, ascending."""
    seen = _SeenCodes()
    for codes in parts:
        seen.add(codes)
    return seen.all()


def _period(slots: int, offsets: IntArray) -> int:
    """Return the distance at which the copies of an input repeat: steps modulo it are the same diagonal."""
    held = np.zeros(slots, dtype=bool)
    held[offsets] = True
    while slots > 1 and np.array_equal(held[: slots // 2], held[slots // 2 : slots]):
        slots //= 2
    return slots


def _sums(a: IntArray, b: IntArray, slots: int) -> IntArray:
    """All sums of a move of each: steps are a vector's, modulo its slots (a power of two)."""
    return b if a.size == 1 and not a[0] else _core.maps.sums(a, b, slots)


def _copy_offsets(nest: LoopNest, repeats: list[int], offsets: IntArray) -> IntArray:
    """Slots of the copies that repetitions give; of those in several vectors the lowest is read."""
    assert nest.in_pack is not None
    digits = _digits(nest.in_pack)
    assert digits is not None
    for i in repeats:
        rotations = np.arange(nest.in_pack.all_dims[i].extent, dtype=np.int64) * digits.weights[i][1]
        offsets = distinct((offsets[:, None] + rotations[None, :]) % nest.slots)
    return offsets


def _nearest_steps(slots: int, offsets: IntArray) -> IntArray:
    """Return for each number of steps the fewest that reach a copy; copies lie at `offsets`, ascending from 0."""
    steps = np.arange(slots, dtype=np.int64)
    past = np.searchsorted(offsets, slots - steps)  # the first copy that lies behind: around it is the nearest
    nearest_copy = steps + offsets[np.minimum(past, offsets.size - 1)] - slots
    return np.where(past < offsets.size, nearest_copy, steps)


def _settle(nest: LoopNest, total: IntArray, rows: IntArray, nearest_copy: IntArray) -> IntArray:
    """Choose the copy with the fewest steps: of those in each row, moved by each total, and those around them."""
    return _core.maps.settled(
        total, np.ascontiguousarray(rows), nearest_copy, nest.spread, nest.count_in * nest.count_out
    )


def _moves(nest: LoopNest, part: _Part) -> IntArray:
    """Different moves of a part without copies to choose from."""
    extents = [nest.domain[j] for j in part.loops] + [nest.out_pack.all_dims[i].extent for i in part.free[0]]
    if prod(extents) > JOINT and (shared := _shared_loops(nest, part)) is not None:
        return _moves_apart(nest, part, shared)
    return _distinct_codes(rows[:, 0] for rows in _walked_rows(nest, part))


def _shared_loops(nest: LoopNest, part: _Part) -> list[int] | None:
    """The loops that move both ends: given their counters, each end moves by itself; None if the source ties them."""
    assert nest.in_access is not None
    ties = nest.source_access
    for a, extent in enumerate(ties.view if ties else ()):
        assert ties is not None
        low, high = ties.reach(a, nest.domain)
        if (low < 0 or high >= extent) and any(ties.matrix[a][j] for j in part.loops):
            return None
    ends = (nest.out_access, nest.in_access)
    moved = [{j for a in part.axes[side] for j in part.loops if ends[side].matrix[a][j]} for side in (0, 1)]
    shared = moved[0] & moved[1]
    if moved[0] | moved[1] != set(part.loops) or shared in moved:  # one end follows from the other's loops
        return None
    free = prod(nest.out_pack.all_dims[i].extent for i in part.free[0])
    sizes = [prod(nest.domain[j] for j in loops) for loops in moved]
    return sorted(shared) if max(sizes[0] * free, sizes[1]) <= TABLE else None


def _moves_apart(nest: LoopNest, part: _Part, shared: list[int]) -> IntArray:
    """Moves as sums of those of both ends, for all counters of the shared loops at once that give the same ones."""
    assert nest.in_pack is not None and nest.in_access is not None
    slots, size = nest.slots, prod(nest.domain[j] for j in shared)
    sides = []
    for side, (pack, access) in enumerate(((nest.out_pack, nest.out_access), (nest.in_pack, nest.in_access))):
        own = [j for j in part.loops if j not in shared and any(access.matrix[a][j] for a in part.axes[side])]
        free = part.free[0] if side == 0 else []
        loops = (*shared, *own)
        extents = (*(nest.domain[j] for j in loops), *(pack.all_dims[i].extent for i in free))
        (walked,) = walk(extents, prod(extents))
        counters = np.zeros((len(nest.domain), walked.shape[1]), dtype=np.int64)
        counters[list(loops)] = walked[: len(loops)]
        given = dict(zip(free, walked[len(loops) :], strict=True))
        vector, slot, valid = (
            m.reshape(size, -1) for m in _place(pack, access, part.axes[side], part.dims[side], counters, given)
        )
        start = np.where(valid, slot, slots).min(axis=1)
        rotation = (slot - start[:, None]) % slots if side else (start[:, None] - slot) % slots
        code = vector * (slots if side else nest.count_in * slots) + rotation
        rows, kind = np.unique(np.sort(np.where(valid, code, -1), axis=1), axis=0, return_inverse=True)
        sides.append((start, rows, kind.reshape(-1)))
    (start_out, rows_out, kind_out), (start_in, rows_in, kind_in) = sides
    seen = _SeenCodes()
    for pair in distinct(kind_out * len(rows_in) + kind_in).tolist():
        of_out, of_in = divmod(pair, len(rows_in))
        at = (kind_out == of_out) & (kind_in == of_in)
        rotations = distinct((start_in[at] - start_out[at]) % slots)
        both = [distinct(row[row >= 0]) for row in (rows_out[of_out], rows_in[of_in])]
        if both[0].size and both[1].size:
            seen.add(_sums(_sums(both[0], both[1], nest.slots), rotations, nest.slots))
    return seen.all()


def _rows(nest: LoopNest, part: _Part) -> IntArray:
    """Different moves of a part, a column for each copy of the input; shape (moves, copies)."""
    distinct_rows = [np.unique(rows, axis=0) for rows in _walked_rows(nest, part)]
    return np.unique(np.concatenate(distinct_rows), axis=0) if len(distinct_rows) > 1 else distinct_rows[0]


def _walked_rows(nest: LoopNest, part: _Part) -> Iterator[IntArray]:
    """Moves of a part, a column for each copy of the input, as they are met; shape (some moves, copies)."""
    assert nest.in_pack is not None and nest.in_access is not None
    copies = [range(nest.in_pack.all_dims[i].extent) for i in part.free[1]]
    free = [nest.out_pack.all_dims[i].extent for i in part.free[0]]
    extents = (*(nest.domain[j] for j in part.loops), *free)
    for walked in walk(extents, max(1, CHUNK // prod(len(c) for c in copies))):
        counters = np.zeros((len(nest.domain), walked.shape[1]), dtype=np.int64)
        counters[part.loops] = walked[: len(part.loops)]
        given = dict(zip(part.free[0], walked[len(part.loops) :], strict=True))
        valid = _inside_source(nest, part, counters)
        vector, slot, inside = _place(nest.out_pack, nest.out_access, part.axes[0], part.dims[0], counters, given)
        valid &= inside
        columns = []
        for numbers in product(*copies):
            fixed = {i: np.full(walked.shape[1], n) for i, n in zip(part.free[1], numbers, strict=True)}
            u, q, inside = _place(nest.in_pack, nest.in_access, part.axes[1], part.dims[1], counters, fixed)
            valid &= inside
            columns.append((vector * nest.count_in + u) * nest.slots + (q - slot) % nest.slots)
        yield np.stack(columns, axis=1)[valid]


def _inside_source(nest: LoopNest, part: _Part, counters: IntArray) -> BoolArray:
    """Return whether the source is read inside its view, along the axes that this part's loops can leave."""
    valid = np.ones(counters.shape[1], dtype=bool)
    access = nest.source_access
    for a, extent in enumerate(access.view if access else ()):
        assert access is not None
        own = [j for j, weight in enumerate(access.matrix[a]) if weight and nest.domain[j] > 1]
        low, high = access.reach(a, nest.domain)
        if (low < 0 or high >= extent) and set(own) <= set(part.loops):  # an axis without loops counts in every part
            index = access.offset[a] + sum(access.matrix[a][j] * counters[j] for j in own)
            valid &= (index >= 0) & (index < extent)
    return valid


def _place(
    pack: PackMap, access: Access, axes: list[int], dims: list[int], counters: IntArray, free: dict[int, IntArray]
) -> tuple[IntArray, IntArray, BoolArray]:
    """(vectors, slots) that some dimensions add to a place, and where the view's axes are inside."""
    digits = _digits(pack)
    assert digits is not None
    size = counters.shape[1]
    valid = np.ones(size, dtype=bool)
    index: dict[int, IntArray] = {}
    for a in axes:
        index[a] = np.full(size, access.offset[a], dtype=np.int64)
        for weight, counter in zip(access.matrix[a], counters, strict=True):
            if weight:
                index[a] += weight * counter
        valid &= (index[a] >= 0) & (index[a] < access.view[a])
    if access.view != pack.shape and axes:  # all axes are in this part
        flat = np.zeros(size, dtype=np.int64)
        for a, extent in enumerate(access.view):
            flat = flat * extent + index[a]
        index = dict(enumerate(np.unravel_index(np.where(valid, flat, 0), pack.shape))) if pack.shape else {}
    along: dict[int, IntArray] = {}
    for i in dims:
        dim = pack.all_dims[i]
        if dim.axis >= 0:
            along[i] = index[dim.axis] // dim.stride % dim.extent
        else:
            along[i] = free.get(i, np.zeros(size, dtype=np.int64))
    for i, j in reversed(digits.rolls):
        if i in along:
            along[i] = (along[i] - along[j]) % pack.all_dims[i].extent
    vector, slot = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for i in dims:
        vector += along[i] * digits.weights[i][0]
        slot += along[i] * digits.weights[i][1]
    return vector, slot, valid
