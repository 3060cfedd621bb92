"""Memory that this process can have, and what is left of it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def machine_bytes() -> int:
    """Memory that this process can have at most: of the machine, or of the control group that it runs in."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return physical
    return min(physical, int(limit)) if limit.isdecimal() else physical


def free_bytes() -> int:
    """Memory that this process could still have: of the machine, or of the control group that it runs in."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    with suppress(OSError):  # what files are cached in is free too
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    with suppress(OSError):
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        return min(free, max(0, machine_bytes() - used))
    return free
