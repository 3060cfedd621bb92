"""The layout algebra: canonical forms, alignment, added axes; and the assignment of layouts."""

import numpy as np
import pytest

from latticework.compiler.layout_choice import Seconds, find_layouts, slots_needed
from latticework.errors import LayoutError
from latticework.frontend import Secret, for_loop, program, trace
from latticework.ir import interpret, verify
from latticework.ir.dialects import loop_dialect  # noqa: F401  (defines loop.yield)
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.plan.cost import CostModel
from latticework.tensor.layout import Layout, assign_layouts
from latticework.tensor.layout.alignment import merge
from latticework.tensor.layout.derive import with_axis
from latticework.tensor.layout.layout import REPEATED, num_bits

TEXTS = [
    "[]", "[R:4]", "[0:8]", "[R:2][0:4][1:8]", "[1:8][0:4]", "[0:2:4][R:2][0:4]", "[0:2][1:2][0:2:2]",
    "[2:2][R:4][0:4:2]",
]  # fmt: skip


def random_layout(rng, slots_bits=6, axes=3):
    """Some axes' bits in a random order, repetition between."""
    pool = [(axis, 1 << k) for axis in range(axes) for k in range(int(rng.integers(0, 4)))]
    pool = pool[:slots_bits]
    bits = pool + [REPEATED] * (slots_bits - len(pool))
    return Layout.from_bits([bits[i] for i in rng.permutation(slots_bits)])


def extents(layout, rank=3):
    """The largest shape that the layout holds whole; 1 where it walks no axis."""
    return tuple(1 << sum(axis == a for axis, _ in layout.bits) for a in range(rank))


@pytest.mark.parametrize("text", TEXTS)
def test_text_round_trip(text):
    assert str(Layout.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("[0:1]", "[]"), ("[R:1][0:4]", "[0:4]"), ("[R:2][R:2]", "[R:4]"), ("[0:2:2][0:2]", "[0:4]"),
        ("[0:2:4][0:4]", "[0:8]"), ("[1:1][0:2:4][R:1][0:4:1]", "[0:8]"),
    ],
)  # fmt: skip
def test_equal_layouts_are_one(text, canonical):
    assert Layout.parse(text) == Layout.parse(canonical)
    assert str(Layout.parse(text)) == canonical


@pytest.mark.parametrize("text", ["", "0:4", "[0:3.5]", "[0:0]", "[0:4", "[x:4]", "[0:4]]", "[0:2:0]", "[0:4][0:4]"])
def test_what_is_no_layout_is_refused(text):
    if text == "":
        assert Layout.parse(text) == Layout.parse("[]")
        return
    with pytest.raises(LayoutError, match=r"layout|extent|twice"):
        Layout.parse(text)


@pytest.mark.parametrize("seed", range(60))
def test_bits_and_text_say_the_same(seed):
    layout = random_layout(np.random.default_rng(seed))
    assert Layout.from_bits(layout.bits) == layout == Layout.parse(str(layout))
    assert layout.slots == 64 == 1 << len(layout.bits)
    assert layout.renumber_axes({0: 0, 1: 1, 2: 2}) == layout
    assert layout.renumber_axes({}) == Layout.parse("[R:64]")


@pytest.mark.parametrize("seed", range(200))
def test_merging_is_symmetric_and_keeps_both_operands_where_they_lie(seed):
    rng = np.random.default_rng(seed)
    a = random_layout(rng)
    # Half of the time b agrees with a on some axes, so that alignment often exists.
    kept = {axis for axis in range(3) if rng.random() < 0.7}
    b = a.renumber_axes({axis: axis for axis in kept}) if seed % 2 else random_layout(rng)
    both = merge(a, b)
    assert both == merge(b, a)
    assert merge(a, a) == a
    assert merge(a, Layout.parse("[R:64]")) == a
    if seed % 2:
        assert both == a
    if both is None:
        return
    shape = extents(both)
    whole = both.pack_map(shape)
    for layout in (a, b):
        own = tuple(n if layout.places([axis]) else 1 for axis, n in enumerate(shape))
        x = rng.normal(size=own)
        np.testing.assert_array_equal(layout.pack_map(own).pack(x), whole.pack(np.broadcast_to(x, shape)))


def test_operands_that_would_read_another_element_do_not_merge():
    parse = Layout.parse
    assert merge(parse("[0:4][R:4]"), parse("[R:4][0:4]")) is None
    assert merge(parse("[0:4][1:4]"), parse("[1:4][0:4]")) is None
    assert merge(parse("[R:2][0:4]"), parse("[0:8]")) is None
    assert merge(parse("[0:4]"), parse("[0:8]")) is None
    assert merge(parse("[R:4][1:4]"), parse("[0:4][R:4]")) == parse("[0:4][1:4]")


@pytest.mark.parametrize("seed", range(60))
def test_a_new_axis_moves_nothing_and_takes_repetition_first(seed):
    rng = np.random.default_rng(seed)
    layout = random_layout(rng, axes=2)
    extent = int(rng.integers(1, 9))
    free = sum(bit == REPEATED for bit in layout.bits)
    found = with_axis(layout, 2, extent)
    assert (found.count > 1) == (num_bits(extent) > free)
    shape = extents(layout)[:2]
    x = rng.normal(size=(*shape, extent))
    pack = found.pack_map(x.shape)
    np.testing.assert_array_equal(pack.unpack(pack.pack(x)), x)
    same = np.broadcast_to(x[..., :1], x.shape)
    held = (pack.element_of_slot() >= 0).reshape(found.count, -1)
    before = np.broadcast_to(layout.pack_map(shape).pack(x[..., 0]), held.shape)
    np.testing.assert_array_equal(pack.pack(same).reshape(held.shape)[held], before[held])


def test_a_new_axis_takes_the_fastest_repetition():
    assert with_axis(Layout.parse("[R:4][0:4]"), 1, 2) == Layout.parse("[R:2][1:2][0:4]")
    assert with_axis(Layout.parse("[R:2][0:4]"), 1, 4) == Layout.parse("[1:2:2];[1:2][0:4]")


@program
def mixed(x: Secret[2, 3, 5], y: Secret[5]):
    total = x.sum(axis=1) * y
    turned = for_loop(2, lambda i, h: h.reshape(5, 2).T + total, total.T.reshape(2, 5))
    return turned, x[:, ::-1, 1:3]


@pytest.mark.parametrize("slots", [16, 64, 128])
def test_assignment_keeps_the_meaning_and_leaves_no_secret_without_a_layout(slots):
    module = trace(mixed)
    assert slots_needed(module) == 64  # 2 x 4 x 8 for x
    placed = assign_layouts(module, find_layouts(module, slots, Seconds(CostModel.load(), 1 << 13, 4)))
    verify(placed)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(2, 3, 5)), rng.normal(size=5)]
    for got, want in zip(interpret(placed, inputs), mixed(*inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    for op in placed.walk():
        values = [*op.results, *(arg for region in op.regions for arg in region.block.args)]
        for value in values:
            if isinstance(value.type, TensorType):
                assert (value.type.layout is not None) == value.type.secret
                if value.type.secret:
                    assert value.type.layout.slots == slots


def test_a_scalar_needs_one_slot():
    @program
    def scalar(x: Secret[()], y: Secret[1, 1]):
        return x * y

    assert slots_needed(trace(scalar)) == 1
