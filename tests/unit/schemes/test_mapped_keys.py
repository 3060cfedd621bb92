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
from row_windows import reads_of, windows_of
from scipy.optimize import linprog

from latticework import _core
from latticework.errors import FormatError, MissingKeyError, ParameterMismatchError, RangeError

TOP, SLOTS, N = 4, 64, 1024
ELEMENTS = [galois(1, N), galois(-3, N), 2 * N - 1]
DIGITS, LIMBS = 3, 7  # of a key at the top: two special limbs and five others
ROWS = DIGITS * LIMBS


@pytest.fixture(scope="module")
def case():
    return shared_case("plain")


@pytest.fixture(scope="module")
def path(case, tmp_path_factory):
    target = tmp_path_factory.mktemp("keys") / "keys.lwkeys"
    _core.save_evaluation_keys(target, case.keys)
    return target


@pytest.fixture(scope="module")
def row_bytes(case):
    return case.keys.num_bytes // len(case.keys) // ROWS


@pytest.fixture(scope="module")
def x(case):
    return case.encrypt(random_slots(np.random.default_rng(7), SLOTS))


def in_turn(order, level=TOP):
    """Rotations by the elements of that order."""
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


def mapped(case, path, rows, **options):
    """Keys with room for so many rows."""
    readers = options.get("readers", 1)
    largest = _core.MappedKeys(path, case.context, 1 << 40, readers=readers)
    one = largest.traffic["row_bytes"]
    least = _core.Executor(case.context, in_turn([0]), largest).key_need[0]
    return _core.MappedKeys(path, case.context, least + (rows - DIGITS) * one, **options)


def test_a_row_takes_what_is_said_here(case, path, row_bytes):
    keys = _core.MappedKeys(path, case.context, 1 << 40)
    assert keys.traffic["row_bytes"] == row_bytes >= 2 * N * 8


@pytest.mark.parametrize("rows", [3, 5, 6, 12, 21, 30, 42, 63, 1000])
@pytest.mark.parametrize("most_limbs", [1, 3, 16])
@pytest.mark.parametrize("readers", [0, 1, 3])
def test_results_are_those_of_keys_in_memory(case, path, x, rows, most_limbs, readers):
    """Whatever the budget, the windows and the readers; and within the budget."""
    for order in ([0, 1, 2], [0, 1, 0, 2, 0, 1], [2, 2, 2, 0]):
        keys = mapped(case, path, rows, most_limbs=most_limbs, readers=readers)
        for _ in range(2):
            assert run(case, keys, x, order) == expected(case, x, order)
        traffic = keys.traffic
        used = traffic["peak_bytes"] - traffic["resident_bytes"]
        assert used >= 0 and traffic["peak_bytes"] <= mapped(case, path, rows, readers=readers).traffic["budget_bytes"]
        assert traffic["prefetched"] <= traffic["loads"] and (readers or traffic["prefetched"] == 0)
        if rows >= len(ELEMENTS) * ROWS:
            assert traffic["loads"] == len(set(order)) * ROWS


@pytest.mark.parametrize("readers", [0, 1])
@pytest.mark.parametrize("most_limbs", [1, 2, 16])
def test_rows_are_read_as_beladys_rule_says(case, path, x, readers, most_limbs):
    """Row for row as an own simulation of it, which knows nothing of threads: no clock decides what is read."""
    rng = np.random.default_rng(most_limbs)
    for _ in range(6):
        order = [int(i) for i in rng.integers(0, 3, 8)]
        rows = int(rng.integers(DIGITS, 3 * ROWS))
        keys = mapped(case, path, rows, most_limbs=most_limbs, readers=readers)
        assert run(case, keys, x, order) == expected(case, x, order)
        passes = [([number], DIGITS, LIMBS) for number in order]
        assert keys.traffic["loads"] == reads_of(passes, rows, most_limbs)


def test_no_choice_of_rows_reads_fewer():
    """Which rows to keep from one use to the next, beside the windows in use and the next ones: a flow, whose optimum a
    linear program finds. What the test above holds runs to reads as few."""
    rng = np.random.default_rng(5)
    for _ in range(25):
        passes = [([int(k) for k in rng.choice(4, rng.integers(1, 3), replace=False)], 2, 5) for _ in range(9)]
        slots, most_limbs = int(rng.integers(8, 40)), int(rng.choice([1, 2, 16]))
        assert reads_of(passes, slots, most_limbs) == fewest_reads(windows_of(passes, slots, most_limbs), slots)


def fewest_reads(windows, slots):
    spans, last = [], {}
    for position, window in enumerate(windows):
        for row in window:
            if row in last:
                spans.append((last[row], position))
            last[row] = position
    covers = np.array([[p < t < q - 1 for p, q in spans] for t in range(len(windows) - 1)], dtype=float)
    room = [slots - len(windows[t] | windows[t + 1]) for t in range(len(windows) - 1)]
    found = linprog(-np.ones(len(spans)), covers, room, bounds=(0, 1))
    return sum(map(len, windows)) - round(-found.fun)


