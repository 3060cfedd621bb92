"""What users say about machines: device, threads, memory."""

from __future__ import annotations

import re
from math import inf

from latticework import _core
from latticework.errors import UserError
from latticework.params import ModulusChain
from latticework.params.fingerprint import core_parameters

DEVICES = {"cpu": "auto"}  # device name -> backend
DEFAULT_MEMORY = "4GB"
MAX_THREADS = 1024
_MAX_BYTES = 1 << 62
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip


def open_context(chain: ModulusChain, device: str, threads: int) -> _core.Context:
    """The core's context for these parameters on a device.

    raises  UserError for a device that is not there, or a number of threads that is none
    """
    if device not in DEVICES:
        raise UserError(f"device={device!r} is not available here; choose one of: {', '.join(DEVICES)}")
    if isinstance(threads, bool) or not isinstance(threads, int) or not 0 <= threads <= MAX_THREADS:
        raise UserError(f"threads={threads!r}; give a whole number from 1 to {MAX_THREADS}, or 0 for one per core")
    return _core.Context(core_parameters(chain), DEVICES[device], threads)


def parse_bytes(amount: str | int, option: str = "memory") -> int:
    """A number of bytes from 4000000000, "4GB" or "512MiB"; `option` is what messages call it."""
    number: float = -1
    if isinstance(amount, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", amount)
        unit = _UNITS.get(match[2].upper()) if match is not None else None
        if match is not None and unit is not None:
            number = float(match[1]) * unit
    elif isinstance(amount, int) and not isinstance(amount, bool):
        number = amount
    if not 0 <= number < inf:
        raise UserError(
            f"{option}={amount!r} is not an amount of memory; write it as '4GB', '512MiB' or a number of bytes"
        )
    return min(int(number), _MAX_BYTES)
