"""Processes in which cases come out the same on every machine of a kind.

Plans hold numbers of calibration, and NumPy, its BLAS and the C library compute the last bits of some functions
differently by what the processor can do. So all of them are told to do what every processor of the kind can: what was
compiled on x86-64 is pinned, and elsewhere some plans have other last bits. Keys and encryptions draw from
getrandom(2), which `fixed_entropy.cpp` stands in for.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath as loops

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SECONDS = 1200
PINNED_MACHINE = platform.machine() in ("x86_64", "AMD64")
OPENBLAS = {"x86_64": "Nehalem", "AMD64": "Nehalem", "aarch64": "ARMV8", "arm64": "ARMV8"}  # the least of each kind
PROCESSES = 2


def run(*arguments: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """What `child.py` says of cases, name -> plans, outputs, seconds; two processes share the cases out.

    environment  beside what pins the processes, or instead of it
    """
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PROCESSES) as pool:
        library = Path(folder) / "fixed_entropy.so"
        build = [os.environ.get("CXX", "c++"), "-O1", "-shared", "-fPIC", str(HERE / "fixed_entropy.cpp")]
        subprocess.run([*build, "-o", str(library)], check=True, timeout=SECONDS)
        preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), str(library)]))
        whole = os.environ | pins() | {"LD_PRELOAD": preload} | (environment or {})
        shares = pool.map(lambda share: _started([*arguments, f"--share={share}/{PROCESSES}"], whole), range(PROCESSES))
        return {name: made for share in shares for name, made in share.items()}


def _started(arguments: list[str], environment: dict[str, str]) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, str(HERE / "child.py"), *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"tests/witness/child.py failed:\n{ended.stderr[-4000:]}")
    made: dict[str, Any] = json.loads(ended.stdout)
    return made


def pins() -> dict[str, str]:
    """The environment that makes numbers and orders the same everywhere."""
    here = [name for name in loops.__cpu_dispatch__ if loops.__cpu_features__[name]]
    return {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "NPY_DISABLE_CPU_FEATURES": " ".join(here),
        "OPENBLAS_CORETYPE": OPENBLAS.get(platform.machine(), ""),
        "OPENBLAS_NUM_THREADS": "1",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4",
    }


def versions() -> dict[str, str]:
    """What else the last bits of calibrated numbers, and the columns of lines, can depend on."""
    libc = " ".join(platform.libc_ver())
    return {"python": ".".join(platform.python_version_tuple()[:2]), "numpy": np.__version__, "libc": libc}
