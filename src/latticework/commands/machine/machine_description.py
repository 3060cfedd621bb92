"""Description of the machine that a measurement was taken on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from latticework.plan.machine.processor import name_processor
from latticework.values.cores import count_cores
from latticework.values.extension import _core

HERE = Path(__file__).parent


def describe_machine() -> dict[str, Any]:
    """Processor, cores that may be used, memory, graphics processor (None: none is reported by its driver)."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cpu": name_processor(), "cores": count_cores(), "memory_gb": round(memory, 1), "gpu": _gpu()}


def _gpu() -> str | None:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    command = [tool, "--query-gpu=name", "--format=csv,noheader"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return next(iter(found.stdout.strip().splitlines()), None) if found.returncode == 0 else None


def default_backend() -> str:
    """The fastest kernels that are compiled in."""
    return "auto" if "cpu" in _core.backend_names() else "ref"


def commit() -> str | None:
    """The commit of the working tree that this package lies in, None outside of one."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "rev-parse", "--short", "HEAD"]
    found = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None
