"""Results do not depend on the number of threads, on concurrent callers, or on a fork in between."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import ring_oracles as oracle
from backends_here import DEVICES
from ring_oracles import NUM_LIMBS

DEGREE = 1024
LIMBS = list(range(NUM_LIMBS))


def all_results(ring, x):
    """The bytes of every kernel, on enough rows that a pool has something to share."""
    y = ring.ntt(x, LIMBS)
    scalars = [q // 3 for q in ring.primes]
    widths = [q.bit_length() for q in ring.primes]
    results = [
        y,
        ring.intt(x, LIMBS),
        *(kernel(x, y, LIMBS) for kernel in (ring.add, ring.sub, ring.mul)),
        ring.neg(x, LIMBS),
        ring.mul_add(x, y, y, LIMBS),
        ring.mul_scalar(x, scalars, LIMBS),
        ring.add_scalar(x, scalars, LIMBS),
        ring.sub_scale(x, y, scalars, LIMBS),
        ring.dot([x, y], [y, y], LIMBS),
        ring.automorphism(x, 5, LIMBS),
        ring.base_convert(np.ascontiguousarray(x[:, 1:4]), [1, 2, 3], LIMBS),
        ring.expand_uniform(bytes(32), 1, 0, 0, LIMBS),
        ring.import_seeded(ring.export_residues(x[:1], widths, LIMBS), widths, LIMBS, bytes(32), 1, 0, 0),
    ]
    return b"".join(result.tobytes() for result in results) + ring.export_residues(x, widths, LIMBS)


@pytest.fixture
def x(make_ring, rng):
    ring = make_ring(DEGREE)
    polys = 1 if ring.backend in DEVICES else 16  # which have no threads
    return oracle.random_residues(ring.primes, DEGREE, polys, rng)


@pytest.fixture
def make_host_ring(make_ring):
    if make_ring(16).backend in DEVICES:
        pytest.skip("a device stays with the process that found it")
    return make_ring


def test_thread_count_does_not_change_a_bit(make_ring, x):
    expected = all_results(make_ring(DEGREE, threads=1), x)
    for threads in (2, 3, 0) if len(x) > 1 else (3,):
        assert all_results(make_ring(DEGREE, threads=threads), x) == expected, threads


def test_concurrent_callers_share_one_pool(make_ring, x):
    ring = make_ring(DEGREE, threads=3)
    expected = ring.ntt(x, LIMBS).tobytes()
    with ThreadPoolExecutor(4) as callers:
        results = callers.map(lambda _: ring.ntt(x, LIMBS).tobytes(), range(32))
    assert set(results) == {expected}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_pool_survives_a_fork(make_host_ring, x):
    ring = make_host_ring(DEGREE, threads=3)
    expected = ring.ntt(x, LIMBS).tobytes()
    child = os.fork()
    if child == 0:
        same_bytes = ring.ntt(x, LIMBS).tobytes() == expected
        end = time.monotonic() + 10  # a thread that has just begun may not be listed yet
        while num_threads() not in (1, 3) and time.monotonic() < end:  # 1: the system does not tell
            time.sleep(0.01)
        os._exit(0 if same_bytes and num_threads() in (1, 3) else 1)
    assert wait_for(child, seconds=20) == 0
    assert ring.ntt(x, LIMBS).tobytes() == expected  # the parent's workers are untouched


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_in_the_middle_of_a_loop(make_host_ring, x):
    ring = make_host_ring(DEGREE, threads=3)
    expected = ring.ntt(x, LIMBS).tobytes()
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            ring.ntt(x, LIMBS)

    with ThreadPoolExecutor(1) as other:
        running = other.submit(keep_busy)
        try:
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    os._exit(0 if ring.ntt(x, LIMBS).tobytes() == expected else 1)
                assert wait_for(child, seconds=20) == 0
        finally:
            stop.set()
        running.result()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_kernels_leave_room_in_the_stack_of_a_small_thread(make_host_ring, x):
    """musl gives a thread of ours 128 KiB, of which callers need some; a process whose stack is full dies."""
    ring = make_host_ring(DEGREE)
    expected = all_results(ring, x)
    child = os.fork()
    if child == 0:
        threading.stack_size(112 << 10)
        results = []
        thread = threading.Thread(target=lambda: results.append(all_results(ring, x)))
        thread.start()
        thread.join()
        os._exit(0 if results == [expected] else 1)
    assert wait_for(child, seconds=20) == 0


def num_threads():
    """Threads of this process, where the system tells."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else 1


def wait_for(child, seconds):
    """The child's exit code; a child that hangs is ended and reported."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"