def test_too_small_a_budget_is_refused_and_says_what_is_enough(case, path, x):
    keys = _core.MappedKeys(path, case.context, 1 << 40)
    least = _core.Executor(case.context, in_turn([0]), keys).key_need[0]
    for budget in (0, 1, least - 1):
        small = _core.MappedKeys(path, case.context, budget)
        executor = _core.Executor(case.context, in_turn([1]), small)
        assert executor.key_need == (least, 0, 1)
        with pytest.raises(RangeError, match=rf"may take {budget} bytes.*is {least}, for block 0.* 1 \(rotate\)"):
            executor.run([x])
    assert run(case, _core.MappedKeys(path, case.context, least), x, [0, 1]) == expected(case, x, [0, 1])
    low = _core.Executor(case.context, in_turn([0], level=1), keys).key_need[0]
    assert low < least  # one digit instead of three
    with pytest.raises(ValueError, match="at least one limb"):
        _core.MappedKeys(path, case.context, least, most_limbs=0)


def test_a_key_set_says_what_it_is(case, path):
    keys = _core.MappedKeys(path, case.context, 0)
    assert keys.specs == case.keys.specs and len(keys) == len(case.keys)
    assert keys.key_set == case.keys.key_set and keys.parameters == case.keys.parameters
    assert keys.num_bytes == 0


def test_keys_are_read_at_the_level_of_use(case, path):
    low = case.encrypt(np.arange(SLOTS), 1)
    for level in (1, TOP):  # of the plan's name of the key
        keys = _core.MappedKeys(path, case.context, 1 << 40)
        a = Assembler([spec("galois", ELEMENTS[0], level)])
        b = a.block(cipher(1))
        key = b.op("key", [], ["key", 0], 0)
        b.yield_(b.op("rotate", [Last(b.args[0]), Last(key)], cipher(1)))
        (y,) = _core.Executor(case.context, a.plan(case.parameters), keys).run([low])
        assert to_bytes(y) == to_bytes(case.evaluator.rotate(low, ELEMENTS[0], case.keys))
        assert keys.traffic["loads"] == 1 * 4  # of three digits, of seven limbs


def test_rows_in_memory_serve_a_lower_level(case, path):
    keys = _core.MappedKeys(path, case.context, 1 << 40)
    for level in (TOP, 2, 0):
        z = case.encrypt(np.arange(SLOTS), level)
        (y,) = _core.Executor(case.context, in_turn([0], level=level), keys).run([z])
        assert to_bytes(y) == to_bytes(case.evaluator.rotate(z, ELEMENTS[0], case.keys))
    assert keys.traffic["loads"] == ROWS


def test_reading_runs_ahead_as_far_as_there_is_room(case, path, x):
    """Before the first instruction, what comes next fills the budget; nothing in it leaves for that."""
    keys = mapped(case, path, 2 * ROWS, most_limbs=16)
    executor, seen = _core.Executor(case.context, in_turn([0, 1, 2]), keys), []

    def on_event(op, *_):
        if not seen:
            end = time.monotonic() + 10
            while keys.traffic["loads"] < 2 * ROWS and time.monotonic() < end:
                time.sleep(0.001)
            seen.append(keys.traffic["loads"])

    (y,) = executor.run([x], on_event)
    assert seen == [2 * ROWS] and to_bytes(y) == expected(case, x, [0, 1, 2])
    assert keys.traffic["loads"] == 3 * ROWS and keys.traffic["prefetched"] > ROWS


def test_an_observer_of_reads_can_fail_them(case, path, x):
    """Ahead of use that is nobody's fault: who needs the row reads it again."""
    ahead = []

    def refuse(place, is_ahead):
        ahead.append(is_ahead)
        raise RuntimeError(f"key {ELEMENTS.index(case.keys.specs[place]['galois_element'])}")

    keys = _core.MappedKeys(path, case.context, 1 << 40, refuse)
    for _ in range(5):
        with pytest.raises(RuntimeError, match="key 1"):
            run(case, keys, x, [1])
    assert False in ahead and quiet(keys)


def test_a_read_that_fails_once_ahead_of_its_use_does_not_matter(case, path, x):
    def fail_ahead(_place, is_ahead):
        if is_ahead:
            raise OSError(5, "once")

    keys = _core.MappedKeys(path, case.context, 1 << 40, fail_ahead)
    assert run(case, keys, x, [0, 1, 2]) == expected(case, x, [0, 1, 2])
    assert keys.traffic["prefetched"] == 0


def quiet(keys):
    """Whether soon nothing is held, and nothing is being read; rows that are there may stay."""
    end = time.monotonic() + 10
    while keys.traffic["held_rows"] > 0 and time.monotonic() < end:
        time.sleep(0.001)
    return keys.traffic["held_rows"] == 0


def test_missing_keys_and_other_parameters(case, path, x):
    keys = _core.MappedKeys(path, case.context, 1 << 30)
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


