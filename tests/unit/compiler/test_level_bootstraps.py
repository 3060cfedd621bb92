"""Bootstraps of vectors: levels with them, what is written for them, and that they keep what vectors hold."""

from dataclasses import replace

import numpy as np
import pytest
from array_programs import encrypted
from vec_cases import SLOTS, Vectors, counted, managed, plan_of, small_chain

from latticework.compiler.levels import ciphertexts, count_bootstraps, decide_levels, write_levels
from latticework.compiler.levels.depth import Levels, levels_of
from latticework.compiler.levels.level_plan import CipherState, Drop
from latticework.compiler.levels.level_plan_text import print_levels
from latticework.compiler.passes import cse, dce
from latticework.errors import IrError, LevelError
from latticework.ir import Loc, interpret, run_passes, verify
from latticework.plan.analysis.simulate import simulate
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain

RESIDUAL = 3


@pytest.fixture(scope="module")
def chain():
    return bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], name="small"))


def refresh(v, *values, target=RESIDUAL, exponent=0, iterations=1):
    attrs = {"target": target, "exponent": exponent, "iterations": iterations}
    return list(v.builder.create("vec.bootstrap", list(values), attrs).results)


def powers(v, x, y, **attrs):
    """x^8 y^8 by two bootstraps, of 6 levels."""
    both = v.op("mul", x, y)
    square = v.op("mul", both, both)
    (fresh,) = refresh(v, square, target=2, **attrs)
    fourth = v.op("mul", fresh, fresh)
    (again,) = refresh(v, fourth, target=1, **attrs)
    return v.op("mul", again, again)


def test_levels_start_anew_at_the_target():
    v = Vectors(2)
    module = v.done(powers(v, *v.x))
    plan = decide_levels(module, residual=RESIDUAL)
    made = {op.name: [plan.states[r].level for r in op.results] for op in module.walk() if op.name == "vec.bootstrap"}
    assert made == {"vec.bootstrap": [-2]}
    assert (plan.depth, plan.residual) == (RESIDUAL, RESIDUAL)
    assert "vec.bootstrap(%3) as ckks.bootstrap: level -1, ladder, degree 1" in print_levels(plan)
    assert [plan.states[x] for x in module.inputs] == [CipherState(-1)] * 2, "no higher than the first bootstrap needs"


def test_a_plan_is_for_one_number_of_residual_levels(chain):
    v = Vectors(2)
    module = v.done(powers(v, *v.x))
    plan = decide_levels(module, residual=RESIDUAL + 1)
    with pytest.raises(LevelError, match="planned for bootstraps that leave 4 levels; the chain has 3 above its floor"):
        write_levels(plan, chain)
    with pytest.raises(LevelError, match="the chain has 2 above its floor"):
        write_levels(decide_levels(module, residual=RESIDUAL), small_chain(2))
    with pytest.raises(LevelError, match="leaves 2 levels, on a chain that leaves at most 1"):
        decide_levels(module, residual=1)
    with pytest.raises(LevelError, match="leaves 2 levels, on a chain that has no bootstraps"):
        decide_levels(module)


def test_what_lies_below_the_floor_is_an_error_with_its_line():
    v = Vectors()
    x = v.x[0]
    for number in range(RESIDUAL + 2):
        v.builder.loc = Loc("user.py", 10 + number)
        x = v.op("mul", x, x)
    with pytest.raises(LevelError, match="vec.mul ends 1 level below the one at which bootstraps start") as raised:
        decide_levels(v.done(x), residual=RESIDUAL)
    assert raised.value.at.line == 10 + RESIDUAL


def test_without_bootstraps_programs_end_at_the_floor(chain):
    v = Vectors()
    x = v.x[0]
    for _ in range(RESIDUAL):
        x = v.op("mul", x, x)
    module = managed(v.done(x), chain)
    assert module.body.terminator.operands[0].type.level.index == chain.floor
    v = Vectors()
    x = v.x[0]
    for _ in range(RESIDUAL + 1):
        x = v.op("mul", x, x)
    with pytest.raises(LevelError, match="planned for 4 levels; the chain has 3 above its floor"):
        managed(v.done(x), chain)


@pytest.mark.parametrize(
    ("counts", "pair", "groups"),
    [
        ([1], False, [(1, True)]),
        ([2], False, [(1, False)]),
        ([5], False, [(2, False), (1, True)]),
        ([1, 1], True, [(1, False)]),
        ([3, 3], True, [(3, False)]),
    ],
)
def test_real_vectors_share_bootstraps(chain, counts, pair, groups):
    v = Vectors(len(counts), counts=counts)
    found = refresh(v, *v.x) if pair else refresh(v, v.x[0])
    module = v.done(*found)
    (op,) = [op for op in module.walk() if op.name == "vec.bootstrap"]
    assert [tuple(group) for group in ciphertexts(op)] == groups
    assert count_bootstraps(module) == sum(count for count, _ in groups)
    written = write_levels(decide_levels(module, residual=RESIDUAL), chain)
    verify(written)
    assert counted(written)["ckks.bootstrap"] == len(groups)
    random = np.random.default_rng(0)
    given = {f"x{i}": random.uniform(-1, 1, (n, SLOTS)).squeeze() for i, n in enumerate(counts)}
    for made, array in zip(interpret(written, given), given.values(), strict=True):
        np.testing.assert_allclose(made, array, atol=1e-9)


