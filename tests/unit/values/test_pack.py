"""PackMap: which slot holds which element, against counting in Python."""

import itertools
from math import prod

import numpy as np
import pytest

from latticework.tensor.layout.layout_candidates import seeds
from latticework.values.packing.pack import GAP, REPEAT, PackDim, PackMap

SHAPES = [(), (1,), (1, 1), (3,), (4,), (2, 3), (5, 1), (1, 7), (2, 3, 5), (3, 1, 2), (2, 2, 2, 2), (64,), (16, 3)]


def elements_by_counting(pack):
    """Flat element of every slot, from nested Python loops over the dimensions."""
    found = []
    unused = pack.slots - prod(d.extent for d in pack.dims)
    for digits in itertools.product(*(range(d.extent) for d in pack.all_dims)):
        digits = list(digits)
        for i, j in pack.rolls:
            digits[i] = (digits[i] + digits[j]) % pack.all_dims[i].extent
        at = [0] * len(pack.shape)
        gap = False
        for dim, digit in zip(pack.all_dims, digits, strict=True):
            if dim.axis >= 0:
                at[dim.axis] += digit * dim.stride
            gap = gap or (dim.axis == GAP and digit > 0)
        flat = 0
        for index, extent in zip(at, pack.shape, strict=True):
            flat = flat * extent + index
        inside = all(index < extent for index, extent in zip(at, pack.shape, strict=True))
        found.append(flat if inside and not gap else -1)
        if (len(found) + unused) % pack.slots == 0:
            found += [-1] * unused
    return found


def packs():
    for shape in SHAPES:
        for slots in (64, 128):
            yield from (layout.pack_map(shape) for layout in seeds(shape, slots)[:4])
    yield PackMap((), 1, ())
    yield PackMap((1,), 1, ())
    yield PackMap((4, 4), 32, (PackDim(1, 2, 2), PackDim(REPEAT, 2), PackDim(0, 4), PackDim(1, 2)))
    yield PackMap((3,), 16, (PackDim(GAP, 2), PackDim(0, 4), PackDim(GAP, 2)))
    yield PackMap((6,), 8, (PackDim(0, 2), PackDim(0, 4, 2)))
    yield PackMap((3, 5), 16, (PackDim(0, 3), PackDim(1, 5)))  # one slot is left over
    columns, diagonals = (PackDim(1, 4),), ((1, 0),)
    yield PackMap((4, 4), 16, (PackDim(1, 4), PackDim(0, 4)), (), diagonals)  # the diagonal layout
    yield PackMap((4, 4), 4, (PackDim(0, 4),), columns)  # a column in each vector
    yield PackMap((4, 4), 4, (PackDim(0, 4),), columns, diagonals)  # its columns turned
    yield PackMap((4, 4), 16, (PackDim(0, 4), PackDim(REPEAT, 4)), columns, ((1, 0), (0, 2)))
    yield PackMap((4, 6), 8, (PackDim(GAP, 2), PackDim(0, 4)), (PackDim(1, 3, 2), PackDim(1, 2)), ((3, 0),))
    yield PackMap((3, 5), 8, (PackDim(0, 4), PackDim(1, 2)), (PackDim(1, 3, 2), PackDim(REPEAT, 2)), ((0, 1),))


@pytest.mark.parametrize("pack", list(packs()), ids=lambda p: f"{p.shape}{p}")
def test_slots_are_those_of_nested_loops(pack):
    elements = elements_by_counting(pack)
    assert pack.element_of_slot().tolist() == elements
    slots = pack.slots_of_element()
    for element in range(pack.size):
        assert slots[element].tolist() == [s for s, e in enumerate(elements) if e == element]
    some = np.random.default_rng(0).integers(0, pack.count * pack.slots, 20)
    assert pack.elements_at(some).tolist() == [elements[place] for place in some]


@pytest.mark.parametrize("pack", list(packs()), ids=lambda p: f"{p.shape}{p}")
def test_unpack_undoes_pack_whatever_lies_in_padding(pack):
    x = np.random.default_rng(1).normal(size=pack.shape)
    slots = pack.pack(x)
    assert slots.shape == ((pack.slots,) if pack.count == 1 else (pack.count, pack.slots))
    empty = (pack.element_of_slot() < 0).reshape(slots.shape)
    assert not slots[empty].any()
    slots[empty] = 1e9
    np.testing.assert_array_equal(pack.unpack(slots), x)
    assert pack.unpack(slots).shape == pack.shape


def test_every_copy_is_equal():
    pack = PackMap((3,), 16, (PackDim(REPEAT, 2), PackDim(0, 4), PackDim(REPEAT, 2)))
    slots = pack.pack([1.0, 2.0, 3.0])
    assert slots.tolist() == [1, 1, 2, 2, 3, 3, 0, 0] * 2


def test_the_diagonal_layout_turns_column_c_by_c():
    x = np.arange(16.0).reshape(4, 4)
    pack = PackMap((4, 4), 16, (PackDim(1, 4), PackDim(0, 4)), (), ((1, 0),))
    assert str(pack) == "Roll(1,0)[1:4][0:4]"
    np.testing.assert_array_equal(pack.pack(x).reshape(4, 4), [np.roll(x[:, c], -c) for c in range(4)])


@pytest.mark.parametrize("rolls", [((0, 0),), ((2, 0),), ((0, -1),), ((1, 0),)])
def test_rolls_name_two_dimensions_that_walk(rolls):
    with pytest.raises(ValueError, match="Roll"):
        PackMap((4,), 8, (PackDim(0, 4), PackDim(GAP, 2)), (), rolls)


@pytest.mark.parametrize(
    ("shape", "slots", "dims"),
    [
        ((4,), 4, (PackDim(0, 8),)),  # more steps than slots
        ((9,), 8, (PackDim(0, 8),)),  # more elements than slots
        ((1 << 40,), 8, (PackDim(0, 8),)),
        ((0,), 4, (PackDim(0, 4),)),
        ((-4,), 4, (PackDim(0, 4),)),
        ((4,), 4, (PackDim(1, 4),)),  # no such axis
        ((4,), 4, (PackDim(-3, 4),)),
        ((4,), 4, (PackDim(0, -2), PackDim(0, -2))),
        ((4,), 4, (PackDim(0, 4, 0),)),
        ((4,), 4, (PackDim(0, 4, 1 << 62),)),
    ],
)
def test_impossible_maps_are_refused_when_made(shape, slots, dims):
    with pytest.raises(ValueError, match=r"slots|dimension|extents"):
        PackMap(shape, slots, dims)


def test_maps_that_leave_elements_out_or_hold_them_unevenly_are_refused_when_used():
    with pytest.raises(ValueError, match="evenly"):
        PackMap((4,), 4, (PackDim(0, 2), PackDim(REPEAT, 2))).unpack(np.zeros(4))
    with pytest.raises(ValueError, match="evenly"):
        PackMap((3,), 4, (PackDim(0, 2), PackDim(0, 2))).unpack(np.zeros(4))


def test_pack_checks_the_number_of_elements():
    with pytest.raises(ValueError, match="3 elements"):
        PackMap((4,), 4, (PackDim(0, 4),)).pack([1, 2, 3])
