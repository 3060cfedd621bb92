"""Alignment of two operands: rule by rule, and against NumPy on packed arrays."""

import numpy as np
import pytest

from latticework.errors import ShapeError
from latticework.tensor.layout import Layout
from latticework.tensor.layout.alignment import align, around, meeting, merge, stretch
from latticework.tensor.layout.conversions import direct
from latticework.tensor.layout.iteration_space import boxes
from latticework.tensor.layout.layout_candidates import seeds
from latticework.tensor.layout.loops import Loops
from latticework.tensor.layout.sum_layouts import free_sums

parse = Layout.parse


def met(a, b):
    """The text of the layout in which both lie, whichever comes first; None if they are not aligned."""
    found = merge(parse(a), parse(b))
    assert found == merge(parse(b), parse(a))
    return None if found is None else str(found)


# Loops of matmul: i = 0, j = 1, k = 2. A walks i and k, B walks k and j.
@pytest.mark.parametrize(
    ("a", "b", "box"),
    [
        # 1. Dims face each other from the right, cut where they have to be.
        ("[0:8]", "[0:8]", "[0:8]"),
        ("[0:8][R:2]", "[R:4][0:2][R:2]", None),
        ("[R:8][1:4]", "[0:4][R:8]", "[0:4][R:2][1:4]"),
        ("[R:2][0:2][R:4]", "[1:2][R:8]", "[1:2][0:2][R:4]"),
        # 2. A dim faces its like or a repetition.
        ("[0:4][R:4][2:4]", "[R:4][1:4][2:4]", "[0:4][1:4][2:4]"),  # i j k, as in the paper
        ("[0:4][2:4]", "[1:4][2:4]", None),
        ("[0:4][2:4][R:4]", "[R:4][1:4][2:4]", None),
        ("[2:4][R:4]", "[R:4][2:4]", None),  # k would be walked twice
        # 3. A gap faces a gap or a repetition.
        ("[G:4][0:4]", "[G:4][0:4]", "[G:4][0:4]"),
        ("[G:4][0:4]", "[R:4][0:4]", "[G:4][0:4]"),
        ("[G:4][0:4]", "[1:4][0:4]", None),
        # 4. Shared dims carry the same rolls.
        ("Roll(2,0)[0:4][R:4][2:4]", "Roll(2,0)[R:4][1:4][2:4]", "Roll(2,0)[0:4][1:4][2:4]"),  # by i, by what faces i
        ("Roll(1,2)[R:4][2:4][0:4]", "Roll(1,2)[1:4][2:4][R:4]", "Roll(1,2)[1:4][2:4][0:4]"),
        ("Roll(1,2)[R:4][2:4][0:4]", "Roll(1,0)[1:4][2:4][R:4]", None),  # by i, by j
        ("Roll(0,1)[2:4][R:4][0:4]", "[2:4][1:4][R:4]", None),  # misaligned, as in the paper
        ("Roll(0,1)[2:4][R:4][0:4]", "Roll(0,1)[2:4][1:4][R:4]", "Roll(0,1)[2:4][1:4][0:4]"),
        # 5. A rolled dim that faces a repetition is free.
        ("Roll(0,2)[0:4][R:4][2:4]", "[R:4][1:4][2:4]", "Roll(0,2)[0:4][1:4][2:4]"),  # as in the paper
        ("Roll(0,1)[0:4][2:4]", "[R:4][2:4]", "Roll(0,1)[0:4][2:4]"),
        # 6. Vectors are taken as they are needed.
        ("[2:4];[0:4][R:4]", "[2:4];[R:4][1:4]", "[2:4];[0:4][1:4]"),
        ("[0:2][2:4];[0:4:2]", "[2:4];[R:4]", "[0:2][2:4];[0:4:2]"),
        ("[0:4];[2:4]", "[1:2];[2:4]", "[0:4][1:2];[2:4]"),
        ("[0:4];[2:4]", "[2:4];[0:4]", None),
        ("Roll(1,0)[R:4];[2:4][0:4]", "[1:4];[R:16]", "Roll(1,0)[1:4];[2:4][0:4]"),
        ("Roll(1,0)[R:4];[2:4][0:4]", "Roll(1,0)[1:4];[2:4][R:4]", "Roll(1,0)[1:4];[2:4][0:4]"),
        ("Roll(1,0)[R:4];[2:4][0:4]", "[1:4];[2:4][R:4]", None),
        # Both operands of the rolled product: k is at i + j + v in either.
        (
            "Roll(2,0)Roll(2,1)[R:4];[0:4][2:4]", "Roll(1,0)Roll(1,2)[R:4];[2:4][1:4]",
            "Roll(0,1)Roll(0,2)[2:4];[0:4][1:4]",
        ),
    ],
)  # fmt: skip
def test_rules(a, b, box):
    assert met(a, b) == box


def test_operands_of_elementwise_operations_agree_on_all_rolls():
    loops = Loops.elementwise((4, 4), (4, 4))
    diagonal, plain = parse("Roll(1,0)[1:4][0:4]"), parse("[1:4][0:4]")
    assert merge(diagonal, diagonal) == diagonal
    assert merge(diagonal, plain) is None
    ways = align(loops, (diagonal, plain), around(loops, (diagonal, plain)))
    assert [way.operands for way in ways] == [(diagonal, diagonal), (plain, plain)]