@pytest.mark.parametrize("exponent", [0, 3])
@pytest.mark.parametrize("iterations", [1, 2])
def test_simulated_bootstraps_keep_what_vectors_hold(chain, exponent, iterations):
    """Alone, in pairs and in arrays, with values up to 2^exponent, the largest ones included."""
    size = 2.0**exponent
    v = Vectors(3, counts=[1, 1, 3])
    attrs = {"exponent": exponent, "iterations": iterations}
    (alone,) = refresh(v, v.x[0], target=1, **attrs)
    pair = refresh(v, v.x[0], v.x[1], **attrs)
    (array,) = refresh(v, v.x[2], target=2, **attrs)
    plan = plan_of(v.done(alone, *pair, array), chain, residual=RESIDUAL)
    random = np.random.default_rng(exponent)
    x, y, z = (random.uniform(-size, size, shape) for shape in (SLOTS, SLOTS, (3, SLOTS)))
    x[:2], y[:2], z[:, :2] = (size, -size), (-size, size), (size, -size)
    found = simulate(plan, [x, y, z], noise=random)
    for made, wanted in zip(found, (x, x, y, z), strict=True):
        np.testing.assert_allclose(made, wanted, atol=size * 2.0**-20)
    assert np.max(np.abs(found[0] - x)) > 0.0


def test_encrypted_bootstraps_keep_what_vectors_hold(chain):
    v = Vectors(3, counts=[1, 1, 3])
    (array,) = refresh(v, v.x[2], exponent=1)
    pair = refresh(v, v.x[0], v.x[1], target=1, exponent=2)
    plan = plan_of(v.done(powers(v, *v.x[:2]), *pair, array), chain, residual=RESIDUAL)
    random = np.random.default_rng(3)
    x, y, z = (random.uniform(-size, size, (n, SLOTS)) for size, n in ((1, 1), (1, 1), (2, 3)))
    for made, wanted in zip(encrypted(plan, [x, y, z]), ((x * y) ** 8, x, y, z), strict=True):
        np.testing.assert_allclose(made, wanted, atol=2.0**-17)


def test_of_two_vectors_the_smaller_keeps_its_bits(chain):
    """2^8 times smaller than its partner: errors of both are as if each were alone."""
    v = Vectors(2)
    attrs = {"target": 1, "exponent": 8, "iterations": 1, "second_exponent": 0}
    both = list(v.builder.create("vec.bootstrap", v.x, attrs).results)
    plan = plan_of(v.done(*both), chain, residual=RESIDUAL)
    random = np.random.default_rng(4)
    x, y = random.uniform(-256, 256, (1, SLOTS)), random.uniform(-1, 1, (1, SLOTS))
    for large, small in (encrypted(plan, [x, y]), simulate(plan, [x, y], noise=random)):
        np.testing.assert_allclose(np.ravel(large), x[0], atol=2.0**-9)
        np.testing.assert_allclose(np.ravel(small), y[0], atol=2.0**-22)


def test_the_exponent_of_the_second_of_two_is_the_smaller():
    v = Vectors(2)
    for values, second, match in ((v.x, 3, "must be 0 to the exponent, 2, got 3"), (v.x[:1], 1, "there is one")):
        attrs = {"target": 1, "exponent": 2, "iterations": 1, "second_exponent": second}
        with pytest.raises(IrError, match=match):
            v.builder.create("vec.bootstrap", values, attrs)


def grown(rng, v, residual, count):
    """Random operations, with bootstraps before what would lie below the floor; the last values."""
    pool = [*v.x]
    for _ in range(count):
        a, b = (pool[int(i)] for i in rng.integers(max(0, len(pool) - 6), len(pool), size=2))
        kinds = [
            lambda a=a, b=b: v.op("mul", a, b),
            lambda a=a: v.op("mul", a, a),
            lambda a=a: v.op("mul", a, v.constant(rng.uniform(-1, 1, SLOTS))),
            lambda a=a: v.op("mul", a, v.splat(float(rng.choice([3.0, -0.3])))),
            lambda a=a, b=b: v.op("add", a, b),
            lambda a=a, b=b: v.op("sub", a, b),
            lambda a=a: v.op("rotate", a, steps=3),
            lambda a=a: v.matrix(a, rng.uniform(-0.2, 0.2, (SLOTS, SLOTS))),
            lambda a=a, b=b: refresh(v, a, b, target=int(rng.integers(1, residual + 1)))[int(rng.integers(2))],
        ]
        made = kinds[int(rng.integers(len(kinds)))]()
        levels = Levels(dict.fromkeys(v.module.inputs, 0), residual=residual)
        for op in v.module.body.ops:
            levels.add(op)
        pool.append(made if levels.of[made] >= -residual else refresh(v, made.owner.operands[0])[0])
    return pool[-3:]


