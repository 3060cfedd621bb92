"""Random circuits deep enough for bootstraps, at corners and inside of their ranges: within bounds, marked or refused."""

import random
from itertools import product
from math import isfinite

import pytest

import latticework as lw
from latticework.errors import PrecisionError, RangeError

SMALL = {"bootstrap_set": "T11", "insecure": True, "precision_bits": 8, "algorithm": "scalar", "effort": "fast"}
BOX = {"low": -1.0, "high": 1.0}
QUICK, ALL = (2, 7), 60


def draw_expression(rng, depth):
    """A sum, difference or product of numbers 0 to 3 of an environment, as a function of it."""
    if depth == 0 or rng.random() < 0.2:
        number = rng.randrange(4)
        return lambda env: env[number]
    operation, left, right = rng.choice("+-*"), draw_expression(rng, depth - 1), draw_expression(rng, depth - 1)
    if operation == "*":
        return lambda env: left(env) * right(env)
    return lambda env: left(env) + right(env) if operation == "+" else left(env) - right(env)


def draw_circuit(seed):
    """A loop of 4 to 12 iterations over one number and three inputs."""
    rng = random.Random(seed)
    body, result, times = draw_expression(rng, 3), draw_expression(rng, 2), rng.randint(4, 12)
    damp, kept = rng.choice((0.25, 0.5)), rng.choice((0.1, 0.5))

    def deep(a: lw.scalar(**BOX), b: lw.scalar(**BOX), c: lw.scalar(**BOX)):
        state = a - b
        for _ in range(times):
            state = damp * (state * state) - kept * body((state, a, b, c))
        return state + 0.5 * result((state, a, b, c))

    return lw.circuit(deep), rng


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed in QUICK else pytest.mark.slow) for seed in range(ALL)]
)
def test_random_deep_circuits_are_right_marked_or_refused(seed):
    circuit, rng = draw_circuit(seed)
    try:
        model = lw.compile(circuit, **SMALL)
    except (RangeError, PrecisionError) as error:
        assert "with inputs at ends of their declared ranges" in str(error)  # what grows too large
        return
    (output,) = model.plan.client.outputs
    inside = [[rng.uniform(-1, 1) for _ in range(3)] for _ in range(10)]
    for args in [*product((-1.0, 1.0), repeat=3), *inside]:
        found, wanted = float(model.simulate(*args)), circuit(*args)
        assert isfinite(found) and abs(found - wanted) <= output.error_bound
