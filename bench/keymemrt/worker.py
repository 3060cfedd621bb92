"""One server in a process of its own: its runs, and what they took."""

from __future__ import annotations

import hashlib
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import latticework as lw


def serve(
    folder: str, options: dict[str, Any], runs: int, cold: bool, limit_bytes: int | None = None
) -> Iterator[dict[str, Any]]:
    """First what loading took, then each run.

    cold         the key file leaves the system's cache before each run
    limit_bytes  private memory that the system lets the process have, Python included
    """
    if limit_bytes is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
    place = Path(folder)
    server = lw.Server.load(place / "model.lwplan", place / "keys" / "evaluation.lwkeys", **options)
    inputs = server.load_encrypted(place / "in.lwct")
    yield {"loaded_bytes": _status("VmRSS") * 1024}
    result: lw.Encrypted | None = None
    for _ in range(runs):
        if cold:
            _forget(place / "keys" / "evaluation.lwkeys")
        before, started, clock = server.key_traffic, time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        result = server(inputs)
        data = result.to_bytes()
        seconds, end = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
        yield {
            "seconds": seconds,
            "processor_s": end.ru_utime + end.ru_stime - clock.ru_utime - clock.ru_stime,
            "digest": hashlib.sha256(data).hexdigest(),
            "peak_bytes": _status("VmHWM") * 1024,  # `ru_maxrss` counts what the starting process held
            "anonymous_bytes": _status("RssAnon") * 1024,
            "traffic": None if before is None or server.key_traffic is None else asdict(server.key_traffic),
            "loads": 0 if before is None or server.key_traffic is None else server.key_traffic.loads - before.loads,
            "stall_s": 0.0
            if before is None or server.key_traffic is None
            else server.key_traffic.stall_s - before.stall_s,
        }
    if result is not None:
        result.save(place / "out.lwct")


def _status(field: str) -> int:
    """Of this process, in KiB."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(f"{field}:")).split()[1])


def _forget(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
