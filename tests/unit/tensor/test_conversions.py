"""Layout conversions: the published counts, when each applies, and what is chosen."""

import pytest
from conversion_cases import Counts, counts_of

from latticework.compiler.layout_choice import Counted, Seconds
from latticework.compiler.layout_choice.prices import LoweringPrices
from latticework.errors import LayoutError
from latticework.ir import Module
from latticework.plan.cost import CostModel
from latticework.tensor.layout import Layout
from latticework.tensor.layout.conversions import candidates, direct, find_conversion, stations
from latticework.tensor.layout.conversions.convert_take import distinct_vectors
from latticework.tensor.layout.rotation_distance import find_rotation

parse = Layout.parse


def found(shape, source, target):
    """What the conversions do, by name."""
    return {c.name: counts_of(c) for c in direct(shape, parse(source), parse(target))}


def way(costs, shape, source, target):
    """The names of the conversions that are taken, and what they do."""
    taken = LoweringPrices(Module(), costs).find_conversions(shape, parse(source), parse(target))
    return [c.name for c in taken], sum(map(counts_of, taken), Counts())


def test_exchange_of_a_vector_dim_with_a_slot_dim():
    # Rotom's Table 1, 64 x 64 in vectors of 4096: permute 447 rotations and 64 products, roll 126 and 127,
    # rot-roll 63 and none. One of our 127 masks is saved, since nothing is turned in the first vector.
    exchange = found((64, 64), "[R:64];[0:64][1:64]", "[0:64];[R:64][1:64]")
    permute = exchange["permute"]
    assert (permute.rotations, permute.products, permute.additions, permute.levels) == (447, 64, 384, 1)
    # Copies that come round need not begin at the first place: 63 rotations fewer.
    assert exchange["permute-nearest"].rotations == 384
    rolls = found((64, 64), "[R:64];[0:64][1:64]", "Roll(0,1)[0:64];[R:64][1:64]")
    assert (rolls["roll"].rotations, rolls["roll"].products, rolls["roll"].additions) == (126, 63, 126)
    assert rolls["rot-roll"] == Counts(hoists=1, rotations=63, divisions=63)


def test_roll_within_a_vector():
    # Rotom's Table 2: roll 126 rotations and 127 products, BSGS-roll 28 and 127.
    rolls = found((64, 64), "[0:64][1:64]", "Roll(1,0)[0:64][1:64]")
    assert (rolls["roll"].rotations, rolls["roll"].products, rolls["roll"].additions) == (126, 127, 126)
    assert (rolls["bsgs-roll"].products, rolls["bsgs-roll"].additions) == (127, 126)
    assert rolls["bsgs-roll"].rotations <= 28
    swapped = found((64, 64), "[0:64][1:64]", "[1:64][0:64]")
    assert swapped["block"].rotations <= 28


def test_four_by_four_example():
    # Section 2.3 of the paper: 3 masks, 6 rotations, 6 additions; by plain rotations 3 and nothing else.
    rolls = found((4, 4), "[R:4];[0:4][1:4]", "Roll(2,0)[R:4];[0:4][1:4]")
    assert (rolls["roll"].products, rolls["roll"].rotations, rolls["roll"].additions) == (3, 6, 6)
    assert found((4, 4), "[R:4];[0:4][1:4]", "Roll(1,0)[R:4];[0:4][1:4]")["rot-roll"].rotations == 3


def test_compaction_moves_vectors_into_gaps():
    best = found((16, 16), "[1:4][0:4:4];[0:4][1:4:4][G:4]", "[0:4:4];[0:4][1:16]")["compact"]
    assert (best.products, best.rotations, best.additions, best.levels) == (16, 12, 12, 1)


def test_replication_doubles():
    best = found((8,), "[0:8][G:8]", "[R:2];[0:8][R:8]")["replicate"]
    assert (best.products, best.rotations, best.additions, best.levels) == (1, 3, 3, 1)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("[0:4];[1:8]", "[R:2][0:4];[1:8]"),
        ("[R:2][0:4];[1:8]", "[0:4];[1:8]"),
        ("[0:2:2][0:2];[1:8]", "[0:2][0:2:2];[1:8]"),
        ("[0:4];[R:2][1:8]", "[0:4];[G:2][1:8]"),
        ("[0:4];[1:8]", "Roll(0,1)[0:4][R:2];[1:8]"),  # which vector is which
        ("Roll(0,1)[0:4];[1:8]", "Roll(1,2)[R:2][0:4];[1:8]"),  # whatever else is rolled
    ],
)
def test_vectors_are_taken_for_nothing(source, target):
    (only,) = direct((4, 8), parse(source), parse(target))
    assert (only.name, counts_of(only)) == ("take", Counts())


