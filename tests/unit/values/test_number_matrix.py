"""Maps that multiply whole vectors with numbers: which are recognised, and their matrices."""

from dataclasses import replace

import numpy as np
import pytest

from latticework.errors import RangeError
from latticework.values.packing.loop_nests.number_matrix import number_matrix
from latticework.values.packing.pack import GAP, REPEAT, PackDim, PackMap
from latticework.values.packing.packed_constants import Access, Diagonal, LinearMap, LoopNest, MapPart, splat

SLOTS = 16
WEIGHTS = np.random.default_rng(0).uniform(-1, 1, (3, 5))
SOURCES = {"w": WEIGHTS, "bias": np.arange(16.0) + 1}


def feature_pack(features, rows=SLOTS, dims=None, **more):
    """(rows, features), one vector a feature, its rows in slots."""
    return PackMap((rows, features), SLOTS, dims or (PackDim(0, SLOTS),), (PackDim(1, features),), **more)


def product(out=None, in_=None, rows=SLOTS, **changed):
    """y[row, v] += w[v, u] * x[row, u]."""
    nest = LoopNest(
        (3, 5, rows),
        out or feature_pack(3, rows),
        Access((rows, 3), ((0, 0, 1), (1, 0, 0)), (0, 0)),
        "w",
        Access((3, 5), ((1, 0, 0), (0, 1, 0)), (0, 0)),
        in_ or feature_pack(5, rows),
        Access((rows, 5), ((0, 0, 1), (0, 1, 0)), (0, 0)),
    )
    return replace(nest, **changed)


def check(linear_map):
    """Its matrix does to whole vectors what its diagonals do."""
    matrix = number_matrix(linear_map)
    assert matrix is not None and matrix.shape == (linear_map.count_out, linear_map.count_in)
    x = np.random.default_rng(1).normal(size=(linear_map.count_in, SLOTS))
    np.testing.assert_allclose(
        matrix.evaluate(SOURCES) @ x, linear_map.apply(x, SOURCES).reshape(-1, SLOTS), atol=1e-13
    )
    return matrix


def test_a_product_with_rows_in_slots_is_the_matrix_of_its_weights():
    matrix = check(LinearMap.of(product()))
    np.testing.assert_array_equal(matrix.evaluate(SOURCES), WEIGHTS)
    assert matrix.products == WEIGHTS.size and matrix.sources == {"w"} and not matrix.is_complex
    np.testing.assert_array_equal(matrix.integers(SOURCES, 2.0**20), np.rint(WEIGHTS * 2.0**20))


def test_parts_numbers_and_factors_add_up():
    both = LinearMap(
        SLOTS,
        product(),
        2.0,
        (Diagonal(0, splat(0.25, SLOTS), out=5, in_=6), Diagonal(0, splat(0.5, SLOTS), out=0, in_=0)),
        7,
        7,
        (MapPart(product(), -1.0, 3, 1),),
    )
    check(both)


def test_repeated_rows_and_repeated_vectors():
    few = (PackDim(REPEAT, 4), PackDim(0, 4))
    check(LinearMap.of(product(feature_pack(3, 4, few), feature_pack(5, 4, few), rows=4)))
    copies = PackMap((SLOTS, 3), SLOTS, (PackDim(0, SLOTS),), (PackDim(REPEAT, 2), PackDim(1, 3)))
    check(LinearMap.of(product(out=copies)))


def test_a_window_that_leaves_the_tensor_has_no_weight_there():
    """y[row, v] += w[k] * x[row, v + k - 1]: a convolution along features, which are vectors."""
    nest = LoopNest(
        (5, 3, SLOTS),
        feature_pack(5),
        Access((SLOTS, 5), ((0, 0, 1), (1, 0, 0)), (0, 0)),
        "bias",
        Access((16,), ((0, 1, 0),), (0,)),
        feature_pack(5),
        Access((SLOTS, 5), ((0, 0, 1), (1, 1, 0)), (0, -1)),
    )
    matrix = check(LinearMap.of(nest))
    np.testing.assert_array_equal(np.count_nonzero(matrix.evaluate(SOURCES), axis=1), [2, 3, 3, 3, 2])
    assert matrix.products == 13


@pytest.mark.parametrize(
    "nest",
    [
        product(feature_pack(3, 12), feature_pack(5, 12), rows=12),  # what lies behind the rows must not be multiplied
        product(
            feature_pack(3, 8, (PackDim(0, 8), PackDim(GAP, 2))),
            feature_pack(5, 8, (PackDim(0, 8), PackDim(GAP, 2))),
            rows=8,
        ),
        product(feature_pack(3, 8, (PackDim(0, 8),)), feature_pack(5, 8, (PackDim(0, 8),)), rows=8),  # half is unused
        product(feature_pack(3, rolls=((1, 0),)), feature_pack(5, rolls=((1, 0),))),
        product(source="bias", source_access=Access((16,), ((0, 0, 1),), (0,))),  # a weight of each row
        product(in_access=Access((SLOTS, 5), ((0, 0, 1), (0, 1, 0)), (1, 0))),  # of the next row
        product(in_access=Access((SLOTS, 5), ((0, 0, -1), (0, 1, 0)), (SLOTS - 1, 0))),
        product(domain=(3, 5, 8)),  # of some rows
        product(out_access=Access((3 * SLOTS,), ((1, 0, 3),), (0,))),
    ],
)
def test_other_maps_are_none(nest):
    assert number_matrix(LinearMap.of(nest)) is None


def test_maps_that_move_slots_or_are_complex_or_single_are_none():
    assert number_matrix(LinearMap.of(product()).scale_by(1j)) is None
    for diagonal in (
        Diagonal(1, splat(2.0, SLOTS)),
        Diagonal(0, splat(2.0, SLOTS), conj=True),
        Diagonal(0, splat(2j, SLOTS)),
    ):
        assert number_matrix(LinearMap(SLOTS, explicit=(diagonal,), count_in=2)) is None
    assert number_matrix(LinearMap(SLOTS, explicit=(Diagonal(0, splat(2.0, SLOTS)),))) is None
    assert number_matrix(LinearMap(SLOTS, count_in=2)) is None


def test_numbers_beyond_53_bits_are_refused():
    with pytest.raises(RangeError, match="has more than 53 bits; scale the weights down"):
        number_matrix(LinearMap.of(product())).integers(SOURCES, 2.0**54)
