"""Layouts for a shape: compact forms, seeds, tilings, the order of vectors, joined dimensions."""

from math import prod

import numpy as np
import pytest

from latticework.errors import LayoutError
from latticework.tensor.layout import Layout
from latticework.tensor.layout.layout_candidates import (
    holds,
    in_order,
    join,
    pad_shape,
    seeds,
    skew,
    sort_vectors,
    tilings,
)
from latticework.values.packing.pack import GAP, REPEAT

parse = Layout.parse
SHAPES = [(), (1,), (5,), (3, 5), (16, 16), (32, 8), (4, 4, 4), (3, 2, 9), (1, 64), (2, 2, 2, 2)]


def test_axes_are_padded_to_powers_of_two():
    assert pad_shape((1, 2, 3, 5, 64)) == (1, 2, 4, 8, 64)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fill", [REPEAT, GAP])
def test_seeds_are_distinct_and_hold_the_tensor_in_whole_vectors(shape, fill):
    slots = 64
    found = seeds(shape, slots, fill)
    assert len(set(found)) == len(found) >= 1
    x = np.arange(prod(shape), dtype=float).reshape(shape)
    for layout in found:
        assert layout.slots == slots
        assert layout.count == max(1, prod(pad_shape(shape)) // slots)
        assert holds(layout, shape)
        pack = layout.pack_map(shape)
        np.testing.assert_array_equal(pack.unpack(pack.pack(x)), x)
        assert sort_vectors(layout) == layout


def test_seeds_of_a_matrix():
    assert [str(layout) for layout in seeds((16, 16), 256)] == ["[0:16][1:16]", "[1:16][0:16]"]
    assert [str(layout) for layout in seeds((8, 8), 128)] == [
        "[R:2][0:8][1:8]", "[0:8][R:2][1:8]", "[0:8][1:8][R:2]", "[R:2][1:8][0:8]", "[1:8][R:2][0:8]", "[1:8][0:8][R:2]",
    ]  # fmt: skip
    assert {str(layout) for layout in seeds((8, 8), 32)} == {
        "[0:2:4];[0:4][1:8]", "[1:2:4];[1:4][0:8]", "[0:2:4];[1:8][0:4]", "[1:2:4];[0:8][1:4]",
    }  # fmt: skip


def test_tilings_take_one_tile_a_vector():
    found = tilings((16, 16), 16)
    assert len(found) == 2 * 3 + 2  # 16 x 1 and 1 x 16 in one order
    assert "[0:4:4][1:4:4];[0:4][1:4]" in map(str, found)
    for layout in found:
        first = layout.pack_map((16, 16)).element_of_slot()[:16]
        rows, columns = np.unique(first // 16), np.unique(first % 16)
        assert len(rows) * len(columns) == 16


def test_orders_are_of_all_axes():
    assert in_order((4, 8), 16, (1, 0)) == parse("[1:2:4];[1:4][0:4]")
    with pytest.raises(LayoutError, match="order of the 2 axes"):
        in_order((4, 8), 16, (1, 1))


def test_vectors_have_one_order_and_rolls_follow():
    assert sort_vectors(parse("[1:4][0:2:2][R:2];[0:2]")) == parse("[R:2][0:2:2][1:4];[0:2]")
    rolled = parse("Roll(2,0)[1:4][R:2];[0:4][2:2]")
    assert sort_vectors(rolled) == parse("Roll(2,1)[R:2][1:4];[0:4][2:2]")
    x = np.random.default_rng(0).normal(size=(4, 4, 2))
    before = rolled.pack_map(x.shape).pack(x).reshape(4, 2, 8)
    after = sort_vectors(rolled).pack_map(x.shape).pack(x).reshape(2, 4, 8)
    np.testing.assert_array_equal(before.swapaxes(0, 1), after)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("[1:4][0:4:4];[0:4][1:4:4][G:4]", "[0:4:4];[0:4][1:16]"),  # the example of the paper
        ("[1:4:4];[G:4][1:4]", "[1:16]"),  # on the slow side
        ("[1:8];[1:2:8][G:4]", "[1:2];[1:8:2]"),  # as much as there is room for
        ("[1:2];[1:2:2][G:4]", "[1:4][G:2]"),
        ("[0:4];[1:4][G:4]", "[0:4];[1:4][G:4]"),  # nothing to continue
        ("[1:4];[1:4:4][R:4]", "[1:4];[1:4:4][R:4]"),
        ("Roll(1,0)[1:4];[0:4][1:4:4][G:4]", "Roll(1,0)[1:4];[0:4][1:4:4][G:4]"),  # what rolls stays
    ],
)  # fmt: skip
def test_vectors_join_slots_of_their_axis(text, result):
    assert join(parse(text)) == parse(result)


def test_repetition_may_be_given_up_too():
    assert join(parse("[1:4];[1:4:4][R:4]"), (GAP, REPEAT)) == parse("[1:16]")


def test_holding_asks_for_every_element_once():
    assert holds(parse("[0:4][1:8]"), (3, 5))
    assert holds(parse("[1:2:4];[0:4][1:4]"), (3, 5))
    assert not holds(parse("[0:4][1:4]"), (3, 5))
    assert not holds(parse("[0:4][1:4:2]"), (3, 8))
    assert not holds(parse("[0:4][2:4]"), (4,))


@pytest.mark.parametrize(
    ("extent", "length", "slots"), [(64, 256, 1024), (256, 64, 1024), (5, 40, 256), (128, 128, 512)]
)
def test_copies_turned_against_each_other_share_the_sums_of_a_product(extent, length, slots):
    """Each slot of the result's copies reads `turn` slots from its own on; together they read every element."""
    layout = skew((extent,), slots, length)
    x = np.arange(extent, dtype=float)
    pack = layout.pack_map((extent,))
    np.testing.assert_array_equal(pack.unpack(pack.pack(x)), x)
    held, length, turn = (
        pack.element_of_slot(),
        pad_shape((length,))[0],
        pad_shape((extent,))[0] * pad_shape((length,))[0] // slots,
    )
    for place in range(length):
        copies = range(place, slots, length)
        read = {int(held[(start + step) % slots]) for start in copies for step in range(turn)}
        assert read >= set(range(extent))


def test_copies_are_turned_only_where_there_is_room():
    assert skew((1024,), 1024, 64) is None
    assert skew((8,), 1024, 8) is None  # fewer products than slots
    assert skew((8, 8), 1024, 64) is None