@pytest.mark.parametrize("rows", [DIGITS, 1000])
def test_a_damaged_key_fails_the_run_that_needs_it(case, path, x, tmp_path, rows):
    """Whether a reader met the damage first or not."""
    target = tmp_path / "damaged.lwkeys"
    target.write_bytes(path.read_bytes())
    keys = mapped(case, target, rows)
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


@pytest.mark.parametrize("readers", [0, 1])
def test_a_file_that_shrinks_while_it_is_read(case, path, x, tmp_path, readers):
    """At any moment: rows are read past the mapping, so that no page of it can be missing."""
    whole = path.read_bytes()
    for after in range(0, 60, 7):
        target, reads = tmp_path / f"{after}.lwkeys", []
        target.write_bytes(whole)

        def shrink(_place, _is_ahead, target=target, reads=reads, after=after):
            reads.append(1)
            if len(reads) == after + 1:
                os.truncate(target, 8192)

        keys = mapped(case, target, 2 * DIGITS, on_read=shrink, readers=readers)
        with pytest.raises(FormatError, match="do not change files in use"):
            run(case, keys, x, [0, 1, 2])
        target.write_bytes(whole)
        assert run(case, keys, x, [0, 1, 2]) == expected(case, x, [0, 1, 2])


class HangingReader:
    """A reader that hangs on its first row until it is released; runs wait until it has begun one that they need."""

    def __init__(self):
        self.begun, self.released = threading.Event(), threading.Event()

    def __call__(self, _place, is_ahead):
        if is_ahead:
            self.begun.set()
            self.released.wait(60)
        else:
            assert self.begun.wait(60)


def test_a_reader_that_does_not_answer(case, path, x):
    """The run that waits for it fails after the deadline, or when it is told to stop; the next one works."""
    hang = HangingReader()
    keys = _core.MappedKeys(path, case.context, 1 << 40, hang, deadline_s=0.1)
    with pytest.raises(OSError, match="have not come within 100 ms"):
        run(case, keys, x, [0, 1, 2])
    assert keys.traffic["stalls"] > 0 and keys.traffic["stall_s"] > 0.1
    hang.released.set()
    assert run(case, keys, x, [0, 1, 2]) == expected(case, x, [0, 1, 2])


def test_long_waits_are_told_while_they_last(case, path, x):
    """On the thread of the run, which an observer that fails ends."""
    hang, told = HangingReader(), []

    def note(seconds):
        told.append((seconds, threading.get_ident()))
        if len(told) == 3:
            hang.released.set()

    keys = _core.MappedKeys(path, case.context, 1 << 40, hang, on_wait=note, tell_every_s=0.02)
    assert run(case, keys, x, [0, 1, 2]) == expected(case, x, [0, 1, 2])
    assert [seconds for seconds, _ in told] == sorted(seconds for seconds, _ in told)
    assert {thread for _, thread in told} == {threading.get_ident()} and told[2][0] >= 0.06
    assert keys.traffic["stalls"] > 0 and keys.traffic["stall_s"] >= told[-1][0]

    hang = HangingReader()

    def fail(_seconds):
        hang.released.set()
        raise RuntimeError("enough")

    keys = _core.MappedKeys(path, case.context, 1 << 40, hang, on_wait=fail, tell_every_s=0.02)
    with pytest.raises(RuntimeError, match="enough"):
        run(case, keys, x, [0, 1, 2])


def test_a_run_that_is_stopped_gives_its_rows_back(case, path, x):
    keys = mapped(case, path, 2 * DIGITS)

    def stop(op, *_):
        raise RuntimeError(op)

    for _ in range(10):
        with pytest.raises(RuntimeError, match="key"):
            _core.Executor(case.context, in_turn([0, 1]), keys).run([x], stop)
    assert quiet(keys)
    assert run(case, keys, x, [0, 1]) == expected(case, x, [0, 1])


# Threads and processes


@pytest.mark.parametrize("rows", [DIGITS, 2 * DIGITS, 20, 100])
def test_shared_between_threads(case, path, x, rows):
    keys = mapped(case, path, rows)
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
    assert keys.traffic["peak_bytes"] <= keys.traffic["budget_bytes"]


def test_ends_while_it_reads_ahead(case, path, x):
    for _ in range(20):
        keys = _core.MappedKeys(path, case.context, 1 << 40)
        executor = _core.Executor(case.context, in_turn([0, 1, 2]), keys)

        def stop(op, *_):
            raise RuntimeError

        with pytest.raises(RuntimeError):
            executor.run([x], stop)
        del keys, executor
        gc.collect()


def test_a_forked_child_reads_for_itself(case, path, x):
    """Also when the parent's thread was busy and its locks were held."""
    keys = mapped(case, path, 42)
    wanted = expected(case, x, [0, 1, 2, 0])
    executor = _core.Executor(case.context, in_turn([0, 1, 2, 0]), keys)
    for turn in range(60):
        thread = threading.Thread(target=lambda: executor.run([x]), daemon=True)
        thread.start()
        time.sleep(turn % 15 * 1e-4)  # in the middle of other steps
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
