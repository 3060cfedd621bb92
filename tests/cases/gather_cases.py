"""Random loop nests between random packings, and their matrices by plain loops."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np

from latticework.values.packing.pack import GAP, REPEAT, PackDim, PackMap
from latticework.values.packing.packed_constants import Access, LoopNest


def random_pack(rng, shape, slots, *, rolls=True, max_vectors=4):
    """A packing of a tensor: axes cut into digits, repetitions and gaps between them, in several vectors."""
    while True:
        dims = []
        for axis, extent in enumerate(shape):
            stride = 1
            while stride < extent:
                step = int(rng.choice([2, 2, 4, 3, extent]))
                dims.append(PackDim(axis, step, stride))
                stride *= step
        for _ in range(int(rng.integers(0, 3))):
            dims.append(PackDim(int(rng.choice([REPEAT, REPEAT, GAP])), int(rng.choice([2, 2, 3, 4]))))
        rng.shuffle(dims)
        cut = int(rng.integers(0, len(dims) + 1))
        vectors, inner = dims[:cut], dims[cut:]
        walked = prod(d.extent for d in inner)
        if walked > slots or prod(d.extent for d in vectors) > max_vectors:
            continue
        if rng.random() < 0.5 and slots % walked == 0:
            inner.insert(0, PackDim(REPEAT, slots // walked))
        every = vectors + inner
        turns = []
        for _ in range(int(rng.integers(0, 3)) if rolls and len(every) > 1 else 0):
            i, j = (int(n) for n in rng.choice(len(every), 2, replace=False))
            if every[i].axis != GAP:
                turns.append((i, j))
        try:
            pack = PackMap(tuple(shape), slots, tuple(inner), tuple(vectors), tuple(turns))
            pack.slots_of_element()
        except ValueError:
            continue
        return pack


def random_access(rng, shape, domain):
    """Rows of small weights; now and then a flat view, and now and then outside."""
    view = tuple(shape) if rng.random() < 0.8 else (prod(shape),)
    matrix, offset = [], []
    for extent in view:
        row = [0] * len(domain)
        for j in rng.choice(len(domain), int(rng.integers(1, 1 + min(2, len(domain)))), replace=False):
            row[j] = int(rng.choice([1, 1, 1, -1, 2, 3]))
        matrix.append(tuple(row))
        low = sum(min(0, w * (n - 1)) for w, n in zip(row, domain, strict=True))
        offset.append(-low + int(rng.choice([0, 0, 0, -1, 1, extent // 2])))
    return Access(view, tuple(matrix), tuple(offset))


def random_gather(rng, slots=16, *, rolls=True):
    """A nest, and the array it reads."""
    out_shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(0, 3))))
    in_shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(0, 3))))
    domain = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5))))
    weights = rng.normal(size=tuple(int(n) for n in rng.integers(2, 6, int(rng.integers(1, 3)))))
    source = "w" if rng.random() < 0.7 else None
    gather = LoopNest(
        domain,
        random_pack(rng, out_shape, slots, rolls=rolls),
        random_access(rng, out_shape, domain),
        source,
        random_access(rng, weights.shape, domain) if source else None,
        random_pack(rng, in_shape, slots, rolls=rolls),
        random_access(rng, in_shape, domain),
    )
    return gather, {"w": weights}


def element(access, counters):
    """Flat index that an access gives, or None."""
    flat = 0
    for extent, row, start in zip(access.view, access.matrix, access.offset, strict=True):
        index = start + sum(w * t for w, t in zip(row, counters, strict=True))
        if not 0 <= index < extent:
            return None
        flat = flat * extent + index
    return flat


def dense(gather, sources):
    """(out vector, in vector, steps) -> slots -> weight, by visiting every term."""
    slots = gather.slots
    out_held, in_held = gather.out_pack.element_of_slot(), gather.in_pack.element_of_slot()
    found: dict[tuple[int, int, int], np.ndarray] = {}
    for counters in itertools.product(*map(range, gather.domain)):
        to, of = element(gather.out_access, counters), element(gather.in_access, counters)
        at = 0 if gather.source is None else element(gather.source_access, counters)
        if to is None or of is None or at is None:
            continue
        weight = 1.0 if gather.source is None else sources[gather.source].reshape(-1)[at]
        inputs = [divmod(int(place), slots) for place in np.flatnonzero(in_held == of)]
        chosen = {}
        for place in np.flatnonzero(out_held == to):
            v, p = divmod(int(place), slots)
            steps, u = min(((q - p) % slots, u) for u, q in inputs)
            share = (v, p % (slots // gather.spread))
            if share not in chosen or steps < chosen[share][0]:
                chosen[share] = steps, u, v, p
        for steps, u, v, p in chosen.values():
            found.setdefault((v, u, steps), np.zeros(slots))[p] += weight
    return found


def picks(shape, loops, depth):
    """Axis i of an array follows loop loops[i] of so many."""
    return Access(shape, tuple(tuple(int(j == loop) for j in range(depth)) for loop in loops), (0,) * len(shape))


def column_major(rows, columns, slots):
    """A matrix column after column, repeated to fill a vector, or in several."""
    width = slots // rows
    if columns > width:
        return PackMap(
            (rows, columns), slots, (PackDim(1, width), PackDim(0, rows)), (PackDim(1, columns // width, width),)
        )
    outer = (PackDim(REPEAT, width // columns),) if width > columns else ()
    return PackMap((rows, columns), slots, (*outer, PackDim(1, columns), PackDim(0, rows)))


def matmul(rows, inner, columns, slots):
    """x @ w, column-major."""
    return LoopNest(
        (rows, columns, inner),
        column_major(rows, columns, slots), picks((rows, columns), (0, 1), 3),
        "w", picks((inner, columns), (2, 1), 3),
        column_major(rows, inner, slots), picks((rows, inner), (0, 2), 3),
    )  # fmt: skip


def channels(count, side, slots):
    """Square images, a channel after the other, repeated to fill a vector."""
    copies = slots // (count * side * side)
    outer = (PackDim(REPEAT, copies),) if copies > 1 else ()
    inner = (PackDim(0, count), PackDim(1, side), PackDim(2, side))
    return PackMap((count, side, side), slots, (*outer, *inner))


def conv(channels_in, channels_out, side, kernel, slots):
    """A convolution whose result has the size of its input: w of shape (out, in, kernel, kernel)."""
    half = kernel // 2
    reads = ((0, 1, 0, 0, 0, 0), (0, 0, 1, 0, 1, 0), (0, 0, 0, 1, 0, 1))
    return LoopNest(
        (channels_out, channels_in, side, side, kernel, kernel),
        channels(channels_out, side, slots), picks((channels_out, side, side), (0, 2, 3), 6),
        "w", picks((channels_out, channels_in, kernel, kernel), (0, 1, 4, 5), 6),
        channels(channels_in, side, slots), Access((channels_in, side, side), reads, (0, -half, -half)),
    )  # fmt: skip


def matvec(rows, columns, slots):
    """w @ x for vectors that are repeated to fill theirs."""
    line = {n: PackMap((n,), slots, (PackDim(REPEAT, slots // n), PackDim(0, n))) for n in (rows, columns)}
    return LoopNest(
        (rows, columns), line[rows], picks((rows,), (0,), 2), "w", picks((rows, columns), (0, 1), 2),
        line[columns], picks((columns,), (1,), 2),
    )  # fmt: skip
