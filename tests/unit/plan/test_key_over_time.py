"""What is in memory of keys over the time of a run: it adds up to what the planner states, and to what events come to."""

import pytest
from key_events import Memory, Run
from key_plans import CHAIN
from test_key_schedule import Flat, drawn, room

from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.key_schedule import key_windows
from latticework.plan.key_schedule.key_eviction import follow
from latticework.plan.key_schedule.key_uses import Loop, Others, key_order
from latticework.plan.key_schedule.key_windows import FEW_ITERATIONS, visits_of
from latticework.plan.key_schedule.keys_over_time import Trace, merge_stretches
from latticework.plan.key_schedule.schedule import schedule


class Steady(Flat):
    """Every instruction takes a second."""

    def seconds(self, _site):
        return 1.0


class Watched(Memory):
    """Adds up what is there and what for, whenever the clock goes on."""

    def __init__(self, *given):
        super().__init__(*given)
        self.held_time = self.claimed_time = self.spent_time = self.unread_time = 0.0
        self.last = 0.0, 0, 0, 0

    def claim_what_may_be(self):
        moment, held, claimed, spent = self.last
        self.held_time += held * (self.now - moment)
        self.claimed_time += claimed * (self.now - moment)
        self.spent_time += spent * (self.now - moment)
        super().claim_what_may_be()
        spent = sum(1 for row in self.held if self.next_use(row) == float("inf"))
        self.last = self.now, len(self.held), len(self.pinned()), spent

    def claim(self, window, missing, free):
        super().claim(window, missing, free)
        rows, time = len(missing), len(missing) * self.row_seconds
        self.unread_time += rows * (self.reader_free - time - self.now) + rows * time / 2


@pytest.mark.parametrize("seed", range(200, 220))
def test_rows_over_time_are_those_of_the_events(seed):
    plan, n, slots = drawn(seed)
    trace = Trace()
    made = schedule(plan, room(plan, slots), Flat(0.5), TripCounts(plan, {"n": n}), trace=trace)
    run = Run(plan, [None, n], slots)
    memory = Watched(run.windows, slots, 0.5).run()
    found = trace.stretches
    assert [sum(getattr(one, name) for one in found) for name in ("held", "claimed", "spent", "unread")] == (
        pytest.approx([memory.held_time, memory.claimed_time, memory.spent_time, memory.unread_time])
    )
    assert max(one.most_rows for one in found) == memory.most == made.residency.peak_rows


@pytest.mark.parametrize("readers", [0, 1])
@pytest.mark.parametrize("seed", range(220, 232))
def test_stretches_add_up_to_the_run(seed, readers):
    plan, n, slots = drawn(seed, most_turns=7)
    trace = Trace()
    made = schedule(plan, room(plan, slots), Steady(0.01), TripCounts(plan, {"n": n}), readers=readers, trace=trace)
    for found in (trace.stretches, merge_stretches(trace.stretches, 10)):
        assert sum(one.seconds for one in found) == pytest.approx(made.seconds)
        assert sum(one.loaded for one in found) == pytest.approx(made.total.loaded)
        assert sum(one.stalls for one in found) == pytest.approx(made.total.stalls)
        assert sum(one.waiting for one in found) == pytest.approx(made.total.stall_seconds)
        assert max(one.most_rows for one in found) == made.residency.peak_rows
        for one in found:
            assert -1e-9 <= one.unread <= one.claimed + 1e-9 and one.spent + one.claimed <= one.held + 1e-9
            assert one.held <= one.most_rows * one.seconds + 1e-9
    assert len(found) <= 12


def traced(order, slots, visits=None):
    visits = visits or visits_of(order, CHAIN, slots, lambda _: 1.0)
    trace = Trace()
    return follow(visits, slots, 0.01, trace=trace), trace


@pytest.mark.parametrize("trips", [1, 2, FEW_ITERATIONS, FEW_ITERATIONS + 1, 40, 10**6])
def test_turns_of_long_loops_are_told_as_one(trips):
    """Only few turns are told one by one; what is told adds up all the same."""
    plan, _, slots = drawn(8)
    once = key_order(plan, CHAIN, TripCounts(plan, {"n": 1}))
    alone = len(traced(once, slots)[1].stretches) - 1
    made, trace = traced([Loop(trips, once)], slots)
    told = trips if trips <= FEW_ITERATIONS else 3
    assert len(trace.stretches) == told * alone + 1
    (loop,) = [loop for loop in trace.loops if loop.depth == 0]
    assert (loop.trips, loop.first, loop.end) == (trips, 0, told * alone)
    assert loop.middle == ((0, 0) if trips <= FEW_ITERATIONS else (alone, 2 * alone))
    assert sum(one.seconds for one in trace.stretches) == pytest.approx(made.seconds)
    assert sum(one.loaded for one in trace.stretches) == pytest.approx(made.total.loaded)
    middle = sum(one.seconds for one in trace.stretches[slice(*loop.middle)])
    assert trips <= FEW_ITERATIONS or middle == pytest.approx(
        made.seconds * (trips - 2) / trips, rel=0.5 / trips + 1e-3
    )


def test_loops_in_loops_are_told_as_one_too(monkeypatch):
    monkeypatch.setattr(key_windows, "MOST_WINDOWS", 500)
    plan, _, slots = drawn(8)
    once = key_order(plan, CHAIN, TripCounts(plan, {"n": 1}))
    alone = len(traced(once, slots)[1].stretches) - 1
    made, trace = traced([Loop(1000, [Loop(1000, once)]), *once], slots)
    assert len(trace.stretches) <= 9 * alone + alone + 1
    assert max(loop.depth for loop in trace.loops) >= 1
    assert sum(one.seconds for one in trace.stretches) == pytest.approx(made.seconds)
    assert all(loop.first <= loop.middle[0] <= loop.middle[1] <= loop.end for loop in trace.loops)


def test_loops_that_read_no_key_take_their_time():
    """However often they turn, and however few turns of others are followed."""
    plan, _, slots = drawn(8)
    once = key_order(plan, CHAIN, TripCounts(plan, {"n": 1}))
    others = next(node for node in once if isinstance(node, Others))
    alone, _ = traced([Loop(3000, once)], slots)
    made, trace = traced([Loop(3000, [Loop(10**6, [others]), *once])], slots)
    more = 3000 * 10**6 * len(others.sites)
    assert made.seconds == pytest.approx(alone.seconds + more, rel=1e-6) and made.computing > more
    assert sum(one.seconds for one in trace.stretches) == pytest.approx(made.seconds)
