"""What a machine has room for."""

from __future__ import annotations

import os
from pathlib import Path

from latticework.plan.analysis.estimate import CostEstimate
from latticework.runtime.server.shares import DEFAULT_CONSTANTS

SPARE_BYTES = 1 << 28  # for tables, and what predictions are short of


def available_bytes() -> int:
    """Memory that could be had without swapping; all there is where the system does not tell."""
    status = Path("/proc/meminfo")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def constant_bytes(cost: CostEstimate, share: float) -> int:
    """What a server may keep of encoded constants: all, if the machine has room beside ciphertexts and keys.

    share  of what is available, that a run may take
    """
    room = int(share * available_bytes()) - cost.memory.values - cost.memory.keys
    return max(min(cost.memory.constants * 9 // 8, room), DEFAULT_CONSTANTS)


def server_bytes(cost: CostEstimate, constants: int) -> int:
    """What a server gets that may keep so much of encoded constants."""
    return constants + (cost.memory.values + cost.memory.keys) * 9 // 8 + SPARE_BYTES
