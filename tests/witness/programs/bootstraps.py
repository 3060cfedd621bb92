"""Programs that bootstrap: each kind of bootstrap is a block that is called, and loops count iterations in groups."""

import numpy as np
from cases import case, one, uniform

import latticework as lw

TINY = {"bootstrap_set": "T11", "insecure": True, "precision_bits": 8}


@lw.program
def settled(x: lw.Secret[8], n: lw.Index):
    """A level in every iteration, so bootstraps stand in every third."""
    return lw.for_loop(n, lambda i, y: y * (0.5 + 0.4 * x), x)


@case
def loop_that_bootstraps():
    model = lw.compile(settled, calibrate={"x": uniform((10, 8)), "n": 7}, **TINY)
    return one(model, uniform(8, 1), 7).and_run(uniform(8, 2), 2)


@lw.program
def swapped(x: lw.Secret[8], y: lw.Secret[8], n: lw.Index):
    """Two real values in one bootstrap, and something behind the loop."""

    def step(i, pair):
        return {"a": pair["b"] * x, "b": 0.5 * pair["a"] * y + 0.1}

    pair = lw.for_loop(n, step, {"a": x, "b": np.full(8, 0.5)})
    return pair["a"] * pair["b"]


@case
def loop_that_bootstraps_pairs():
    data = {"x": uniform((10, 8), 3), "y": uniform((10, 8), 4), "n": 5}
    return one(lw.compile(swapped, calibrate=data, **TINY), data["x"][0], data["y"][0], 4)


@lw.program
def powers_of_powers(x: lw.Secret[8]):
    """No loop: two bootstraps of one kind."""
    for _ in range(9):
        x = x * x * 0.5 + 0.4 * x - 0.3
    return x


@case
def line_that_bootstraps():
    return one(lw.compile(powers_of_powers, calibrate=uniform((10, 8), 5), **TINY), uniform(8, 6))
