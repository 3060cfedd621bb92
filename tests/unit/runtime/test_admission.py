"""Room for runs: never more than there are, in the order in which they came, and free again however they end."""

import os
import threading

import numpy as np
import pytest
from interrupts import interrupted

from latticework.errors import BudgetError
from latticework.runtime.server.admission import Admission


def start(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_no_more_than_there_is_room_for(seed=0):
    """Threads that come and go with batches of several sizes, some of which fail."""
    rng = np.random.default_rng(seed)
    admission, under_way, seen, lock = Admission("stress", 3), [], [], threading.Lock()

    def work(numbers):
        for number, fails in numbers:
            try:
                with admission.runs(number):
                    with lock:
                        under_way.append(number)
                        seen.append(sum(under_way))
                    with lock:
                        under_way.remove(number)
                    if fails:
                        raise ValueError
            except ValueError:
                pass

    plans = [[(int(n), bool(fails)) for n, fails in rng.integers([1, 0], [4, 2], (40, 2))] for _ in range(8)]
    threads = [start(lambda numbers=numbers: work(numbers)) for numbers in plans]
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(seen) == 8 * 40 and max(seen) <= 3


def test_who_came_first_goes_first():
    """Also where a later one would fit: a batch of many does not wait for ever."""
    admission, order, queued = Admission("queue", 2), [], []

    def work(number):
        with admission.runs(number):
            order.append(number)

    with admission.runs(1):
        for number in (2, 1):
            queued.append(start(lambda number=number: work(number)))
            while len(admission._waiting) < len(queued):
                pass
        assert order == []
    for thread in queued:
        thread.join(10)
    assert order == [2, 1]


def test_a_wait_that_is_interrupted_gives_its_place_up():
    admission = Admission("ctrl-c", 1)
    entered, leave, waits = threading.Event(), threading.Event(), threading.Event()

    def hold():
        with admission.runs():
            entered.set()
            leave.wait(20)

    def look():
        while not admission._waiting:
            pass
        waits.set()

    holder = start(hold)
    entered.wait(20)
    start(look)
    with interrupted(waits), admission.runs():
        raise AssertionError("there is no room")
    assert not admission._waiting
    leave.set()
    holder.join(20)
    with admission.runs():
        pass


def test_what_never_fits_is_refused():
    refusal = pytest.raises(BudgetError, match="program small: there is no room for 3 runs: .* make it with runs=3")
    with refusal, Admission("small", 2).runs(3):
        raise AssertionError
    with Admission("any", None).runs(1000):
        pass


@pytest.mark.parametrize("most", [None, 2])
def test_a_listener_starts_no_run_that_could_wait_for_its_own(most):
    admission = Admission("nested", most)

    def listen():
        with admission.runs():
            raise AssertionError

    report = admission.reporting(listen)
    for _ in range(2):
        with admission.runs(), pytest.raises(BudgetError, match="start it when that one has ended"):
            report()
    with admission.runs():
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_does_not_wait_for_runs_of_its_parent():
    admission = Admission("fork", 1)
    with admission.runs():
        child = os.fork()
        if child == 0:
            with admission.runs():
                os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
