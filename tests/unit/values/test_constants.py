"""Gathers, constants and linear maps, against dense NumPy matrices."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from latticework.tensor.layout.layout import Layout
from latticework.values.packing.loop_nests.diagonal_values import scale
from latticework.values.packing.packed_constants import (
    Access,
    ConstRef,
    Diagonal,
    IntervalPolynomial,
    LinearMap,
    LoopNest,
    splat,
    whole_rotations,
)

SLOTS = 32
RNG = np.random.default_rng(5)
W = RNG.normal(size=(3, 5))
SOURCES = {"w": W}


def pack(text, shape):
    layout = Layout.parse(text)
    assert layout.slots == SLOTS
    return layout.pack_map(shape)


def box(extents, axes=None, depth=None):
    """The access t -> (t[axes[0]], t[axes[1]], ...)."""
    axes = range(len(extents)) if axes is None else axes
    depth = len(extents) if depth is None else depth
    return Access(tuple(extents), tuple(tuple(int(j == a) for j in range(depth)) for a in axes), (0,) * len(extents))


# y = W x, x of 5 and y of 3 elements
PRODUCTS = [
    ("[R:4][0:8]", "[R:8][0:4]"),
    ("[0:8][R:4]", "[R:8][0:4]"),
    ("[0:2:4][R:2][0:4][R:2]", "[0:4][R:8]"),
    ("[R:4][0:8]", "[0:2:1][R:4][0:2:2][R:2]"),
]


def test_access_is_affine_and_knows_its_bounds():
    access = Access((4, 6), ((1, -2), (0, 3)), (1, -3))
    counters = np.indices((4, 4)).reshape(2, -1)
    flat, valid = access.flat(counters)
    for t, f, ok in zip(counters.T, flat, valid, strict=True):
        a, b = t[0] - 2 * t[1] + 1, 3 * t[1] - 3
        assert ok == (0 <= a < 4 and 0 <= b < 6)
        if ok:
            assert f == a * 6 + b


@pytest.mark.parametrize(("x_layout", "y_layout"), PRODUCTS)
def test_a_matrix_product_is_numpys_in_any_layouts(x_layout, y_layout):
    x_pack, y_pack = pack(x_layout, (5,)), pack(y_layout, (3,))
    gather = LoopNest((3, 5), y_pack, box((3,), [0], 2), "w", box((3, 5)), x_pack, box((5,), [1], 2))
    x = RNG.normal(size=5)
    vector = np.where(x_pack.element_of_slot() >= 0, x_pack.pack(x), 1e6)  # padding must not be read
    np.testing.assert_allclose(LinearMap(SLOTS, gather).apply(vector, SOURCES), y_pack.pack(W @ x), atol=1e-12)
    scaled = LinearMap(SLOTS, gather).scale_by(-2.5)
    np.testing.assert_allclose(scaled.apply(vector, SOURCES), -2.5 * y_pack.pack(W @ x), atol=1e-12)


@pytest.mark.parametrize(("x_layout", "y_layout"), PRODUCTS)
def test_diagonals_are_those_of_the_dense_slot_matrix(x_layout, y_layout):
    x_pack, y_pack = pack(x_layout, (5,)), pack(y_layout, (3,))
    gather = LoopNest((3, 5), y_pack, box((3,), [0], 2), "w", box((3, 5)), x_pack, box((5,), [1], 2))
    linear_map = LinearMap(SLOTS, gather)
    dense = np.array([linear_map.apply(column, SOURCES) for column in np.eye(SLOTS)]).T
    steps = [d.steps for d in linear_map.diagonals]
    assert steps == sorted(set(steps)) and all(0 <= s < SLOTS for s in steps)
    rebuilt = np.zeros((SLOTS, SLOTS))
    for diagonal in linear_map.diagonals:
        values = diagonal.values.evaluate(SOURCES)
        for out in range(SLOTS):
            rebuilt[out, (out + diagonal.steps) % SLOTS] += values[out]
    np.testing.assert_allclose(rebuilt, dense, atol=1e-12)
    # Column sums of each row are the weights: every output slot reads each input element once.
    held = y_pack.element_of_slot()
    np.testing.assert_allclose(dense.sum(axis=1)[held >= 0], W.sum(axis=1)[held[held >= 0]], atol=1e-12)


def test_sums_over_an_axis_and_reversed_reads():
    x_pack, y_pack = pack("[R:2][0:4][1:4]", (3, 4)), pack("[R:8][0:4]", (4,))
    reads = Access((3, 4), ((1, 0), (0, -1)), (0, 3))  # x[i, 3 - j]
    gather = LoopNest((3, 4), y_pack, box((4,), [1], 2), None, None, x_pack, reads)
    x = RNG.normal(size=(3, 4))
    expected = x[:, ::-1].sum(axis=0)
    np.testing.assert_allclose(LinearMap(SLOTS, gather).apply(x_pack.pack(x), {}), y_pack.pack(expected), atol=1e-12)


def test_iterations_outside_a_view_are_skipped():
    x_pack = pack("[R:4][0:8]", (6,))
    shifted = Access((6,), ((1,),), (2,))  # x[t + 2]: t = 4, 5 fall out
    gather = LoopNest((6,), x_pack, box((6,)), None, None, x_pack, shifted)
    x = RNG.normal(size=6)
    np.testing.assert_array_equal(
        LinearMap(SLOTS, gather).apply(x_pack.pack(x), {}), x_pack.pack(np.append(x[2:], [0, 0]))
    )


def test_a_map_that_reads_nothing_has_no_diagonals():
    x_pack = pack("[R:4][0:8]", (6,))
    gather = LoopNest((6,), x_pack, box((6,)), None, None, x_pack, Access((6,), ((1,),), (100,)))
    assert LinearMap(SLOTS, gather).diagonals == ()
    assert not LinearMap(SLOTS, gather).apply(np.ones(SLOTS), {}).any()


@pytest.mark.parametrize("rotate", [0, 1, -1, 7, SLOTS, -SLOTS - 3, 10**12])
@pytest.mark.parametrize("factor", [1.0, -0.5, 2 + 1j])
def test_a_packed_constant_is_rotated_left_then_scaled(rotate, factor):
    w_pack = pack("[R:1][0:4][1:8]", (3, 5))
    gather = LoopNest((3, 5), w_pack, box((3, 5)), "w", box((3, 5)))
    plain = w_pack.pack(W)
    got = ConstRef(gather, None, rotate, factor).evaluate(SOURCES)
    expected = [factor * plain[(i + rotate) % SLOTS] for i in range(SLOTS)]
    np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_a_source_that_is_read_twice_adds_up_and_a_broadcast_repeats():
    y_pack = pack("[R:8][0:4]", (3,))
    gather = LoopNest((3, 5), y_pack, box((3,), [0], 2), "w", box((3, 5)))
    np.testing.assert_allclose(ConstRef(gather).evaluate(SOURCES), y_pack.pack(W.sum(axis=1)), rtol=1e-14)


@pytest.mark.parametrize("value", [0.0, 2.5, -1e6, 1 + 2j])
def test_splat(value):
    np.testing.assert_array_equal(splat(value, SLOTS).evaluate({}), np.full(SLOTS, value))
    assert splat(value, SLOTS).slots == SLOTS


def test_explicit_diagonals_add_to_those_of_the_gather_and_may_conjugate():
    x_pack = pack("[0:32]", (32,))
    identity = LoopNest((32,), x_pack, box((32,)), None, None, x_pack, box((32,)))
    extra = (Diagonal(0, splat(2.0, 32)), Diagonal(3, splat(1j, 32)), Diagonal(1, splat(1.0, 32), conj=True))
    x = RNG.normal(size=32) + 1j * RNG.normal(size=32)
    expected = 3 * x + 1j * np.roll(x, -3) + np.conj(np.roll(x, -1))
    np.testing.assert_allclose(LinearMap(32, identity, 1.0, extra).apply(x, {}), expected, atol=1e-13)
    np.testing.assert_allclose(
        LinearMap(32, identity, 1.0, extra).scale_by(0.5).apply(x, {}), 0.5 * expected, atol=1e-13
    )


def test_identity_is_recognised_only_where_nothing_moves():
    x_pack, y_pack = pack("[R:4][0:8]", (5,)), pack("[0:8][R:4]", (5,))
    for a, b in itertools.product((x_pack, y_pack), repeat=2):
        gather = LoopNest((5,), b, box((5,)), None, None, a, box((5,)))
        assert (whole_rotations(gather) == ((0, 0),)) == (a is b)
    weighted = LoopNest((5,), x_pack, box((5,)), "v", box((5,)), x_pack, box((5,)))
    assert whole_rotations(weighted) is None
    partial = LoopNest((4,), x_pack, box((5,), [0], 1), None, None, x_pack, box((5,), [0], 1))
    assert whole_rotations(partial) is None


@pytest.mark.parametrize("degree", [0, 1, 2, 7])
def test_polynomials_are_numpys(degree):
    c = tuple(RNG.normal(size=degree + 1))
    x = np.linspace(-1, 3, 11)
    np.testing.assert_allclose(IntervalPolynomial(c, (-1, 3), "power")(x), np.polynomial.Polynomial(c)(x), rtol=1e-12)
    np.testing.assert_allclose(
        IntervalPolynomial(c, (-1, 3))(x), np.polynomial.Chebyshev(c, domain=(-1, 3))(x), atol=1e-12
    )
    assert IntervalPolynomial(c, (-1, 3)).degree == degree


def test_products_of_complex_numbers_are_rounded_part_by_part():
    """No processor's fused operation decides a bit of a constant."""
    rng = np.random.default_rng(5)
    vector = rng.uniform(-1, 1, 64) + 1j * rng.uniform(-1, 1, 64)
    factor = complex(*rng.uniform(-1, 1, 2))
    found = scale(vector, factor)
    for x, y in zip(vector.tolist(), found.tolist(), strict=True):
        real = [float(Fraction(a) * Fraction(b)) for a, b in ((x.real, factor.real), (x.imag, factor.imag))]
        imag = [float(Fraction(a) * Fraction(b)) for a, b in ((x.real, factor.imag), (x.imag, factor.real))]
        assert (y.real, y.imag) == (real[0] - real[1], imag[0] + imag[1])
    np.testing.assert_array_equal(scale(vector.real, factor), vector.real * factor)
    np.testing.assert_array_equal(scale(vector, 0.5), vector / 2)
