"""The garbage collector while something large is built: seldom, so that its walks do not cost more than the work.

Modules are cyclic (values know who reads them) and live as long as a compilation, so every walk over them finds nothing
and takes longer than the one before: a third of the time of a program of 10,000 statements.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (100_000, 20, 50)  # objects between walks over the youngest, and how many of those between wider ones

_lock = threading.Lock()
_inside: list[tuple[int, int, int]] = []  # what each that is at work found, the first those to go back to


@contextmanager
def collect_seldom() -> Iterator[None]:
    """Wide thresholds until the last of all that run side by side has left."""
    with _lock:
        _inside.append(gc.get_threshold())
        if _inside[0][0]:  # 0: whoever runs this wants no collection at all
            gc.set_threshold(*(max(a, b) for a, b in zip(SELDOM, _inside[0], strict=True)))
    try:
        yield
    finally:
        with _lock:
            thresholds = _inside.pop()
            if not _inside:
                gc.set_threshold(*thresholds)
