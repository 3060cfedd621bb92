"""What a run reads of its keys under a budget: predicted as an event-order oracle finds it, and as little as can be."""

from itertools import pairwise

import numpy as np
import pytest
from key_events import Memory, Run
from key_plans import CHAIN, PlanMaker
from scipy.optimize import linprog
from scipy.sparse import lil_array

from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.instructions.value_shapes import key_row_bytes
from latticework.plan.key_schedule import key_windows
from latticework.plan.key_schedule.key_uses import Loop, key_order
from latticework.plan.key_schedule.schedule import buffer_bytes, schedule, smallest_budget

ROW = key_row_bytes(CHAIN)


class Flat:
    """Every window takes as long as another: an instruction takes that for each of its windows."""

    def __init__(self, row_seconds):
        self.row_seconds = row_seconds

    def seconds(self, _site):
        return 0.0


def room(plan, slots):
    """Bytes that are so many slots."""
    return slots * ROW + buffer_bytes(plan, 1)


def drawn(seed, **options):
    """A plan, the value of its run-time integer, and a number of slots that is enough."""
    for attempt in range(100):
        rng = np.random.default_rng([seed, attempt])
        maker = PlanMaker(rng, **options)
        plan, n = maker.plan(), int(rng.integers(maker.most_turns + 1))
        least = smallest_budget(key_order(plan, CHAIN, TripCounts(plan, {"n": n})), plan)
        if least is not None:
            fewest = (least.bytes - buffer_bytes(plan, 1)) // ROW
            return plan, n, int(fewest + rng.integers(rng.choice([2, 30, 200])))
    raise AssertionError("no plan reads a key")


def check(seed):
    plan, n, slots = drawn(seed)
    made = schedule(plan, room(plan, slots) + 17, Flat(0.5), TripCounts(plan, {"n": n}))
    run = Run(plan, [None, n], slots)
    memory = Memory(run.windows, slots, 0.5).run()
    assert made.slots == slots and made.windows == len(run.windows) and made.is_exact
    assert (made.loads, made.residency.peak_rows) == (memory.loads, memory.most)
    assert made.total.wanted == sum(map(len, run.windows))
    assert made.seconds == pytest.approx(memory.now) and made.total.stall_seconds == pytest.approx(memory.stalled)
    by_place = {}
    for place, absent in zip(run.places, memory.absent, strict=True):
        by_place[place] = by_place.get(place, 0) + absent
    assert {place: found.loaded for place, found in made.residency.by_place.items()} == by_place
    assert made.loads <= Memory(run.windows, slots, recent=True).run().loads


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_predictions_are_what_the_events_come_to(first):
    for seed in range(first, first + 20):
        check(seed)


@pytest.mark.slow
def test_predictions_of_a_thousand_plans():
    for seed in range(1000, 2000):
        check(seed)


@pytest.mark.parametrize("seed", [8, 13, 24, 37])
def test_loops_that_turn_often_are_followed_in_a_few_turns(seed, monkeypatch):
    """Then it takes no longer however often they turn, and the rest is in proportion."""
    plan, n, slots = drawn(seed, most_turns=60, most_code=2)
    exact = schedule(plan, room(plan, slots), Flat(0.5), TripCounts(plan, {"n": n}))
    monkeypatch.setattr(key_windows, "MOST_WINDOWS", exact.windows // 4)
    short = schedule(plan, room(plan, slots), Flat(0.5), TripCounts(plan, {"n": n}))
    assert exact.is_exact and not short.is_exact and short.windows < 0.7 * exact.windows
    assert short.loads == pytest.approx(exact.loads, rel=0.02)
    assert short.seconds == pytest.approx(exact.seconds, rel=0.02)


def test_loops_inside_one_another_take_no_longer_for_it():
    plan, _, slots = drawn(8)
    order = key_order(plan, CHAIN, TripCounts(plan))
    for _ in range(24):
        order = [Loop(1 << 31, order)]
    found = key_windows.visits_of(order, CHAIN, slots, lambda _: 1.0)
    assert 0 < len(found.visits) <= key_windows.MOST_WINDOWS and not found.is_exact
    turns = sum(visit.weight for visit in found.visits) / len(found.visits)
    assert turns == pytest.approx(2.0 ** (31 * 24), rel=1e-6)


def least_loads(order, slots):
    """Rows that have to be read at least, by a linear program: rows stay from one use to the next, or a part does.

    While a window is computed with, it and the next one (where both fit) are in memory, and what stays besides fits.
    """
    uses, alike = {}, {}
    for number, window in enumerate(order):
        for row in window:
            uses.setdefault(row, []).append(number)
    for numbers in uses.values():
        alike[tuple(numbers)] = alike.get(tuple(numbers), 0) + 1
    stays = [(a, b, size) for numbers, size in alike.items() for a, b in pairwise(numbers)]
    wanted = sum(map(len, order))
    if not stays:
        return wanted
    both = [len({*window, *following}) for window, following in zip(order, [*order[1:], ()], strict=True)]
    covers = lil_array((len(order), len(stays)))
    for column, (a, b, _) in enumerate(stays):
        covers[a + 1 : b - 1 if both[b - 1] <= slots else b, column] = 1
    room = [slots - (two if two <= slots else len(one)) for one, two in zip(order, both, strict=True)]
    found = linprog([-1.0] * len(stays), covers.tocsr(), room, bounds=[(0, size) for _, _, size in stays])
    assert found.success
    return wanted + found.fun


def is_least(seed):
    """Whether that was found to be so; it takes too long where a plan has many windows."""
    plan, n, slots = drawn(seed, most_turns=3)
    run = Run(plan, [None, n], slots)
    if len(run.windows) > 250:
        return False
    made = schedule(plan, room(plan, slots), Flat(0.0), TripCounts(plan, {"n": n}))
    assert made.loads == pytest.approx(least_loads(run.windows, slots), abs=1e-6)
    return True


def test_no_rule_reads_less():
    assert sum(map(is_least, range(40))) > 30


@pytest.mark.slow
def test_no_rule_reads_less_of_three_hundred_plans():
    assert sum(map(is_least, range(5000, 5360))) > 300
