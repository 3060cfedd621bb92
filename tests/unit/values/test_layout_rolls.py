"""Layouts with rolls, several vectors and any extents: canonical forms against the tables of the PackMap."""

import itertools
from math import prod

import numpy as np
import pytest

from latticework.errors import LayoutError
from latticework.tensor.layout import Layout
from latticework.values.packing.pack import GAP, REPEAT, PackDim, PackMap

parse = Layout.parse


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Roll(0,1)[0:4];[R:4][1:4]", "Roll(1,0)[R:4];[0:4][1:4]"),  # the dim walks where it lies further right
        ("Roll(1,0)[R:4];[0:4][1:4]", "Roll(1,0)[R:4];[0:4][1:4]"),
        ("Roll(1,0)[1:4][0:4]", "Roll(1,0)[1:4][0:4]"),
        ("Roll(0,1)[R:4][0:4]", "[R:4][0:4]"),  # of a repetition
        ("Roll(1,0)[G:4][0:4]", "[G:4][0:4]"),  # by a gap
        ("Roll(1,0)[0:1][1:4]", "[1:4]"),
        ("Roll(0,1)[0:1][1:4]", "[1:4]"),
        ("Roll(2,1)[1:4][0:1][2:4]", "[1:4][2:4]"),
        ("Roll(2,0)[1:4][0:1][2:4]", "Roll(1,0)[1:4][2:4]"),  # renumbered
        ("Roll(0,1)Roll(0,1)Roll(0,1)Roll(0,1)[0:4][1:4]", "[0:4][1:4]"),  # once round
        ("Roll(0,1)Roll(0,1)[0:4][1:4]", "Roll(0,2)[0:2:2][0:2][1:4]"),  # by twos
        ("Roll(2,1)[0:2:2][0:2][1:2]", "Roll(1,0)[0:4][1:2]"),  # by a part that is all that counts
        ("Roll(2,0)Roll(1,0)[2:4][1:4][0:4]", "Roll(1,0)Roll(2,0)[2:4][1:4][0:4]"),  # independent ones
        ("Roll(1,2)Roll(0,1)[0:4][1:4][2:4]", "Roll(0,1)Roll(0,2)Roll(1,2)[0:4][1:4][2:4]"),
        ("Roll(2,0)[R:2][R:2];[0:4][1:3]", "Roll(2,0)[R:2][R:2];[0:4][1:3]"),  # by a part of a repetition
        ("Roll(2,1)[R:2][R:2];[0:2][1:3]", "Roll(1,0)[R:4];[0:2][1:3]"),
        ("[G:4][0:3]", "[G:5][0:3]"),  # sixteen slots
        ("[0:2:2];[0:2]", "[0:2:2];[0:2]"),  # not joined across the vectors' end
        ("[R:2];[]", "[R:2];[]"),
    ],
)  # fmt: skip
def test_what_means_the_same_is_written_the_same(text, canonical):
    assert str(parse(text)) == canonical
    assert parse(text) == parse(canonical)


@pytest.mark.parametrize(
    "text", ["Roll(0,0)[0:4]", "Roll(0,2)[0:4][1:4]", "Roll(0,1)[G:4][0:4]", "Roll(0)[0:4]", "[0:2:0]", ";;[0:4]"]
)
def test_what_is_no_layout_is_refused(text):
    with pytest.raises(LayoutError, match=r"layout|Roll|extent"):
        parse(text)


def test_bits_are_for_plain_layouts():
    for text in ("[0:4];[1:4]", "Roll(1,0)[0:4][1:4]", "[0:3]"):
        with pytest.raises(LayoutError, match="no address bits"):
            _ = parse(text).bits
    assert parse("[G:2][0:4]").bits == ((0, 1), (0, 2), (GAP, 1))


