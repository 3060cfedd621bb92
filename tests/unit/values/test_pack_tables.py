"""Packings by a table of places: irregular, uneven, and stored as they are."""

import numpy as np
import pytest

from latticework.plan.files.codec import from_data, to_data
from latticework.values.packing.pack import GAP, PackDim, PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, LoopNest


def random_table(rng, size=5, slots=16, count=3, used=9):
    places = rng.choice(slots * count, used, replace=False)
    elements = np.concatenate([np.arange(size), rng.integers(0, size, used - size)])
    return PackMap.of_table(size, slots, [(int(p), int(e)) for p, e in zip(places, elements, strict=True)], count)


@pytest.mark.parametrize("seed", range(10))
def test_packing_follows_the_table(seed):
    rng = np.random.default_rng(seed)
    pack = random_table(rng)
    values = rng.normal(size=(2, 5))
    packed = pack.pack(values)
    flat = packed.reshape(2, -1)
    held = dict(pack.table)
    for place in range(pack.count * pack.slots):
        np.testing.assert_array_equal(flat[:, place], values[:, held[place]] if place in held else 0)
    np.testing.assert_array_equal(pack.unpack(packed), values)
    np.testing.assert_array_equal(pack.elements_at(np.arange(48)), pack.element_of_slot())


@pytest.mark.parametrize("seed", range(10))
def test_tables_are_stored_in_one_form(seed):
    rng = np.random.default_rng(seed)
    pack = random_table(rng)
    shuffled = [pack.table[i] for i in rng.permutation(len(pack.table))]
    again = PackMap.of_table(5, 16, shuffled, 3)
    assert again == pack and to_data(again) == to_data(pack)
    assert from_data(PackMap, to_data(pack), "pack") == pack


def test_packings_without_a_table_are_stored_as_before_there_were_any():
    pack = PackMap((2, 3), 8, (PackDim(0, 2), PackDim(1, 4)), (), ((0, 1),))
    assert to_data(pack) == [[2, 3], 8, [[0, 2, 1], [1, 4, 1]], [], [[0, 1]]]
    assert from_data(PackMap, to_data(pack), "pack") == pack


@pytest.mark.parametrize("table", [((3, 0), (3, 1)), ((4, 0), (3, 1)), ((8, 0),), ((-1, 0),), ((0, 2),), ((0, -1),)])
def test_bad_tables_are_refused(table):
    with pytest.raises(ValueError, match=r"element|place"):
        PackMap((2,), 8, (), (), (), table)
    with pytest.raises(ValueError, match="beside other dimensions"):
        PackMap((2,), 8, (PackDim(GAP, 2),), (), (), ((0, 0),))


def test_elements_without_a_place_cannot_be_read():
    pack = PackMap.of_table(3, 8, [(5, 0), (1, 2)])
    assert pack.pack(np.array([1.0, 2.0, 3.0])).tolist() == [0, 3, 0, 0, 0, 1, 0, 0]
    with pytest.raises(ValueError, match="element 1 of 3 has no place"):
        pack.unpack(np.zeros(8))


def test_a_constant_with_few_lanes_holds_few_numbers():
    pack = PackMap.of_table(2, 4096, [(7, 0), (4000, 1)])
    in_order = Access((2,), ((1,),), (0,))
    constant = ConstRef(LoopNest((2,), pack, in_order, "w", in_order))
    vector = constant.evaluate({"w": np.array([1.5, -2.0])})
    assert {i: vector[i] for i in np.flatnonzero(vector)} == {7: 1.5, 4000: -2.0}
