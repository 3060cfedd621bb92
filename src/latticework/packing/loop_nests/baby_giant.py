"""Baby steps and giant steps of block linear maps: what a width costs, and which is the cheapest.

out[v] = sum over g of rotate_g( sum over u, b of diagonal[v, u, g + b] * rotate_b(x[u]) ): the babies of an input serve
all outputs, the giants of an output serve all inputs. Nothing is built here; expansion follows what is chosen.

Real maps of real vectors may use the imaginary halves of slots (`Packing`), which halves products at the price of a
conjugation per output. Source: Halevi-Shoup diagonals; double hoisting as in Bossuat et al. (Eurocrypt'21).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd, isqrt
from typing import Literal, NamedTuple

import numpy as np

from latticework.packing.loop_nests.linear_map import LinearMap
from latticework.packing.loop_nests.nest import distinct
from latticework.packing.pack import IntArray

MAX_APART = 4  # distances between paired diagonals that are tried, of so many that are looked at
MAX_TRIED = 512
EVERY, THINNED = 64, 16  # of more widths than this, those are tried that are about one part in so many apart

Packing = Literal["none", "outputs", "inputs", "diagonals"]
Mode = Literal["cost", "counts", "rotations"]


@dataclass(frozen=True, slots=True)
class BlockMapPrices:
    """What the parts of a block map cost, in seconds or any one unit.

    hoist        decomposition of an input
    baby         a key product of a decomposed input, kept over QP
    giant        a division by P, a decomposition and a key product
    rotation     a whole rotation of an input;  conjugation  one of an output, at its lower level
    product      of a turned input with a diagonal;  addition  of two results over QP
    finish       the last division of each output
    key          having one more different key
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

    def without_hoisting(self) -> BlockMapPrices:
        """Where every step is a rotation by itself, of values over Q."""
        return replace(self, hoist=0.0, baby=self.rotation, giant=self.rotation)


# In NTTs of one row at typical digit counts; products do not depend on the width.
TYPICAL = BlockMapPrices()
# As Rotom prices operations (its paper, section 5): nothing is hoisted.
ROTOM = BlockMapPrices(0.0, 4.0, 4.0, 4.0, 4.0, 10.0, 0.5, 0.0)


