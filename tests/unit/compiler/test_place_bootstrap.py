"""Bootstraps placed in vec code: the same meaning, levels that a chain has, and the bootstraps that take least."""

from __future__ import annotations

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, managed

from latticework.compiler.levels import ciphertexts, count_bootstraps, decide_levels
from latticework.compiler.levels.place_bootstrap import bootstrap_pass, place_bootstraps
from latticework.compiler.levels.placement import place_by_layers, place_by_points
from latticework.compiler.passes import cse, dce
from latticework.errors import LevelError
from latticework.ir import Module, interpret, run_passes, verify
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain

RESIDUAL = 3
COMPLEX, REAL = 10.0, 7.0


class PerLevel:
    """Prices that rise with levels; two real bootstraps are dearer than a complex one."""

    def operation(self, op, level):
        return 0.01 * (level + 1) * max(v.type.count for v in op.results)

    def bootstrap(self, target, *, real, count=1):
        return count * (REAL if real else COMPLEX) * (1 + target / 10)


def everywhere(module: Module):
    return {v: 0 for op in module.walk() for v in op.results} | dict.fromkeys(module.inputs, 0)


def placed(module: Module, residual: int = RESIDUAL, **given) -> Module:
    made = place_bootstraps(module, residual, PerLevel(), everywhere(module), **given)
    verify(made)
    return made


def bootstraps(module: Module):
    return [op for op in module.walk() if op.name == "vec.bootstrap"]


def grown(rng, v: Vectors, count: int):
    """Random operations on vectors and arrays of them; what nothing has read."""
    pool = [*v.x]
    for _ in range(count):
        a = pool[int(rng.integers(max(0, len(pool) - 5), len(pool)))]
        alike = [x for x in pool if x.type == a.type]
        b = alike[int(rng.integers(max(0, len(alike) - 5), len(alike)))]
        kinds = [
            lambda a=a, b=b: v.op("mul", a, b),
            lambda a=a, b=b: v.op("mul", a, b),
            lambda a=a: v.op("mul", a, v.constant(rng.uniform(-1, 1, SLOTS))),
            lambda a=a: v.op("mul", a, v.splat(float(rng.choice([3.0, -0.3])))),
            lambda a=a, b=b: v.op("sub", a, b),
            lambda a=a: v.op("rotate", a, steps=3),
            lambda a=a: v.matrix(a, rng.uniform(-0.2, 0.2, (SLOTS, SLOTS))),
            lambda a=a: v.polynomial(v.op("mul", a, v.splat(0.01)), [0.1, 0.5, 0.2, -0.1]),
        ]
        pool.append(kinds[int(rng.integers(len(kinds)))]())
    return [x for x in pool if not x.uses] or pool[-1:]


