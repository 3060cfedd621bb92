"""Loops of any depth, by prices of any shape: what comes before a loop leaves the levels that its iterations start at."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors

from latticework.compiler.levels import decide_levels
from latticework.compiler.levels.loops.plan_loops import plan_loops
from latticework.ir import interpret

SLOW = [(2, 5), (3, 14), (7, 16), (9, 14), (20, 14)]


class Shaped:
    """Seconds that rise with levels: of operations by one slope, of bootstraps by another."""

    def __init__(self, work: float, refresh: float) -> None:
        self.work, self.refresh = work, refresh

    def operation(self, op, level):
        return 0.01 + self.work * level * (op.name == "vec.mul")

    def bootstrap(self, target, *, real, count=1):
        return count * (1.0 if real else 1.4) * (1.0 + self.refresh * target)


def looping(depth, public):
    """A loop that spends so many levels on one value, and one less on another that may start public."""
    v = Vectors(2, trips=True)

    def body(_i, a, b):
        made = [a, b]
        for step in range(depth):
            made[0] = v.op("mul", made[0], v.op("add", made[0], v.splat(0.25)))
            if step:
                made[1] = v.op("mul", made[1], v.op("sub", v.splat(0.5), a))
        return made

    start = v.op("trivial", v.splat(0.5)) if public else v.x[1]
    return v.done(*v.loop(body, [v.op("mul", v.x[0], v.x[1]), start], v.n))


@pytest.mark.parametrize("prices", [(0.0, 0.2), (0.05, 0.0), (0.05, 0.2), (0.3, 0.02)], ids=str)
@pytest.mark.parametrize(
    ("depth", "residual"),
    [(1, 4), (3, 4), (5, 6), *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
)
def test_levels_fit_whatever_prices_say(depth, residual, prices):
    for public in (False, True):
        module = looping(depth, public)
        values = [*module.inputs, *(value for op in module.walk() for value in op.results)]
        for op in module.walk():
            for region in op.regions:
                values += region.block.args
        made = plan_loops(module, residual, Shaped(*prices), dict.fromkeys(values, 0))
        decide_levels(made, residual=residual)
        rng = np.random.default_rng(depth)
        for trips in (0, 1, 2, 7):
            x = [rng.uniform(-0.5, 0.5, SLOTS), rng.uniform(-0.5, 0.5, SLOTS), trips]
            for got, want in zip(interpret(made, x), interpret(module, x), strict=True):
                np.testing.assert_allclose(got, want, atol=1e-9)
