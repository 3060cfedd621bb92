"""The products of a block linear map: which rotated input meets which diagonal, and into which sum.

A packed map is an unpacked one with complex diagonals, from inputs or to outputs that its expansion makes of the real
ones; factors of 1/2 that taking real and imaginary parts needs are in the diagonals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.key_manifest import conjugation_element, galois_element, signed_steps
from latticework.values.packing.loop_nests.baby_giant import Choice, Split, blocks, pair, places
from latticework.values.packing.loop_nests.const_ref import ConstRef
from latticework.values.packing.loop_nests.linear_map import LinearMap


@dataclass(frozen=True, slots=True, order=True)
class Baby:
    """x rotated left by `steps` slots, of its conjugate if `conj`."""

    conj: bool
    steps: int

    def element(self, slots: int, ring_degree: int) -> int:
        """The Galois element that does it: 1 for x itself."""
        rotation = galois_element(signed_steps(self.steps, slots), ring_degree)
        return rotation * conjugation_element(ring_degree) % (2 * ring_degree) if self.conj else rotation


SELF = Baby(False, 0)


@dataclass(frozen=True, slots=True)
class Term:
    """Adds values * baby(x[in_]) to the sum of output `out` that is rotated by `giant` afterwards."""

    out: int
    in_: int
    giant: int
    baby: Baby
    values: ConstRef


@dataclass(frozen=True, slots=True)
class MapStrategy:
    """Strategy of carrying a block map out; see `Choice`."""

    split: Split
    packing: str = "none"
    apart: int = 0

    def __post_init__(self) -> None:
        if self.packing not in ("none", *_PACKED) or self.split.width < 1:
            raise ValueError(f"no map is packed by {self.packing!r} with babies of width {self.split.width}")


def terms_of(linear_map: LinearMap, choice: Choice | MapStrategy) -> list[Term]:
    """All products, those of the nearest giant steps first; outputs are numbered as packed."""
    if choice.packing == "none":
        terms = [
            _term(d.out, d.in_, d.steps, d.conj, d.values, choice.split, linear_map.slots) for d in linear_map.diagonals
        ]
    else:
        values = {(d.out, d.in_, d.steps % linear_map.slots): d.values for d in linear_map.diagonals}
        terms = [
            _term(out, in_, steps, False, both, choice.split, linear_map.slots)
            for (out, in_, steps), both in _PACKED[choice.packing](linear_map, choice, values).items()
        ]
    slots = linear_map.slots
    terms.sort(key=lambda t: (signed_steps(t.giant + t.baby.steps, slots), t.baby.conj))
    return sorted(terms, key=lambda t: (abs(t.giant), t.giant, t.out))


def made_outputs(linear_map: LinearMap) -> list[int]:
    """The outputs that have a diagonal, ascending; packed ones are made of two that follow each other here."""
    return sorted({d.out for d in linear_map.diagonals})


def read_inputs(linear_map: LinearMap) -> list[int]:
    """The inputs that have a diagonal, ascending; packed ones are made of two that follow each other here."""
    return sorted({d.in_ for d in linear_map.diagonals})


Values = dict[tuple[int, int, int], ConstRef]


def _outputs(linear_map: LinearMap, choice: Choice | MapStrategy, values: Values) -> Values:
    """y1 / 2 + i y2 / 2 of each two outputs; the last of an odd number by itself."""
    numbers = made_outputs(linear_map)
    place = {out: i for i, out in enumerate(numbers)}
    result: Values = {}
    for (out, in_, steps), constant in values.items():
        i = place[out]
        is_single = i == len(numbers) - 1 and i % 2 == 0
        part = constant if is_single else constant.times(0.5j if i % 2 else 0.5)
        key = (i // 2, in_, steps)
        result[key] = part if key not in result else replace(result[key], plus=part)
    return result


def _inputs(linear_map: LinearMap, choice: Choice | MapStrategy, values: Values) -> Values:
    """(w1 - i w2) / 2 of each two inputs, which are numbered by the first of them."""
    numbers = read_inputs(linear_map)
    place = {in_: i for i, in_ in enumerate(numbers)}
    result: Values = {}
    for (out, in_, steps), constant in values.items():
        i = place[in_]
        part = constant.times(-0.5j if i % 2 else 0.5)
        key = (out, numbers[i - i % 2], steps)
        result[key] = part if key not in result else replace(result[key], plus=part)
    return result


def _diagonals(linear_map: LinearMap, choice: Choice | MapStrategy, values: Values) -> Values:
    """(w_s - i w_(s + apart)) / 2 of each two diagonals."""
    slots = linear_map.slots
    result: Values = {}
    for out, in_, steps, members in pair(blocks(places(linear_map)), slots, choice.split, choice.apart).tolist():
        second = values[out, in_, (steps + choice.apart) % slots].times(-0.5j) if members & 2 else None
        first = values[out, in_, steps % slots].times(0.5) if members & 1 else second
        assert first is not None
        result[out, in_, steps] = replace(first, plus=second) if members == 3 else first
    return result


def _term(out: int, in_: int, steps: int, conj: bool, values: ConstRef, split: Split, slots: int) -> Term:
    rotation = int(split.babies(np.array(signed_steps(steps, slots))))
    giant = signed_steps(steps - rotation, slots)
    return Term(out, in_, giant, Baby(conj, rotation), values.rotate_left(-giant))


_PACKED = {"outputs": _outputs, "inputs": _inputs, "diagonals": _diagonals}
