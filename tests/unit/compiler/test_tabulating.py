"""What loops carry and is public becomes tables: fewer carried values, and the same results for every trip count."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler import tabulating
from latticework.frontend.programs.array_program import trace
from latticework.ir.interpret import interpret

LIMIT = 5
RNG = np.random.default_rng(4)
INPUTS = {"x": RNG.uniform(-1, 1, 4), "n": LIMIT}


def gain(x, n):
    def step(i, state):
        p = state["p"] + 0.05
        return {"x": state["x"] + p / (p + 0.5) * (x - state["x"]), "p": p - p * p / (p + 0.5)}

    return lw.for_loop(n, step, {"x": 0.0 * x, "p": 1.0})["x"]


def two_that_need_each_other(x, n):
    def step(i, v, a, b):
        return v + a * b, a + b, 0.5 * a

    return lw.for_loop(n, step, (x, np.ones(4), np.full(4, 0.25)))[0]


def by_number(x, n):
    table = lw.public(np.arange(LIMIT) + 1.0)
    return lw.for_loop(n, lambda i, v, rate: (v * rate, rate * table[i]), (x, 0.5))[0]


def within_another(x, n):
    def inner(j, v, rate):
        return v - rate * x, 0.5 * rate

    def outer(i, v, scale):
        return lw.for_loop(3, inner, (v * scale, 0.25))[0], 0.9 * scale

    return lw.for_loop(n, outer, (x, 1.0))[0]


def read_by_a_loop_within(x, n):
    def outer(i, v, rate):
        return lw.for_loop(2, lambda j, u: u + rate * rate * x, v), 0.5 * rate

    return lw.for_loop(n, outer, (x, 1.0))[0]


def scanned(x, n):
    def step(state, part):
        return {"v": state["v"] * state["rate"] + part, "rate": 0.5 * state["rate"]}, state["v"]

    return lw.scan(step, {"v": 0.0, "rate": 1.0}, x)[1]


def unchanged(x, n):
    return lw.for_loop(n, lambda i, v, rate: (v * rate, rate), (x, 0.5))[0]


def returned(x, n):
    return lw.for_loop(n, lambda i, v, rate: (v * rate, 0.5 * rate), (x, 1.0))


def of_a_secret(x, n):
    return lw.for_loop(n, lambda i, v, rate: (v * rate, rate + x), (x, np.ones(4)))[0]


def growing(x, n):
    return lw.for_loop(n, lambda i, v, rate: (v + rate - rate, rate * 1e200), (x, 1.0))[0]


def never(x, n):
    return lw.for_loop(0, lambda i, v, rate: (v * rate, 0.5 * rate), (x, 1.0))[0]


def carried(module):
    """How many values all loops carry."""
    return sum(len(op.results) for op in module.walk() if op.name == "loop.for")


@pytest.mark.parametrize(
    "body, before, after",
    [(gain, 2, 1), (two_that_need_each_other, 3, 1), (by_number, 2, 1), (within_another, 4, 2),
     (read_by_a_loop_within, 3, 2), (scanned, 3, 2), (unchanged, 2, 1), (returned, 2, 2), (of_a_secret, 2, 2),
     (growing, 2, 2), (never, 2, 2)],
    ids=lambda p: getattr(p, "__name__", ""),
)  # fmt: skip
def test_tables_stand_for_what_is_carried(body, before, after):
    @lw.program
    def program(x: lw.Secret[4], n: lw.Index):
        return body(x, n)

    module = trace(program)
    found = tabulating.tabulate(module, INPUTS)
    assert (carried(module), carried(found)) == (before, after)
    for n in range(LIMIT + 1) if body is not growing else (0, 1):
        inputs = INPUTS | {"n": n}
        for made, wanted in zip(interpret(found, inputs), interpret(module, inputs), strict=True):
            np.testing.assert_allclose(made, wanted, rtol=1e-14)


def test_tables_have_a_largest_size(monkeypatch):
    @lw.program
    def program(x: lw.Secret[4], n: lw.Index):
        return two_that_need_each_other(x, n)

    module = trace(program)
    monkeypatch.setattr(tabulating, "MOST_NUMBERS", 4 * LIMIT - 1)
    assert tabulating.tabulate(module, INPUTS) is module


def test_a_public_gain_takes_no_function_and_no_bootstrap():
    @lw.program
    def filtered(z: lw.Secret[6], n: lw.Index):
        def step(i, state):
            p = state["p"] + 0.05
            gain = p / (p + 0.5)
            return {"x": state["x"] + gain * (z[i] - state["x"]), "p": (1 - gain) * p}

        return lw.for_loop(n, step, {"x": 0.0, "p": 1.0}, at_most=6)["x"]

    data = {"z": RNG.uniform(-1, 1, (10, 6)), "n": 6}
    model = lw.compile(filtered, calibrate=data, precision_bits=8, ring_degree=16384, insecure=True)
    assert not model.plan.bootstraps and not model.plan.approximations
    for n in (0, 4, 6):
        np.testing.assert_allclose(model.simulate(data["z"][0], n)[0], filtered(data["z"][0], n), atol=1e-3)