@pytest.mark.parametrize("seed", range(20))
def test_random_code_means_the_same_and_has_its_levels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = Vectors(2, counts=[1, int(rng.integers(1, 4))])
    module = run_passes(v.done(*grown(rng, v, 14)), (cse.PASS, dce.PASS))
    made = placed(module)
    plan = decide_levels(made, residual=RESIDUAL)
    assert all(state is None or state.level >= -RESIDUAL for state in plan.states.values())
    assert all(plan.states[v].level == op.attrs["target"] - RESIDUAL for op in bootstraps(made) for v in op.results)
    x = [rng.uniform(-1, 1, (kind.count, SLOTS)[kind.count == 1 :]) for kind in (i.type for i in module.inputs)]
    for got, want in zip(interpret(made, x), interpret(module, x), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("placer", [place_by_points, place_by_layers], ids=["points", "layers"])
def test_other_placers_fit_in_the_same_place(placer, seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = Vectors(1)
    x = v.x[0]
    for _ in range(4):
        x = v.op("mul", v.op("mul", x, x), v.op("rotate", x, steps=1)) if rng.random() < 0.5 else v.op("mul", x, x)
    module = v.done(x)
    made = placed(module, placer=placer)
    decide_levels(made, residual=RESIDUAL)
    assert {op.attrs["target"] for op in bootstraps(made)} <= {RESIDUAL}
    assert count_bootstraps(placed(module)) <= count_bootstraps(made)


def test_a_chain_is_refreshed_no_higher_than_it_needs() -> None:
    v = Vectors(1)
    x = v.x[0]
    for _ in range(5):
        x = v.op("mul", x, x)
    (op,) = bootstraps(placed(v.done(x)))
    assert op.attrs == {"target": 2, "exponent": 0, "iterations": 1}


def test_two_real_vectors_share_a_bootstrap() -> None:
    v = Vectors(2)
    a, b = v.x
    for _ in range(RESIDUAL + 1):
        a, b = v.op("mul", a, a), v.op("mul", b, b)
    made = placed(v.done(a, b), iterations=2)
    (op,) = bootstraps(made)
    assert len(op.operands) == len(op.results) == 2 and op.attrs["iterations"] == 2
    assert [(g.number, g.real) for g in ciphertexts(op)] == [(1, False)]


def test_of_two_the_larger_comes_first_and_values_without_an_exponent_stay() -> None:
    v = Vectors(2)
    a, b = v.x
    lines = [[a], [b]]
    for line in lines:
        for _ in range(RESIDUAL + 1):
            line.append(v.op("mul", line[-1], line[-1]))
    module = v.done(lines[0][-1], lines[1][-1])
    exponents = {lines[0][2]: 3, lines[1][1]: 5, lines[1][2]: None}
    made = place_bootstraps(module, RESIDUAL, PerLevel(), exponents)
    (op,) = bootstraps(made)
    assert op.attrs == {"target": op.attrs["target"], "exponent": 5, "iterations": 1, "second_exponent": 3}
    decide_levels(made, residual=RESIDUAL)


def test_an_array_is_refreshed_by_pairs_inside() -> None:
    v = Vectors(1, counts=[5])
    x = v.x[0]
    for _ in range(RESIDUAL + 1):
        x = v.op("mul", x, x)
    made = placed(v.done(x))
    (op,) = bootstraps(made)
    assert count_bootstraps(made) == 3 and op.operands[0].type.count == 5


def test_starts_and_wanted_levels_are_kept() -> None:
    v = Vectors(1)
    module = v.done(v.op("mul", v.x[0], v.x[0]))
    assert not bootstraps(placed(module))
    assert not bootstraps(placed(module, starts=[3], wanted=[2]))
    (op,) = bootstraps(placed(module, starts=[1], wanted=[1]))
    assert op.attrs["target"] in (1, 2)
    (op,) = bootstraps(placed(module, starts=[0]))
    assert op.operands[0].owner is not op and op.attrs["target"] == 1


def test_a_loop_is_one_step() -> None:
    """Its copies spend two levels, which are there when it is entered."""
    v = Vectors(2)
    x, y = v.x
    for _ in range(2):
        x = v.op("mul", x, x)
    (x,) = v.loop(lambda _i, z: [v.op("mul", z, y)], [x], 2)
    module = v.done(v.op("mul", x, x))
    made = placed(module)
    (op,) = bootstraps(made)
    assert op.block is made.body
    decide_levels(made, residual=RESIDUAL)
    data = [np.linspace(-1, 1, SLOTS), np.linspace(0, 1, SLOTS)]
    np.testing.assert_array_equal(interpret(made, data)[0], interpret(module, data)[0])


def test_a_loop_that_bootstraps_inside_leaves_what_it_says() -> None:
    v = Vectors(1, trips=True)

    def body(_i, z):
        return [v.op("mul", v.builder.build("vec.bootstrap", [z], target=2, exponent=0, iterations=1), v.splat(0.5))]

    (x,) = v.loop(body, v.x, v.n)
    for _ in range(RESIDUAL):
        x = v.op("mul", x, x)
    made = placed(v.done(x))
    assert [op.block is made.body for op in bootstraps(made)].count(True) == 1
    decide_levels(made, residual=RESIDUAL)


def test_bootstraps_that_are_there_stay() -> None:
    v = Vectors(1)
    x = v.builder.build("vec.bootstrap", [v.x[0]], target=1, exponent=0, iterations=1)
    x = v.op("mul", x, x)
    made = placed(v.done(v.op("mul", x, x)))
    first, second = bootstraps(made)
    assert (first.attrs["target"], second.attrs["target"]) == (1, 1)


def test_what_no_bootstrap_helps_is_named_with_its_line() -> None:
    v = Vectors(1)
    module = v.done(v.polynomial(v.x[0], np.ones(17)))
    with pytest.raises(LevelError, match="a polynomial of degree 16 spends 5 levels at once, and a bootstrap leaves 3"):
        placed(module)
    v = Vectors(1)
    x = v.x[0]
    for _ in range(RESIDUAL + 1):
        x = v.op("mul", x, x)
    with pytest.raises(LevelError, match="may not be bootstrapped"):
        place_bootstraps(v.done(x), RESIDUAL, PerLevel(), {})


def test_levels_are_written_for_a_chain_as_they_were_reckoned() -> None:
    """On a chain with bootstraps: the managed module means the same, and lies at the floor or above."""
    residual = BOOTSTRAP_SETS["T11"].residual
    v = Vectors(2)
    x, y = v.x
    for _ in range(residual + 2):
        x, y = v.op("sub", v.op("mul", x, y), y), v.op("mul", y, y)
    module = v.done(x, y)
    made = placed(module, residual)
    assert bootstraps(made)
    written = managed(made, bootstrap_chain("T11"), residual)
    data = [np.linspace(-1, 1, SLOTS), np.linspace(0, 0.9, SLOTS)]
    for got, want in zip(interpret(written, data), interpret(module, data), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_the_pass_writes_what_it_declares() -> None:
    v = Vectors(1)
    x = v.x[0]
    for _ in range(RESIDUAL + 1):
        x = v.op("mul", x, v.constant(np.full(SLOTS, 0.5)))
    made = run_passes(v.done(x), (bootstrap_pass(RESIDUAL, PerLevel(), everywhere),))
    assert len(bootstraps(made)) == 1
