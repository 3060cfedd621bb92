"""A device with an arithmetic, and the host beside it. On a simulation things are counted, and nothing is timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.reports import Row
from latticework import _core
from latticework.runtime.devices.device import Device
from latticework.runtime.devices.drivers import DRIVERS

DEVICES = (*DRIVERS, "sim")
HOST = "the host's processors, same run"
COUNTED = "a simulated device: counts, no times"
COUNTS = ("launches", "bytes_up", "bytes_down", "host_waits", "allocations", "replays")


@dataclass(frozen=True)
class Place:
    """device: the first of its kind; failures: that there were on it before."""

    device: Device
    failures: int

    @classmethod
    def of(cls, kind: str, arithmetic: str = "auto", *, cache: bool = True) -> Place:
        """raises  DeviceError for a GPU that cannot be used"""
        device = Device(kind, arithmetic=arithmetic, cache=cache)
        return cls(device, _core.settle_device(device._kind, 0)[1])

    @property
    def kind(self) -> str:
        """One of DEVICES."""
        return self.device._kind

    @property
    def is_timed(self) -> bool:
        """Whether times say anything."""
        return self.kind != "sim"

    @property
    def backend(self) -> str:
        """As rings name it."""
        return self.device._backend

    def wait(self) -> None:
        """For all that was called, on any queue."""
        if _core.settle_device(self.kind, 0)[1] > self.failures:
            _core.check_device(self.kind, 0)

    def seconds(self, run: Callable[[], Any], calls: int = 1, repeats: int = 5) -> float:
        """Median of stretches of so many calls, each waited for at its end; one before them is not counted."""
        run()
        self.wait()
        taken = []
        for _ in range(repeats):
            start = time.perf_counter()
            for _ in range(calls):
                run()
            self.wait()
            taken.append((time.perf_counter() - start) / calls)
        return median(taken)

    def counts(self, run: Callable[[], Any], *, is_first: bool = True) -> dict[str, Any]:
        """What a simulated device is asked for in a run, after another one where none was before."""
        simulated = _core.SimulatedDevice(self.backend)
        if is_first:
            run()
        self.wait()
        simulated.reset_counters()
        run()
        waits = simulated.counters()["host_waits"]
        self.wait()
        found = simulated.counters() | {"host_waits": waits}
        kernels = found["launches"]
        return {**{name: found[name] for name in COUNTS}, "launches": sum(kernels.values()), "kernels": kernels}


def host_seconds(run: Callable[[], Any], repeats: int = 3) -> float:
    """Of one call on the host, the median after one that is not counted."""
    run()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return median(taken)


def counted(case: str, found: dict[str, Any], **facts: Any) -> Row:
    """The row of a case on a simulation: launches, with what else was counted as details."""
    names = {"bytes_up": "bytes up", "bytes_down": "bytes down", "host_waits": "synchronisations"}
    details = {names.get(name, name): value for name, value in found.items() if name != "launches"}
    said = ", ".join(f"{details[name]} {name}" for name in names.values())
    note = "; ".join(filter(None, (said, facts.pop("note", None))))
    return Row(case, "launches", "", found["launches"], note=note, details=details | facts.pop("details", {}), **facts)