class Places(NamedTuple):
    """Where a map has diagonals: columns of equal length. `steps` are signed, in (-slots/2, slots/2]."""

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
        turn = steps % self.width
        return np.where(turn > self.width // 2, turn - self.width, turn) if self.centred else turn

    def giants(self, steps: IntArray, slots: int) -> IntArray:
        """The giant step of each, signed."""
        return signed(steps - self.babies(steps), slots)


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
        """What all of it costs."""
        return (
            prices.hoist * self.hoists
            + prices.baby * self.babies
            + prices.giant * self.giants
            + prices.rotation * self.rotations
            + prices.conjugation * self.conjugations
            + prices.product * self.products
            + prices.addition * self.additions
            + prices.finish * self.outputs
            + prices.key * self.keys
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """How to carry a block map out.

    packing  "outputs": y1 + i y2 at once from real x, split by a conjugation;
             "inputs": from x1 + i x2, two inputs at once;
             "diagonals": from x + i rotate(x, apart), two diagonals so far apart at once
    """

    split: Split
    counts: Counts
    packing: Packing = "none"
    apart: int = 0


def signed(steps: IntArray, slots: int) -> IntArray:
    """The representatives of rotations in (-slots/2, slots/2]."""
    steps = steps % slots
    return np.where(steps > slots // 2, steps - slots, steps)


def places(linear_map: LinearMap) -> Places:
    """Where a map has diagonals."""
    rows = np.array(
        [(d.conj, d.out, d.in_, d.steps) for d in linear_map.diagonals], dtype=np.int64
    ).reshape(-1, 4)  # fmt: skip
    conj, out, in_, steps = rows.T
    return Places(linear_map.slots, conj, out, in_, signed(steps, linear_map.slots))


def count(where: Places, split: Split) -> Counts:
    """Operations of the map by itself, without packing."""
    return _count(*_turned(where), split, where.slots)


def choose(where: Places, prices: BlockMapPrices = TYPICAL, *, packing: bool = False, mode: Mode = "cost") -> Choice:
    """The cheapest way.

    packing  whether complex packing may be used: the map and what it is applied to are real
    mode     "cost" tries every width; "counts" powers of two alone, the square-root split; "rotations" has no giant
             steps: every diagonal is a baby step
    """
    return min(options(where, prices, packing=packing, mode=mode), key=lambda choice: choice.counts.price(prices))


def options(
    where: Places, prices: BlockMapPrices = TYPICAL, *, packing: bool = False, mode: Mode = "cost"
) -> Iterator[Choice]:
    """All ways that are tried; prices say how finely, where `mode` is "cost"."""
    ways: list[tuple[Packing, int]] = [("none", 0)]
    is_simple = distinct(_codes(where.slots, where.out, where.in_, where.steps)).size == where.steps.size
    if packing and is_simple and where.steps.size and not where.conj.any():
        ways += [("outputs", 0)] if distinct(where.out).size > 1 else []
        ways += [("inputs", 0)] if distinct(where.in_).size > 1 else []
        ways += [("diagonals", apart) for apart in _distances(where)]
    for kind, apart in ways:
        yield from _packed(where, prices, kind, apart, mode)


class DiagonalBlock(NamedTuple):
    """Pairs (out, in), rows, that have the same diagonals: at `steps`, in [0, slots), ascending."""

    pairs: IntArray
    steps: IntArray


def blocks(where: Places) -> list[DiagonalBlock]:
    """The pairs of vectors that a map links, put together where they have the same diagonals."""
    number = where.out * (int(where.in_.max(initial=0)) + 1) + where.in_
    order = np.lexsort((where.steps % where.slots, number))
    found: dict[bytes, tuple[IntArray, list[tuple[int, int]]]] = {}
    for part in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        steps = distinct(where.steps[part] % where.slots)
        pairs = found.setdefault(steps.tobytes(), (steps, []))[1]
        pairs.append((int(where.out[part[0]]), int(where.in_[part[0]])))
    return [DiagonalBlock(np.array(pairs, dtype=np.int64), steps) for steps, pairs in found.values()]


def paired(of: list[DiagonalBlock], slots: int, split: Split, apart: int) -> IntArray:
    """For "diagonals": rows (out, in, steps, members): diagonals `steps` and `apart` further are one product.

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


def _half_circle(steps: IntArray, split: Split, apart: int, slots: int) -> IntArray:
    """Pairs (s, s + slots/2) by the one whose giant step lies in [0, slots/2)."""
    giants = (steps - split.babies(signed(steps, slots))) % slots
    first = np.where(giants >= apart, steps - apart, steps) % slots
    found, place = np.unique(first, return_inverse=True)
    members = np.zeros(found.size, dtype=np.int64)
    np.add.at(members, place.reshape(-1), np.where(first == steps, 1, 2))
    return np.column_stack([signed(found, slots), members])


def _along(steps: IntArray, apart: int, slots: int) -> IntArray:
    """Pairs along chains; where a chain is a circle, from its least diagonal."""
    held = set(steps.tolist())
    starts = [s for s in sorted(held) if (s - apart) % slots not in held]
    pairs: list[tuple[int, int]] = []
    while held:
        s = starts.pop() if starts else min(held)
        while s in held:
            held.discard(s)
            second = (s + apart) % slots
            pairs.append((s, 3 if second in held else 1))
            held.discard(second)
            s = (second + apart) % slots
    result = np.array(pairs, dtype=np.int64)
    result[:, 0] = signed(result[:, 0], slots)
    return result


def _codes(slots: int, *columns: IntArray) -> IntArray:
    """One number for each row: steps last, taken modulo the slots."""
    *others, steps = columns
    code = np.zeros_like(steps)
    for column in others:
        code = code * (int(column.max(initial=0)) + 1) + column
    return code * slots + steps % slots


class _Turned(NamedTuple):
    """Distinct (line, steps); a line is an output, or twice the number of an input, and one more for its conjugate."""

    line: IntArray
    steps: IntArray


def _distinct(slots: int, line: IntArray, steps: IntArray) -> _Turned:
    _, first = np.unique(_codes(slots, line, steps), return_index=True)
    return _Turned(line[first], steps[first])


def _inputs(where: Places) -> _Turned:
    return _distinct(where.slots, where.in_ * 2 + where.conj, where.steps)


def _outputs(where: Places) -> _Turned:
    return _distinct(where.slots, where.out, where.steps)


def _count(
    inputs: _Turned,
    outputs: _Turned,
    products: int,
    split: Split,
    slots: int,
    packing: Packing = "none",
    pairs: int = 0,
) -> Counts:
    """Operations, where `pairs` are those of packed outputs, which a conjugation splits, or of packed inputs."""
    turns = split.babies(inputs.steps)
    babies = distinct(_codes(slots, inputs.line, turns))
    hoisted = inputs.line[(inputs.line % 2 == 1) | (turns % slots != 0)]
    unturned = distinct(inputs.line[(inputs.line % 2 == 0) & (turns % slots == 0)]).size
    giants = split.giants(outputs.steps, slots)
    far = distinct(_codes(slots, outputs.line[giants != 0], giants[giants != 0])).size
    made = distinct(outputs.line).size
    ahead = distinct(inputs.line).size if packing == "diagonals" else 0
    conjugations = {"none": 0, "outputs": pairs, "inputs": made, "diagonals": made}[packing]
    joined = pairs if packing == "inputs" else ahead
    additions = products - made + joined + conjugations * (2 if packing == "outputs" else 1)
    switched = babies.size - unturned
    return Counts(
        distinct(hoisted // 2).size, switched, far, ahead, conjugations, products, additions,
        far * bool(switched) + made + ahead + conjugations, made,
        distinct(np.concatenate([inputs.line % 2 * slots + turns % slots, giants % slots, [0]])).size - 1
        + bool(ahead) + bool(conjugations),
    )  # fmt: skip


def _packed(where: Places, prices: BlockMapPrices, packing: Packing, apart: int, mode: Mode) -> Iterator[Choice]:
    folded = where
    pairs = 0
    if packing == "outputs":
        numbers = distinct(where.out)
        pairs = numbers.size // 2
        folded = where._replace(out=np.searchsorted(numbers, where.out) // 2)
    if packing == "inputs":
        numbers = distinct(where.in_)
        pairs = numbers.size // 2
        folded = where._replace(in_=np.searchsorted(numbers, where.in_) // 2)
    linked = blocks(where) if packing == "diagonals" else []
    turned: tuple[_Turned, _Turned, int] | None = None
    for split in _splits(where, prices, mode):
        if packing == "diagonals" and (turned is None or 2 * apart == where.slots):
            out, in_, steps, _ = paired(linked, where.slots, split, apart).T
            folded = Places(where.slots, np.zeros_like(out), out, in_, steps)
            turned = None
        turned = turned or _turned(folded)
        inputs, outputs, products = turned
        yield Choice(split, _count(inputs, outputs, products, split, where.slots, packing, pairs), packing, apart)


def _turned(where: Places) -> tuple[_Turned, _Turned, int]:
    products = distinct(_codes(where.slots, where.conj, where.out, where.in_, where.steps)).size
    return _inputs(where), _outputs(where), products


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
    held = np.zeros(where.slots, dtype=bool)
    held[steps] = True
    tried = distinct((steps[1:] - steps[0]) % where.slots)[:MAX_TRIED]
    partners = [np.count_nonzero(held[(steps + apart) % where.slots]) for apart in tried]
    common = tried[np.argsort(-np.array(partners), kind="stable")]
    return list(dict.fromkeys([*half, *common[:MAX_APART].tolist()]))
