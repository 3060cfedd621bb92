"""Progress of runs with loops: every instruction of every turn counts, as far as turns are known before the run."""

import numpy as np
import pytest
from array_programs import Deployed
from vec_cases import SLOTS, Vectors, plan_of, small_chain

from latticework.progress import ProgressBar
from latticework.runtime.events import Event
from latticework.runtime.server import _listener


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


def test_a_bar_names_the_iteration():
    class Drawing:
        def __init__(self):
            self.said = []

        def note(self, what, done, total):
            self.said.append((what, done, total))

    bar = ProgressBar("training")
    drawing = bar._drawing = Drawing()
    bar(Event("evaluate", "add", 5, 90, 1, 0.0, 0.0, 2, 40))
    bar(Event("evaluate", "add", 90, 90, 1, 0.0, 0.0, 40, 40))
    bar(Event("evaluate", "add", 90, 90, 1, 0.0, 0.0))
    assert drawing.said == [
        ("training, iteration 3 of 40", 5, 90),
        ("training, iteration 40 of 40", 90, 90),
        ("training", 90, 90),
    ]
