"""The processor of the machine at hand, and how many of its cores may be used."""

from __future__ import annotations

import platform
from functools import lru_cache
from pathlib import Path

from latticework.values.extension import _core

# What tells models apart where their name does not: virtual machines of x86 hide its end, and ARM's kernel gives none.
TELLING = (("cpu family", "family"), ("model", "model"), ("CPU implementer", "implementer"), ("CPU part", "part"))


def name_processor(info: Path = Path("/proc/cpuinfo")) -> str:
    """The model's name, with the numbers that its maker gave it."""
    if not info.exists():
        return platform.processor() or platform.machine()
    fields: dict[str, str] = {}
    for line in info.read_text().splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    numbers = ", ".join(f"{shown} {fields[name]}" for name, shown in TELLING if name in fields)
    return fields.get("model name", platform.machine()) + (f" ({numbers})" if numbers else "")


@lru_cache(maxsize=8)
def name_backend(asked: str = "auto") -> str:
    """The backend of the core that a name stands for on this machine."""
    return _core.Ring(1 << 10, _core.primes_near(2.0**40, 1 << 11, 1), backend=asked, threads=1).backend
