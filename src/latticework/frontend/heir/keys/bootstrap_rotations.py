"""Rotations inside a bootstrap of OpenFHE, which the text does not show.

CoeffsToSlots and SlotsToCoeffs are a level budget's worth of sparse matrices, each several layers of the FFT in one,
multiplied by baby and giant steps; inputs of fewer slots than the ring has are folded by rotations first.

Source: FHECKKSRNS::FindBootstrapRotationIndices of OpenFHE 1.4, dim1 = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, isqrt


def bootstrap_indices(ring_slots: int, slots: int, encode_levels: int, decode_levels: int) -> tuple[int, ...]:
    """Indices of the rotation keys that a bootstrap takes, ascending; the conjugation is none of them.

    ring_slots  half the ring degree;  slots  of the ciphertext, a power of two
    encode_levels, decode_levels  the budgets of CoeffsToSlots and of SlotsToCoeffs, 1 to log2(slots)
    """
    if encode_levels == decode_levels == 1:
        baby = isqrt(slots - 1) + 1
        found = {*range(1, baby + 1), *(baby * i for i in range(2, ceil(slots / baby)))}
    else:
        found = {*_encoding(ring_slots, slots, encode_levels), *_decoding(ring_slots, slots, decode_levels)}
    fold = slots
    while fold < ring_slots:
        found.add(fold)
        fold *= 2
    return tuple(sorted(found - {0, ring_slots}))


def fft_layers(slots: int, levels: int) -> tuple[int, int]:
    """Layers of the FFT in a full matrix, and those in the one that is left over, if any, with so many matrices."""
    log = max(1, slots.bit_length() - 1)
    full = ceil(log / levels)
    if ceil(log / full) < levels:
        full -= 1
    rows = log // full
    while rows + (log > rows * full) > levels:
        rows -= 1
    return full, log - rows * full


def steps_of(layers: int) -> tuple[range, range]:
    """Baby and giant steps of a map with 2^(layers+1) - 1 diagonals around the middle, in units of their distance."""
    diagonals = (1 << (layers + 1)) - 1
    babies = 1 << (layers // 2 + 1 + (diagonals > 7))
    first = 1 - (diagonals + 1) // 2
    return range(first, first + babies), range(0, diagonals + 1, babies)


def _keys(layers: int, distance: int, baby_modulus: int, giant_modulus: int) -> Iterator[int]:
    babies, giants = steps_of(layers)
    yield from (step * distance % baby_modulus for step in babies)
    yield from (step * distance % giant_modulus for step in giants)


def _encoding(ring_slots: int, slots: int, levels: int) -> Iterator[int]:
    full, rest = fft_layers(slots, levels)
    for row in range(levels - (rest > 0)):
        yield from _keys(full, 1 << (row * full + rest), slots, ring_slots)
    if rest:
        yield from _keys(rest, 1, slots, ring_slots)


def _decoding(ring_slots: int, slots: int, levels: int) -> Iterator[int]:
    full, rest = fft_layers(slots, levels)
    rows = levels - (rest > 0)
    for row in range(rows):
        yield from _keys(full, 1 << (row * full), ring_slots, ring_slots)
    if rest:
        yield from _keys(rest, 1 << (rows * full), ring_slots, ring_slots)
