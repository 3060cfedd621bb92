"""Keys under a budget: the same results as with all keys in memory, within it, from any thread and process."""

import gc
import mmap
import os
import re
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from plan_assembler import Assembler, Last, cipher
from rlwe_cases import galois, random_slots, shared_case, spec, to_bytes

from latticework import _core
from latticework.errors import FormatError, MissingKeyError, ParameterMismatchError

TOP, SLOTS, N = 4, 64, 1024
ELEMENTS = [galois(1, N), galois(-3, N), 2 * N - 1]
ONE_KEY = 2 * 3 * 7  # rows of a key in memory: both halves, three digits, two special limbs and five others


@pytest.fixture(scope="module")
def case():
    return shared_case("plain")


@pytest.fixture(scope="module")
def path(case, tmp_path_factory):
    target = tmp_path_factory.mktemp("keys") / "keys.lwkeys"
    _core.save_evaluation_keys(target, case.keys)
    return target


@pytest.fixture(scope="module")
def key_bytes(case):
    """Bytes of one key in memory."""
    return case.keys.num_bytes // len(case.keys)


@pytest.fixture(scope="module")
def x(case):
    return case.encrypt(random_slots(np.random.default_rng(7), SLOTS))


def in_turn(order, level=TOP):
    """Rotations by the elements of that order, each under a key that is acquired for it and given back."""
    a = Assembler([spec("galois", element, level) for element in ELEMENTS])
    b = a.block(cipher(level))
    (y,) = b.args
    for number in order:
        key = b.op("key", [], ["key", number], number)
        y = b.op("rotate", [Last(y), Last(key)], cipher(level))
    b.yield_(Last(y))
    return a.plan(shared_case("plain").parameters)


def expected(case, x, order):
    for number in order:
        x = case.evaluator.rotate(x, ELEMENTS[number], case.keys)
    return to_bytes(x)


def run(case, keys, x, order):
    (y,) = _core.Executor(case.context, in_turn(order), keys).run([x])
    return to_bytes(y)


def waited_for(condition):
    """Whether it came true within ten seconds."""
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def test_a_key_takes_what_is_said_here(case, key_bytes):
    assert key_bytes >= ONE_KEY * N * 8


@pytest.mark.parametrize("budget", [0, 0.5, 1, 1.9, 2, 2.5, 3, 100])
@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 0, 2, 0, 1], [2, 2, 2, 0]], ids=str)
def test_results_are_those_of_keys_in_memory(case, path, x, key_bytes, budget, order):
    keys = _core.MappedKeys(path, case.context, int(budget * key_bytes))
    for _ in range(2):
        assert run(case, keys, x, order) == expected(case, x, order)
    traffic = keys.traffic
    assert traffic["peak_bytes"] <= max(int(budget * key_bytes), key_bytes)  # a key in use may exceed it
    assert traffic["resident_bytes"] <= int(budget * key_bytes)
    if budget == 0:
        assert (traffic["loads"], traffic["prefetched"]) == (2 * len(order), 0)
    if budget >= 3:
        assert traffic["loads"] == len(set(order))


def test_a_key_set_says_what_it_is(case, path):
    keys = _core.MappedKeys(path, case.context, 0)
    assert keys.specs == case.keys.specs and len(keys) == len(case.keys)
    assert keys.key_set == case.keys.key_set and keys.parameters == case.keys.parameters
    assert keys.num_bytes == 0