# Dimensions of tensors that they hold whole, and whether all that mean the same are found equal.
POOLS = [
    ((8,), (PackDim(0, 2), PackDim(0, 4, 2), PackDim(REPEAT, 2))),
    ((4, 4), (PackDim(0, 4), PackDim(1, 4), PackDim(REPEAT, 4))),
    ((4, 2), (PackDim(0, 2), PackDim(0, 2, 2), PackDim(1, 2))),
    ((4,), (PackDim(0, 4), PackDim(REPEAT, 2), PackDim(REPEAT, 4))),
    ((6,), (PackDim(0, 3), PackDim(0, 2, 3), PackDim(REPEAT, 2))),
    ((3,), (PackDim(0, 3), PackDim(REPEAT, 6), PackDim(REPEAT, 3))),
    ((4, 2), (PackDim(0, 4), PackDim(1, 2), PackDim(GAP, 2))),
    ((4, 4), (PackDim(0, 2), PackDim(0, 2, 2), PackDim(1, 2), PackDim(1, 2, 2))),
    ((2, 2), (PackDim(0, 2), PackDim(1, 2), PackDim(REPEAT, 2), PackDim(REPEAT, 2))),
    ((4, 4), (PackDim(0, 4), PackDim(1, 4), PackDim(REPEAT, 4), PackDim(REPEAT, 2))),
]


def arrangements(pool, rng, number):
    """Orders of the dimensions, how many number the vectors, and rolls among them."""
    orders = list(itertools.permutations(range(len(pool))))
    for _ in range(number):
        dims = tuple(pool[i] for i in orders[rng.integers(len(orders))])
        pairs = [(i, j) for i in range(len(dims)) for j in range(len(dims)) if i != j and dims[i].axis != GAP]
        rolls = tuple(pairs[k] for k in rng.integers(len(pairs), size=rng.integers(4)))
        split = int(rng.integers(len(dims)))
        yield dims[split:], dims[:split], rolls


def in_circles_or_through_shorter(dims, rolls):
    """Rolls that are not turns: the exceptions to "equal tables, equal layouts"."""
    reads = {i: set() for i in range(len(dims))}
    for i, j in rolls:
        if reads[j] and dims[j].extent % dims[i].extent:
            return True
        reads[i] |= {j} | reads[j]
    return any(i in found for i, found in reads.items())


@pytest.mark.parametrize(("shape", "pool"), POOLS, ids=lambda p: "")
def test_layouts_are_equal_just_when_their_tables_are(shape, pool):
    forms: dict[tuple[int, bytes], set[Layout]] = {}
    for dims, vector_dims, rolls in arrangements(pool, np.random.default_rng(5), 300):
        layout = Layout(dims, vector_dims, rolls)
        written = PackMap(shape, layout.slots, dims, vector_dims, rolls).element_of_slot()
        np.testing.assert_array_equal(layout.pack_map(shape).element_of_slot(), written)
        assert parse(str(layout)) == layout == Layout(layout.dims, layout.vector_dims, layout.rolls)
        assert layout.count == prod(d.extent for d in vector_dims)
        if not in_circles_or_through_shorter((*vector_dims, *dims), rolls):
            forms.setdefault((layout.count, written.tobytes()), set()).add(layout)
    assert all(len(found) == 1 for found in forms.values())


def test_coprime_extents_are_where_equal_tables_may_be_written_twice():
    # A place counted 3 i + j is as even as i + j: found only where extents divide one another.
    a, b = parse("Roll(1,2)[0:3][1:2][R:3]"), parse("[0:3][R:3][1:2]")
    np.testing.assert_array_equal(a.pack_map((3, 2)).element_of_slot(), b.pack_map((3, 2)).element_of_slot())
    assert a != b


def test_axes_are_renamed_under_rolls():
    diagonal = parse("Roll(1,0)[1:4];[0:4][2:2]")
    assert diagonal.renumber_axes({0: 1, 1: 0, 2: 2}) == parse("Roll(1,0)[0:4];[1:4][2:2]")
    assert diagonal.renumber_axes({0: 0}) == parse("Roll(1,0)[R:4];[0:4][R:2]")
    assert diagonal.renumber_axes({1: 1}) == parse("[1:4];[R:8]")
