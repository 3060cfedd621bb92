"""Whatever bytes are read as a key, a ciphertext, a plaintext, a plan or parameters: a clean error, or a sound object."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from file_mutants import KINDS

SCRIPT = Path(__file__).parents[2] / "cases" / "file_mutants.py"
OURS = {"FormatError", "ParameterMismatchError", "SecretKeyError", "SecurityError", "MissingKeyError", "same", "other"}


def outcomes(kind, count):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_ARENA_MAX": "1"}
    command = [sys.executable, str(SCRIPT), kind, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, f"{kind}: status {done.returncode}\n{done.stderr}"
    return Counter(json.loads(done.stdout))


def check(kind, count):
    counted = outcomes(kind, count)
    assert counted.total() == count
    assert not set(counted) - OURS, counted
    assert counted["FormatError"] > count / 2, counted
    print(kind, dict(counted))


@pytest.mark.parametrize("kind", KINDS)
def test_altered_objects(kind):
    check(kind, 200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_altered_objects(kind):
    check(kind, 2000)
