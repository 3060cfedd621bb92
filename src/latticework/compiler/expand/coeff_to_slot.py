"""CoeffToSlot and SlotToCoeff of a bootstrap: the special FFT in a few linear maps, and where in a chain each is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from latticework.ir.dialects.rlwe_dialect import Level
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.butterflies import Butterflies
from latticework.values.packing.packed_constants import LinearMap


def maps_of_bootstrap(chain: ModulusChain, slots: int, target: int) -> Iterator[tuple[LinearMap, Level, int]]:
    """Those of a bootstrap to a level: each with the level of its operand and its baby steps by the set (0: any)."""
    circuit, track = chain.bootstrap, target - chain.floor
    assert circuit is not None
    for done, piece in enumerate(butterfly_maps(slots, circuit.stc_levels, inverse=False)):
        yield piece, Level(0, chain.floor - done), 0
    for done, piece in enumerate(butterfly_maps(slots, circuit.cts_levels, inverse=True)):
        yield piece, Level(track, chain.tracks[track].top - done), circuit.cts_babies


def butterfly_maps(slots: int, levels: int, *, inverse: bool, rotated: bool = True) -> list[LinearMap]:
    """Return the special FFT on vectors of `slots` slots as `levels` linear maps, in the order of their application.

    inverse  slots to the words (lower + i upper) of bit-reversed coefficients, else back
    rotated  what lies between the maps is rotated so that steps go in one direction, from 0 on or nearly: giant
             steps in Horner's form then have one key. Maps of half-widths h, 2h, ..., H/2 reach (H - h) to the left;
             with one more step for h = 1 that is H in all, which the map whose steps go all around by H rotates back.
    """
    stages = slots.bit_length() - 1
    shares = [stages // levels + (i < stages % levels) for i in range(levels)]
    half = slots if inverse else 1
    maps = []
    for share in shares:
        if inverse:
            half >>= share
        maps.append(LinearMap(slots, Butterflies(slots, half, share, inverse)))
        if not inverse:
            half <<= share
    return _rotated_left(maps, slots) if rotated else maps


def _rotated_left(maps: list[LinearMap], slots: int) -> list[LinearMap]:
    """Rotate the results of all maps but the last to the left, so that no map has steps below 0."""
    reaches, around = [], 0
    for number, piece in enumerate(maps):
        gather = piece.gather
        assert isinstance(gather, Butterflies)
        is_around = gather.stages > 0 and gather.half << gather.stages == slots
        around = number if is_around else around
        reaches.append(0 if is_around or not gather.stages else -gather.steps[0] + (gather.half == 1))
    reaches[around] -= sum(reaches)
    rotations = list(accumulate(reaches, initial=0))
    return [
        piece.rotate_ends(before, after)
        for piece, before, after in zip(maps, rotations[:-1], rotations[1:], strict=True)
    ]
