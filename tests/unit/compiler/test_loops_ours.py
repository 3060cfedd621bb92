"""Loops that bootstrap in every p-th iteration: how often, from which levels, and that nothing else changes."""

import numpy as np
import pytest
from loop_cases import MEAN, RESIDUAL, Published, check_plan, planned, synthetic
from vec_cases import SLOTS, Vectors

from latticework.compiler.levels.loops import plan_loops
from latticework.compiler.levels.loops.halo_baseline import HALO
from latticework.compiler.levels.loops.plan_loops import MODES
from latticework.compiler.levels.loops.seconds import module_seconds
from latticework.ir import print_module
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, LoopNest

ITERATIONS = 40
GOALS = [  # values carried, depth of an iteration, bootstraps in 40 iterations
    ("linear", 2, 4, 9),
    ("linear, two levels", 2, 2, 4),
    ("polynomial", 3, 3, 14),
    ("multivariate in one vector", 1, 4, 9),
    ("logistic", 1, 12, 30),
    ("logistic, 11 levels", 1, 11, 30),
]


@pytest.mark.parametrize(
    ("carried", "depth", "most"),
    [pytest.param(*row[1:], id=row[0], marks=[pytest.mark.slow] * (row[1] > 2)) for row in GOALS],
)
def test_bootstraps_in_forty_iterations(carried, depth, most):
    """From public numbers; two real values share a bootstrap. A trip count known at run time costs a tenth, and two."""
    module = synthetic(carried, depth, ITERATIONS)
    (known,) = check_plan(module, planned(module), RESIDUAL)
    assert known <= most
    module = synthetic(carried, depth, None)
    (at_run_time,) = check_plan(module, planned(module), RESIDUAL, [ITERATIONS])
    assert at_run_time <= 1.1 * known + 2


def test_a_deep_body_bootstraps_where_it_is_narrow():
    """Two values that start encrypted, 24 levels an iteration: two bootstraps each, with both in one."""
    module = synthetic(2, 24, ITERATIONS, plain=False)
    assert check_plan(module, planned(module), RESIDUAL)[0] <= 80


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("carried", "depth"), [(2, 5), (1, 9)])
def test_one_plan_for_all_trip_counts(mode, carried, depth):
    """Sizes of groups are 3 and less: counts around them, none, one and many."""
    module = synthetic(carried, depth, None)
    found = check_plan(module, planned(module, mode), RESIDUAL, (0, 1, 2, 3, 4, 7, 40))
    assert found == sorted(found) and found[0] == 0


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 5, 9])
def test_few_known_iterations(trips):
    """Never more than HALO, and none where the levels at the start are enough."""
    module = synthetic(2, 4, trips, plain=False)
    (ours,) = check_plan(module, planned(module), RESIDUAL)
    assert ours <= check_plan(module, planned(module, HALO), RESIDUAL)[0]
    assert ours == 0 or trips > 3


def size_of(module):
    return sum(1 for _ in planned(module).walk())


@pytest.mark.parametrize(("carried", "depth"), [(2, 4), (1, 2)])
def test_the_plan_does_not_grow_with_the_trip_count(carried, depth):
    """However many iterations are left over."""
    few, many = ([size_of(synthetic(carried, depth, trips + more)) for trips in (40, 43, 46)] for more in (0, 900))
    assert max(many) <= max(few)


@pytest.mark.parametrize(("trips", "is_loop"), [(8, False), (10, False), (20, True), (40, True)])
def test_copies_take_the_place_of_a_loop_that_goes_round_once(trips, is_loop):
    """Of two levels; more copies would save a few per cent."""
    module = planned(synthetic(1, 2, trips))
    assert any(op.name == "loop.for" for op in module.walk()) == is_loop


@pytest.mark.parametrize("trips", [100, None])
def test_what_a_loop_reads_from_outside_is_made_high_once(trips):
    """Where it lies low, rather than in every group: as a loop of one level leaves it for another."""
    v = Vectors(1, trips=True)
    (a,) = v.loop(lambda _i, a: [v.op("mul", a, v.x[0])], [v.x[0]], 15)
    (b,) = v.loop(lambda _i, b: [v.op("mul", b, a)], [v.op("add", a, v.x[0])], v.n if trips is None else trips)
    module = v.done(b)
    assert check_plan(module, planned(module), RESIDUAL, [100])[0] <= 100 / RESIDUAL + 2


