"""Studies with exact models: alignment as in the paper's Table 3, and how far small kernels can be improved at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from bench.coyote.cases import TABLE_1, Case, cases
from bench.coyote.graphs import graph
from bench.coyote.measuring import RING_DEGREE, How
from bench.coyote.published import COYOTE, tables
from bench.rows import Row
from latticework import _core
from latticework.circuit.exact.alignment import align
from latticework.circuit.exact.bounds import rotations_of_any
from latticework.circuit.exact.forms import Circuit, Schedule
from latticework.circuit.exact.joint import Weights, place

ALIGNMENT_EFFORT, PLACEMENT_EFFORT = 10.0, 20.0  # about seconds, of an epoch and of a kernel
MOST_GATES = 30
PAPER = Weights(rotate=1, mul=1, mul_constant=0.05, add_constant=0.1, add=0.1, neg=0.1)  # masks nearly free


def alignment(chosen: Sequence[Case] | None, _how: How, seeds: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Instructions of annealing's schedules, listed greedily and aligned exactly; of Table 3 if no cases are named."""
    published = {row[0]: row for row in tables()["coyote"]["table3"]}
    for case in chosen or [case for case in cases() if case.name in published]:
        tell(case.name)
        numbers = graph(case, RING_DEGREE // 2)
        circuit = Circuit.from_dict(numbers)
        started = time.perf_counter()
        listed = [Schedule.from_dict(_core.lanes.anneal(numbers, {"seed": seed})) for seed in range(seeds)]
        found = time.perf_counter()
        aligned = [align(circuit, schedule, effort=ALIGNMENT_EFFORT) for schedule in listed]
        ended = time.perf_counter()
        details: dict[str, object] = {
            "listed": [len(schedule.packs) for schedule in listed],
            "exact": [sum(one.lengths) for one in aligned],
            "proved": all(one.is_optimal for one in aligned),
            "search s": round((found - started) / seeds, 3),
            "alignment s": round((ended - found) / seeds, 3),
        }
        if case.name in published:
            _, seconds, speedup, exact_seconds, exact_speedup = published[case.name]
            details["published: more compile time"] = round(exact_seconds / seconds - 1, 3)
            details["published: more speed-up"] = round(exact_speedup / speedup - 1, 3)
        yield Row(
            case.name, f"instructions that compute, aligned exactly, median of {seeds} seeds", "",
            float(median(sum(one.lengths) for one in aligned)),
            float(median(len(schedule.packs) for schedule in listed)), "listed greedily", details=details,
        )  # fmt: skip


def placement(chosen: Sequence[Case] | None, _how: How, _seeds: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Cheapest direct movement of three sets of packs, the earliest, annealing's and ours; of small rows of Table 1."""
    small = [case for case in cases() if case.table == TABLE_1 and case.counts.adds + case.counts.muls <= MOST_GATES]
    for case in chosen or small:
        tell(case.name)
        numbers = graph(case, RING_DEGREE // 2)
        circuit = Circuit.from_dict(numbers)
        started = time.perf_counter()
        annealed = Schedule.from_dict(_core.lanes.anneal(numbers, {"contraction": "class", "start": "matched"}))
        searched = _core.lanes.vectorize(numbers, list(PAPER), {"schedule": True})
        starts = {
            "earliest": (circuit, None), "annealed": (circuit, annealed),
            "ours": (Circuit.from_dict(searched["circuit"]), Schedule.from_dict(searched["schedule"])),
        }  # fmt: skip
        placed = {name: place(known, PAPER, start, effort=PLACEMENT_EFFORT) for name, (known, start) in starts.items()}
        tried = {name: one for name, one in placed.items() if one is not None}
        seconds = round(time.perf_counter() - started, 3)
        if not tried:
            yield Row(case.name, "rotations, placed exactly", "", None, note=f"nothing found in {seconds} s")
            continue
        packs, found = min(tried.items(), key=lambda item: item[1].cost)
        published = case.published
        yield Row(
            case.name, "rotations, placed exactly", "", float(found.rotations),
            None if published is None else float(published.rotations), COYOTE if published is not None else None,
            details={
                "merges": found.merges, "masks": found.masks, "cost": round(found.cost, 3),
                "cost at least, with these packs": round(found.bound, 3), "proved": found.is_optimal,
                "packs": packs, "seconds": seconds,
                "rotations at least, of direct movement": found.rotations_needed,
                "rotations at least, of any code": rotations_of_any(circuit),
            },
        )  # fmt: skip
