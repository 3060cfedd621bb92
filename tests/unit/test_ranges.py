"""Interval arithmetic: what is computed from inputs in a box stays inside the box of the result."""

import numpy as np
import pytest

import latticework as lw
from latticework.compile import to_polynomials, to_tensors, to_vectors
from latticework.frontend.samples import samples_of
from latticework.ir import interpret
from latticework.levels.ranges import Interval, ranges

RNG = np.random.default_rng(3)
WEIGHTS = RNG.normal(size=(6, 6))


def affine(x: lw.Secret[6]):
    return WEIGHTS @ x, WEIGHTS @ x - 0.5 * x[::-1], np.sum(x) - x


def products(x: lw.Secret[6]):
    return x * x, x * (WEIGHTS @ x), -x


def squashed(x: lw.Secret[6]):
    return lw.tanh(WEIGHTS @ x, range=(-40, 40)), lw.polynomial(0.3 * x, [1.0, -2.0, 0.5, 1.0])


def repeated(x: lw.Secret[6]):
    return lw.for_loop(3, lambda i, v: 0.5 * (v + x) * 1.5, x)


def vectors_of(function, data):
    program = lw.program(function)
    module = to_tensors(program, (), None)
    return to_vectors(to_polynomials(module, samples_of(program, module, data)).module)


@pytest.mark.parametrize("function", [affine, products, squashed, repeated])
def test_values_lie_in_their_ranges_and_reach_near_their_ends(function):
    vectors = vectors_of(function, RNG.uniform(-2, 3, (20, 6)))
    pack = vectors.placed.inputs[0].type.layout.pack_map((6,))
    box = Interval(pack.pack(np.full(6, -2.0)), pack.pack(np.full(6, 3.0)))
    found = ranges(vectors.module, [box])
    corners = [np.where(RNG.random(6) < 0.5, -2.0, 3.0) for _ in range(200)]
    for x in [*corners, *RNG.uniform(-2, 3, (50, 6))]:
        for y, interval in zip(interpret(vectors.module, [pack.pack(x)]), found.outputs, strict=True):
            # Extrema of polynomials are those of a fine grid.
            assert np.all(y >= interval.low - 1e-5) and np.all(y <= interval.high + 1e-5)
    if function is affine:  # a linear map reaches the ends at a corner
        reached = np.max(np.sum(WEIGHTS * np.where(WEIGHTS > 0, 3.0, -2.0), axis=1))
        assert abs(np.max(found.outputs[0].high) - reached) < 1e-9


def test_functions_that_may_leave_their_range_are_named():
    def network(x: lw.Secret[6]):
        return lw.sigmoid(np.sum(x))

    model = lw.compile(lw.program(network), calibrate=RNG.uniform(-1, 1, (100, 6)), ring_degree=2048, insecure=True)
    (fitted,) = model.plan.approximations
    assert fitted.may_leave and "can together take the argument" in model.report().text().replace("\n    ", " ")
    safe = lw.compile(
        lw.program(_elementwise),
        calibrate=RNG.uniform(-1, 1, (100, 6)), ring_degree=2048, insecure=True,
    )  # fmt: skip
    assert not safe.plan.approximations[0].may_leave


def _elementwise(x: lw.Secret[6]):
    return lw.sigmoid(0.9 * x)
