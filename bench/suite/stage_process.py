"""A stage as a process: what it took with its start, and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from latticework.errors import UserError

MEASURE = Path(__file__).with_name("measure_process.py")
IN_FILES = ("load plan and keys", "load inputs", "write outputs")  # steps of `run` beside the run itself


class StageError(UserError, RuntimeError):
    """A stage that ended with another status than 0."""


@dataclass(frozen=True)
class StageUsage:
    """What a stage took, with all processes that it started.

    seconds            wall time from the start of the process to its end
    processor_seconds  of all threads, user and system
    work_seconds       wall time without the start: of the steps that its command tells of by -v, that is reading,
                       work and writing; None for stages that tell of none
    peak_bytes         resident memory of its largest process
    told               the object that its command printed by --json
    """

    seconds: float
    processor_seconds: float
    work_seconds: float | None
    peak_bytes: int
    told: dict[str, Any]

    def content(self) -> dict[str, Any]:
        """The figures, as results files hold them."""
        return {
            "seconds": self.seconds, "processor_seconds": self.processor_seconds, "work_seconds": self.work_seconds,
            "peak_bytes": self.peak_bytes,
        }  # fmt: skip


def run_stage(command: list[str], folder: Path) -> StageUsage:
    """Run a stage in a folder.

    raises  StageError, with what the stage said, where it did not end well
    """
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        done = subprocess.run(
            [sys.executable, "-S", "-E", str(MEASURE), str(report), *command],
            cwd=folder, env=os.environ | {"PATH": search}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not report.exists():
            raise StageError(f"{command[0]} in {folder} could not be started: {done.stderr.strip()}")
        found = json.loads(report.read_text())
    told = read_told(done.stdout)
    status = found.pop("status")
    if status:
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        error = told.get("error", {})
        said = f"{error['kind']}: {error['message']}" if error else done.stderr.strip() or "nothing"
        raise StageError(f"{command[0]} {how}, and said: {said}. It was run in {folder}")
    return StageUsage(**found, work_seconds=work_seconds(told), told=told)


def read_told(output: str) -> dict[str, Any]:
    """The object of the last line that is one, of what a stage printed; {} without."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            found: dict[str, Any] = json.loads(line)
            return found
    return {}


def work_seconds(told: dict[str, Any]) -> float | None:
    """Seconds of the steps that a command told of; of `run` its kinds of instructions are within the run."""
    steps = {step["name"]: step["seconds"] for step in told.get("steps", ())}
    if "seconds" in told:
        return told["seconds"] + sum(steps.get(name, 0.0) for name in IN_FILES)
    return sum(steps.values()) if steps else None
