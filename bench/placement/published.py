"""Published latencies of operations and bootstraps by level, between the levels that they are published for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

TABLES = json.loads(Path(__file__).with_name("published.json").read_text())
RESIDUAL: int = TABLES["residual"]


@cache
def latencies(name: str, residual: int = RESIDUAL) -> tuple[float, ...]:
    """Seconds at the levels 0 to `residual`, on the straight lines between published points and beyond them."""
    levels, microseconds = zip(*((int(k), v) for k, v in TABLES[name].items()), strict=True)
    wanted = np.arange(residual + 1)
    found = np.interp(wanted, levels, microseconds)
    for end, inner, beyond in ((0, 1, wanted < levels[0]), (-1, -2, wanted > levels[-1])):
        slope = (microseconds[end] - microseconds[inner]) / (levels[end] - levels[inner])
        found[beyond] = microseconds[end] + slope * (wanted[beyond] - levels[end])
    return tuple(float(v) * 1e-6 for v in np.maximum(found, 0.0))
