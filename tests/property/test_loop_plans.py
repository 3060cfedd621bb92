"""Random programs with loops, planned in every way: meanings, levels and counts, for several trip counts of one plan."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loop_cases import check_plan, planned
from vec_cases import Vectors

from latticework.compiler.levels.loops.plan_loops import MODES, OURS
from latticework.errors import LevelError

RESIDUAL = 6


class RandomLoops:
    """A module whose loops carry one value to three, of one vector or of two, from public numbers or from inputs."""

    def __init__(self, draw):
        self.draw = draw
        self.v = Vectors(2, slots=4, trips=True, counts=[draw(st.sampled_from([1, 1, 2])), 1])
        self.made = list(self.v.x)
        for _ in range(draw(st.integers(0, 2))):
            self.made.append(self.step(self.made))

    def module(self):
        """One loop after another, and something behind them."""
        for _ in range(self.draw(st.integers(1, 2))):
            self.made += self.loop(self.made, 2)
        for _ in range(self.draw(st.integers(0, 4))):
            self.made.append(self.step(self.made))
        return self.v.done(*self.made[-2:])

    def step(self, values):
        """One operation; what it makes stays small."""
        v, one, other = self.v, self.draw(st.sampled_from(values)), self.draw(st.sampled_from(values))
        match self.draw(st.sampled_from(["mul", "mul", "add", "rotate", "half", "polynomial", "neg"])):
            case "mul":
                return v.op("mul", one, other)
            case "add":
                return v.op("mul", v.op("add", one, other), v.splat(0.5))
            case "rotate":
                return v.op("rotate", one, steps=self.draw(st.integers(1, 3)))
            case "half":
                return v.op("mul", one, v.splat(0.5))
            case "polynomial":
                return v.polynomial(one, [0.1, 0.2, 0.3, 0.2])
        return v.op("neg", one)

    def start(self, values):
        """Where a carried value begins."""
        if self.draw(st.booleans()):
            return self.v.op("trivial", self.v.splat(0.5))
        return self.draw(st.sampled_from(values))

    def loop(self, values, nesting):
        """Results of a loop that reads values."""
        inits = [self.start(values) for _ in range(self.draw(st.integers(1, 3)))]
        trips = self.draw(st.sampled_from([self.v.n, 0, 1, 2, 5, 11]))
        most = self.draw(st.sampled_from([None, 40])) if trips is self.v.n else None

        def body(index, *carried):
            seen = [*values, *carried]
            for _ in range(self.draw(st.integers(0, 5))):
                seen.append(self.step(seen))
            if nesting > 1 and self.draw(st.booleans()):
                seen += self.loop(seen, nesting - 1)
            if self.draw(st.integers(0, 4)) == 0:
                seen += self.v.loop(lambda _i, u: [self.v.op("rotate", u, steps=1)], [seen[-1]], index)
            return [self.yielded(seen, value.type) for value in carried]

        return self.v.loop(body, inits, trips, most)

    def yielded(self, values, kind):
        """One of the last values of a type."""
        return self.draw(st.sampled_from([value for value in values if value.type is kind][-3:]))


@st.composite
def programs(draw):
    """A module as `RandomLoops` makes them."""
    return RandomLoops(draw).module()


def check_modes(module):
    check_plan(module, planned(module, OURS, 2 * RESIDUAL), 2 * RESIDUAL, (1, 7))
    for mode in MODES:
        try:
            plan = planned(module, mode, RESIDUAL)
        except LevelError:
            if mode == OURS:
                raise
            continue  # HALO has no bootstraps in what runs on a condition
        check_plan(module, plan, RESIDUAL, range(RESIDUAL + 2))  # around every period that there can be


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs())
def test_plans_of_random_programs(module):
    check_modes(module)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs())
def test_plans_of_many_random_programs(module):
    check_modes(module)
