"""Loops and conditions on run-time integers in CKKS."""

import numpy as np
from cases import SMALL, case, one, uniform

import latticework as lw


@lw.program
def accumulated(x: lw.Secret[16], n: lw.Index):
    return lw.for_loop(n, lambda i, total: total + x, x)


@case
def loop_that_keeps_its_levels():
    model = lw.compile(accumulated, calibrate={"x": uniform((10, 16)), "n": 7}, **SMALL)
    return one(model, uniform(16, 1), 5).and_run(uniform(16, 2), 0)


@lw.program
def powers(x: lw.Secret[16], n: lw.Index):
    return lw.for_loop(n, lambda i, y: y * x, x, at_most=4)


@case
def loop_that_spends_levels():
    model = lw.compile(powers, calibrate={"x": uniform((10, 16)), "n": 4}, **SMALL)
    return one(model, uniform(16, 1), 3).and_run(uniform(16, 2), 0)


@lw.program
def newton(a: lw.Secret[8], n: lw.Index):
    return lw.for_loop(n, lambda i, y: y * (2.0 - a * y), np.ones(8), at_most=3)


@case
def loop_from_public_numbers():
    data = 0.3 * uniform((10, 8)) + 1
    return one(lw.compile(newton, calibrate={"a": data, "n": 3}, **SMALL), data[0], 2)


@lw.program
def interest(debt: lw.Secret[4]):
    return lw.for_loop(5, lambda year, d: 1.05 * d - 0.1, debt)


@case
def loop_of_known_length():
    return one(lw.compile(interest, calibrate=uniform((10, 4)), **SMALL), uniform(4, 1))


@lw.program
def nested(x: lw.Secret[8], n: lw.Index, m: lw.Index):
    def outer(i, total, count):
        inner = lw.for_loop(m * 2 + 5 - i, lambda j, t: t + x, total)
        return inner + np.roll(x, 3), count + 1.0

    total, count = lw.for_loop(n + m, outer, (x, 0.0))
    return total, count + 0 * x[0]


@case
def nested_loops_and_arithmetic_of_indices():
    model = lw.compile(nested, calibrate={"x": uniform((6, 8)), "n": 3, "m": 2}, **SMALL)
    return one(model, uniform(8, 1), 2, 2)


@lw.program
def rows_in_a_loop(x: lw.Secret[48, 32], n: lw.Index, w):
    return lw.for_loop(n, lambda i, y: y + x @ w, x)


@case
def loop_over_arrays_of_many_vectors():
    model = lw.compile(
        rows_in_a_loop, weights=(uniform((32, 32), 1),), calibrate={"x": uniform((3, 48, 32)), "n": 3}, **SMALL
    )
    return one(model, uniform((48, 32), 2), 2)
