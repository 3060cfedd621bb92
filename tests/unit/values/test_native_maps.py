"""Diagonals counted by the core, against sets of Python's integers."""

import math

import numpy as np
import pytest

from latticework._core import maps
from latticework.errors import UserError
from latticework.values.packing.loop_nests.giant_order import ORDERS, order_giant_steps
from latticework.values.packing.magnitudes import largest_magnitude
from latticework.values.packing.series import series_at

SLOTS = 32


def array(values):
    return np.array(values, dtype=np.int64)


def signed(steps):
    steps %= SLOTS
    return steps - SLOTS if 2 * steps > SLOTS else steps


def switches_one_by_one(rows, width, centred, order, iterated):
    """(hoists, babies, giants, keys) as their definitions say."""

    def baby(steps):
        turn = steps % width
        return turn - width if centred and turn > width // 2 else turn

    babies = {(in_, conj, baby(s) % SLOTS) for conj, _, in_, s in rows}
    babies = {(in_, conj, turn) for in_, conj, turn in babies if conj or turn}
    giants = {(out, (s - baby(s)) % SLOTS) for _, out, _, s in rows} - {(out, 0) for _, out, _, _ in rows}
    keys = {(conj, turn) for _, conj, turn in babies}
    if iterated:
        lines = {}
        for in_, conj, turn in babies:
            lines.setdefault((in_, conj), set()).add(signed(turn))
        keys = {(0, t.steps % SLOTS) for line in lines.values() for t in order_giant_steps(line, SLOTS, "horner")}
    for number in {out for out, _ in giants}:
        line = [signed(giant) for out, giant in giants if out == number]
        keys |= {(0, t.steps % SLOTS) for t in order_giant_steps(line, SLOTS, order)}
    return len({in_ for in_, _, _ in babies}), len(babies), len(giants), len(keys - {(0, 0)})


@pytest.mark.parametrize("iterated", [False, True])
def test_key_switches_are_those_of_their_definitions(iterated):
    rng = np.random.default_rng(1)
    for _ in range(40):
        size = int(rng.integers(1, 40))
        conj = np.zeros(size, dtype=np.int64) if iterated else rng.integers(0, 2, size)
        out, in_ = rng.integers(0, 3, (2, size))
        steps = array([signed(s) for s in rng.integers(0, SLOTS, size).tolist()])
        widths, centred = rng.integers(1, SLOTS + 1, 5), rng.integers(0, 2, 5)
        counts, found = maps.key_switches(SLOTS, conj, out, in_, steps, widths, centred, array([0, 1, 2]), iterated)
        rows = set(zip(conj.tolist(), out.tolist(), in_.tolist(), steps.tolist(), strict=True))
        assert counts == (len(rows), len({r[1] for r in rows}), len({(r[0], r[2]) for r in rows}))
        for row, width, around in zip(found, widths.tolist(), centred.tolist(), strict=True):
            each = [switches_one_by_one(rows, width, around, order, iterated) for order in ORDERS]
            assert row == [*each[0][:3], *(of_order[3] for of_order in each)]


def test_partners_and_pairs():
    rng = np.random.default_rng(2)
    for _ in range(40):
        steps = np.unique(rng.integers(0, SLOTS, int(rng.integers(1, 30))))
        held, apart = set(steps.tolist()), int(rng.integers(1, SLOTS))
        assert maps.partners(steps, SLOTS, array([apart])) == [sum((s + apart) % SLOTS in held for s in held)]
        pairs = maps.pairs(steps, SLOTS, apart)
        covered = [s for first, members in pairs for s in (first, (first + apart) % SLOTS)[: 1 + (members == 3)]]
        assert sorted(covered) == steps.tolist()