def test_what_lies_alike_is_aligned_whatever_rolls_it_has():
    # Rolls in a circle, or of vectors by slots.
    for text in ("Roll(1,0)Roll(0,1)[0:4][1:4]", "Roll(0,1)[0:4];[1:4]"):
        layout = parse(text)
        assert merge(layout, layout) == layout
        assert merge(layout, layout.renumber_axes({0: 0})) == layout


def first_way(loops, layouts):
    """The operands and the result where both lie already."""
    (way,) = align(loops, layouts, [meeting(loops, layouts)])
    return way.operands, way.result


def test_broadcast_operands_lie_where_they_repeat():
    loops = Loops.elementwise((8, 4), (4,))
    operands, result = first_way(loops, (parse("[0:8][1:4]"), parse("[R:8][0:4]")))
    assert operands == (parse("[0:8][1:4]"), parse("[R:8][0:4]"))
    assert result == parse("[0:8][1:4]")
    # In several vectors the smaller operand is taken several times.
    operands, _ = first_way(loops, (parse("[0:4:2];[0:2][1:4]"), parse("[R:2][0:4]")))
    assert operands == (parse("[0:4:2];[0:2][1:4]"), parse("[R:4];[R:2][0:4]"))
    assert [c.name for c in direct((4,), parse("[R:2][0:4]"), operands[1])] == ["take"]
    # What either lacks may lie in several places: neither operand moves.
    layouts = parse("[R:2][0:4][R:4]"), parse("[1:2:4][R:4][1:4]")
    operands, result = first_way(Loops.elementwise((4, 1), (1, 8)), layouts)
    assert (operands, result) == (layouts, parse("[1:2:4][0:4][1:4]"))


def test_a_public_operand_goes_wherever_the_secret_one_lies():
    loops = Loops.elementwise((4, 4), (4, 4))
    lying = parse("Roll(1,0)[1:4][0:4]")
    assert meeting(loops, (lying, None)) is None
    (way,) = align(loops, (lying, None), around(loops, (lying, None)))
    assert (way.operands, way.result, way.box) == ((lying, None), lying, None)


def test_aligned_operands_of_a_product_meet_where_they_lie():
    loops = Loops.matmul((4, 4), (4, 4))
    layouts = parse("[0:4][R:4][1:4]"), parse("[R:4][1:4][0:4]")  # i j k, as in the paper
    box = meeting(loops, layouts)
    assert box == parse("[0:4][1:4][2:4]")
    assert all(way.operands == layouts for way in align(loops, layouts, [box]))
    assert parse("[0:4][1:4][G:4]") in [way.result for way in align(loops, layouts, [box])]


@pytest.mark.parametrize(
    ("box", "result"),
    [
        ("[2:4];[0:4][1:4]", "[0:4][1:4]"),  # vectors are added
        ("[2:4][0:4][1:4]", "[R:4][0:4][1:4]"),  # rotated and added, all around
        ("[0:4][2:4][1:4]", "[0:4][G:4][1:4]"),  # the sum is at index 0
        ("[R:2][2:4][0:4][1:4]", "[R:8][0:4][1:4]"),
        ("Roll(2,0)[R:4][2:4][0:4][1:4]", "Roll(2,0)[R:4][G:4][0:4][1:4]"),  # a carry would reach what it turns
        ("[2:2][0:4][2:2:2][1:4]", "[G:2][0:4][G:2][1:4]"),
        ("Roll(0,1)Roll(0,2)[2:4];[0:4][1:4]", "[0:4][1:4]"),  # the classic
        ("Roll(1,0)[2:4];[0:4][1:4]", None),  # rolled by what is summed: terms lie apart
        ("Roll(2,1)[2:4];[0:4][1:4]", "Roll(1,0)[0:4][1:4]"),  # the result keeps its own rolls
    ],
)
def test_where_sums_lie(box, result):
    """Without a mask, everywhere if possible."""
    found = free_sums(parse(box), (4, 4, 4), (2,), keepdims=False)
    assert (found[0] if found else None) == (None if result is None else parse(result))


def test_padding_of_a_summed_loop_is_not_summed():
    assert free_sums(parse("[2:4];[0:4][1:4]"), (4, 4, 3), (2,), keepdims=False) == []
    assert free_sums(parse("[2:3];[0:4][1:4]"), (4, 4, 3), (2,), keepdims=False) == [parse("[0:4][1:4]")]


def test_loops_of_products():
    assert Loops.matmul((3, 4), (4, 5)) == Loops((3, 5, 4), ((0, 2), (2, 1)), (0, 1))
    assert Loops.matmul((4,), (4, 5)) == Loops((5, 4), ((1,), (1, 0)), (0,))
    assert Loops.matmul((2, 3, 4), (4, 5)) == Loops((2, 3, 5, 4), ((0, 1, 3), (3, 2)), (0, 1, 2))
    assert Loops.elementwise((3, 1, 5), (4, 1)).operands == ((0, None, 2), (1, None))
    for wrong in (lambda: Loops.matmul((3, 4), (5, 4)), lambda: Loops.elementwise((3,), (4,))):
        with pytest.raises(ShapeError, match="alignment"):
            wrong()


