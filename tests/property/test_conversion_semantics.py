"""Layout conversions: pack, convert in vec operations, unpack; and which of them a search takes."""

from dataclasses import replace

import numpy as np
import pytest
from conversion_cases import lowered

from latticework.compiler.layout_choice import Counted, Seconds
from latticework.compiler.layout_choice.prices import LoweringPrices
from latticework.ir import Module, interpret
from latticework.ir.dialects import loop_dialect  # noqa: F401  (defines loop.yield)
from latticework.plan.cost import CostModel
from latticework.tensor.layout import Layout
from latticework.tensor.layout.conversions import CONVERSIONS, direct, find_conversion
from latticework.values.packing.pack import GAP, REPEAT, PackDim

parse = Layout.parse
COSTS = {"rotom": lambda: Counted(), "seconds": lambda: Seconds(CostModel.load(), 1 << 14, 6)}
SHAPES = [(4, 4), (3, 5), (8,), (4, 2, 3), (6,), (2, 8)]


def assert_converts(conversion):
    """The tensor arrives, whatever lies in slots that its source does not use."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=conversion.shape)
    pack = conversion.source.pack_map(conversion.shape)
    vectors = pack.pack(x)
    unused = (pack.element_of_slot() < 0).reshape(vectors.shape)
    vectors[unused] = 1000 * rng.normal(size=np.count_nonzero(unused))
    (got,) = interpret(lowered(conversion), [vectors])
    into = conversion.target.pack_map(conversion.shape)
    held = (into.element_of_slot() >= 0).reshape(got.shape)
    np.testing.assert_allclose(got[held], into.pack(x)[held], rtol=1e-9, atol=1e-9)


def random_layout(rng, shape, slots):
    """A layout of vectors of `slots` slots that holds the shape."""
    dims = []
    for axis, n in enumerate(shape):
        extent, stride = 1 << (n - 1).bit_length(), 1
        while stride < extent:
            step = 1 << int(rng.integers(1, (extent // stride).bit_length()))
            dims.append(PackDim(axis, step, stride))
            stride *= step
    rng.shuffle(dims)
    inside, outside, room = [], [], slots
    for dim in dims:
        if dim.extent <= room and rng.random() < 0.75:
            inside.append(dim)
            room //= dim.extent
        else:
            outside.append(dim)
    while room > 1:
        extent = 1 << int(rng.integers(1, room.bit_length()))
        room //= extent
        inside.insert(int(rng.integers(len(inside) + 1)), PackDim(int(rng.choice([GAP, REPEAT])), extent))
    if rng.random() < 0.3:
        outside.insert(int(rng.integers(len(outside) + 1)), PackDim(REPEAT, 2))
    return rolled(rng, Layout(tuple(inside), tuple(outside)), int(rng.integers(3)))


def rolled(rng, layout, number):
    """The layout with further rolls."""
    dims = layout.all_dims
    pairs = [(i, j) for i in range(len(dims)) for j in range(len(dims)) if i != j and dims[i].axis != GAP]
    rolls = tuple(pairs[k] for k in rng.integers(len(pairs), size=number)) if pairs else ()
    return Layout(layout.dims, layout.vector_dims, layout.rolls + rolls)


def with_gaps(rng, layout):
    """The layout with some of its repetition unused."""
    dims = [PackDim(GAP, d.extent) if d.axis == REPEAT and rng.random() < 0.7 else d for d in layout.dims]
    return Layout(tuple(dims), layout.vector_dims)


def random_pair(seed):
    """A shape and two of its layouts: unrelated, or one a rolled or a gapped form of the other."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    slots = int(rng.choice([8, 16, 32]))
    source = random_layout(rng, shape, slots)
    if seed % 3 == 0:
        return shape, source, rolled(rng, source, 1)
    target = random_layout(rng, shape, slots)
    if seed % 3 == 1:
        return shape, with_gaps(rng, target), Layout(target.dims, target.vector_dims)
    return shape, source, target


@pytest.mark.parametrize("seed", range(120))
def test_what_is_packed_converted_and_unpacked_is_the_same(seed):
    shape, source, target = random_pair(seed)
    found = direct(shape, source, target)
    assert len({c.name for c in found}) == len(found)
    for conversion in found:
        assert (conversion.source, conversion.target) == (source, target)
        assert find_conversion(conversion.name, shape, source, target) == conversion
        assert_converts(conversion)


@pytest.mark.parametrize(
    ("shape", "source", "target"),
    [
        ((3, 5), "[0:3][1:5]", "[1:5][0:3]"),
        ((3, 5), "[R:4];[0:3][1:5]", "Roll(2,0)[R:4];[0:3][1:5]"),  # does not fill its vectors
        ((3, 5), "[R:3];[0:3][1:5]", "Roll(1,0)[R:3];[0:3][1:5]"),
        ((3, 5), "[0:3][1:5]", "Roll(1,0)[0:3][1:5]"),
        ((6,), "[0:6][G:2]", "[0:6][R:2]"),
        ((6,), "[0:3:2];[0:2][G:4]", "[0:2];[G:2][0:3:2]"),
        ((5, 3), "[0:5];[1:3][G:5]", "[1:3][0:5]"),
        ((5, 3), "[0:5];[1:3][G:5]", "[1:3][R:5];[0:5][R:3]"),
        ((2, 12), "Roll(2,0)[1:3:4];[R:2][1:4][0:2]", "[0:2];[1:12]"),
        ((4, 8), "[R:4];[R:2][0:4][1:8]", "Roll(2,0)[R:4];[R:2][0:4][1:8]"),  # the whole vectors turned
        ((4,), "[0:4]", "[0:4];[G:4]"),  # vectors turned whole, though no dim is
    ],
)
def test_any_extents(shape, source, target):
    for conversion in direct(shape, *(parse(text) for text in (source, target))):
        assert_converts(conversion)


def test_random_pairs_meet_every_conversion():
    names = {c.name for seed in range(120) for c in direct(*random_pair(seed))}
    assert names >= {"take", "replicate", "roll", "bsgs-roll", "permute", "permute-nearest", "block"}
    assert len(CONVERSIONS) == 7  # compact and rot-roll have their own cases


@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("seed", range(30))
def test_the_way_that_is_taken_arrives_and_is_never_dearer_than_one_step(seed, costs):
    shape, source, target = random_pair(seed)
    prices, again = (LoweringPrices(Module(), costs()) for _ in range(2))
    way = prices.find_conversions(shape, source, target)
    assert [c.name for c in way] == [c.name for c in again.find_conversions(shape, source, target)]
    assert (way[0].source, way[-1].target) == (source, target)
    assert_converts(joined(way))
    taken = prices.conversion(shape, source, target, 0)
    for c in direct(shape, source, target):
        assert taken.seconds <= prices._conversions.priced(prices._conversions._block(c), 0).seconds * (1 + 1e-9)


def joined(way):
    """Several conversions as one."""
    recipes = tuple(recipe for c in way for recipe in c.recipes)
    return replace(way[0], target=way[-1].target, recipes=recipes)
