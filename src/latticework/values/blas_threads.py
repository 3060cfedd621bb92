"""One thread for matrix products, while threads of ours compute several of them at the same time.

Threads of OpenBLAS wait for each other in loops: with two callers that have two each, products take ten times
as long. Last bits of some products depend on the number of threads, so a compilation has one on every machine.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

_FOLDERS = ("../numpy.libs", ".dylibs")  # of libraries that NumPy brings along, from its own
_SUFFIXES = ("64_", "")
_lock = threading.Lock()
_inside: list[int] = []  # threads that each who is at work found, the first those to go back to


class OpenBlas(NamedTuple):
    """The number of threads of NumPy's products: how it is read and set."""

    read: Callable[[], int]
    set: Callable[[int], None]


@cache
def _openblas() -> OpenBlas | None:
    """NumPy's own OpenBLAS; None where it has another library."""
    folder = Path(np.__file__).parent
    for file in (found for name in _FOLDERS for found in sorted((folder / name).glob("*openblas*"))):
        library = ctypes.CDLL(str(file))
        for suffix in _SUFFIXES:
            names = (f"scipy_openblas_{what}_num_threads{suffix}" for what in ("get", "set"))
            found = [getattr(library, name, None) for name in names]
            if None not in found:
                return OpenBlas(*found)  # type: ignore[arg-type]
    return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let products have one thread each, until the last of all that run side by side has left."""
    blas = _openblas()
    if blas is None:
        yield
        return
    with _lock:
        _inside.append(blas.read())
        blas.set(1)
    try:
        yield
    finally:
        with _lock:
            threads = _inside.pop()
            if not _inside:
                blas.set(threads)


def has_one_blas_thread() -> bool:
    """Whether products have one thread each, as far as that is known."""
    blas = _openblas()
    if blas is not None:
        return blas.read() == 1
    name = np.__config__.CONFIG.get("Build Dependencies", {}).get("blas", {}).get("name", "")
    return "openblas" not in name
