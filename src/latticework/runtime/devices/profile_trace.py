"""The events of a profile in the JSON format of chrome://tracing, which Perfetto reads too."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

Event = dict[str, Any]
UNIT = 1e6  # microseconds in a second


def trace_events(device: str, found: list[tuple[Any, ...]]) -> list[Event]:
    """Metadata and complete events; each track is in the order of its beginnings, what encloses before what is in it.

    found  tuples (operation, step, kernel, lane, order, bytes, numbers of operation and step, start, seconds)
    """
    number = int(device.rpartition(":")[2]) if ":" in device else 0
    has_clock = any(one[8] is not None for one in found)
    if has_clock:
        found = [one for one in found if one[7] is not None and one[8] is not None]
    label = device if has_clock or not found else f"{device} (no clock: calls in their order)"
    events: list[Event] = [{"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": label}}]
    lane_word = "thread" if device == "cpu" else "queue"
    lanes: dict[int, list[Event]] = {}
    for one in found:
        lanes.setdefault(one[3], []).append(_kernel(one, number, has_clock))
    for lane, kernels in sorted(lanes.items()):
        label = f"{lane_word} {lane}"
        events.append({"ph": "M", "name": "thread_name", "pid": number, "tid": lane, "args": {"name": label}})
        kernels.sort(key=itemgetter("ts"))
        of_operations = list(_enclosing("operation", kernels))
        of_steps = [step for step in _enclosing("step", kernels) if step["name"] != step["args"]["operation"]]
        events += sorted([*of_operations, *of_steps, *kernels], key=itemgetter("ts"))
    for event in events:
        event.pop("in", None)
    return events


def _kernel(one: tuple[Any, ...], pid: int, has_clock: bool) -> Event:
    operation, step, kernel, lane, order, size, operation_number, step_number, start, seconds = one
    args = {"operation": operation, "step": step, "order": order} | ({"bytes": size} if size else {})
    begin, length = (start * UNIT, seconds * UNIT) if has_clock else (float(order), 1.0)
    return {"ph": "X", "name": kernel, "cat": "copy" if size else "kernel", "ts": round(begin, 3),
            "dur": round(length, 3), "pid": pid, "tid": lane, "args": args,
            "in": {"operation": operation_number, "step": step_number}}  # fmt: skip


def _enclosing(what: str, kernels: list[Event]) -> Iterator[Event]:
    """One event around kernels that follow each other and are parts of the same operation or step."""
    begin = 0
    for i in range(1, len(kernels) + 1):
        number = kernels[begin]["in"][what]
        if i < len(kernels) and kernels[i]["in"][what] == number:
            continue
        first, run = kernels[begin], kernels[begin:i]
        begin = i
        if number:
            end = max(kernel["ts"] + kernel["dur"] for kernel in run)
            args = {"operation": first["args"]["operation"], "calls": len(run)}
            yield {"ph": "X", "name": first["args"][what], "cat": what, "ts": first["ts"],
                   "dur": round(end - first["ts"], 3), "pid": first["pid"], "tid": first["tid"],
                   "args": args}  # fmt: skip
