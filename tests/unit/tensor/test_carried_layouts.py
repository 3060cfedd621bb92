"""Where values lie that loops carry: as the body leaves them, if that saves the way back in every iteration."""

import numpy as np
import pytest

import latticework as lw
from bench.halo.data import inputs_of
from bench.halo.depths import loop_depths, vectors_of
from latticework.compiler.layout_choice import Seconds, find_layouts
from latticework.frontend import trace
from latticework.ir import INDEX, interpret, verify
from latticework.plan.cost import CostModel
from latticework.tensor.layout import assign_layouts
from latticework.tensor.ops.lower import lower_to_vectors

COSTS = Seconds(CostModel.load(), 1 << 14, 8)
LEVEL = 0.05


@lw.program
def turned(x: lw.Secret[4, 4], v: lw.Secret[4], n: lw.Index):
    return lw.for_loop(n, lambda _i, a: x @ (x.T @ a) + v, v)


@lw.program
def from_numbers(x: lw.Secret[16], n: lw.Index):
    def step(_i, a, b, c):
        e = a * x + b
        return a - np.mean(e * x), b - np.mean(e), c + np.sum(e * e)

    return lw.for_loop(n, step, (0.5, 0.25, 0.0))


@lw.program
def nested(x: lw.Secret[4, 4], n: lw.Index):
    def outer(_i, b):
        v = x @ b
        return lw.for_loop(2, lambda _j, a: 0.25 * (x.T @ a) + v, b)

    return lw.for_loop(n, outer, np.full(4, 0.5)) + x[0]


@lw.program
def swapped(x: lw.Secret[2, 4], y: lw.Secret[4], n: lw.Index):
    def step(_i, a, b):
        return x @ b, a @ x

    return lw.for_loop(n, step, (x @ y, y))


PROGRAMS = (turned, from_numbers, nested, swapped)


@pytest.mark.parametrize(
    ("program", "level_seconds"), [*((p, LEVEL) for p in PROGRAMS), (turned, 0.0), (from_numbers, 0.0)]
)
def test_loops_mean_the_same_wherever_what_they_carry_lies(program, level_seconds):
    module = trace(program)
    placed = assign_layouts(module, find_layouts(module, 16, COSTS, level_seconds=level_seconds))
    verify(placed)
    lowered, _, _ = lower_to_vectors(placed)
    rng = np.random.default_rng(4)
    for trips in (0, 1, 3):
        given = [trips if v.type is INDEX else 0.3 * rng.normal(size=v.type.shape) for v in placed.inputs]
        packed = [
            a if v.type is INDEX else v.type.layout.pack_map(v.type.shape).pack(a)
            for v, a in zip(placed.inputs, given, strict=True)
        ]
        wanted = program(*given)
        ends = placed.body.terminator.operands
        for got, value, want in zip(
            interpret(lowered, packed), ends, wanted if isinstance(wanted, tuple) else (wanted,), strict=True
        ):
            found = value.type.layout.pack_map(value.type.shape).unpack(got)
            np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)


def test_what_starts_from_numbers_lies_as_the_body_leaves_it():
    """Three means, of which one began in other slots than those that an iteration leaves it in."""
    inputs = inputs_of("polynomial", 64)
    module = vectors_of("polynomial", inputs)
    (found,) = loop_depths(module)
    assert found.spent == 2
    (loop,) = (op for op in module.walk() if op.name == "loop.for")
    turned_back = [op for op in loop.regions[0].block.ops if op.attrs.get("steps", 0) < 0]
    assert not turned_back