@pytest.mark.parametrize(
    ("source", "target", "applies"),
    [
        ("[R:4];[0:4][1:4]", "Roll(1,0)[R:4];[0:4][1:4]", True),
        ("[R:4];[R:2][0:4][1:4]", "Roll(2,0)[R:4];[R:2][0:4][1:4]", True),  # copies come round
        ("[R:4];[G:2][0:4][1:4]", "Roll(2,0)[R:4];[G:2][0:4][1:4]", False),  # what comes round is not the tensor
        ("[R:4];[0:4][1:4]", "Roll(2,0)[R:4];[0:4][1:4]", False),  # not the outermost
        ("[R:4];[0:3][1:4]", "Roll(1,0)[R:4];[0:3][1:4]", False),  # does not fill the vector
        ("[R:4];[0:4][1:4]", "Roll(1,2)[R:4];[0:4][1:4]", False),  # differs within a vector
    ],
)
def test_turning_vectors_whole_needs_the_outermost_dimension(source, target, applies):
    turn = find_rotation(parse(source), parse(target))
    assert turn is not None and turn.cyclic == applies


def test_two_dimensions_turned_are_no_roll():
    assert find_rotation(parse("[R:4];[0:4][1:4]"), parse("Roll(1,0)Roll(2,0)[R:4];[0:4][1:4]")) is None
    # Nor is a turn of a dimension by which another one is turned.
    assert find_rotation(parse("Roll(2,1)[R:4];[0:4][1:4]"), parse("Roll(1,0)Roll(2,1)[R:4];[0:4][1:4]")) is None


def test_operands_of_a_product_of_matrices_are_rolled_in_two_steps():
    # A_k[i, j] = A[i, i + j + k] and B_k[i, j] = B[i + j + k, j]: skewed once, then turned for each k.
    costs = Seconds(CostModel.load(), 1 << 14, 6)
    left, right = "Roll(2,0)Roll(2,1)[R:64];[0:64][1:64]", "Roll(1,0)Roll(1,2)[R:64];[0:64][1:64]"
    names, counts = way(costs, (64, 64), "[0:64][1:64]", left)
    assert (names, counts.rotations, counts.products, counts.levels) == (["bsgs-roll", "block"], 148, 254, 2)
    names, counts = way(costs, (64, 64), "[0:64][1:64]", right)
    assert (names, counts.rotations, counts.products, counts.levels) == (["bsgs-roll", "rot-roll"], 81, 64, 1)
    assert stations(parse(right)) == (parse("Roll(0,1)[0:64][1:64]"),)


def test_prices_decide():
    """A roll by Rotom's prices, where a mask is as dear as two rotations; by time a map, which hoists its rotations."""
    layouts = "[R:64];[0:64][1:64]", "Roll(2,0)[R:64];[0:64][1:64]"
    assert way(Counted(), (64, 64), *layouts)[0] == ["roll"]
    assert way(Seconds(CostModel.load(), 1 << 14, 6), (64, 64), *layouts)[0] == ["block"]
    # Copies by rotating and adding: seven times, where a map would have 128 diagonals.
    names, counts = way(Seconds(CostModel.load(), 1 << 14, 6), (64,), "[0:64][G:128]", "[0:64][R:128]")
    assert (names, counts.rotations, counts.products) == (["replicate"], 7, 1)


def test_vectors_that_are_turned_whole_need_no_other_candidates():
    layouts = parse("[R:4];[0:4][1:4]"), parse("Roll(1,0)[R:4];[0:4][1:4]")
    assert [c.name for c in candidates((4, 4), *layouts)] == ["rot-roll"]
    assert len(direct((4, 4), *layouts)) > 1


def test_a_conversion_that_does_not_apply_is_refused():
    with pytest.raises(LayoutError, match=r"no conversion 'roll' of shape \(4, 4\).*there are .*block"):
        find_conversion("roll", (4, 4), parse("[0:4][1:4]"), parse("[1:4][0:4]"))


def test_vectors_of_two_lengths_are_refused():
    with pytest.raises(LayoutError, match="8 slots.*16"):
        direct((8,), parse("[0:8]"), parse("[R:2][0:8]"))


def test_distinct_vectors_are_made_once():
    # Sixteen vectors are wanted of which four differ: the map makes four.
    (once,) = (c for c in direct((4, 4), parse("[0:4][1:4]"), parse("[1:4];[R:4][0:4]")) if c.name == "block")
    for target in ("[R:4][1:4];[R:4][0:4]", "[1:4][R:4];[R:4][0:4]"):
        (found,) = (c for c in direct((4, 4), parse("[0:4][1:4]"), parse(target)) if c.name == "block")
        assert counts_of(found) == counts_of(once)
    numbers = distinct_vectors(parse("[R:2][0:3][R:2];[1:4]"))
    assert numbers.layout == parse("[0:3];[1:4]")
    assert numbers.first == (0, 2, 4)
    assert numbers.number == (0, 0, 1, 1, 2, 2) * 2
    # A repetition that rolls others numbers vectors that differ.
    assert distinct_vectors(parse("Roll(1,0)[R:4];[0:4]")).number == (0, 1, 2, 3)
