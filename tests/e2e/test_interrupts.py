"""Ctrl-C during long work: it ends soon, with KeyboardInterrupt, nothing half-written, everything usable afterwards."""

import os
import signal
import subprocess
import sys
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
    return lw.relu(x @ w1) @ w2

def compiled(degree=32768):
    data = np.random.default_rng(1).uniform(-1, 1, (64, 16))
    return lw.compile(mlp, weights=weights, calibrate=data, ring_degree=degree, insecure=True)

def interrupted(work):
    print("started", flush=True)
    try:
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
        lw.Server.load("plan", "keys", threads=1)
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
def test_ctrl_c(body, delay, tmp_path):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    script = PROGRAM + textwrap.dedent(BODIES[body])
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with child:
        assert child.stdout.readline() == "started\n", child.stderr.read()
        time.sleep(delay)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        answer = child.stdout.readline()
        ended = time.monotonic()
        _, errors = child.communicate(timeout=60)
    assert answer == "interrupted\n" and ended - sent < SECONDS, errors
    assert child.returncode == 0, errors


def test_ctrl_c_that_nobody_catches(tmp_path):
    script = PROGRAM + "print('started', flush=True)\nwhile True:\n    compiled()\n"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with child:
        assert child.stdout.readline() == "started\n"
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=SECONDS)
    assert child.returncode == -signal.SIGINT and errors.rstrip().endswith("KeyboardInterrupt")
    assert not list(tmp_path.iterdir())
