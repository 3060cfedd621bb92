"""Description of the machine that a measurement was taken on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from latticework.values.extension import _core

HERE = Path(__file__).parent


def describe_machine() -> dict[str, Any]:
    """Processor, cores that may be used, memory, graphics processor (None: none is reported by its driver)."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": _processor(), "cores": cores, "memory_gb": round(memory, 1), "gpu": _gpu()}


def _processor() -> str:
    """The model's name; family, model and stepping beside it, since virtual machines hide the name's end."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    fields: dict[str, str] = {}
    for line in info.read_text().splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    name = fields.get("model name", platform.machine())
    if "cpu family" not in fields:
        return name
    return f"{name} (family {fields['cpu family']}, model {fields.get('model')})"


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
