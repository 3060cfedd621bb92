"""Faults of key files and readers, at random moments: the right bytes or a typed error, and the next run works."""

import os
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from rlwe_cases import random_slots, shared_case, to_bytes
from test_mapped_keys import DIGITS, SLOTS, expected, in_turn, mapped, quiet

from latticework import _core
from latticework.errors import FormatError

TYPED = (FormatError, OSError, KeyboardInterrupt, RuntimeError)


@pytest.fixture(scope="module")
def case():
    return shared_case("plain")


@pytest.fixture(scope="module")
def whole(case):
    return _core.save_evaluation_keys(None, case.keys)


class Fault:
    """What goes wrong at one read of a run, and stays so until it is put right."""

    def __init__(self, rng, target, whole):
        kinds = [
            "truncate",
            "flip",
            "replace in place",
            "rename",
            "refuse",
            "disk",
            "slow",
            "cold",
            "cold flip",
            "none",
        ]
        self.kind = rng.choice(kinds)
        self.moment, self.target, self.whole, self.reads = int(rng.integers(60)), target, whole, 0
        self.place, self.is_wrong = int(rng.integers(len(whole) // 2, len(whole))), False
        self.lock = threading.Lock()

    def on_read(self, _key, _is_ahead):
        with self.lock:
            self.reads += 1
            if self.reads == self.moment + 1:
                self.is_wrong = True
                self.begin()
        if self.is_wrong and self.kind in ("refuse", "disk"):
            raise RuntimeError("refused") if self.kind == "refuse" else OSError(5, "Input/output error")
        if self.is_wrong and self.kind == "slow":
            threading.Event().wait(0.002)

    def begin(self):
        if self.kind == "truncate":
            os.truncate(self.target, self.place)
        elif self.kind == "cold":
            self.leave_the_cache()
        elif self.kind in ("flip", "cold flip"):
            self.write(self.place, bytes([self.whole[self.place] ^ 1]))
            if self.kind == "cold flip":
                self.leave_the_cache()
        elif self.kind == "replace in place":
            self.write(self.place, bytes(len(self.whole) - self.place))
        elif self.kind == "rename":  # what was opened stays what it was
            other = self.target.with_suffix(".other")
            other.write_bytes(bytes(len(self.whole)))
            os.replace(other, self.target)

    def leave_the_cache(self):
        """From here on reads wait for the disk, which is asked for what comes next."""
        with self.target.open("r+b") as file:
            os.fsync(file)
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def write(self, place, data):
        with self.target.open("r+b") as file:
            file.seek(place)
            file.write(data)

    def end(self):
        """The fault is gone."""
        self.is_wrong, self.moment = False, -1
        if self.kind != "rename":
            with self.target.open("r+b") as file:
                file.write(self.whole)


def inject(case, whole, folder, number):
    rng = np.random.default_rng(number)
    target = folder / f"{number}.lwkeys"
    target.write_bytes(whole)
    fault = Fault(rng, target, whole)
    x = case.encrypt(random_slots(rng, SLOTS))
    keys = mapped(case, target, int(rng.choice([DIGITS, 2 * DIGITS, 20, 70])), on_read=fault.on_read,
                  readers=int(rng.integers(3)), most_limbs=int(rng.integers(1, 8)), deadline_s=20.0)  # fmt: skip
    orders = [[int(k) for k in rng.integers(3, size=rng.integers(1, 5))] for _ in range(int(rng.integers(1, 4)))]
    wanted, found = [expected(case, x, order) for order in orders], [None] * len(orders)
    stop_at = int(rng.integers(1, 12)) if rng.integers(4) == 0 else None
    events = []

    def on_event(*_):
        events.append(1)
        if len(events) == stop_at:
            raise KeyboardInterrupt

    def run(i):
        try:
            (y,) = _core.Executor(case.context, in_turn(orders[i]), keys).run([x], on_event)
            found[i] = to_bytes(y)
        except TYPED as error:
            found[i] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(orders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), f"{number}: {fault.kind} hangs"
    fault.end()
    for got, want in zip(found, wanted, strict=True):
        assert isinstance(got, TYPED) or got == want, (number, fault.kind)
        assert got is not None
    assert quiet(keys), (number, fault.kind)
    stop_at = None
    for i, want in enumerate(wanted):
        run(i)
        assert found[i] == want, (number, fault.kind, found[i])
    assert keys.traffic["peak_bytes"] <= keys.traffic["budget_bytes"]
    target.unlink()
    return fault.kind if any(isinstance(got, TYPED) for got in found) else "right"


def test_faults_end_in_errors_and_runs_go_on(case, whole, tmp_path):
    for number in range(40):
        inject(case, whole, tmp_path, number)


@pytest.mark.slow
def test_a_thousand_faults(case, whole, tmp_path):
    for number in range(40, 1040):
        inject(case, whole, tmp_path, number)


ASKED_MEANWHILE = """
import sys, threading, time

sys.path.insert(0, sys.argv[1])
from pathlib import Path
from test_mapped_keys import SLOTS, in_turn
import numpy as np
from rlwe_cases import random_slots, shared_case
from latticework import _core

case, path, raised, asked = shared_case("plain"), Path(sys.argv[2]), threading.Event(), threading.Event()
_core.save_evaluation_keys(path, case.keys)


def fail_ahead(_key, is_ahead):
    if is_ahead:
        raised.set()
        raise OSError(5, "Input/output error")
    asked.wait(20)


keys = _core.MappedKeys(path, case.context, 1 << 20, fail_ahead)
x = case.encrypt(random_slots(np.random.default_rng(7), SLOTS))
executor = _core.Executor(case.context, in_turn([0, 1, 2]), keys)
run = threading.Thread(target=executor.run, args=([x],), daemon=True)
sys.setswitchinterval(100)  # whoever has the interpreter keeps it until it waits for something
run.start()
assert raised.wait(20)
until = time.perf_counter() + 0.1
while time.perf_counter() < until:  # the reader comes to where it drops the error, and waits for the interpreter
    pass
print(keys.traffic["budget_bytes"], flush=True)
asked.set()
run.join()
del executor, keys  # its reader ends before the interpreter does, which it needs
"""


def test_traffic_is_told_while_a_reader_drops_an_error(tmp_path, start_python):
    """An error of Python goes with the interpreter, which who asks for traffic has: neither waits for the other."""
    child = start_python(ASKED_MEANWHILE, str(Path(__file__).parent), str(tmp_path / "keys.lwkeys"))
    try:
        out, errors = child.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        child.kill()
        pytest.fail("the reader and who asks for traffic wait for each other")
    assert (child.returncode, out) == (0, f"{1 << 20}\n"), errors
