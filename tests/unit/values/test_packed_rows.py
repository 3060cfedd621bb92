"""Rows side by side in slots: packings, public vectors and linear maps of rows are those of one row, row by row."""

import numpy as np
import pytest
from gather_cases import random_gather, random_pack
from test_pack_tables import random_table

from latticework.values.packing.interleaved_rows import (
    constant_of_rows,
    groups_of,
    interleave_rows,
    map_of_rows,
    pack_rows,
    repeat_rows,
    unpack_rows,
)
from latticework.values.packing.pack import PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, Diagonal, LinearMap, LoopNest, MapPart, splat

ROWS = 4


def side_by_side(rows):
    """Slot i B + b of what rows (B, ..., slots) hold."""
    return np.moveaxis(rows, 0, -1).reshape(*rows.shape[1:-1], -1)


def some_pack(rng):
    return random_table(rng) if rng.integers(2) else random_pack(rng, (3, 4)[: int(rng.integers(0, 3))], 32)


@pytest.mark.parametrize("seed", range(20))
def test_packings_hold_the_slots_of_every_row(seed):
    rng = np.random.default_rng(seed)
    pack = some_pack(rng)
    values = rng.normal(size=(ROWS, *pack.shape))
    wide = interleave_rows(pack, ROWS)
    np.testing.assert_array_equal(wide.pack(values), side_by_side(pack.pack(values)))
    np.testing.assert_array_equal(wide.unpack(wide.pack(values)), values)
    same = np.stack([pack.pack(values[0])] * ROWS)
    np.testing.assert_array_equal(repeat_rows(pack, ROWS).pack(values[0]), side_by_side(same))


@pytest.mark.parametrize("seed", range(40))
def test_maps_act_on_every_row_by_as_many_diagonals(seed):
    rng = np.random.default_rng(seed)
    gather, sources = random_gather(rng)
    one = LinearMap.of(gather)
    if one.diagonals and seed % 2:
        picked = one.diagonals[int(rng.integers(len(one.diagonals)))]
        turned = Diagonal(picked.steps + 3, picked.values.rotate_left(2), False, picked.out, picked.in_)
        one = LinearMap(
            one.slots, None, 1.0, (turned,), one.count_in, one.count_out, (MapPart(gather, 0.5), MapPart(gather))
        )
    wide = map_of_rows(one, ROWS)
    x = rng.normal(size=(ROWS, one.count_in, one.slots))
    x = x[:, 0] if one.count_in == 1 else x
    want = side_by_side(np.stack([one.apply(row, sources) for row in x]))
    np.testing.assert_allclose(wide.apply(side_by_side(x), sources), want, atol=1e-12)
    places = [(d.out, d.in_, d.steps % one.slots * ROWS) for d in one.diagonals]
    assert [(d.out, d.in_, d.steps % wide.slots) for d in wide.diagonals] == places


@pytest.mark.parametrize("seed", range(10))
def test_public_vectors_are_those_of_every_row(seed):
    rng = np.random.default_rng(seed)
    pack = random_pack(rng, (3, 4), 32)
    box = Access((3, 4), ((1, 0), (0, 1)), (0, 0))
    tensor = ConstRef(LoopNest((3, 4), pack, box, "w", box), rotate=int(rng.integers(5)), factor=-1.5)
    gather, sources = random_gather(rng, 32)
    found = [tensor, splat(0.25, 32), *(d.values.rotate_left(3) for d in LinearMap.of(gather).diagonals[:3])]
    found.append(ConstRef(LoopNest((3, 4), PackMap.of_table(12, 32, [(5, 1), (9, 1), (2, 7)]), Access((12,), ((4, 1),), (0,)),
                                   "v", box)))  # fmt: skip
    sources = {**sources, "v": rng.normal(size=(3, 4))}
    for constant in found:
        given = {**sources, "w": rng.normal(size=(3, 4))} if constant is tensor else sources
        one = constant.evaluate(given)
        wide = constant_of_rows(constant, ROWS)
        np.testing.assert_array_equal(wide.evaluate(given), side_by_side(np.stack([one] * ROWS)))
        assert wide.count == constant.count
    plus = ConstRef(found[0].gather, plus=splat(2.0, 32))
    given = {"w": rng.normal(size=(3, 4))}
    expected = side_by_side(np.stack([plus.evaluate(given)] * ROWS))
    np.testing.assert_array_equal(constant_of_rows(plus, ROWS).evaluate(given), expected)


@pytest.mark.parametrize("items", [1, 3, 4, 5, 8])
def test_the_last_tensor_fills_the_last_group(items):
    rng = np.random.default_rng(0)
    pack = random_pack(rng, (2, 3), 16)
    wide, tensors = interleave_rows(pack, ROWS), rng.normal(size=(items, 2, 3))
    groups = list(groups_of(wide, (2, 3), tensors))
    assert len(groups) == -(-items // ROWS) and all(group.shape == (ROWS, 2, 3) for group in groups)
    np.testing.assert_array_equal(
        np.concatenate(groups)[items - 1 :], np.stack([tensors[-1]] * (len(groups) * ROWS - items + 1))
    )
    np.testing.assert_array_equal(unpack_rows(wide, (2, 3), pack_rows(wide, (2, 3), tensors), items), tensors)
    one = pack_rows(wide, (2, 3), tensors[0])
    np.testing.assert_array_equal(wide.unpack(one), np.stack([tensors[0]] * ROWS))
    np.testing.assert_array_equal(unpack_rows(wide, (2, 3), one, None), tensors[0])
    np.testing.assert_array_equal(unpack_rows(wide, (2, 3), one, 9), np.stack([tensors[0]] * 9))