def test_sums_of_moves():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 5 * SLOTS, 20), rng.integers(0, 7 * SLOTS, 30)
    expected = {(x // SLOTS + y // SLOTS) * SLOTS + (x + y) % SLOTS for x in a.tolist() for y in b.tolist()}
    assert maps.sums(a, b, SLOTS).tolist() == sorted(expected)
    wide = 1 << 40  # too many codes for a table
    expected = {(x // SLOTS + y // SLOTS + wide) * SLOTS + (x + y) % SLOTS for x in a.tolist() for y in b.tolist()}
    assert maps.sums(a, b + wide * SLOTS, SLOTS).tolist() == sorted(expected)


@pytest.mark.parametrize(("copies", "spread"), [(1, 1), (3, 1), (1, 8), (2, 4)])
def test_the_nearest_copy_of_each_move(copies, spread):
    rng = np.random.default_rng(4)
    pairs = 6
    nearest = rng.integers(0, SLOTS, SLOTS)
    totals, rows = rng.integers(0, 3 * SLOTS, 9), rng.integers(0, 3 * SLOTS, (7, copies))
    expected = set()
    for total in totals.tolist():
        for row in rows.tolist():
            ways = []
            for move in row:
                pair, steps = total // SLOTS + move // SLOTS, (total + move) % SLOTS
                for place in range(spread):
                    ways.append((int(nearest[(steps - place * (SLOTS // spread)) % SLOTS]), place, pair))
            steps, _, pair = min(ways)
            expected.add(pair * SLOTS + steps)
    assert maps.settled(totals, rows, nearest, spread, pairs).tolist() == sorted(expected)


def test_what_is_out_of_range_is_refused():
    one = array([1])
    with pytest.raises(ValueError, match="power of two"):
        maps.sums(one, one, 24)
    with pytest.raises(ValueError, match="not from 0 to 31"):
        maps.partners(array([32]), SLOTS, one)
    with pytest.raises(ValueError, match="distance"):
        maps.pairs(one, SLOTS, 0)
    with pytest.raises(ValueError, match="width"):
        maps.key_switches(SLOTS, one, one, one, one, array([0]), one, array([0]), False)
    with pytest.raises(ValueError, match="divide"):
        maps.settled(one, one[None], np.zeros(SLOTS, dtype=np.int64), 3, 6)
    nest = maps.SeparableNest((np.zeros((1, SLOTS), np.int32), np.zeros((2, 2 * SLOTS), np.int32)), None, [], None)
    with pytest.raises(ValueError, match="no such diagonal"):
        nest.diagonal(1, 0, 0, None, None, 0, 1.0)
    with pytest.raises(ValueError, match="reads none"):
        nest.diagonal(0, 0, 0, np.ones(1), None, 0, 1.0)


def test_bounds_of_a_diagonal():
    rng = np.random.default_rng(5)
    weights, bounds, before = rng.normal(size=SLOTS), rng.normal(size=(7, SLOTS)), rng.normal(size=(7, SLOTS))
    sums = before.copy()
    assert maps.add_diagonal(weights, bounds, 5, sums)
    low, high, variance, deviation, bias, size, squared = np.roll(bounds, -5, axis=1)
    positive, negative, weight = np.maximum(weights, 0.0), np.minimum(weights, 0.0), np.abs(weights)
    added = [
        positive * low + negative * high, positive * high + negative * low, weight**2 * variance, weight * deviation,
        weight * bias, weight * size, squared,
    ]  # fmt: skip
    assert np.array_equal(sums, before + added)
    assert not maps.add_diagonal(np.full(SLOTS, 2.0), bounds, 0, sums)


@pytest.mark.parametrize("slots", [1, 48, 1300])
@pytest.mark.parametrize("is_finite", [True, False])
def test_products_of_diagonals_have_the_bits_of_numpys(slots, is_finite):
    rng = np.random.default_rng(slots)
    weights, vectors = (
        rng.normal(size=(12, slots)),
        rng.normal(size=(2, 6, slots)),
    )  # four vectors go together, two alone
    weights[:, slots // 4 : 3 * slots // 4] = 0.0
    weights[3:, slots // 8 : slots // 4] = 0.0  # of few diagonals each vector goes alone
    weights[:, slots // 2 :: 5] *= -0.0
    if not is_finite:  # a weight of 0 leaves nothing of a number, and NaN of an infinite one
        vectors[1, 1, slots // 2] = np.inf
    inputs, steps = [0, 1, 1, 0] * 3, [0, slots // 3, slots - 1, slots // 2] * 3
    sums = rng.normal(size=(12, slots))[::2]
    expected = sums.copy()
    with np.errstate(invalid="ignore"):
        for row, of, turn in zip(weights, inputs, steps, strict=True):
            expected += row * np.roll(vectors[of], -turn, axis=1)
    maps.add_products(list(weights), vectors, inputs, steps, is_finite, sums)
    assert np.array_equal(sums, expected, equal_nan=True)


def test_products_of_diagonals_that_do_not_fit_are_refused():
    weights, vectors, sums = [np.ones(8)], np.ones((2, 3, 8)), np.zeros((3, 8))
    with pytest.raises(ValueError, match="steps 8"):
        maps.add_products(weights, vectors, [0], [8], True, sums)
    with pytest.raises(ValueError, match="input 2"):
        maps.add_products(weights, vectors, [2], [0], True, sums)
    for given in ((weights, vectors, [], [0]), ([np.ones(7)], vectors, [0], [0]), (weights, vectors[:, :2], [0], [0])):
        with pytest.raises(UserError, match=r"length|weight"):
            maps.add_products(*given, True, sums)


def test_the_error_function_has_the_bits_of_pythons():
    x = np.concatenate([np.random.default_rng(3).normal(size=999) * 3, [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324]])
    expected = np.array([math.erf(number) for number in x])
    assert maps.error_function(x).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "shape, axis", [((), None), ((37,), None), ((3, 5, 7), None), ((3, 4, 9, 5), -3), ((2, 37), 0)]
)
@pytest.mark.parametrize("terms", [1, 2, 3, 24])
def test_series_have_the_bits_of_numpys(shape, axis, terms):
    rng = np.random.default_rng(terms)
    x = np.asarray(rng.uniform(-1.1, 1.1, shape))
    table = rng.normal(size=terms if axis is None or axis == 0 else (terms, shape[axis]))
    if axis == 0:  # of each element its own
        table, axis = rng.normal(size=(terms, shape[-1])), None
    lying = table if axis is None else table.reshape(*table.shape, *(1,) * (-axis - 1))
    expected = np.polynomial.chebyshev.chebval(x, lying, tensor=False)
    found = series_at(x, table, axis)
    assert found.shape == np.shape(expected)
    assert found.tobytes() == np.asarray(expected).tobytes()


def test_series_of_what_is_no_number():
    x, coefficients = np.array([np.nan, np.inf, -np.inf, 1e308] * 3), [1.0, -2.0, 3.0, 0.5]
    with np.errstate(all="ignore"):
        expected = np.polynomial.chebyshev.chebval(x, coefficients)
    assert np.array_equal(series_at(x, coefficients), expected, equal_nan=True)
    assert series_at(np.zeros((0, 3)), coefficients).shape == (0, 3)


def test_series_refuse_numbers_that_are_no_rows():
    with pytest.raises(ValueError, match="7 numbers are no rows of 2 channels of 3"):
        maps.series(np.zeros(7), np.zeros((2, 2)), 3)


@pytest.mark.parametrize("shape", [(0,), (7,), (3, 5)])
@pytest.mark.parametrize("odd", [0.0, -9.0, np.inf, -np.inf, np.nan])
def test_the_largest_magnitude_is_numpys(shape, odd):
    rng = np.random.default_rng(2)
    x, where = rng.normal(size=shape), rng.random(shape) < 0.5
    if x.size:
        x.flat[x.size // 2] = odd
    for places in (None, where, ~where, np.zeros(shape, bool)):
        expected = np.max(np.abs(x[... if places is None else places]), initial=0.0)
        for array, chosen in ((x, places), (x.T, None if places is None else places.T)):
            assert np.array_equal(largest_magnitude(array, chosen), expected, equal_nan=True)
    with pytest.raises(UserError, match="a place for each"):
        maps.largest(np.ones(3), np.ones(2, bool))