def test_keys_are_read_at_the_level_of_the_plan(case, path, key_bytes):
    low = case.encrypt(np.arange(SLOTS), 1)
    keys = _core.MappedKeys(path, case.context, 1 << 40)
    (y,) = _core.Executor(case.context, in_turn([0], level=1), keys).run([low])
    assert to_bytes(y) == to_bytes(case.evaluator.rotate(low, ELEMENTS[0], case.keys))
    # one of three digits, four of seven limbs; other prefetched keys would be of the same size
    assert keys.traffic["peak_bytes"] == keys.traffic["loads"] * 2 * 1 * 4 * (key_bytes // ONE_KEY)


def test_a_higher_key_in_memory_serves_a_lower_level(case, path):
    keys = _core.MappedKeys(path, case.context, 1 << 40)
    for level in (TOP, 2, 0):
        z = case.encrypt(np.arange(SLOTS), level)
        (y,) = _core.Executor(case.context, in_turn([0], level=level), keys).run([z])
        assert to_bytes(y) == to_bytes(case.evaluator.rotate(z, ELEMENTS[0], case.keys))
    assert keys.traffic["loads"] == 1


def test_prefetching_runs_ahead_as_far_as_there_is_room(case, path, x, key_bytes):
    """While the first key is in use, the budget is filled with those that come next, in their order."""
    keys = _core.MappedKeys(path, case.context, 2 * key_bytes)
    executor = _core.Executor(case.context, in_turn([0, 1, 2]), keys)
    seen = []

    def on_event(op, *_):
        if op == "key" and len(seen) == 0:
            seen.append(waited_for(lambda: keys.traffic["loads"] == 2))
            time.sleep(0.02)  # a third would have been read by now
            seen.append(keys.traffic["resident_bytes"])

    (y,) = executor.run([x], on_event)
    assert seen == [True, 2 * key_bytes]
    assert to_bytes(y) == expected(case, x, [0, 1, 2])
    assert keys.traffic["loads"] == 3 and keys.traffic["prefetched"] >= 1


def numbered(specs):
    """Which of ELEMENTS each key of a file is for; None: the relinearisation."""
    return [ELEMENTS.index(one["galois_element"]) if one["galois_element"] in ELEMENTS else None for one in specs]


def test_a_key_that_is_being_read_ahead_is_waited_for(case, path, x, key_bytes):
    """With room for one, another key is wanted while the next one is read ahead: that read goes on when the run waits
    for it, or when a key is read beside it, which must not be."""
    numbers, order = numbered(case.keys.specs), [0, 1, 0, 2]
    begun, reads, in_flight, beside, events, waits = threading.Event(), [], [], [], [], []

    def on_read(place, is_ahead):
        key = numbers[place]
        reads.append((key, is_ahead))
        beside.extend((key, other) for other in in_flight)
        in_flight.append(key)
        if (key, is_ahead) == (2, True):
            begun.set()
            assert waited_for(lambda: beside or (waits and traffic()["waits"] > waits[0]))
        in_flight.remove(key)

    def on_event(op, *_):
        events.append(op)
        if len(events) == 4:  # key 1 was given back: key 2 is read in its place, and key 0 will be wanted next
            waits.append(traffic()["waits"])
            assert begun.wait(10)

    keys = _core.MappedKeys(path, case.context, key_bytes, on_read)
    shown = [keys]  # emptied below: keys that hold an observer which holds them would stay for ever

    def traffic():
        return shown[0].traffic

    (y,) = _core.Executor(case.context, in_turn(order), keys).run([x], on_event)
    assert to_bytes(y) == expected(case, x, order)
    assert reads[-3:] == [(2, True), (0, False), (2, False)] and beside == []
    assert keys.traffic["peak_bytes"] == key_bytes and keys.traffic["waits"] > waits[0]
    shown.clear()


def test_an_observer_of_reads_can_fail_them(case, path, x):
    """Ahead of use that is nobody's fault: whoever acquires the key reads it again."""
    numbers, ahead = numbered(case.keys.specs), []

    def refuse(place, is_ahead):
        ahead.append(is_ahead)
        raise RuntimeError(f"key {numbers[place]}")

    keys = _core.MappedKeys(path, case.context, 1 << 40, refuse)
    with pytest.raises(RuntimeError, match="key 1"):
        run(case, keys, x, [1])
    assert ahead[-1] is False and keys.num_bytes == 0


def test_missing_keys_and_other_parameters(case, path, x):
    keys = _core.MappedKeys(path, case.context, 0)
    plan = Assembler([spec("galois", galois(2, N), TOP)])
    b = plan.block(cipher(TOP))
    key = b.op("key", [], ["key", 0], 0)
    b.yield_(b.op("rotate", [Last(b.args[0]), Last(key)], cipher(TOP)))
    with pytest.raises(MissingKeyError, match="rotation by 2 steps"):
        _core.Executor(case.context, plan.plan(case.parameters), keys)
    with pytest.raises(ParameterMismatchError):
        _core.MappedKeys(path, shared_case("grouped").context, 0)
    with pytest.raises(TypeError):
        _core.Executor(case.context, in_turn([0]), "keys")


# What goes wrong


@pytest.mark.parametrize("budget", [0, 1 << 40])
def test_a_damaged_key_fails_the_run_that_needs_it(case, path, x, tmp_path, budget):
    """Whether the background thread met the damage first or not."""
    target = tmp_path / "damaged.lwkeys"
    target.write_bytes(path.read_bytes())
    keys = _core.MappedKeys(target, case.context, budget)
    with open(target, "r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        content[len(content) - 1] ^= 1  # the last row of the last key: the conjugation
        for _ in range(2):
            with pytest.raises(
                FormatError, match=rf"{re.escape(str(target))}: galois key {2 * N - 1} .*digit 2, limb 4"
            ):
                run(case, keys, x, [0, 2])
            assert run(case, keys, x, [0, 1]) == expected(case, x, [0, 1])
        content[len(content) - 1] ^= 1
    assert run(case, keys, x, [0, 2]) == expected(case, x, [0, 2])


def test_a_file_that_shrinks_under_its_reader(case, path, x, tmp_path):
    target = tmp_path / "short.lwkeys"
    target.write_bytes(path.read_bytes())
    keys = _core.MappedKeys(target, case.context, 0)
    os.truncate(target, 8192)
    with pytest.raises(FormatError, match="do not change files in use"):
        run(case, keys, x, [0])


def test_a_run_that_is_stopped_gives_its_keys_back(case, path, x, key_bytes):
    keys = _core.MappedKeys(path, case.context, 0)

    def stop(op, *_):
        raise RuntimeError(op)

    with pytest.raises(RuntimeError, match="key"):
        _core.Executor(case.context, in_turn([0, 1]), keys).run([x], stop)
    assert keys.num_bytes == 0
    assert run(case, keys, x, [0, 1]) == expected(case, x, [0, 1])


# Threads and processes


@pytest.mark.parametrize("budget", [0, 1, 2, 10])
def test_shared_between_threads(case, path, x, key_bytes, budget):
    keys = _core.MappedKeys(path, case.context, budget * key_bytes)
    orders = [[0, 1, 2, 0], [2, 1, 0, 1], [1, 1, 2], [0, 2, 0, 2]]
    wanted = [expected(case, x, order) for order in orders]
    results = [[] for _ in orders]

    def work(i):
        for _ in range(5):
            results[i].append(run(case, keys, x, orders[i]))

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(orders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [[one] * 5 for one in wanted]
    assert keys.num_bytes <= budget * key_bytes


def test_ends_while_it_prefetches(case, path, x):
    for _ in range(20):
        keys = _core.MappedKeys(path, case.context, 1 << 40)
        executor = _core.Executor(case.context, in_turn([0, 1, 2]), keys)

        def stop(op, *_):
            raise RuntimeError

        with pytest.raises(RuntimeError):
            executor.run([x], stop)
        del keys, executor
        gc.collect()


def test_a_forked_child_reads_for_itself(case, path, x, key_bytes):
    """Also when the parent's thread was busy and its locks were held."""
    keys = _core.MappedKeys(path, case.context, 2 * key_bytes)
    wanted = expected(case, x, [0, 1, 2, 0])
    executor = _core.Executor(case.context, in_turn([0, 1, 2, 0]), keys)
    for _ in range(10):
        thread = threading.Thread(target=lambda: executor.run([x]), daemon=True)
        thread.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            code = 1
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)  # ends it, should it hang
            try:
                code = 0 if run(case, keys, x, [0, 1, 2, 0]) == wanted else 2
                del keys
            finally:
                os._exit(code)
        thread.join(60)
        assert os.waitpid(child, 0) == (child, 0)
    assert run(case, keys, x, [0, 1, 2, 0]) == wanted