def test_axes_are_added_where_there_is_room():
    layout = parse("[R:4][0:4][R:2]")
    assert stretch(layout, (4, 4)) == parse("[R:2][1:2:2][0:4][1:2]")
    assert stretch(layout, (4, 16)) == parse("[1:2:8];[1:4:2][0:4][1:2]")
    # A repetition that rolls others stays.
    assert stretch(parse("Roll(1,0)[R:4][0:4]"), (4, 4)) == parse("Roll(2,1)[1:4];[R:4][0:4]")


def boxes_of(loops, slots):
    """All boxes around all forms of the result."""
    shape = tuple(loops.extents[loop] for loop in loops.result)
    (summed,) = loops.summed
    for result in seeds(shape, slots):
        yield from boxes(result, summed, loops.extents[summed], (loops.own(0), loops.own(1)))


def test_boxes_of_a_product_have_the_classic_one():
    found = [str(box) for box in boxes_of(Loops.matmul((64, 64), (64, 64)), 4096)]
    assert "[2:64];[0:64][1:64]" in found
    assert "Roll(0,1)Roll(0,2)[2:64];[0:64][1:64]" in found


def summed(loops, box, products):
    """The products (count, slots) of a box, added up over the summed loops as `free_sums` says."""
    extents = [d.extent for d in box.vector_dims]
    over = tuple(i for i, d in enumerate(box.vector_dims) if d.axis in loops.summed)
    total = products.reshape(*extents, box.slots).sum(axis=over).reshape(-1, box.slots)
    weight = 1
    for dim in reversed(box.dims):
        if dim.axis in loops.summed:
            step = weight
            while step < weight * dim.extent:
                total = total + np.roll(total, -step, axis=-1)
                step *= 2
        weight *= dim.extent
    return total


CASES = [
    (Loops.matmul((4, 4), (4, 4)), ((4, 4), (4, 4)), 16),
    (Loops.matmul((3, 4), (4, 5)), ((3, 4), (4, 5)), 32),
    (Loops.matmul((8, 4), (4, 8)), ((8, 4), (4, 8)), 16),
    (Loops.matmul((2, 6), (6, 4)), ((2, 6), (6, 4)), 8),
    (Loops.matmul((2, 3, 4), (4, 2)), ((2, 3, 4), (4, 2)), 32),
    (Loops.matmul((4,), (4, 4)), ((4,), (4, 4)), 32),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_products_in_every_box_sum_to_the_product(number):
    loops, shapes, slots = CASES[number]
    rng = np.random.default_rng(number)
    a, b = (rng.normal(size=shape) for shape in shapes)
    lying = [seeds(shape, slots)[0] for shape in shapes]
    ways = list(align(loops, lying, boxes_of(loops, slots)))
    tried = 0
    for way in ways:
        if way.result not in free_sums(way.box, loops.extents, loops.summed, keepdims=False):
            continue
        tried += 1
        packed = [
            layout.pack_map(x.shape, slots).pack(x).reshape(-1, slots)
            for layout, x in zip(way.operands, (a, b), strict=True)
        ]
        assert len({len(x) for x in packed} - {1}) <= 1
        total = summed(loops, way.box, np.broadcast_to(packed[0] * packed[1], (way.box.count, slots)))
        got = way.result.pack_map((a @ b).shape, slots).unpack(total if len(total) > 1 else total[0])
        np.testing.assert_allclose(got, a @ b, rtol=1e-9, atol=1e-9)
    assert tried > 1


@pytest.mark.parametrize("number", range(len(CASES)))
def test_operands_in_every_box_are_aligned(number):
    """What boxes put together agrees with the rules."""
    loops, shapes, slots = CASES[number]
    for way in align(loops, [seeds(shape, slots)[0] for shape in shapes], boxes_of(loops, slots)):
        sides = [loops.layout_in_loops(side, layout) for side, layout in enumerate(way.operands)]
        assert merge(*sides) is not None, way.box


@pytest.mark.parametrize("seed", range(40))
def test_what_is_merged_lies_as_it_did(seed):
    rng = np.random.default_rng(seed)
    found = list(boxes_of(Loops.matmul((4, 4), (4, 4)), int(rng.choice([16, 32, 64]))))
    box = found[rng.integers(len(found))]
    a, b = box.renumber_axes({0: 0, 2: 2}), box.renumber_axes({1: 1, 2: 2})
    both = merge(a, b)
    assert both is not None
    x, y = rng.normal(size=(4, 1, 4)), rng.normal(size=(1, 4, 4))
    for array, own in ((x, a), (y, b)):
        alone = own.pack_map(array.shape).pack(array).reshape(own.count, -1)
        whole = both.pack_map((4, 4, 4)).pack(np.broadcast_to(array, (4, 4, 4))).reshape(both.count, -1)
        # Every vector of the box is one of the operand's.
        assert all(any(np.array_equal(vector, own) for own in alone) for vector in whole)
