"""Ctrl-C during long work: it ends soon, with KeyboardInterrupt, nothing half-written, everything usable afterwards."""

import contextlib
import signal
import textwrap
import time

import pytest

SECONDS = 2.0
PROGRAM = """
import os, signal, sys
import numpy as np
import latticework as lw

rng = np.random.default_rng(0)
weights = rng.uniform(-1, 1, (16, 16)), rng.uniform(-1, 1, (16, 4))

@lw.program
def mlp(x: lw.Secret[8, 16], w1, w2):
    return lw.relu(x @ w1, degree=15) @ w2

def compiled(degree=32768):
    data = np.random.default_rng(1).uniform(-1, 1, (64, 16))
    return lw.compile(mlp, weights=weights, calibrate=data, ring_degree=degree, insecure=True)

def interrupted(work):
    try:
        print("started", flush=True)
        while True:
            work()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
BODIES = {
    "compile": """
        small = compiled(2048)
        interrupted(compiled)
        assert compiled(2048).plan.client == small.plan.client
    """,
    "keygen": """
        client = compiled().client(threads=1)
        client.keygen()
        x = np.zeros((8, 16))
        before = client.encrypt(x)
        interrupted(client.keygen)
        client.encrypt(x)
        assert len(client.public_keys().evaluation) == len(client.spec.manifest.uses)
    """,
    "evaluation": """
        model = compiled()
        client = model.client(threads=2)
        server = model.server(client.keygen().public(), threads=2)
        inputs = client.encrypt(rng.uniform(-1, 1, (8, 16)))
        before = server(inputs).to_bytes()
        interrupted(lambda: server(inputs))
        assert server(inputs).to_bytes() == before
    """,
    "saving": """
        model = compiled()
        keys = model.client(threads=1).keygen()
        interrupted(lambda: keys.public().save("keys"))
        left = set(os.listdir("keys"))
        assert left <= {"evaluation.lwkeys", "public.lwkey"}, left
        keys.save("keys")
        model.save("plan")
        lw.Server.load("plan", "keys/evaluation.lwkeys", threads=1)
    """,
    "loading": """
        model = compiled()
        model.client(threads=1).keygen().public().save("keys")
        model.save("plan")
        interrupted(lambda: lw.Server.load("plan", "keys", threads=1))
        lw.Server.load("plan", "keys", threads=1)
    """,
}


@pytest.mark.parametrize("delay", [0.05, 0.23])
@pytest.mark.parametrize("body", BODIES)
def test_ctrl_c(body, delay, start_python, tmp_path):
    child = start_python(PROGRAM + textwrap.dedent(BODIES[body]), cwd=tmp_path)
    assert child.stdout.readline() == "started\n", child.stderr.read()
    time.sleep(delay)
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    answer = child.stdout.readline()
    ended = time.monotonic()
    _, errors = child.communicate()
    assert answer == "interrupted\n" and ended - sent < SECONDS, errors
    assert child.returncode == 0, errors


def test_ctrl_c_that_nobody_catches(start_python, tmp_path):
    child = start_python(PROGRAM + "print('started', flush=True)\nwhile True:\n    compiled()\n", cwd=tmp_path)
    assert child.stdout.readline() == "started\n", child.stderr.read()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=SECONDS)
    assert child.returncode == -signal.SIGINT and errors.rstrip().endswith("KeyboardInterrupt")
    assert not list(tmp_path.iterdir())


@contextlib.contextmanager
def ignoring(number):
    previous = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, previous)


@contextlib.contextmanager
def holding_back(number):
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


@pytest.mark.parametrize("parent", [ignoring, holding_back])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_what_the_parent_of_the_tests_does_with_signals(number, parent, start_python):
    """A background job of a shell ignores SIGINT, which `nohup make test &` is: the processes of tests hear it."""
    with parent(number):
        child = start_python("import time\nprint('started', flush=True)\ntime.sleep(60)")
    assert child.stdout.readline() == "started\n"
    child.send_signal(number)
    child.communicate(timeout=10 * SECONDS)
    assert child.returncode == -number
