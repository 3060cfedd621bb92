"""Where tests find the cases that they share, and Python processes of their own for them.

Such processes get signals, none outlives its test, and no wait for one is endless.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

# Processes of the suite run side by side, and threads of NumPy and PyTorch that wait for work keep a core busy: fits of
# many points took up to twenty times the processor time. NumPy reads this when it is imported, and so do child processes.
for library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ["LATTICEWORK_PRICES"] = "table"  # reports say the same on every machine, and no test measures one
HERE = Path(__file__).parent
sys.path[1:1] = [str(HERE / "cases"), *sorted(str(room) for room in (HERE / "unit").iterdir() if room.is_dir())]

SECONDS = 60
# A parent that ignores a signal or holds it back hands that on: a shell's background job does so with SIGINT, which
# `nohup make test &` is, and some runners of jobs with others.
HEARS_SIGNALS = """import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
"""


@pytest.fixture
def start_python():
    """A function that starts Python on a script; its pipes end when it does, after SECONDS at the latest."""
    started = []

    def start(script, *arguments, cwd=None):
        child = subprocess.Popen(
            [sys.executable, "-c", HEARS_SIGNALS + script, *arguments],
            cwd=cwd,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        watchdog = threading.Timer(SECONDS, child.kill)
        watchdog.daemon = True
        watchdog.start()
        started.append((child, watchdog))
        return child

    yield start
    for child, watchdog in started:
        watchdog.cancel()
        child.kill()
        with child:  # closes its pipes and waits
            pass
