"""Profiles of a device, kernel by kernel: how often, for how long, and for which operation."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from latticework.errors import UserError
from latticework.errors.shown import count_noun, describe
from latticework.runtime.devices.device import Device, as_device
from latticework.runtime.devices.operation_names import during, profiled
from latticework.runtime.devices.profile_tables import profile_text
from latticework.runtime.devices.profile_trace import trace_events
from latticework.values.extension import _core

Row = dict[str, Any]
COLUMNS = ("operation", "step", "kernel", "calls", "bytes", "seconds", "mean", "least", "most", "share")
TRANSFORMS = {"ntt", "intt"}
EVENTS = 200_000  # kernels and copies that are kept one by one, 80 bytes each


class profile:
    """`with lw.profile("cuda") as p:` notes every kernel and every copy that this process calls on a device, on all
    queues and threads: on GPUs timed by the device's events, on "cpu" by a clock around each kernel. A simulated device
    has no clock: what it did is counted, and its times are None.

    Kernels are grouped by the operation they are called for: the block `p.operation(name)` that the thread is in, else
    the call of `ckks`, `bfv` or a client, else the instruction of the plan.

    device   "cpu", "cuda:1", "sim" or lw.Device, of which only the name counts
    events   kernels and copies that `trace` has, the first ones; the others are in all sums
    raises   UserError for what is no device, and for one that is being profiled; DeviceError for a GPU that cannot be
             used
    """

    def __init__(self, device: str | Device, *, events: int = EVENTS) -> None:
        if device is None:
            raise UserError('profile: device=None is no device; name one, as "cpu", "cuda" or "sim"')
        if isinstance(events, bool) or not isinstance(events, int) or events < 0:
            raise UserError(f"profile: events={events!r:.60}; give how many kernels the trace is to keep")
        place = as_device(device)
        self.device = "cpu" if place is None else place.name
        number = 0 if place is None else place._number
        self._core = _core.ProfiledDevice("cpu" if place is None else place._kind, number)
        self._events = events
        self._profile: _core.Profile | None = None

    # -- what is profiled --------------------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            self._profile = self._core.start(self._events)
        except ValueError:
            message = f"profile: {self.device} is being profiled already; one profile of a device at a time"
            raise UserError(message) from None
        profiled.append(self.device)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._core.stop()
        profiled.remove(self.device)
        self._core.settle()

    def operation(self, name: str) -> during:
        """`with p.operation("layer 1"):` what this thread does in the block is grouped under that name."""
        if not isinstance(name, str) or not name or any("\ud800" <= c <= "\udfff" for c in name):
            raise UserError(f"profile: operation {name!r:.60}; give it a name, a text of Unicode")
        return during(name, is_named=True)

    def clear(self) -> None:
        """Forget what was noted so far, after waiting for it."""
        if self._profile is not None:
            self._core.settle()
            self._profile.clear()

    # -- what was found ----------------------------------------------------------------------

    def rows(self) -> list[Row]:
        """One dict for each kernel of each step of each operation, those that took longest first:

        operation, step  what was asked for, and what was done for it; "" for what has no name
        kernel           or "copy to the device" and its like
        calls, bytes     how often; bytes of copies, 0 for kernels
        seconds          in all; None where the device has no clock, as are mean, least and most of a call
        share            of the time of all rows; without a clock of the calls
        """
        return [
            {"operation": operation, "step": step, **row}
            for (operation, step, _kernel), row in self._sums("operation", "step", "kernel")
        ]

    def kernels(self) -> list[Row]:
        """The same for each kernel over all operations: kernel, calls, bytes, seconds, mean, least, most, share."""
        return [row for _key, row in self._sums("kernel")]

    def operations(self) -> list[Row]:
        """The same for each operation over all its kernels: operation, calls, bytes, seconds, share; `times` that it
        was begun, `mean` seconds of each, and `transforms`, the share of number-theoretic transforms in its kernels.
        """
        times = self._totals()["times"]
        found = []
        for (operation,), row in self._sums("operation"):
            count = times.get(operation, 0)
            mean = None if row["seconds"] is None or not count else row["seconds"] / count
            kept = {name: row[name] for name in ("calls", "bytes", "seconds", "share")}
            share = self._transforms(operation)
            found.append({"operation": operation, "times": count, **kept, "mean": mean, "transforms": share})
        return found

    @property
    def calls(self) -> int:
        """Kernels that were called."""
        return sum(row["calls"] for row in self.kernels() if not row["bytes"])

    @property
    def seconds(self) -> float | None:
        """The time of all kernels and copies, which may have overlapped; None where the device has no clock."""
        return _sum(row["seconds"] for row in self.kernels())

    @property
    def transforms(self) -> float | None:
        """The share of number-theoretic transforms in the time of all kernels, without a clock in their number; None
        where there were none. On "cpu" without those that key_switch, diag_sums and mod_down carry out themselves.
        """
        return self._transforms(None)

    @property
    def left_out(self) -> int:
        """Kernels and copies that are in the sums and not in the trace."""
        return int(self._totals()["left_out"])

    def table(self) -> str:
        """Kernels and operations as text; `str(p)` is the same."""
        return profile_text(self.device, self.rows(), self.kernels(), self.operations(), self.transforms)

    __str__ = table

    def csv(self, path: str | Path | None = None) -> str:
        """`rows()` as comma-separated values with a line of names, which are also written to a file if one is given."""
        text = StringIO(newline="")
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        if path is not None:
            Path(path).write_text(text.getvalue(), encoding="utf-8", newline="")
        return text.getvalue()

    def trace(self, path: str | Path) -> None:
        """Write a trace for Perfetto or chrome://tracing: each kernel, in its step, in its operation, by queue (by
        thread on "cpu"). Without a clock a microsecond there stands for a kernel or a copy, in the order of calls.
        """
        self._core.settle()
        events = [] if self._profile is None else self._profile.events()
        found = {
            "traceEvents": trace_events(self.device, events),
            "displayTimeUnit": "ns",
            "otherData": {"device": self.device, "left out": self.left_out},
        }
        Path(path).write_text(json.dumps(found), encoding="utf-8")

    # -- sums --------------------------------------------------------------------------------

    def _totals(self) -> dict[str, Any]:
        self._core.settle()
        return {"kernels": [], "times": {}, "left_out": 0} if self._profile is None else self._profile.sums()

    def _sums(self, *names: str) -> list[tuple[tuple[str, ...], Row]]:
        """Sums over all that have these names, those that took longest first."""
        grouped: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        for found in self._totals()["kernels"]:
            parts = dict(zip(("operation", "step", "kernel"), found[:3], strict=True))
            grouped.setdefault(tuple(parts[name] for name in names), []).append(found[3:])
        rows = [(key, _row(key[-1], found)) for key, found in grouped.items()]
        all_seconds, all_calls = _sum(row["seconds"] for _, row in rows), sum(row["calls"] for _, row in rows)
        for _key, row in rows:
            row["share"] = (
                row["calls"] / all_calls if all_seconds is None else (row["seconds"] or 0) / (all_seconds or 1)
            )
        return sorted(rows, key=lambda found: (-(found[1]["seconds"] or 0), -found[1]["calls"], found[0]))

    def _transforms(self, operation: str | None) -> float | None:
        """Share of transforms in what kernels of an operation, or of all, took."""
        kernels = [row for row in self.rows() if not row["bytes"] and operation in (None, row["operation"])]
        what = "calls" if _sum(row["seconds"] for row in kernels) is None else "seconds"
        total = sum(row[what] or 0 for row in kernels)
        transforms = sum(row[what] or 0 for row in kernels if is_transform(row["kernel"]))
        return transforms / total if total else None

    def __repr__(self) -> str:
        return describe("profile", self.device, count_noun(self.calls, "kernel call"))


def is_transform(kernel: str) -> bool:
    """Whether a kernel is a number-theoretic transform, of whichever arithmetic and form."""
    return not TRANSFORMS.isdisjoint(kernel.split("_"))


def _row(kernel: str, found: list[tuple[Any, ...]]) -> Row:
    """The sum of tuples (calls, bytes, of them timed, seconds, least, most)."""
    calls, total_bytes, timed = (sum(one[i] for one in found) for i in range(3))
    seconds = _sum(one[3] for one in found)
    least, most = ([one[i] for one in found if one[i] is not None] for i in (4, 5))
    mean = None if seconds is None else seconds / timed
    return {"kernel": kernel, "calls": calls, "bytes": total_bytes, "seconds": seconds, "mean": mean,
            "least": min(least, default=None), "most": max(most, default=None)}  # fmt: skip


def _sum(values: Any) -> float | None:
    """Sum the values that are known; None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