@pytest.mark.parametrize("seed", range(30))
def test_random_code_is_made_as_low_as_its_readers_allow(chain, seed):
    """What is written means what the module does; nothing lies higher than without that, nor below what reads it."""
    rng = np.random.default_rng(seed)
    v = Vectors(3)
    module = run_passes(v.done(*grown(rng, v, RESIDUAL, 16)), (cse.PASS, dce.PASS))
    plan = decide_levels(module, residual=RESIDUAL)
    starts = [plan.states[x].level for x in module.inputs]
    usual = levels_of(module, starts, RESIDUAL)
    for value, state in plan.states.items():
        if state is not None and state.is_settled:
            assert -RESIDUAL <= state.level <= usual.of[value]
    written = write_levels(plan, chain)
    verify(written)
    x = [rng.uniform(-1, 1, SLOTS) for _ in module.inputs]
    for got, want in zip(interpret(written, x), interpret(module, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * max(1.0, np.max(np.abs(want))))


def test_what_bypasses_a_bootstrap_comes_down_before_it_is_computed():
    v = Vectors(2)
    x, y = v.x
    cube = v.op("mul", v.op("mul", x, x), x)
    mapped = v.matrix(y, np.eye(SLOTS, k=1))  # could be made two levels higher
    turned = v.op("rotate", mapped, steps=1)
    result = v.op("add", v.op("mul", cube, y), turned)
    plan = decide_levels(v.done(v.op("mul", result, y)), starts=[0, 0], residual=RESIDUAL + 1)
    assert plan.states[mapped].level == plan.states[turned].level == -3
    (first, step), *_ = plan.ops[mapped.owner].before
    assert (first, step) == (0, Drop(-2))


def test_products_of_one_sum_stay_on_one_level():
    """They are relinearised once, though one of them is read further down too."""
    v = Vectors(2)
    x, y = v.x
    one, other = v.op("mul", x, x), v.op("mul", y, y)
    both = v.op("add", one, other)
    low = v.op("mul", v.op("mul", one, x), x)
    plan = decide_levels(v.done(v.op("add", low, v.op("mul", both, both))), starts=[0, 0], residual=RESIDUAL)
    assert plan.states[one].level == plan.states[other].level
    assert plan.states[both].degree == 2


def test_what_a_bootstrap_of_vectors_takes():
    v = Vectors(2, counts=[1, 2])
    with pytest.raises(IrError, match="two vectors share a bootstrap if they are real and alike"):
        refresh(v, *v.x)
    with pytest.raises(IrError, match="takes one secret vector or two"):
        refresh(v, v.splat(1.0))
    with pytest.raises(IrError, match="target must be 1 to 128, got 0"):
        refresh(v, v.x[0], target=0)
    with pytest.raises(IrError, match="exponent must be 0 to 24, got -1"):
        refresh(v, v.x[0], exponent=-1)
    module = Vectors(2)
    refreshed = refresh(module, *module.x)
    given = [np.linspace(-1, 1, SLOTS), np.ones(SLOTS)]
    done = module.done(*refreshed)
    for made, wanted in zip(interpret(done, dict(zip(done.input_names, given, strict=True))), given, strict=True):
        np.testing.assert_array_equal(made, wanted)


def test_parts_of_arrays_meet_where_a_product_ends_that_is_still_to_be_rescaled():
    """Its level is the one below; the array that takes it in goes there."""
    v = Vectors(2, trips=True, counts=[2, 1])
    array, x = v.x
    low = v.op("mul", array, array)
    for part, whole in ((v.op("mul", x, x), array), (x, low), (v.op("mul", x, x), low)):
        v.op("put_at", whole, part, v.n)
    module = v.done(*(op.result for op in v.module.body.ops if op.name == "vec.put_at"))
    plan = decide_levels(module)
    levels = [plan.states[value].level for value in module.body.terminator.operands]
    settled = [plan.states[value].is_settled for value in module.body.terminator.operands]
    assert [level - (not is_settled) for level, is_settled in zip(levels, settled, strict=True)] == [-1, -1, -1]
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, (2, SLOTS)), rng.uniform(-1, 1, SLOTS), 1]
    for got, want in zip(interpret(managed(module), inputs), interpret(module, inputs), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-9)
