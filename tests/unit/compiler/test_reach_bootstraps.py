"""What values can be after bootstraps: within their intervals, and their errors within the bounds that are stated."""

from dataclasses import replace

import numpy as np
import pytest
from array_programs import Deployed
from vec_cases import SLOTS, Vectors, managed, plan_of

from latticework.compiler.codegen.bootstrap_plans import noise_of
from latticework.compiler.levels.value_bounds import ChainNoise, bound_values
from latticework.compiler.polynomial_noise import polynomial_noise
from latticework.ir import interpret
from latticework.plan.analysis.simulate import simulate
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain
from latticework.plan.parameters.step_noise import tail_deviations

RESIDUAL = 3


@pytest.fixture(scope="module")
def chain():
    return bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], name="small"))


def refresh(v, *values, target=RESIDUAL, exponent=0, iterations=1):
    attrs = {"target": target, "exponent": exponent, "iterations": iterations}
    return list(v.builder.create("vec.bootstrap", list(values), attrs).results)


def alone(v, **attrs):
    return refresh(v, v.x[0], **attrs)


def pair(v, **attrs):
    return refresh(v, v.x[0], v.x[1], **attrs)


def array(v, **attrs):
    return refresh(v, v.x[2], **attrs)


def products(v, **attrs):
    """x^2 y^2, and what bypasses the bootstrap."""
    both = v.op("mul", v.x[0], v.x[1])
    (fresh,) = refresh(v, both, target=2, **attrs)
    square = v.op("mul", fresh, fresh)
    return [square, v.op("add", square, v.x[1])]


def sums(v, **attrs):
    """Errors of the same bootstrap twice, and of two."""
    x, y = pair(v, **attrs)
    return [v.op("add", x, x), v.op("add", v.op("rotate", x, steps=3), y)]


def bounded(module, chain, size):
    """What is found for inputs between -size and size, and how far each output may be off."""
    ends = [np.full((v.type.count, SLOTS), size) for v in module.inputs]
    deviations = tail_deviations(chain.slots // SLOTS)
    noise = ChainNoise(chain, deviations, polynomial_noise(chain), bootstrap_noise=noise_of(chain))
    found = bound_values(managed(module, chain, RESIDUAL), [(-end, end) for end in ends], noise, elements={})
    return found, [held.largest_error(deviations) for held in found.outputs]


def draw(rng, counts, size, kind):
    if kind == "random":
        return [rng.uniform(-size, size, (n, SLOTS)) for n in counts]
    return [rng.choice([-size, size], (n, SLOTS)) if kind == "ends" else np.full((n, SLOTS), size) for n in counts]


@pytest.mark.parametrize("kind", ["random", "ends", "constant"])
@pytest.mark.parametrize(
    ("program", "size", "attrs"),
    [
        (alone, 1.0, {}),
        (alone, 8.0, {"exponent": 3, "iterations": 2}),
        (alone, 2.0, {}),  # more than was said
        (pair, 1.0, {"iterations": 2}),
        (pair, 64.0, {"exponent": 6}),
        (array, 4.0, {"exponent": 2, "target": 1}),
        (products, 1.0, {}),
        (sums, 1.0, {}),
    ],
)
def test_simulated_errors_lie_within_the_bound(chain, program, size, attrs, kind):
    v = Vectors(3, counts=[1, 1, 3])
    module = v.done(*program(v, **attrs))
    found, bounds = bounded(module, chain, size)
    plan = plan_of(module, chain, residual=RESIDUAL)
    rng = np.random.default_rng(7)
    for _ in range(3):
        x = [value.squeeze() for value in draw(rng, [1, 1, 3], size, kind)]
        for exact, made, bound, held in zip(
            interpret(module, x), simulate(plan, x, noise=rng, public_key=True), bounds, found.outputs, strict=True
        ):
            assert np.all(exact <= held.high + 1e-9) and np.all(exact >= held.low - 1e-9)
            assert np.all(np.abs(made - exact) <= bound)
            assert np.max(np.abs(made - exact)) > 0.02 * np.max(bound)


def test_without_a_model_nothing_is_known(chain):
    v = Vectors(1)
    module = managed(v.done(*refresh(v, v.x[0])), chain, RESIDUAL)
    noise = ChainNoise(chain, 6.0, polynomial_noise(chain))
    found = bound_values(module, [(-np.ones((1, SLOTS)), np.ones((1, SLOTS)))], noise, elements={})
    assert found.outputs == [None]


def test_encrypted_errors_lie_within_the_bound(chain):
    """Random inputs, the ends of the range, and values beyond it."""
    v = Vectors(3, counts=[1, 1, 3])
    module = v.done(*products(v), *pair(v, exponent=3), *array(v))
    deployed = Deployed(plan_of(module, chain, residual=RESIDUAL))
    rng = np.random.default_rng(8)
    for size, kind in ((1.0, "random"), (1.0, "ends"), (1.0, "constant"), (1.5, "ends")):
        _, bounds = bounded(module, chain, size)
        x = draw(rng, [1, 1, 3], size, kind)
        made_by = deployed.run(deployed.encrypt(x))
        for exact, made, bound in zip(interpret(module, [a.squeeze() for a in x]), made_by, bounds, strict=True):
            assert np.all(np.abs(made - exact) <= bound)
