"""Nests of loops made by chance, and what passes on them have to keep."""

from __future__ import annotations

import numpy as np
from vec_cases import SLOTS, Vectors

from latticework.compiler.levels import program_depth
from latticework.ir import INDEX, interpret, verify


def random_loops(rng):
    """Two inputs in nested loops, of products, sums and rotations of whatever is there."""
    v = Vectors(2, trips=True)

    def some(values):
        return values[int(rng.integers(len(values)))]

    def grown(values, count):
        values = list(values)
        for _ in range(count):
            kind = rng.choice(["mul", "add", "sub", "rotate", "public"])
            if kind == "rotate":
                made = v.op("rotate", some(values), steps=int(rng.integers(1, SLOTS)))
            elif kind == "public":
                public = v.splat(rng.uniform(0.1, 0.9)) if rng.integers(2) else v.constant(rng.uniform(-1, 1, SLOTS))
                made = v.op("mul", some(values), public)
            else:
                made = v.op(kind, some(values), some(values))
            values.append(v.op("mul", made, v.splat(0.25)))
        return values

    def outer(_i, a, b):
        around = grown([*v.x, a, b], 3)

        def inner(_j, c):
            return [grown([*around, c], 5)[-1]]

        (c,) = v.loop(inner, [some(around)], 2)
        return grown([*around, c], 2)[-2:]

    return v.done(*v.loop(outer, grown(v.x, 1)[-2:], v.n))


def check(before, after, trips, tolerance=1e-12):
    """The same results, and no more levels."""
    verify(after)
    rng = np.random.default_rng(3)
    for n in trips:
        inputs = [n if v.type is INDEX else
                  rng.uniform(-1, 1, SLOTS) for v in before.inputs]  # fmt: skip
        for got, want in zip(interpret(after, inputs), interpret(before, inputs), strict=True):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    assert program_depth(after, once=True) <= program_depth(before, once=True)
