"""Random vec programs on integers: decrypted, simulated and in Python's integers, modulo t."""

import numpy as np
from bfv_plans import draw, encrypted, meaning, plan_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vec_cases import SLOTS, Vectors

from latticework.compiler.levels.depth import public_value
from latticework.plan.analysis.bfv_noise_domain import output_budgets
from latticework.plan.analysis.simulate import simulate
from latticework.plan.files.serialise import read_plan, write_plan

NUMBER = st.integers(-(2**20), 2**20)
STEP = st.one_of(
    st.tuples(st.sampled_from(["add", "sub", "mul"]), st.integers(0, 30), st.integers(0, 30)),
    st.tuples(st.sampled_from(["rotate"]), st.integers(0, 30), st.integers(-SLOTS, SLOTS)),
    st.tuples(st.sampled_from(["neg", "mask", "shift", "matrix"]), st.integers(0, 30), st.integers(0, 2**31)),
    st.tuples(st.sampled_from(["times", "plus", "minus"]), st.integers(0, 30), NUMBER),
)
MOST_PRODUCTS = 3  # in a row


def program(steps, outputs):
    """The module of some steps, each on values before it; products that would go too deep are sums."""
    v = Vectors(2)
    values, depth = list(v.x), [0, 0]
    for name, first, second in steps:
        i, j = first % len(values), second % len(values)
        x, y = values[i], values[j]
        public = np.random.default_rng(abs(second)).integers(-99, 99, SLOTS).astype(float)
        level = max(depth[i], depth[j] if name in ("add", "sub", "mul") else 0)
        if name in ("mul", "mask", "matrix"):
            name, level = (name, level + 1) if level < MOST_PRODUCTS else ("add", level)
        make = {
            "add": lambda x=x, y=y: v.op("add", x, y),
            "sub": lambda x=x, y=y: v.op("sub", x, y),
            "mul": lambda x=x, y=y: v.op("mul", x, y),
            "rotate": lambda x=x, k=second: v.op("rotate", x, steps=k),
            "neg": lambda x=x: v.op("neg", x),
            "mask": lambda x=x, c=public: v.op("mul", v.constant(c), x),
            "shift": lambda x=x, c=public: v.op("sub", v.constant(c), x),
            "matrix": lambda x=x, c=public: v.matrix(x, np.outer(c, c[::-1])),
            "times": lambda x=x, k=second: v.op("mul", x, v.splat(k)),
            "plus": lambda x=x, k=second: v.op("add", x, v.splat(k)),
            "minus": lambda x=x, k=second: v.op("sub", v.splat(k), x),
        }
        values.append(make[name]())
        depth.append(max(level, depth[j]) if name == "add" else level)
    chosen = [values[-1 - n % len(values)] for n in outputs]
    assert all(public_value(value) is None for value in chosen)
    return v.done(*chosen)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(STEP, min_size=1, max_size=25),
    st.lists(st.integers(0, 5), min_size=1, max_size=3),
    st.sampled_from([16, 20, 33, 45]),
    st.integers(0, 2**32),
)
def test_programs_are_exact(steps, outputs, bits, seed):
    module = program(steps, outputs)
    plan = plan_of(module, ring_degree=2048, plain_bits=bits)
    inputs = draw(np.random.default_rng(seed), plan)
    wanted = meaning(module, inputs, plan.chain.plain_modulus)
    assert min(output_budgets(plan)) > 2
    for found in (simulate(plan, inputs), encrypted(read_plan(write_plan(plan)), inputs)):
        for have, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(have, want)
