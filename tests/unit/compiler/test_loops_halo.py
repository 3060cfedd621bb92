"""Loops as HALO plans them: the closed forms of its counts, meanings kept, levels as they have to be."""

import numpy as np
import pytest
from loop_cases import MEAN, RESIDUAL, Published, check_plan, planned, synthetic
from vec_cases import SLOTS, Vectors

from bench.halo.synthetic import closed_form, nested
from latticework.compiler.levels import decide_levels
from latticework.compiler.levels.loops.halo_baseline import BASELINES, HALO, PACKING, TYPE_MATCHED, plan_halo
from latticework.compiler.levels.loops.slot_periods import carried_periods, period
from latticework.compiler.levels.loops.writing import ValueFacts
from latticework.errors import LevelError
from latticework.ir import Builder, rebuild

BODIES = [(1, 3), (2, 4), (2, 7), (3, 3), (5, 5)]


@pytest.mark.parametrize(("carried", "depth"), BODIES)
@pytest.mark.parametrize("plain", [True, False])
def test_closed_forms(carried, depth, plain):
    """k = 12 iterations, of which the first has no head if values start public."""
    k = 12
    module = synthetic(carried, depth, k, plain=plain)
    for mode in BASELINES:
        want = closed_form(mode, carried, depth, k, plain=plain)
        assert check_plan(module, planned(module, mode), RESIDUAL) == [want]


def test_published_counts_of_the_regressions():
    """Two values and depth 4 give factor 2: 78, 39 and 20 bootstraps in 40 iterations (Table 5)."""
    module = synthetic(2, 4, 40)
    found = [check_plan(module, planned(module, mode), RESIDUAL)[0] for mode in BASELINES]
    assert found == [78, 39, 20, 20]


@pytest.mark.parametrize("mode", BASELINES)
@pytest.mark.parametrize("plain", [True, False])
def test_one_plan_for_all_trip_counts(mode, plain):
    """As many bootstraps as a plan for just that count."""
    trips = (0, 1, 2, 3, 4, 7)
    module = synthetic(2, 4, None, plain=plain)
    found = check_plan(module, planned(module, mode), RESIDUAL, trips)
    alone = [synthetic(2, 4, k, plain=plain) for k in trips]
    assert found == [check_plan(each, planned(each, mode), RESIDUAL)[0] for each in alone]


@pytest.mark.parametrize("trips", [0, 1, None])
def test_few_iterations(trips):
    module = synthetic(3, 5, trips)
    for mode in BASELINES:
        check_plan(module, planned(module, mode), RESIDUAL, (0, 1, 2) if trips is None else (None,))


def test_targets_are_as_low_as_can_be():
    """One less anywhere and something lies below the floor."""
    module = planned(synthetic(2, 4, None), HALO)
    targets = [op.attrs["target"] for op in module.walk() if op.name == "vec.bootstrap"]
    assert targets and max(targets) < RESIDUAL
    for lowered in range(len(targets)):
        with pytest.raises(LevelError, match="below the one at which bootstraps start"):
            decide_levels(with_less(module, lowered), residual=RESIDUAL)


def with_less(module, number):
    """A module one of whose bootstraps leaves a level less."""
    seen = []

    def visit(op, builder: Builder, mapping):
        if op.name != "vec.bootstrap":
            return False
        attrs = {**op.attrs, "target": op.attrs["target"] - (len(seen) == number)}
        seen.append(op)
        made = builder.create(op.spec, [mapping[v] for v in op.operands], attrs)
        mapping.update(zip(op.results, made.results, strict=True))
        return True

    return rebuild(module, visit)


def test_what_does_not_repeat_is_not_packed():
    """Two vectors of other numbers in every slot do not fit one."""
    v = Vectors(2)
    module = v.done(*v.loop(lambda _i, a, b: [v.op("mul", a, v.x[1]), v.op("mul", b, v.x[1])], [v.x[0], v.x[1]], 5))
    assert check_plan(module, planned(module, PACKING), RESIDUAL) == [10]


