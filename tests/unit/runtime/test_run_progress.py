"""Progress of runs with loops: every instruction of every turn counts, as far as turns are known before the run."""

import numpy as np
import pytest
from array_programs import Deployed
from vec_cases import SLOTS, Vectors, plan_of, small_chain

from latticework.progress import ProgressBar
from latticework.runtime.events import Event
from latticework.runtime.server.server import _listener


def turned(v, x, times=1):
    for _ in range(times):
        x = v.op("rotate", x, steps=1)
    return x


def nested(inner_trips):
    """x turned, n times: turned as often as said, and turned; each turn in an instruction of its own."""
    v = Vectors(1, trips=True)

    def outer(i, x):
        (x,) = v.loop(lambda _, y: [turned(v, y, 2)], [x], inner_trips(i), None if inner_trips(i) == 2 else 8)
        return [turned(v, x)]

    return v.done(*v.loop(outer, [turned(v, v.x[0])], v.n, at_most=4))


def run(plan, trips):
    """Events of a run, and what came out."""
    server, seen = Deployed(plan), []
    x = np.arange(SLOTS) / SLOTS
    inputs = [*server.encrypt([x[None]]), trips]
    (found,) = server.executor.run(inputs, _listener(plan, inputs, seen.append, 1, 3))
    return seen, np.real(server.decryptor.decrypt(found)), x


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_every_turn_of_every_loop_counts(trips):
    seen, found, x = run(plan_of(nested(lambda _: 2), small_chain(0)), trips)
    np.testing.assert_allclose(found, np.roll(x, -1 - trips * 5), atol=1e-6)
    steps = len(seen)
    assert [(e.done, e.total) for e in seen] == [(steps + 1 + i, 3 * steps) for i in range(steps)]
    assert seen[-1].done == 2 * steps and (seen[-1].iteration, seen[-1].trips) == (0, 0)
    in_loop = [(e.iteration, e.trips) for e in seen if e.trips]
    assert in_loop == sorted(in_loop) and set(in_loop) == {(i, trips) for i in range(trips + 1) if trips}


def test_a_loop_whose_turns_differ_is_one_step():
    seen, found, x = run(plan_of(nested(lambda i: i), small_chain(0)), 3)
    np.testing.assert_allclose(found, np.roll(x, -1 - 3 - 2 * (0 + 1 + 2)), atol=1e-6)
    done = [e.done for e in seen]
    assert done == sorted(done) and seen[-1].done == 2 * seen[-1].total / 3
    assert len(set(done)) < len(done), "turns of the inner loop are no steps"


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_loops_one_after_the_other_count_apart(trips):
    """A step, a loop of n turns of two steps, a step, and a loop of two turns of one."""
    v = Vectors(1, trips=True)
    (x,) = v.loop(lambda _, x: [turned(v, x, 2)], [turned(v, v.x[0])], v.n, at_most=4)
    (x,) = v.loop(lambda _, x: [turned(v, x)], [turned(v, x)], 2)
    seen, found, x = run(plan_of(v.done(x), small_chain(0)), trips)
    np.testing.assert_allclose(found, np.roll(x, -4 - trips * 2), atol=1e-6)
    steps = len(seen)
    assert [e.done - steps for e in seen] == list(range(1, steps + 1)) and {e.total for e in seen} == {3 * steps}
    places = [(e.iteration, e.trips) for e in seen if e.op == "rotate" and e.trips]
    turns = [(i, trips) for i in range(trips) for _ in range(2)][1:] + [(trips, trips)] * bool(trips)
    assert [place for place in places if place[1] != 2][-len(turns) or len(places) :] == turns
    assert places[-2:] == [(1, 2), (2, 2)]
    assert all(e.bootstraps == 0 for e in seen)


def test_a_bar_of_a_run_that_goes_on_counts_its_own_steps():
    """From step 500 of 1000 on, a second each: not half of the run in no time."""
    bar = ProgressBar("training")
    drawing = bar._drawing = Drawing()
    for done in range(501, 1001):
        bar(Event("evaluate", "add", done, 1000, 1, done - 1.0, done + 0.0))
    said = [what for what, _, _ in drawing.said]
    assert said[10] == "training"  # too early to say
    assert said[99] == "training, 0:06:40 left" and said[-1] == "training, 0:00:00 left"


class Drawing:
    """Keeps what a bar is told."""

    def __init__(self):
        self.said = []

    def note(self, what, done, total):
        self.said.append((what, done, total))


def test_a_bar_names_the_turn():
    bar = ProgressBar("training")
    drawing = bar._drawing = Drawing()
    bar(Event("evaluate", "add", 5, 90, 1, 0.0, 0.0, 2, 40))
    bar(Event("evaluate", "add", 90, 90, 1, 0.0, 0.0, 40, 40))
    bar(Event("evaluate", "add", 90, 90, 1, 0.0, 0.0))
    assert drawing.said == [
        ("training, turn 3 of 40", 5, 90),
        ("training, turn 40 of 40", 90, 90),
        ("training", 90, 90),
    ]


@pytest.mark.parametrize("first", [1.0, 20.0], ids=["even", "slow at first"])
def test_a_bar_says_how_long_a_run_takes_yet(first):
    """100 steps, of which the first 10 take longer than the others, a second each."""
    bar = ProgressBar("training")
    drawing = bar._drawing = Drawing()
    clock = 1000.0
    for done in range(1, 101):
        begun, clock = clock, clock + (first if done <= 10 else 1.0)
        bar(Event("evaluate", "add", done, 100, 1, begun, clock))
    said = [what for what, _, _ in drawing.said]
    assert said[3] == "training"  # too early to say
    assert said[24] == "training, 0:01:15 left" and said[99] == "training, 0:00:00 left"
    bar(Event("evaluate", "add", 1, 100, 1, clock, clock + 1.0))  # the next run
    assert drawing.said[-1][0] == "training"
