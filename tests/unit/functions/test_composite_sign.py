"""The sign by composed polynomials: error, range and monotone stages, and no cheaper degrees that would do."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from latticework.compiler.expand.paterson_stockmeyer import num_products
from latticework.compiler.levels.polynomial_extremes import extremes
from latticework.errors import RangeError
from latticework.functions.approximation.remez import remez
from latticework.functions.approximation.sign import PRODUCTS, composite_sign
from latticework.plan.parameters import Need, build_chain
from latticework.values.packing.packed_constants import IntervalPolynomial


def reached(degrees, gap):
    """Error of minimax stages in a row, without what is left to noise between them."""
    ratio = gap
    for degree in degrees:
        error = remez(np.ones_like, [(ratio, 1.0)], degree, parity=1).error
        ratio = (1 - error) / (1 + error)
    return error


@pytest.mark.parametrize("gap, largest, bits", [(0.5, 8.0, 8), (2.0**-6, 1.0, 12), (1e-3, 30.0, 6), (0.02, 0.03, 20)])
def test_error_and_range(gap, largest, bits):
    found = composite_sign(gap, largest, 2.0**-bits)
    assert found.error <= 2.0**-bits
    x = np.geomspace(gap, largest, 20_001)
    off = np.abs(found(x) - 1.0)
    assert found.error / 1.03 <= np.max(off) <= found.error
    np.testing.assert_allclose(found(-x), -found(x), atol=1e-14)
    within = found(np.linspace(0.0, gap, 1001))
    assert np.all(np.diff(within) > 0.0) and within[0] == 0.0 and within[-1] <= 1.0


def test_every_stage_stays_in_the_next_ones_interval_by_bounds():
    found = composite_sign(2.0**-8, 4.0, 2.0**-10)
    assert found.stages[0].interval[1] == pytest.approx(4.0, rel=1e-3)
    for before, after in pairwise(found.stages):
        lowest, highest = extremes(before, 1.0)[0].on(np.array([-1.0]), np.array([1.0]))
        assert max(-lowest[0], highest[0]) < after.interval[1]


@pytest.mark.parametrize("gap, bits", [(0.2, 5), (0.1, 9), (2.0**-5, 6)])
def test_no_degrees_of_less_depth_or_fewer_products_do(gap, bits):
    found = composite_sign(gap, 1.0, 2.0**-bits)
    degrees = (3, 5, 7, 11, 13, 15, 23, 31)
    cost = lambda some: (sum(d.bit_length() for d in some), sum(PRODUCTS[d] for d in some))  # noqa: E731
    every = [some for count in (1, 2, 3) for some in product(degrees, repeat=count)]
    cheaper = [some for some in every if cost(some) < (found.depth, found.products)]
    dearest = {some: reached(some, gap) for some in cheaper if cost(some)[0] >= found.depth - 1 and len(some) < 3}
    assert dearest and min(dearest.values()) > 2.0**-bits


def test_published_degrees():
    """{15, 15, 27}, 13 levels, which ResNets on encrypted images take: 13 bits from 2^-9 of the range on."""
    found = composite_sign(2.0**-9, 1.0, 2.0**-13)
    assert (found.depth, found.products) <= (13, sum(PRODUCTS[d] for d in (15, 15, 27)))
    assert reached((15, 15, 27), 2.0**-9) < 2.0**-13


def test_levels_are_those_that_the_docs_state():
    text = Path(__file__).parents[3].joinpath("docs/precision.md").read_text()
    lines = text[text.index("| gap / largest |") :].split("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(rows) == 6
    for gap, *depths in rows:
        for precision, depth in zip(head[1:], depths, strict=True):
            sizes = [2.0 ** int(text.removeprefix("2^")) for text in (gap, precision)]
            assert composite_sign(sizes[0], 1.0, sizes[1]).depth == int(depth)


def test_products_are_those_of_the_expansion():
    chain = build_chain(1 << 15, Need(6, 1, 40, 10), 1, insecure=True)
    for degree, products in PRODUCTS.items():
        odd = tuple(1.0 / k if k % 2 else 0.0 for k in range(degree + 1))
        assert num_products(IntervalPolynomial(odd, (-1.0, 1.0)), chain) == products


@pytest.mark.parametrize("gap, largest, error, message", [
    (0.0, 1.0, 0.01, "gap=0 must be a finite number above 0"),
    (-1.0, 1.0, 0.01, "gap=-1 must be"),
    (np.nan, 1.0, 0.01, "gap=nan must be"),
    (2.0, 1.0, 0.01, "lie within gap=2 of 0"),
    (1e-30, 1.0, 0.01, "takes more than 40 levels; give a larger gap"),
])  # fmt: skip
def test_refused(gap, largest, error, message):
    with pytest.raises(RangeError, match=message):
        composite_sign(gap, largest, error)