def test_what_follows_a_loop_is_prepared_by_its_last_iterations():
    """Four levels after the loop: the last iterations and they share a bootstrap."""
    v = Vectors(1)
    a = v.loop(lambda _i, a: [v.matrix(v.op("mul", a, v.x[0]), MEAN)], [v.x[0]], 20)[0]
    for _ in range(4):
        a = v.op("mul", a, v.x[0])
    module = v.done(a)
    assert check_plan(module, planned(module), RESIDUAL) == [2]  # 44 levels, 16 at the start and behind each


def test_values_that_spend_nothing_keep_their_levels():
    """A carried input and a sum beside a value that spends: only that one is bootstrapped."""
    v = Vectors(2)

    def body(_i, a, kept, total):
        return [v.op("mul", a, kept), kept, v.op("add", total, v.x[1])]

    module = v.done(*v.loop(body, [v.x[0], v.x[1], v.x[1]], 40))
    assert check_plan(module, planned(module), RESIDUAL) == [2]


def test_what_is_made_before_a_loop_is_not_made_higher_in_every_iteration():
    """A factor ten levels down is read where the carried value is as low."""
    v = Vectors(1)
    factor = v.x[0]
    for _ in range(10):
        factor = v.op("mul", factor, v.x[0])
    module = v.done(*v.loop(lambda _i, a: [v.op("mul", a, factor)], [v.x[0]], 12))
    assert check_plan(module, planned(module), RESIDUAL)[0] <= 3


@pytest.mark.parametrize("trips", [12, None])
def test_the_number_of_an_iteration_is_that_of_the_loop(trips):
    """Turned by as many slots as its number says, in every iteration."""
    v = Vectors(1, trips=trips is None)

    def body(i, a):
        (turned,) = v.loop(lambda _j, b: [v.op("rotate", b, steps=1)], [v.op("mul", a, v.x[0])], i)
        return [turned]

    module = v.done(*v.loop(body, [v.x[0]], v.n if trips is None else trips))
    for mode in MODES:
        check_plan(module, planned(module, mode, 4), 4, (0, 1, 4, 5, 9) if trips is None else (None,))


@pytest.mark.parametrize("trips", [9, None])
def test_parts_of_arrays_by_the_number_of_an_iteration(trips):
    """A vector of an array and a row of a table, in groups that count by themselves."""
    v = Vectors(2, trips=trips is None, counts=[12, 1])
    table = np.random.default_rng(2).uniform(-1, 1, (12, SLOTS))
    source = v.module.add_source(table)
    line = PackMap((SLOTS,), SLOTS, (PackDim(0, SLOTS),))
    walk = Access((SLOTS,), ((1,),), (0,))
    row = ConstRef(LoopNest((SLOTS,), line, walk, source, Access((12 * SLOTS,), ((1,),), (0,))))

    def body(i, a):
        part = v.op("take_at", v.x[0], i, count=1)
        return [v.op("mul", v.op("add", a, v.op("row", i, value=row, rows=12)), part)]

    module = v.done(*v.loop(body, [v.x[1]], v.n if trips is None else trips))
    for mode in MODES:
        check_plan(module, planned(module, mode, 3), 3, (0, 1, 3, 8, 11) if trips is None else (None,))


def test_at_most_bounds_the_loops_that_are_made():
    """As before, but it asks for no copies."""
    v = Vectors(1, trips=True)
    module = v.done(*v.loop(lambda _i, a: [v.op("mul", a, v.x[0])], [v.x[0]], v.n, at_most=9))
    plan = planned(module, residual=3)
    limits = [op.attrs["at_most"] for op in plan.walk() if op.name == "loop.for"]
    assert limits and all(limit is not None and limit <= 9 for limit in limits)
    check_plan(module, plan, 3, (0, 1, 3, 8, 9))


