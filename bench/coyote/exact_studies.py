"""Studies with exact models: alignment of the instructions of an epoch, and how few rotations there can be."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

from bench.coyote.cases import Case, cases
from bench.coyote.exact.exact_circuit import ExactCircuit, Schedule
from bench.coyote.exact.joint import place
from bench.coyote.exact.pack_alignment import align
from bench.coyote.graphs import graph
from bench.coyote.measuring import RING_DEGREE, How
from bench.rows import Row
from latticework import _core

WEIGHTS = _core.lanes.InstructionWeights(  # as measured
    rotate=1.0, mul=2.5, mul_constant=0.14, add_constant=0.05, add=0.05, neg=0.05
)
ALIGN_EFFORT, PLACE_EFFORT = 5.0, 3.0  # of the solver: about seconds, an epoch and a case
WIDTH = 64  # lanes
PROVABLE = ("dot.3.", "dot.6.", "dot.10.", "mm.2.", "mm.3.un", "mm.3.partially", "mm.3.fully")


def alignment(chosen: Sequence[Case] | None, how: How, _seeds: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Annealing's schedules with instructions aligned by a list and exactly; of Table 3 if no cases are named."""
    for case in chosen or [case for case in cases() if case.published is not None and case.published.speedup]:
        tell(case.name)
        circuit = shared(graph(case, RING_DEGREE // 2), association="as written")
        started = time.perf_counter()
        listed = _core.lanes.anneal(circuit, seed=how.seed)
        between = time.perf_counter()
        found = align(ExactCircuit.of(circuit), Schedule.from_annealing(listed), effort=ALIGN_EFFORT)
        seconds = (between - started, time.perf_counter() - between)
        by_list = _core.lanes.synthesize(circuit, listed.schedule, WEIGHTS)
        exact = _core.lanes.synthesize(circuit, found.schedule.for_synthesis(), WEIGHTS)
        details = {
            "cost, list and exact, in rotations": [round(by_list.cost, 3), round(exact.cost, 3)],
            "rotations + blends": [made.counts.rotations + made.counts.blends for made in (by_list, exact)],
            "seconds of the search": round(seconds[0], 3),
            "seconds of exact alignment": round(seconds[1], 3),
            "proved to be the fewest": found.is_optimal,
        }
        lengths = [float(len(packs)) for packs in (found.schedule.packs, listed.schedule.packs)]
        yield Row(case.name, "instructions, aligned exactly", "", *lengths, "aligned by a list", details=details)


def optimum(chosen: Sequence[Case] | None, how: How, _seeds: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Rotations of our search beside how few any code needs that computes the same together, by counting, and beside
    the best placement of a solver, whose operands are merges of registers rotated once each. What it computes together
    are the operations of one depth, or those of our search, whichever is cheaper."""
    for case in chosen or [case for case in cases() if case.name.startswith(PROVABLE)]:
        tell(case.name)
        circuit = shared(graph(case, WIDTH), association="trees")
        found = _core.lanes.vectorize(circuit, WEIGHTS, seed=how.seed)
        ours = found.program
        started = time.perf_counter()
        known, start = ExactCircuit.of(found.circuit), Schedule.of(found.schedule)
        placed = {
            "earliest": place(ExactCircuit.of(circuit), WEIGHTS, effort=PLACE_EFFORT),
            "ours": place(known, WEIGHTS, start, effort=PLACE_EFFORT),
        }
        seconds = time.perf_counter() - started
        packs, solved = min(placed.items(), key=lambda item: math.inf if item[1] is None else item[1].cost)
        if solved is None:
            yield Row(case.name, "rotations", "", float(ours.counts.rotations), note="the solver found nothing")
            continue
        details = {
            "blends": ours.counts.blends,
            "cost, ours and the solver's": [round(ours.cost, 3), round(solved.cost, 3)],
            "solver's rotations, merges, masks": [solved.rotations, solved.merges, solved.masks],
            "operations together in its instructions": packs,
            "solver proved its placement": solved.is_optimal,
            "solver's seconds": round(seconds, 2),
            "rotations of a placement, by counting": solved.rotations_needed,
        }
        yield Row(
            case.name, "rotations", "", float(ours.counts.rotations), float(solved.rotations_of_any),
            "the least of any vector code, by counting", details=details,
        )  # fmt: skip


def shared(circuit: _core.lanes.ScalarCircuit, *, association: str) -> _core.lanes.ScalarCircuit:
    """The circuit with equal operations once, as both searches start from it."""
    return _core.lanes.rewritten(circuit, association)[0]
