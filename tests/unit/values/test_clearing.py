"""Slots that no element fills: what is known of them, and that functions are not given what lies there."""

import numpy as np
import pytest
from vec_cases import Vectors

import latticework as lw
from latticework.tensor.layout import Layout
from latticework.tensor.ops.clearing import is_clear, is_full, number_between
from latticework.values.packing.packed_constants import Access, ConstRef, LinearMap, LoopNest

SMALL = {"ring_degree": 2048, "insecure": True, "precision_bits": 10}


def pack(text, shape):
    return Layout.parse(text).pack_map(shape)


def moves(source, target):
    """The linear map between two packings of a tensor of three."""
    same = Access((3,), ((1,),), (0,))
    return LinearMap.of(LoopNest((3,), target, same, None, None, source, same))


def test_what_is_known_to_be_clear():
    source, target = pack("[0:4][G:4]", (3,)), pack("[R:4][0:4]", (3,))
    v = Vectors(2, slots=16)
    x, y = v.x
    inputs = {x: source}
    assert is_clear(x, source, inputs) and not is_clear(x, target, inputs) and not is_clear(y, source, inputs)
    moved = v.op("linear_transform", y, map=moves(source, target))
    ones = v.op("constant", value=ConstRef(LoopNest((3,), target, Access((3,), ((1,),), (0,)), None, None)))
    for value, clear in [
        (moved, True),
        (v.op("add", moved, ones), True),
        (v.op("add", moved, v.splat(1.0)), False),
        (v.op("sub", moved, y), False),
        (v.op("mul", y, ones), True),
        (v.op("neg", v.op("mul", moved, y)), True),
        (v.op("rotate", moved, steps=8), True),  # a copy
        (v.op("rotate", moved, steps=2), False),
        (v.polynomial(moved, [0.5, 1.0]), False),
        (v.polynomial(moved, [0.0, 1.0, 0.0, 2.0]), True),
    ]:
        assert is_clear(value, target, inputs) == clear, value.owner
    assert not is_clear(moved, source, inputs)
    assert [is_full(pack(text, (4,))) for text in ("[R:4][0:4]", "[G:2][0:4]")] == [True, False]
    assert not is_full(target)


def test_numbers_that_are_known_to_lie_between():
    source, target = pack("[0:4][G:4]", (3,)), pack("[R:4][0:4]", (3,))
    v = Vectors(2, slots=16)
    moved = v.op("linear_transform", v.x[1], map=moves(source, target))
    made = v.polynomial(moved, [0.5, 1.0])
    for value, number in [
        (made, 0.5),
        (v.op("sub", v.splat(2.0), v.op("neg", made)), 2.5),
        (v.op("mul", v.splat(3.0), v.op("rotate", made, steps=8)), 1.5),
        (v.polynomial(made, [1.0, 2.0]), 2.0),
        (v.op("add", made, v.x[0]), None),
        (v.op("mul", made, v.x[0]), None),
        (v.op("mul", moved, v.x[0]), 0.0),
    ]:
        assert number_between(value, target, {}) == number


def test_what_is_far_back_is_not_looked_for():
    """A value added to itself many times over is looked at once for each sum, and no further than is worth it."""
    source = pack("[0:4][G:4]", (3,))
    v = Vectors(1, slots=16)
    x = v.x[0]
    for _ in range(40):
        x = v.op("add", x, x)
    assert is_clear(x, source, {v.x[0]: source})
    for _ in range(2000):
        x = v.op("neg", x)
    assert not is_clear(x, source, {v.x[0]: source})


def encrypted(model, x):
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    return client.decrypt(server(client.encrypt(x))).reveal()


@lw.program
def fast(x: lw.Secret[3]):
    return lw.exp(-x)


@lw.program
def of_sums(x: lw.Secret[3, 8]):
    return lw.exp(-(lw.exp(x) - 2.0).sum(axis=1))


@lw.program
def of_products(x: lw.Secret[3, 2]):
    return lw.exp((1.0 - x) * (x + 1.0) / 4)


@pytest.mark.parametrize(
    ("program", "shape", "low"), [(fast, (3,), 5.0), (of_sums, (3, 8), -6.0), (of_products, (3, 2), 5.0)]
)
def test_what_lies_beside_is_no_argument_of_a_function(program, shape, low):
    """At 0, and at sums and products of that, a polynomial for exp on a short interval far away is immense."""
    data = np.random.default_rng(0).uniform(low, low + 1, (20, *shape))
    model = lw.compile(program, calibrate=data, **SMALL)
    expected = program(data[0])
    np.testing.assert_allclose(encrypted(model, data[0]), expected, atol=2e-3 * np.max(np.abs(expected)))
