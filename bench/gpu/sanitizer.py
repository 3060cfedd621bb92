"""Small programs under compute-sanitizer: no access out of bounds, no race in shared memory."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.reports import Row
from bench.xehe.place import Place

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer")
CHECKS = ("memcheck", "racecheck")
SECONDS = 28.0  # of each
FAILED = 9
PROGRAM = [sys.executable, "-m", "bench.gpu.equality"]


def check(place: Place, name: str) -> Row:
    """One tool of it. A simulated device looks at every access itself, and needs none."""
    found = next(filter(None, (shutil.which("compute-sanitizer", path=path) for path in (None, *PLACES))), None)
    case, note = f"programs under {name}, N = 2^12", None
    command = [found or "", "--tool", name, "--target-processes", "all", "--error-exitcode", str(FAILED)]
    if not place.is_timed:
        case, note, command = f"programs, N = 2^10, in place of {name}", "checked by the simulated device", []
    elif found is None:
        return Row(case, "errors", "", None, note="compute-sanitizer is not installed", required=True)
    try:
        done = subprocess.run([*command, *PROGRAM, place.kind], cwd=ROOT, capture_output=True, text=True, check=False,
                              timeout=SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:
        return Row(case, "errors", "", None, note=f"not over after {SECONDS:.0f} s", required=True)
    said, is_well = done.stdout + done.stderr, done.returncode == 0
    if not is_well:
        print(said[-8000:], file=sys.stderr)
    summary = re.search(r"ERROR SUMMARY: (\d+)|RACECHECK SUMMARY: (\d+)", said)
    errors = int(summary[1] or summary[2]) if summary else 0 if is_well and not place.is_timed else None
    return Row(case, "errors", "", errors, target=0, checked=is_well, required=True,
               note=note if is_well else f"status {done.returncode}")  # fmt: skip


def rows(place: Place) -> Iterator[Row]:
    """A row for each tool."""
    for name in CHECKS:
        yield check(place, name)
