"""One key file and several processes, one that is killed, one without threads, and one that is told to stop."""

import hashlib
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from interrupts import interrupted
from rlwe_cases import random_slots, shared_case
from test_mapped_keys import DIGITS, SLOTS, expected, mapped, quiet, run

from latticework import _core

ORDER = [0, 1, 2, 0, 2]
CHILD = """
import hashlib, os, resource, sys
from pathlib import Path

keys, inputs, tests, runs, stack = *map(Path, sys.argv[1:4]), *map(int, sys.argv[4:6])
if stack and resource.getrlimit(resource.RLIMIT_STACK)[0] != stack:
    resource.setrlimit(resource.RLIMIT_STACK, (stack, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.execv(sys.executable, [sys.executable, "-c", os.environ["SCRIPT"], *sys.argv[1:]])
sys.path.insert(0, str(tests))
from test_mapped_keys import in_turn
from rlwe_cases import shared_case, to_bytes
from latticework import _core

context = _core.Context(shared_case("plain").parameters)
keys = _core.MappedKeys(keys, context, 1 << 20)
executor = _core.Executor(context, in_turn([0, 1, 2, 0, 2]), keys)
((x,), _, _) = _core.load_ciphertexts(inputs, context)
print("started", flush=True)
for _ in range(runs):
    (y,) = executor.run([x])
print(hashlib.sha256(to_bytes(y)).hexdigest(), keys.traffic["prefetched"] > 0, flush=True)
"""
NO_THREAD = 1 << 46  # bytes of stack that each gets: no system has them


@pytest.fixture(scope="module")
def case():
    return shared_case("plain")


@pytest.fixture(scope="module")
def x(case):
    return case.encrypt(random_slots(np.random.default_rng(7), SLOTS))


@pytest.fixture(scope="module")
def path(case, tmp_path_factory):
    target = tmp_path_factory.mktemp("shared") / "keys.lwkeys"
    _core.save_evaluation_keys(target, case.keys)
    return target


@pytest.fixture(scope="module")
def inputs(x, path):
    _core.save_ciphertexts(path.with_suffix(".lwct"), [x], ["x"])
    return path.with_suffix(".lwct")


@pytest.fixture
def start(start_python, path, inputs, monkeypatch):
    """A process that runs the same with keys of the file, so often."""
    monkeypatch.setenv("SCRIPT", CHILD)
    tests = str(Path(__file__).parent)
    return lambda runs, stack=0: start_python(CHILD, str(path), str(inputs), tests, str(runs), str(stack))


@pytest.fixture(scope="module")
def digest(case, x):
    return hashlib.sha256(expected(case, x, ORDER)).hexdigest()


def test_two_processes_and_this_one_read_one_file(case, path, x, start, digest):
    keys = mapped(case, path, 2 * DIGITS)
    others = [start(20), start(20)]
    wanted = expected(case, x, ORDER)
    assert all(run(case, keys, x, ORDER) == wanted for _ in range(20))
    for other in others:
        out, errors = other.communicate()
        assert other.returncode == 0, errors
        assert digest in out


def test_a_process_that_is_killed_leaves_the_file_to_others(case, path, x, start):
    before, keys = path.read_bytes(), mapped(case, path, 2 * DIGITS)
    other = start(1 << 30)
    assert other.stdout.readline() == "started\n"
    assert run(case, keys, x, ORDER) == expected(case, x, ORDER)
    other.kill()
    other.wait()
    assert path.read_bytes() == before
    assert run(case, keys, x, ORDER) == expected(case, x, ORDER)


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="it cannot be loaded under such a limit")
def test_without_a_thread_to_read_ahead_rows_are_read_when_they_are_needed(start, digest):
    other = start(3, NO_THREAD)
    out, errors = other.communicate()
    assert other.returncode == 0, errors
    assert out.split() == ["started", digest, "False"]


def test_ctrl_c_ends_a_wait_for_a_reader_that_hangs(case, path, x):
    hangs, release = threading.Event(), threading.Event()

    def hang(_place, is_ahead):
        if is_ahead:
            hangs.set()
            release.wait(60)
        hangs.wait(60)  # who reads for itself waits until a row is the reader's, which it then needs

    keys = _core.MappedKeys(path, case.context, 1 << 40, hang)
    with interrupted(hangs):
        run(case, keys, x, ORDER)
    assert keys.traffic["held_rows"] > 0  # the one that the reader still has; none that the run had
    release.set()
    assert run(case, keys, x, ORDER) == expected(case, x, ORDER)
    assert quiet(keys)