@pytest.mark.parametrize("mode", MODES)
def test_a_loop_in_a_loop(mode):
    """Of which the inner one has a trip count of its own."""
    v = Vectors(1, trips=True)

    def outer(_i, a):
        (b,) = v.loop(lambda _j, c: [v.op("mul", c, v.x[0])], [v.op("mul", a, v.x[0])], v.n)
        return [v.op("add", b, a)]

    module = v.done(*v.loop(outer, [v.x[0]], 3))
    check_plan(module, planned(module, mode), RESIDUAL, (0, 1, 5, 17))


def test_short_inner_loops_are_part_of_the_body():
    """Four iterations of two levels in each of ten: 80 levels and ten more, of which 16 are free."""
    v = Vectors(1)

    def outer(_i, a):
        (b,) = v.loop(lambda _j, c: [v.matrix(v.op("mul", c, v.x[0]), MEAN)], [v.op("mul", a, v.x[0])], 4)
        return [b]

    module = v.done(*v.loop(outer, [v.x[0]], 10))
    ours, halo = (check_plan(module, planned(module, mode), RESIDUAL)[0] for mode in (MODES[0], HALO))
    assert ours <= 9 < halo


def test_arrays_share_bootstraps_inside():
    """Three vectors are two bootstraps."""
    v = Vectors(1, counts=[3])
    module = v.done(*v.loop(lambda _i, a: [v.op("mul", a, v.x[0])], [v.x[0]], 33))
    assert check_plan(module, planned(module), RESIDUAL) == [2 * 2]


def test_two_loops_after_each_other():
    v = Vectors(1)
    (a,) = v.loop(lambda _i, a: [v.op("mul", a, v.x[0])], [v.x[0]], 40)
    (b,) = v.loop(lambda _i, b: [v.op("mul", b, a)], [v.op("add", a, v.x[0])], 40)
    module = v.done(b)
    assert check_plan(module, planned(module), RESIDUAL)[0] <= 6


def test_what_a_loop_hands_on_as_it_was_public_starts_the_next():
    """It is the result of a loop, and no number that could be written anew."""
    v = Vectors(1)
    kept = v.op("trivial", v.constant(np.linspace(-0.5, 0.5, SLOTS)))
    first, _ = v.loop(lambda _i, a, b: [a, v.op("mul", b, v.x[0])], [kept, v.x[0]], 2)
    (y,) = v.loop(lambda _i, a: [v.op("mul", v.op("mul", a, a), v.x[0])], [first], 3)
    module = v.done(v.op("mul", y, first))
    for residual in (2, 3, 4, 8):
        check_plan(module, planned(module, residual=residual), residual)


def without_packing(monkeypatch, module, residual=RESIDUAL):
    """The plan in which every value lies in a ciphertext of its own, or shares a bootstrap with one other."""
    with monkeypatch.context() as patched:
        patched.setattr(plan_loops, "packed_loops", lambda *_: None)
        return planned(module, residual=residual)


def test_many_small_values_are_packed_by_masks_where_that_takes_less(monkeypatch):
    """Six values: three bootstraps at a time, or one of all for two levels more."""
    module, residual = synthetic(6, 3, 5), 8
    packed, apart = planned(module, residual=residual), without_packing(monkeypatch, module, residual)
    (few,), (many,) = (check_plan(module, made, residual) for made in (packed, apart))
    assert few < many
    seconds = [module_seconds(made, None, residual, Published()) for made in (packed, apart)]
    assert seconds[0] < 0.8 * seconds[1]


@pytest.mark.parametrize(("carried", "trips"), [(2, 16), (3, 16), (6, None)])
def test_values_share_bootstraps_without_masks(carried, trips, monkeypatch):
    """Few of them, and those of a trip count known at run time."""
    module = synthetic(carried, 2, trips)
    assert print_module(planned(module)) == print_module(without_packing(monkeypatch, module))


@pytest.mark.slow
def test_nine_values_of_two_levels_take_a_fifth_of_the_bootstraps(monkeypatch):
    module = synthetic(9, 2, ITERATIONS)
    packed, apart = planned(module), without_packing(monkeypatch, module)
    (few,), (many,) = (check_plan(module, made, RESIDUAL) for made in (packed, apart))
    assert few <= 12 and many >= 40
