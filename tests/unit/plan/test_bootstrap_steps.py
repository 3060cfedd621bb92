"""Bootstraps of a plan as single steps: simulated, bounded and stored, beside what their own code does."""

import tracemalloc
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, plan_of

from latticework.compiler.codegen.bootstrap_plans import noise_of
from latticework.errors import FormatError, UnsupportedError
from latticework.ir import interpret
from latticework.plan.analysis.error_bounds import Magnitude, predict
from latticework.plan.analysis.simulate import simulate
from latticework.plan.analysis.simulation import DRAWN
from latticework.plan.analysis.trip_counts import instructions_run
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain
from latticework.plan.parameters.bootstrap_noise import sine_series


@pytest.fixture(scope="module")
def chain():
    return bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], name="small"))


def refresh(v, *values, target=3, exponent=0, iterations=1):
    attrs = {"target": target, "exponent": exponent, "iterations": iterations}
    return list(v.builder.create("vec.bootstrap", list(values), attrs).results)


def plain(v):
    return refresh(v, v.x[0])


def several(v):
    """Arrays, pairs, values larger than 1, and what is computed with them."""
    x, y = refresh(v, v.x[0], v.op("mul", v.x[0], v.splat(7.0)), exponent=3)
    (array,) = refresh(v, v.x[1], target=1, iterations=2)
    return [v.op("mul", x, y), v.op("rotate", x, steps=2), array]


def module_of(program):
    v = Vectors(2, counts=[1, 3])
    return v.done(*program(v))


def plan_with_steps(module, chain):
    return replace(plan_of(module, chain, residual=3), bootstrap_noise=noise_of(chain))


def looped(trips):
    """x <- -x, bootstrapped in every iteration."""
    v = Vectors(2, counts=[1, 3])
    (x,) = v.loop(lambda _, x: refresh(v, v.op("neg", x)), [v.x[0]], trips)
    return v.done(x)


def inputs(rng):
    return [rng.uniform(-1, 1, SLOTS), rng.uniform(-1, 1, (3, SLOTS))]


def stacked(x):
    return [np.repeat(a[None], 40, axis=0) for a in x]


@pytest.mark.parametrize("program", [plain, several])
def test_a_step_has_the_errors_of_the_code(chain, program):
    module = module_of(program)
    plan, rng = plan_with_steps(module, chain), np.random.default_rng(1)
    x = inputs(rng)
    found = [simulate(plan, stacked(x), noise=rng, into_bootstraps=into) for into in (False, True)]
    for exact, step, code in zip(interpret(module, x), *found, strict=True):
        by_step, by_code = (np.sqrt(np.mean(np.square(made - exact))) for made in (step, code))
        assert by_code < by_step * 1.05 and by_step < 1.4 * by_code


def test_without_noise_a_step_is_its_series(chain):
    plan, x = plan_with_steps(module_of(plain), chain), inputs(np.random.default_rng(2))
    (y,) = simulate(plan, x)
    np.testing.assert_allclose(y, sine_series(chain.bootstrap, x[0]), rtol=0, atol=1e-15)


@pytest.mark.parametrize("program", [plain, several])
def test_bounds_are_carried_through_bootstraps(chain, program):
    module = module_of(program)
    plan, rng = plan_with_steps(module, chain), np.random.default_rng(3)
    bounds = predict(plan, [Magnitude(1.0, 1.0)] * 2, public_key=True)
    x = inputs(rng)
    found = simulate(plan, stacked(x), noise=rng, public_key=True, into_bootstraps=True)
    for exact, made, bound in zip(interpret(module, x), found, bounds, strict=True):
        off = np.abs(made - exact)
        assert np.max(off) < bound.worst < 2.0**-10 and np.sqrt(np.mean(off**2)) < bound.average


def test_bounds_need_to_be_told_what_bootstraps_leave(chain):
    with pytest.raises(UnsupportedError):
        predict(plan_of(module_of(plain), chain, residual=3), [Magnitude(1.0, 1.0)] * 2)


def test_loops_take_a_step_each_time(chain):
    plan, rng = plan_with_steps(looped(200), chain), np.random.default_rng(4)
    x = inputs(rng)
    (y,) = simulate(plan, x, noise=rng, public_key=True)
    (bound,) = predict(plan, [Magnitude(1.0, 1.0)] * 2, public_key=True)
    assert 0 < np.max(np.abs(y - x[0])) < bound.worst < 1e-2
    assert instructions_run(plan, into_bootstraps=False) < 3000 < instructions_run(plan) / 10


def test_a_file_says_what_bootstraps_leave(chain):
    plan = plan_with_steps(module_of(plain), chain)
    assert read_plan(write_plan(plan)).bootstrap_noise == plan.bootstrap_noise
    without = replace(plan, bootstrap_noise=None)
    assert read_plan(write_plan(without)).bootstrap_noise is None


@pytest.mark.parametrize("value", [-1e-9, 2.0, nan, inf])
def test_a_file_that_says_what_cannot_be_is_refused(chain, value):
    plan = plan_with_steps(module_of(plain), chain)
    noise = replace(plan.bootstrap_noise, rounding=value)
    with pytest.raises(FormatError, match="bootstraps that leave|not finite|number"):
        read_plan(write_plan(replace(plan, bootstrap_noise=noise)))


@pytest.mark.parametrize("changes", [{"gain_bits": 10**9}, {"gain_bits": -1}, {"ratio": 0.0}, {"ratio": 1e300}])
def test_a_file_whose_circuit_cannot_be_is_refused(chain, changes):
    plan = plan_with_steps(module_of(plain), chain)
    altered = replace(chain, bootstrap=replace(chain.bootstrap, **changes))
    with pytest.raises(FormatError, match="bootstraps of ratio"):
        read_plan(write_plan(replace(plan, client=replace(plan.client, chain=altered))))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["A14", "H17"])
def test_forty_iterations_at_full_size_stay_within_their_bounds(name):
    """A few products, a map and a pair of bootstraps in every iteration; a vector fills the ring."""
    chain = bootstrap_chain(name)
    residual = chain.main.top - chain.floor
    v = Vectors(2, slots=chain.slots)
    x = v.x[1]

    def body(_, w):
        error = v.op("mul", v.op("sub", v.op("mul", w, x), x), v.splat(0.5))
        turned = v.op("add", error, v.op("rotate", error, steps=1))
        return refresh(v, v.op("sub", w, v.op("mul", turned, v.splat(0.1))), target=residual)

    module = v.done(*v.loop(body, [v.x[0]], 40))
    plan = replace(plan_of(module, chain, residual=residual), bootstrap_noise=noise_of(chain))
    rng = np.random.default_rng(5)
    given = [rng.uniform(-0.5, 0.5, (2, chain.slots)) for _ in range(2)]
    tracemalloc.start()
    (noisy,) = simulate(plan, given, noise=rng, public_key=True)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < 64 * noisy.nbytes + DRAWN * 16
    (bound,) = predict(plan, [Magnitude(0.5, 0.5)] * 2, public_key=True)
    w = given[0]
    for _ in range(40):
        error = 0.5 * (w * given[1] - given[1])
        w = w - 0.1 * (error + np.roll(error, -1, axis=-1))
    off = np.abs(noisy - w)
    assert np.max(off) < bound.worst and np.sqrt(np.mean(off**2)) * 2 ** (6 if name == "H17" else 0) > 2.0**-26
