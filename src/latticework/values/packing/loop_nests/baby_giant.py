"""Baby steps and giant steps of block linear maps: what a width costs, and which is the cheapest.

out[v] = sum over g of rotate_g( sum over u, b of diagonal[v, u, g + b] * rotate_b(x[u]) ): the babies of an input serve
all outputs, the giants of an output serve all inputs. Nothing is built here; expansion follows what is chosen.

A map of 4 diagonals, with two baby steps (width 2):

      steps   0    1  |  2    3        y = [ d0 * x + d1 * r1(x) ]  +  r2( [ r-2(d2) * x + r-2(d3) * r1(x) ] )
      baby    0    1  |  0    1             inner sum of giant 0           inner sum of giant 2, rotated once
      giant   0    0  |  2    2

r1(x) is made once for both inner sums, and diagonals are rotated back by their giant step when they are encoded, which
costs nothing. So there are 4 products and 2 key switches (r1, r2) instead of 3; of n diagonals about 2 sqrt(n) instead
of n - 1. Giant steps may be taken one on top of the other, by few keys (`giant_order`). Steps are not alike: all babies
share one decomposition of x (`hoist`), a giant needs one of its own and a division by P. By the prices `TYPICAL` (baby
1, giant 3) four diagonals are cheapest as babies alone: 3, against 4 by width 2 and 9 by giants alone.

Real maps of real vectors may use the imaginary halves of slots (`Packing`), which halves products at the price of a
conjugation per output. Source: Halevi-Shoup diagonals; double hoisting as in Bossuat et al. (Eurocrypt'21).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from math import gcd, isqrt
from typing import Literal, NamedTuple

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.values.extension import _core
from latticework.values.packing.loop_nests.giant_order import ORDERS, Order, rotation_keys
from latticework.values.packing.loop_nests.linear_map import LinearMap
from latticework.values.packing.loop_nests.nest import BoolArray, distinct
from latticework.values.packing.pack import IntArray

MAX_APART = 4  # distances between paired diagonals that are tried, of so many that are looked at
MAX_TRIED = 512
EVERY, THINNED = 64, 16  # of more widths than this, those are tried that are about one part in so many apart

Packing = Literal["none", "outputs", "inputs", "diagonals"]
Mode = Literal["cost", "counts", "rotations"]


@dataclass(frozen=True, slots=True)
class BlockMapPrices:
    """Costs of the parts of a block map, in seconds or any one unit.

    hoist        decomposition of an input
    baby         a key product of a decomposed input, kept over QP
    giant        a division by P, a decomposition and a key product
    rotation     a whole rotation of an input;  conjugation  one of an output, at its lower level
    product      of a rotated input with a diagonal;  addition  of two results over QP
    plain        a product, and its addition, where inputs are rotated by themselves, over Q
    finish       the last division of each output
    key          having one more different key, besides the bytes of it that are `stored`
    """

    hoist: float = 0.0
    baby: float = 1.0
    giant: float = 3.0
    rotation: float = 3.0
    conjugation: float = 3.0
    product: float = 0.0
    addition: float = 0.0
    finish: float = 0.0
    key: float = 0.0
    stored: float = 0.0
    plain: float = 0.0

    def without_hoisting(self) -> BlockMapPrices:
        """Return the prices where every step is a rotation by itself, of values over Q."""
        return replace(self, hoist=0.0, baby=self.rotation, giant=self.rotation)


# In NTTs of one row at typical digit counts; products do not depend on the width.
TYPICAL = BlockMapPrices()
# As Rotom prices operations (its paper, section 5): nothing is hoisted.
ROTOM = BlockMapPrices(0.0, 4.0, 4.0, 4.0, 4.0, 10.0, 0.5, 0.0)


class Places(NamedTuple):
    """Diagonals of a map: columns of equal length. `steps` are signed, in (-slots/2, slots/2]."""

    slots: int
    conj: IntArray
    out: IntArray
    in_: IntArray
    steps: IntArray


@dataclass(frozen=True, slots=True)
class Split:
    """steps = giant + baby: a baby is the residue modulo `width`, from 0 on, or around 0 if `centred`."""

    width: int
    centred: bool = False

    def babies(self, steps: IntArray) -> IntArray:
        """The baby step of each."""
        rotation = steps % self.width
        return np.where(rotation > self.width // 2, rotation - self.width, rotation) if self.centred else rotation

    def giants(self, steps: IntArray, slots: int) -> IntArray:
        """The giant step of each, signed."""
        return sign_steps(steps - self.babies(steps), slots)


@dataclass(frozen=True, slots=True)
class Counts:
    """Operations of a block map.

    hoists         decompositions of inputs;  babies  hoisted key switches
    giants         full key switches within sums;  rotations  those of whole inputs;  conjugations  those of outputs
    products       with plaintexts;  additions  of ciphertexts
    mod_downs      divisions by P, that of each output included
    keys           different ones
    """

    hoists: int
    babies: int
    giants: int
    rotations: int
    conjugations: int
    products: int
    additions: int
    mod_downs: int
    outputs: int
    keys: int

    @property
    def key_switches(self) -> int:
        """Products with a key."""
        return self.babies + self.giants + self.rotations + self.conjugations

    def price(self, prices: BlockMapPrices) -> float:
        """Price all operations and keys."""
        return self.time(prices) + (prices.key + prices.stored) * self.keys

    def time(self, prices: BlockMapPrices) -> float:
        """Price all operations."""
        return (
            prices.hoist * self.hoists
            + prices.baby * self.babies
            + prices.giant * self.giants
            + prices.rotation * self.rotations
            + prices.conjugation * self.conjugations
            + prices.product * self.products
            + prices.addition * self.additions
            + prices.finish * self.outputs
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """Strategy of carrying a block map out.

    packing  "outputs": y1 + i y2 at once from real x, split by a conjugation;
             "inputs": from x1 + i x2, two inputs at once;
             "diagonals": from x + i rotate(x, apart), two diagonals so far apart at once
    order    in which giant steps are taken: of those with the fewest keys
    iterated baby steps are made one of the other by rotations, by few keys, instead of all of the input at once
    """

    split: Split
    counts: Counts
    packing: Packing = "none"
    apart: int = 0
    order: Order = "own"
    iterated: bool = False

    def time(self, prices: BlockMapPrices) -> float:
        """Price all operations."""
        return self.counts.time(prices) + self._dearer(prices)

    def price(self, prices: BlockMapPrices) -> float:
        """Price all operations and keys."""
        return self.counts.price(prices) + self._dearer(prices)

    def _dearer(self, prices: BlockMapPrices) -> float:
        return (prices.plain - prices.product) * self.counts.products if self.iterated else 0.0


def sign_steps(steps: IntArray, slots: int) -> IntArray:
    """The representatives of rotations in (-slots/2, slots/2]."""
    steps = steps % slots
    return np.where(steps > slots // 2, steps - slots, steps)


def places(linear_map: LinearMap) -> Places:
    """Return the diagonals of a map as columns."""
    rows = np.array(
        [(d.conj, d.out, d.in_, d.steps) for d in linear_map.diagonals], dtype=np.int64
    ).reshape(-1, 4)  # fmt: skip
    conj, out, in_, steps = rows.T
    return Places(linear_map.slots, conj, out, in_, sign_steps(steps, linear_map.slots))


def count_unpacked(where: Places, split: Split, *, horner: bool = False, iterated: bool = False) -> Choice:
    """The map by itself, without packing, by this split."""
    ((counts, order),) = _count_splits(where, [split], horner=horner, iterated=iterated)
    return Choice(split, counts, order=order, iterated=iterated)


def choose(
    where: Places,
    prices: BlockMapPrices = TYPICAL,
    *,
    packing: bool = False,
    mode: Mode = "cost",
    horner: bool = False,
    iterated: Sequence[bool] = (False,),
) -> Choice:
    """Choose the cheapest strategy.

    packing   whether complex packing may be used: the map and what it is applied to are real
    mode      "cost" tries every width; "counts" powers of two alone, the square-root split; "rotations" has no giant
              steps: every diagonal is a baby step
    horner    whether giant steps may be taken one on top of the other
    iterated  how baby steps may be made, see `Choice`; those of conjugates are not iterated
    """
    candidates = options(where, prices, packing=packing, mode=mode, horner=horner, iterated=iterated)
    return min(candidates, key=lambda choice: choice.price(prices))


def options(
    where: Places,
    prices: BlockMapPrices = TYPICAL,
    *,
    packing: bool = False,
    mode: Mode = "cost",
    horner: bool = False,
    iterated: Sequence[bool] = (False,),
) -> Iterator[Choice]:
    """Yield all strategies that are tried; prices say how finely, where `mode` is "cost"."""
    iterated = (False,) if where.conj.any() else iterated
    packings: list[tuple[Packing, int]] = [("none", 0)]
    is_simple = distinct(_codes(where.slots, where.out, where.in_, where.steps)).size == where.steps.size
    if packing and is_simple and where.steps.size and not where.conj.any():
        packings += [("outputs", 0)] if distinct(where.out).size > 1 else []
        packings += [("inputs", 0)] if distinct(where.in_).size > 1 else []
        packings += [("diagonals", apart) for apart in _distances(where)]
    splits = list(_splits(where, prices, mode))
    linked = blocks(where) if packings[-1][0] == "diagonals" else []
    for kind, apart in packings:
        for folded, pairs, of in _pack(where, linked, splits, kind, apart):
            for steps in iterated:
                counted = _count_splits(folded, of, kind, pairs, horner=horner, iterated=steps)
                for split, (counts, order) in zip(of, counted, strict=True):
                    yield Choice(split, counts, kind, apart, order, steps)


def required_keys(where: Places, choice: Choice) -> set[tuple[bool, int]]:
    """(whether conjugated, steps in [0, slots)) of everything that needs a key."""
    linked, split = blocks(where) if choice.packing == "diagonals" else [], choice.split
    ((folded, _, _),) = _pack(where, linked, [split], choice.packing, choice.apart)
    inputs = _find_line_steps(where.slots, folded.in_ * 2 + folded.conj, folded.steps)
    outputs = _find_line_steps(where.slots, folded.out, folded.steps)
    babies, rotations = _keys(inputs, outputs, [split], where.slots, choice.order, choice.iterated)
    keys = {(code >= where.slots, code % where.slots) for code in [*babies[0].tolist(), *rotations[0].tolist()]}
    keys |= {(False, choice.apart % where.slots)}
    keys |= {(True, 0)} if choice.packing != "none" else set()
    return keys - {(False, 0)}


class DiagonalBlock(NamedTuple):
    """Pairs (out, in), rows, that have the same diagonals: at `steps`, in [0, slots), ascending."""

    pairs: IntArray
    steps: IntArray


def blocks(where: Places) -> list[DiagonalBlock]:
    """The pairs of vectors that a map links, put together where they have the same diagonals."""
    number = where.out * (int(where.in_.max(initial=0)) + 1) + where.in_
    order = np.lexsort((where.steps % where.slots, number))
    by_steps: dict[bytes, tuple[IntArray, list[tuple[int, int]]]] = {}
    for part in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        steps = distinct(where.steps[part] % where.slots)
        pairs = by_steps.setdefault(steps.tobytes(), (steps, []))[1]
        pairs.append((int(where.out[part[0]]), int(where.in_[part[0]])))
    return [DiagonalBlock(np.array(pairs, dtype=np.int64), steps) for steps, pairs in by_steps.values()]


def pair(of: list[DiagonalBlock], slots: int, split: Split, apart: int) -> IntArray:
    """Pair diagonals for packing "diagonals": rows (out, in, steps, members), `steps` and `apart` further one product.

    members  1 if it is of the first, 2 of the second, 3 of both
    Along each chain of diagonals that far apart, they are paired from its beginning. Where the chain is a circle of
    two, that one is the first which needs the fewer giant steps.
    """
    rows = []
    for block in of:
        circle = 2 * apart % slots == 0
        firsts = _half_circle(block.steps, split, apart, slots) if circle else _along(block.steps, apart, slots)
        ends = np.repeat(block.pairs, len(firsts), axis=0)
        rows.append(np.column_stack([ends, np.tile(firsts, (len(block.pairs), 1))]))
    return np.concatenate(rows)


def _is_behind(steps: IntArray, split: Split, slots: int) -> BoolArray:
    """Whether the giant step of each lies in [slots/2, slots)."""
    behind: BoolArray = 2 * ((steps - split.babies(sign_steps(steps, slots))) % slots) >= slots
    return behind


def _half_circle(steps: IntArray, split: Split, apart: int, slots: int) -> IntArray:
    """Pairs (s, s + slots/2) by the one whose giant step lies in [0, slots/2)."""
    first = np.where(_is_behind(steps, split, slots), steps - apart, steps) % slots
    firsts, place = np.unique(first, return_inverse=True)
    members = np.zeros(firsts.size, dtype=np.int64)
    np.add.at(members, place.reshape(-1), np.where(first == steps, 1, 2))
    return np.column_stack([sign_steps(firsts, slots), members])


def _along(steps: IntArray, apart: int, slots: int) -> IntArray:
    """Pairs along chains; where a chain is a circle, from its least diagonal."""
    result = np.array(_core.maps.pairs(steps, slots, apart % slots), dtype=np.int64)
    result[:, 0] = sign_steps(result[:, 0], slots)
    return result


def _codes(slots: int, *columns: IntArray) -> IntArray:
    """One number for each row: steps last, taken modulo the slots."""
    *others, steps = columns
    code = np.zeros_like(steps)
    for column in others:
        code = code * (int(column.max(initial=0)) + 1) + column
    return code * slots + steps % slots


class _LineSteps(NamedTuple):
    """Distinct (line, steps); a line is an output, or twice the number of an input, and one more for its conjugate."""

    line: IntArray
    steps: IntArray


def _find_line_steps(slots: int, line: IntArray, steps: IntArray) -> _LineSteps:
    line, steps = np.divmod(distinct(_codes(slots, line, steps)), slots)
    return _LineSteps(line, sign_steps(steps, slots))


def _count_splits(
    where: Places,
    splits: list[Split],
    packing: Packing = "none",
    pairs: int = 0,
    *,
    horner: bool = False,
    iterated: bool = False,
) -> list[tuple[Counts, Order]]:
    """Operations by each split, where `pairs` are those of packed outputs, split by a conjugation, or of packed inputs.

    A search counts so many maps by so many splits that it is done in C++ (`cpp/maps/key_switches.cpp`).
    """
    orders = ORDERS if horner else ORDERS[:1]
    widths, centred = np.array([(split.width, split.centred) for split in splits], dtype=np.int64).T.copy()
    conj, out, in_, steps = map(np.ascontiguousarray, where[1:])
    (products, outputs, read), rows = _core.maps.key_switches(
        where.slots, conj, out, in_, steps, widths, centred, np.arange(len(orders), dtype=np.int64), iterated
    )
    ahead = read if packing == "diagonals" else 0
    conjugations = {"none": 0, "outputs": pairs, "inputs": outputs, "diagonals": outputs}[packing]
    joined = pairs if packing == "inputs" else ahead
    additions = products - outputs + joined + conjugations * (2 if packing == "outputs" else 1)
    result = []
    for hoists, babies, giants, *keys in rows:
        order = keys.index(min(keys))
        whole = ahead + babies * iterated
        mod_downs = giants * bool(order or (babies and not iterated)) + outputs + whole + conjugations
        counts = Counts(
            hoists * (not iterated), babies * (not iterated), giants, whole, conjugations, products, additions,
            mod_downs, outputs, keys[order] + bool(ahead) + bool(conjugations),
        )  # fmt: skip
        result.append((counts, ORDERS[order]))
    return result


def _keys(
    inputs: _LineSteps, outputs: _LineSteps, splits: list[Split], slots: int, order: Order, iterated: bool
) -> tuple[IntArray, IntArray]:
    """Return the rotations of baby and giant steps, a row for each split: in [0, slots), + slots where conjugated."""
    rotations, _ = _split_steps(inputs.steps, splits, slots)
    _, giants = _split_steps(outputs.steps, splits, slots)
    babies = rotation_keys(inputs.line, rotations, slots, "horner") if iterated else inputs.line % 2 * slots + rotations
    return babies, rotation_keys(outputs.line, giants, slots, order)


def _split_steps(steps: IntArray, splits: list[Split], slots: int) -> tuple[IntArray, IntArray]:
    """The baby and the giant step of each by each split, a row each, in [0, slots)."""
    rotations = np.array([split.babies(steps) for split in splits])
    return rotations % slots, (steps - rotations) % slots


def _pack(
    where: Places, linked: list[DiagonalBlock], splits: list[Split], packing: Packing, apart: int
) -> Iterator[tuple[Places, int, list[Split]]]:
    """A map as it is carried out where it is packed, by which splits so; pairs of its inputs or outputs."""
    if packing == "outputs":
        numbers = distinct(where.out)
        yield where._replace(out=np.searchsorted(numbers, where.out) // 2), numbers.size // 2, splits
    elif packing == "inputs":
        numbers = distinct(where.in_)
        yield where._replace(in_=np.searchsorted(numbers, where.in_) // 2), numbers.size // 2, splits
    elif packing == "diagonals":
        for alike in _that_pair_alike(where, splits, apart):
            out, in_, steps, _ = pair(linked, where.slots, alike[0], apart).T
            yield Places(where.slots, np.zeros_like(out), out, in_, steps), 0, alike
    else:
        yield where, 0, splits


def _that_pair_alike(where: Places, splits: list[Split], apart: int) -> list[list[Split]]:
    """Splits in runs for which `pair` gives the same: only where chains are circles of two does it look at them."""
    if 2 * apart % where.slots:
        return [splits]
    steps = distinct(where.steps % where.slots)
    runs = groupby(splits, key=lambda split: _is_behind(steps, split, where.slots).tobytes())
    return [list(run) for _, run in runs]


def _splits(where: Places, prices: BlockMapPrices, mode: Mode) -> Iterator[Split]:
    """Widths to try: multiples of the steps' common divisor, and none at all."""
    if mode == "rotations":
        yield Split(where.slots)
        return
    unit = gcd(where.slots, *distinct(where.steps).tolist())
    if mode == "counts":
        width = unit
        while width <= where.slots:
            yield Split(width)
            width *= 2
        return
    k, last = 1, min(4 * isqrt(where.slots // unit) + 4, where.slots // unit)
    while k <= last:
        yield Split(unit * k)
        if prices.product and k > 2:  # as before where prices are typical
            yield Split(unit * k, centred=True)
        k += max(1, k // THINNED) if prices.product and last > EVERY else 1
    width = unit << (4 * isqrt(where.slots // unit) + 5).bit_length() - 1
    while width <= where.slots:
        yield Split(width)
        width *= 2


def _distances(where: Places) -> list[int]:
    """Distances at which most diagonals have a partner, the most common first."""
    steps = distinct(where.steps % where.slots)
    if steps.size < 2:
        return []
    half = {where.slots // 2} & set(((steps - steps[0]) % where.slots).tolist())
    tried = distinct((steps[1:] - steps[0]) % where.slots)[:MAX_TRIED]
    partners = _core.maps.partners(steps, where.slots, tried)
    common = tried[np.argsort(-partners, kind="stable")]
    return list(dict.fromkeys([*half, *common[:MAX_APART].tolist()]))