def test_halves_are_packed_side_by_side():
    """Vectors that repeat after half the slots share one of all."""
    v = Vectors(2)
    half = np.kron(np.ones((2, 2)), np.random.default_rng(1).uniform(-1, 1, (SLOTS // 2, SLOTS // 2))) / SLOTS
    inits = [v.matrix(x, half) for x in v.x]
    module = v.done(*v.loop(lambda _i, a, b: [v.matrix(b, half), v.matrix(a, half)], inits, 5))
    assert set(carried_periods(module).values()) == {SLOTS // 2}
    assert check_plan(module, planned(module, PACKING), RESIDUAL) == [5]


def test_what_stays_public_is_not_bootstrapped():
    v = Vectors(1)
    inits = [v.op("trivial", v.splat(0.5)), v.op("trivial", v.splat(0.25))]
    module = v.done(*v.loop(lambda _i, a, b: [v.op("trivial", v.splat(0.1)), v.op("mul", b, v.x[0])], inits, 6))
    assert check_plan(module, planned(module, TYPE_MATCHED), RESIDUAL) == [5]


def test_loops_that_spend_nothing_stay_as_they_are():
    v = Vectors(1)
    module = v.done(*v.loop(lambda _i, a: [v.op("add", a, v.matrix(v.x[0], MEAN))], [v.x[0]], 6))
    assert check_plan(module, planned(module, HALO), RESIDUAL) == [0]
    assert [op.attrs["static_trip"] for op in planned(module, HALO).walk() if op.name == "loop.for"] == [6]


def test_an_inner_loop_bootstraps_at_its_own_head():
    """(outer) (inner + 1): the inner one takes all that it carries, the outer one too."""
    v = Vectors(1)

    def outer(_i, a):
        (b,) = v.loop(lambda _j, c: [v.op("mul", c, v.x[0])], [v.op("mul", a, v.x[0])], 4)
        return [v.op("add", b, a)]

    module = v.done(*v.loop(outer, [v.x[0]], 3))
    assert check_plan(module, planned(module, TYPE_MATCHED), RESIDUAL) == [3 * (4 + 1)]


def test_bootstraps_know_how_large_values_are():
    """Exponents of carried values are those of the copies too; of several in one vector the largest."""
    for mode in BASELINES:
        module = synthetic(2, 4, None)
        (loop,) = [op for op in module.walk() if op.name == "loop.for"]
        first, second = loop.regions[0].block.args[1:]
        made = plan_halo(module, RESIDUAL, Published(), ValueFacts({first: 3, second: 1}), mode)
        found = sorted({op.attrs["exponent"] for op in made.walk() if op.name == "vec.bootstrap"})
        assert found == ([1, 3] if mode == TYPE_MATCHED else [3])


@pytest.mark.parametrize(("outer", "inner"), [(2, 2), (4, 3)])
def test_nested_loops_take_as_many_as_published(outer, inner):
    """(outer + 1) (inner + 2): one at the head of the outer loop and one in its body, where the inner one leaves few."""
    module = nested(outer, inner, 10, 8)
    for mode in (TYPE_MATCHED, HALO):
        assert check_plan(module, planned(module, mode), RESIDUAL) == [(outer + 1) * (inner + 2)]


@pytest.mark.parametrize(("array", "want"), [
    (np.ones(8), 1), (np.tile([1.0, 2.0], 4), 2), (np.arange(8.0), 8), (np.zeros((2, 8)), 1),
    (np.stack([np.tile([1.0, 2.0], 4), np.ones(8)]), 2), (np.tile([1.0, 2.0, 3.0], 2), 6),
])  # fmt: skip
def test_periods(array, want):
    assert period(array) == want


def test_periods_are_found_where_numbers_choose_parts_of_few():
    """More iterations than there are parts never run, and end no search."""
    v = Vectors(2, trips=True, counts=[2, 1])

    def body(index, a, b, c):
        return [v.op("mul", v.op("take_at", v.x[0], index, count=1), c), a, b]

    starts = [v.op("trivial", v.splat(0.5)), v.op("trivial", v.splat(0.25)), v.op("trivial", v.splat(2.0))]
    module = v.done(*v.loop(body, starts, v.n))
    arguments = next(op for op in module.body.ops if op.name == "loop.for").regions[0].block.args[1:]
    periods = carried_periods(module)
    assert [periods[value] for value in arguments] == [SLOTS, SLOTS, 1]
