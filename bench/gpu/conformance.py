"""The kernels against their oracles, and whole programs against the host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.gpu.equality import equal
from bench.reports import Row
from bench.xehe.place import Place

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "conformance" / "kernels"
SIMULATED = "sim-u64-forward and narrow and 1024 and test_kernels"  # a part, as a simulation is slow
SECONDS = 35.0  # of the kernels
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # of pytest, whatever is installed there
STATUS = {0: None, 5: "no test was chosen: the backend is not there"}


def oracles(place: Place) -> Row:
    """How many tests of the conformance suite pass; ended after a time."""
    chosen = place.kind if place.is_timed else SIMULATED
    command = [sys.executable, "-m", "pytest", str(TESTS), "-k", chosen, "-p", "no:cacheprovider", "--maxfail=20",
               "--tb=short"]  # fmt: skip
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS,
                              env=os.environ | NO_PLUGINS)  # fmt: skip
        said, status = done.stdout + done.stderr, done.returncode
        note = STATUS.get(status, f"pytest ended with status {status}")
    except subprocess.TimeoutExpired as late:
        said, status, note = (late.stdout or b"").decode(), None, f"not over after {SECONDS:.0f} s"
    if status != 0:
        print(said[-8000:], file=sys.stderr)
    counts = {what: int(count) for count, what in re.findall(r"(\d+) (passed|failed|skipped|error)", said)}
    passed = counts.get("passed", said.count(".") if status == 0 else None)
    return Row("kernels against their oracles", "tests passed", "", passed, better="higher", checked=status == 0,
               note=note, required=True, target=1, details=counts | {"chosen": chosen})  # fmt: skip


def rows(place: Place) -> Iterator[Row]:
    """Kernels, then programs in a small and in a large ring."""
    yield oracles(place)
    for log_degree in (12, 16) if place.is_timed else (10, 11):
        yield from equal(log_degree, place)
