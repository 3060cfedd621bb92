"""Several linear maps as one block map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latticework.values.packing.loop_nests.linear_map import Diagonal, LinearMap, MapPart


def stack(maps: Sequence[LinearMap]) -> LinearMap:
    """Maps of one array: the outputs of all of them, in order."""
    assert len({(m.slots, m.count_in) for m in maps}) == 1
    parts: list[MapPart] = []
    explicit: list[Diagonal] = []
    out = 0
    for m in maps:
        parts += [replace(part, out=part.out + out) for part in m.all_parts]
        explicit += [replace(d, out=d.out + out) for d in m.explicit]
        out += m.count_out
    return LinearMap(maps[0].slots, None, 1.0, tuple(explicit), maps[0].count_in, out, tuple(parts))


def side_by_side(maps: Sequence[LinearMap], starts: Sequence[int], count_in: int) -> LinearMap:
    """The sum of maps that each read an array's vectors from its start on."""
    assert len({(m.slots, m.count_out) for m in maps}) == 1
    parts: list[MapPart] = []
    explicit: list[Diagonal] = []
    for m, start in zip(maps, starts, strict=True):
        parts += [replace(part, in_=part.in_ + start) for part in m.all_parts]
        explicit += [replace(d, in_=d.in_ + start) for d in m.explicit]
    return LinearMap(maps[0].slots, None, 1.0, tuple(explicit), count_in, maps[0].count_out, tuple(parts))
