"""What users say about machines: device, threads, memory."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from latticework import _core
from latticework.devices.device import Device, as_device, context_on
from latticework.errors import UserError
from latticework.params import ModulusChain
from latticework.words.whole import whole_number

MAX_THREADS = 1024


def open_context(chain: ModulusChain, device: str | Device | None, threads: int) -> _core.Context:
    """The core's context for these parameters on a device.

    raises  UserError for what is no device, or a number of threads that is none; DeviceError for a device that cannot
            be used
    """
    place = as_device(device)
    count = whole_number(threads)
    if count is None or not 0 <= count <= MAX_THREADS:
        raise UserError(f"threads={threads!r}; give a whole number from 1 to {MAX_THREADS}, or 0 for one per core")
    return context_on(chain, place, count)


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


def check_readers(readers: int) -> int:
    """A number of threads that read keys."""
    count = whole_number(readers)
    if count is None or not 0 <= count <= MAX_THREADS:
        raise UserError(f"key_readers={readers!r}; give a whole number from 0 to {MAX_THREADS}; one is usually enough")
    return count
