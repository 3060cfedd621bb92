"""Diagonals of loop nests between arrays of vectors, against plain loops."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from gather_cases import conv, dense, matmul, random_gather, random_pack

from latticework.values.packing.loop_nests import diagonal_values as evaluation
from latticework.values.packing.loop_nests import diagonals as structure
from latticework.values.packing.loop_nests.diagonals import find_diagonals
from latticework.values.packing.loop_nests.element_copies import nearest, row_service, service
from latticework.values.packing.loop_nests.index_equations import open_loops
from latticework.values.packing.pack import REPEAT, PackDim, PackMap
from latticework.values.packing.packed_constants import (
    Access,
    ConstRef,
    LinearMap,
    LoopNest,
    MapPart,
    num_diagonals,
    whole_rotations,
)


@pytest.fixture(
    params=[(0, 1 << 18, True), (0, 0, True), (1 << 30, 0, False)], ids=["taken-apart", "by-ends", "visited"]
)
def way(request, monkeypatch):
    """All ways to find the diagonals of a nest, and both to find their values."""
    walked, joint, is_separable = request.param
    monkeypatch.setattr(structure, "WALKED", walked)
    monkeypatch.setattr(structure, "JOINT", joint)
    if not is_separable:
        monkeypatch.setattr(evaluation, "separable", lambda gather: None)
    forget()
    yield request.param
    forget()


def forget():
    find_diagonals.cache_clear()
    structure.structure.cache_clear()


def agrees(gather, sources):
    """Structure and values are those of plain loops; returns the number of diagonals."""
    expected = dense(gather, sources)
    assert [tuple(row) for row in find_diagonals(gather).tolist()] == sorted(expected)
    for (v, u, steps), values in expected.items():
        got = ConstRef(gather, steps, 0, 1.0, v, u).evaluate(sources)
        np.testing.assert_allclose(got, values, atol=1e-12)
    return len(expected)


@pytest.mark.parametrize("part", range(10))
def test_random_nests_between_random_packings(part, way):
    rng = np.random.default_rng(part)
    assert sum(agrees(*random_gather(rng, int(rng.choice([8, 16, 32])))) > 1 for _ in range(12)) >= 4


def _can_spread(pack):
    outer = pack.dims[0] if pack.dims else None
    full = np.prod([d.extent for d in pack.dims]) == pack.slots
    return outer and outer.axis == REPEAT and full and not any(len(pack.vector_dims) in roll for roll in pack.rolls)


@pytest.mark.parametrize("part", range(4))
def test_sums_are_shared_out_among_the_outermost_copies(part, way):
    rng = np.random.default_rng(100 + part)
    done = 0
    while done < 6:
        gather, sources = random_gather(rng)
        if _can_spread(gather.out_pack):
            agrees(replace(gather, spread=gather.out_pack.dims[0].extent), sources)
            done += 1


def test_dimensions_that_are_no_digits_are_visited():
    odd = PackMap((4,), 16, (PackDim(0, 2, 8), PackDim(REPEAT, 2), PackDim(0, 4)))  # the outer one never leaves 0
    x = PackMap((4,), 16, (PackDim(REPEAT, 4), PackDim(0, 4)))
    walk = Access((4,), ((1,),), (0,))
    assert structure._digits(odd) is None
    forget()
    for a, b in ((odd, x), (x, odd)):
        assert agrees(LoopNest((4,), a, walk, None, None, b, walk), {})


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_copy_and_how_far_each_serves(seed):
    rng = np.random.default_rng(seed)
    pack = random_pack(rng, tuple(int(n) for n in rng.integers(1, 5, 2)), 16)
    held = pack.element_of_slot().reshape(pack.count, 16)
    reach = service(pack)
    for element in range(pack.size):
        places = [(int(u), int(q)) for u, q in zip(*np.nonzero(held == element), strict=True)]
        for slot in range(16):
            steps, vector = min(((q - slot) % 16, u) for u, q in places)
            got = nearest(pack, np.array([element]), np.array([slot]))
            assert [int(n[0]) for n in got] == [vector, steps]
            for u, q in places:
                assert ((q - slot) % 16 < reach[u, q]) == ((u, (q - slot) % 16) == (vector, steps))


@pytest.mark.parametrize("seed", range(40))
def test_of_the_slots_of_a_row_the_one_that_a_copy_lies_nearest_to_is_served(seed):
    rng = np.random.default_rng(seed)
    pack = random_pack(rng, tuple(int(n) for n in rng.integers(1, 4, 2)), 16)
    width = int(rng.choice([1, 2, 4, 8, 16]))
    begin, below = row_service(pack, width)
    held = pack.element_of_slot().reshape(pack.count, 16)
    served = set()
    for element, residue in product(range(pack.size), range(width)):
        row = residue + np.arange(16 // width) * width
        vectors, steps = nearest(pack, np.full(row.size, element), row)
        best = int(np.argmin(steps))
        served.add((element, int(row[best]), int(vectors[best]), int(steps[best])))
    found = {
        (int(held[vector, read]), (read - steps) % 16, vector, steps)
        for vector, read, steps in product(range(pack.count), range(16), range(16))
        if begin[vector, read] <= steps < below[vector, read]
    }
    assert found == served


def test_large_nests_by_counts_known_from_their_shapes():
    # x is 128 x 768 in 12 vectors of 64 columns: every pair of vectors is linked by all 64 moves of columns.
    projection = matmul(128, 768, 768, 8192)
    assert num_diagonals(projection) == 12 * 12 * 64
    assert num_diagonals(matmul(128, 64, 128, 8192)) == 2 * 64
    assert num_diagonals(matmul(256, 128, 256, 32768)) == 2 * 128
    assert num_diagonals(conv(8, 8, 32, 3, 8192)) == 9 * 8
    assert num_diagonals(conv(8, 1, 32, 3, 8192)) == 9 * 8
    assert open_loops(projection) == open_loops(conv(8, 8, 32, 3, 8192)) == ()


def test_rolls_at_both_ends_are_found_without_the_whole_nest():
    """128 x 768 x 768 products where the columns of operand and result are turned by the rows."""
    rows, columns, slots = 128, 768, 8192
    pack = PackMap(
        (rows, columns), slots, (PackDim(1, 64), PackDim(0, rows)), (PackDim(1, columns // 64, 64),), ((1, 2),)
    )
    plain = matmul(rows, columns, columns, slots)
    gather = replace(plain, out_pack=pack, in_pack=pack)
    assert num_diagonals(gather) == num_diagonals(plain)


def test_block_products_are_numpys():
    rng = np.random.default_rng(3)
    for gather, x, w, y in (
        (matmul(4, 8, 8, 16), *(a := rng.normal(size=(4, 8)), b := rng.normal(size=(8, 8))), a @ b),
        (matmul(8, 2, 4, 16), *(a := rng.normal(size=(8, 2)), b := rng.normal(size=(2, 4))), a @ b),
    ):
        linear_map = LinearMap.of(gather)
        got = linear_map.apply(gather.in_pack.pack(x), {"w": w})
        assert got.shape == (2, 16)
        np.testing.assert_allclose(got, gather.out_pack.pack(y), atol=1e-12)
        np.testing.assert_allclose(
            linear_map.scale_by(-3.0).apply(gather.in_pack.pack(x), {"w": w}), -3 * got, atol=1e-12
        )


def test_a_convolution_is_that_of_plain_loops():
    rng = np.random.default_rng(4)
    gather = conv(2, 3, 4, 3, 64)
    x, w = rng.normal(size=(2, 4, 4)), rng.normal(size=(3, 2, 3, 3))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    expected = np.array([
        [[np.sum(padded[:, i : i + 3, j : j + 3] * w[o]) for j in range(4)] for i in range(4)] for o in range(3)
    ])  # fmt: skip
    got = LinearMap.of(gather).apply(gather.in_pack.pack(x), {"w": w})
    np.testing.assert_allclose(gather.out_pack.unpack(got), expected, atol=1e-12)


def test_reshapes_are_solved_from_flat_indices():
    flat = Access((24,), ((12, 4, 1),), (0,))
    mixed = Access((2, 3, 4), ((1, 0, 0), (0, 1, 0), (0, 0, 1)), (0, 0, 0))
    into = PackMap((24,), 32, (PackDim(0, 24),))
    out = PackMap((2, 3, 4), 32, (PackDim(2, 4), PackDim(1, 4), PackDim(0, 2)))
    gather = LoopNest((2, 3, 4), out, mixed, None, None, into, flat)
    assert open_loops(gather) == ()
    agrees(gather, {})
    backwards = Access((24,), ((-12, 4, -1),), (15,))
    agrees(LoopNest((2, 3, 4), out, mixed, None, None, into, backwards), {})


def test_counters_that_no_element_tells_are_walked():
    x = PackMap((4,), 8, (PackDim(REPEAT, 2), PackDim(0, 4)))
    one, both = Access((4,), ((1, 0),), (0,)), Access((4, 5), ((1, 0), (0, 1)), (0, 0))
    gather = LoopNest((4, 5), x, one, "w", both, x, one)  # y[i] = x[i] * sum over j of w[i, j]
    assert open_loops(gather) == (1,)
    agrees(gather, {"w": np.arange(20.0).reshape(4, 5)})
    crossing = Access((4,), ((1, 1),), (-1,))  # x[i + j - 1]
    agrees(LoopNest((4, 3), x, crossing, None, None, x, crossing), {})


def test_an_array_of_vectors_is_packed_rotated_and_scaled():
    rng = np.random.default_rng(6)
    w = rng.normal(size=(4, 8))
    pack = PackMap((4, 8), 8, (PackDim(1, 4), PackDim(REPEAT, 2)), (PackDim(0, 4), PackDim(1, 2, 4)))
    walk = Access((4, 8), ((1, 0), (0, 1)), (0, 0))
    constant = ConstRef(LoopNest((4, 8), pack, walk, "w", walk))
    assert constant.count == 8 and constant.slots == 8
    np.testing.assert_array_equal(constant.evaluate({"w": w}), pack.pack(w))
    turned = constant.rotate_left(3).times(2.0)
    np.testing.assert_array_equal(turned.evaluate({"w": w}), 2 * np.roll(pack.pack(w), -3, axis=-1))


def test_a_constant_may_be_a_sum_of_two():
    rng = np.random.default_rng(7)
    gather, w = matmul(4, 8, 8, 16), rng.normal(size=(8, 8))
    first, second = (d.values for d in LinearMap.of(gather).diagonals[:2])
    pair = replace(first, plus=second.times(1j))
    a, b = first.evaluate({"w": w}), second.evaluate({"w": w})
    assert pair.is_complex
    np.testing.assert_allclose(pair.evaluate({"w": w}), a + 1j * b)
    np.testing.assert_allclose(pair.rotate_left(5).times(-1j).evaluate({"w": w}), -1j * np.roll(a + 1j * b, -5))


def test_parts_lie_side_by_side():
    rng = np.random.default_rng(8)
    gather, x = matmul(4, 8, 8, 16), rng.normal(size=(4, 8))
    sources = {"w": rng.normal(size=(8, 8))}
    alone = LinearMap.of(gather).apply(gather.in_pack.pack(x), sources)
    stacked = LinearMap(16, gather, 2.0, (), 2, 4, (MapPart(gather, -1.0, out=2),))
    got = stacked.apply(gather.in_pack.pack(x), sources)
    np.testing.assert_allclose(got, np.concatenate([2 * alone, -alone]), atol=1e-12)
    summed = LinearMap(16, gather, 2.0, (), 4, 2, (MapPart(gather, -1.0, in_=2),))
    both = np.concatenate([gather.in_pack.pack(x), 3 * gather.in_pack.pack(x)])
    np.testing.assert_allclose(summed.apply(both, sources), -alone, atol=1e-12)
    with pytest.raises(ValueError, match="beyond"):
        LinearMap(16, gather, 1.0, (), 2, 3, (MapPart(gather, -1.0, out=2),))


def test_an_array_that_stays_where_it_is_is_an_identity():
    pack = PackMap((4, 8), 8, (PackDim(1, 4), PackDim(REPEAT, 2)), (PackDim(0, 4), PackDim(1, 2, 4)))
    other = PackMap((4, 8), 8, (PackDim(1, 4), PackDim(REPEAT, 2)), (PackDim(1, 2, 4), PackDim(0, 4)))
    flat = Access((32,), ((1,),), (0,))
    for a in (pack, other):
        for b in (pack, other):
            stays = tuple((v, 0) for v in range(a.count))
            assert (whole_rotations(LoopNest((32,), a, flat, None, None, b, flat)) == stays) == (a is b)


def test_whole_rotations_are_those_that_bring_every_element_to_its_place():
    columns = PackMap((4, 8), 8, (PackDim(0, 4), PackDim(REPEAT, 2)), (PackDim(1, 8),))
    flat = Access((8,), ((1,),), (0,))
    for column, shift in ((0, 0), (5, 0), (5, 2)):
        one = PackMap((4,), 8, (PackDim(0, 4), PackDim(REPEAT, 2)))
        reads = Access((4, 8), ((1,), (0,)), (shift, column))
        gather = LoopNest((4,), one, Access((4,), ((1,),), (0,)), None, None, columns, reads)
        assert whole_rotations(gather) == (((column, 0),) if shift == 0 else None)  # the last two would be missing
    padded = PackMap((3,), 8, (PackDim(0, 4), PackDim(REPEAT, 2)))
    three = Access((3,), ((1,),), (0,))
    later = LoopNest((3,), padded, three, None, None, columns, Access((4, 8), ((1,), (0,)), (1, 3)))
    assert whole_rotations(later) == ((3, 2),)
    assert whole_rotations(replace(later, source="w", source_access=three)) is None
    twice = LoopNest((2, 3), padded, Access((3,), ((0, 1),), (0,)), None, None, padded, Access((3,), ((0, 1),), (0,)))
    assert whole_rotations(twice) is None  # two terms in each place
    line = PackMap((8,), 8, (PackDim(0, 8),))
    assert whole_rotations(LoopNest((8,), line, flat, None, None, PackMap((8,), 8, (), (PackDim(0, 8),)), flat)) is None


@pytest.mark.parametrize("seed", range(30))
def test_whole_rotations_mean_what_the_map_means(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 3))))
    into = random_pack(rng, shape, 16)
    dims = list(into.vector_dims)
    rng.shuffle(dims)  # vectors in another order
    rolls = into.rolls if tuple(dims) == into.vector_dims else ()
    out = PackMap(shape, 16, into.dims, tuple(dims), rolls)
    size = (int(np.prod(shape)),)
    flat = Access(size, ((1,),), (0,))
    gather = LoopNest(size, out, flat, None, None, PackMap(shape, 16, into.dims, into.vector_dims, rolls), flat)
    turns = whole_rotations(gather)
    assert turns is not None
    x = gather.in_pack.pack(rng.normal(size=shape)).reshape(-1, 16)
    got = np.stack([np.roll(x[u], -steps) for u, steps in turns]).reshape(-1)
    expected = LinearMap.of(gather).apply(x, {}).reshape(-1)
    held = out.element_of_slot() >= 0
    np.testing.assert_array_equal(got[held], expected[held])
