"""Fewest packs for the operations of each epoch of a schedule, lanes as they are.

In:  a schedule with epochs (Coyote's: the operations of an epoch and lane depend on each other only).
Out: the same with other packs. Each has one code, at most one operation a lane, and comes after its operands.
Source: Coyote (ASPLOS 2023), section 6.1: a slot for each operation, operands strictly earlier, different codes never
in one slot.  Cost: exponential at worst; `effort` limits it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from bench.coyote.exact.exact_circuit import ExactCircuit, Pack, Schedule
from bench.exact_solver import cp_model, solve
from latticework.errors import ShapeError


@dataclass(frozen=True)
class Alignment:
    """A schedule and, for each of its epochs that computes something, its packs and how few there can be."""

    schedule: Schedule
    lengths: tuple[int, ...]
    bounds: tuple[int, ...]

    @property
    def is_optimal(self) -> bool:
        """Whether no epoch can have fewer packs."""
        return self.lengths == self.bounds


def align(circuit: ExactCircuit, schedule: Schedule, *, effort: float = 10.0, seed: int = 0) -> Alignment:
    """The fewest packs that the solver finds with `effort` units of work (about seconds) an epoch.

    Never more than the schedule has. raises ShapeError if the schedule has no epochs; MissingPackageError
    """
    if len(schedule.epochs) != len(circuit.codes):
        raise ShapeError(f"align: epochs of {len(schedule.epochs)} nodes are known, there are {len(circuit.codes)}")
    packs_of: dict[int, list[Pack]] = {}
    for pack in schedule.packs:
        packs_of.setdefault(schedule.epochs[pack[1][0]], []).append(pack)
    epochs = [_align_epoch(circuit, schedule, packs, effort, seed) for _, packs in sorted(packs_of.items())]
    aligned = tuple(pack for packs, _ in epochs for pack in packs)
    return Alignment(
        replace(schedule, packs=aligned), tuple(len(packs) for packs, _ in epochs), tuple(bound for _, bound in epochs)
    )


def fewest_packs(circuit: ExactCircuit, schedule: Schedule, nodes: list[int]) -> int:
    """A bound by counting: for each code the most operations in one lane, and the longest path."""
    per_lane = Counter((circuit.codes[node], schedule.lanes[node]) for node in nodes)
    most = Counter[int]()
    for (code, _), number in per_lane.items():
        most[code] = max(most[code], number)
    path: dict[int, int] = {}
    for node in sorted(nodes):
        path[node] = 1 + max((path.get(operand, 0) for operand in circuit.operands[node]), default=0)
    return max(most.total(), *path.values())


def _align_epoch(
    circuit: ExactCircuit, schedule: Schedule, packs: list[Pack], effort: float, seed: int
) -> tuple[list[Pack], int]:
    nodes = sorted(node for _, members in packs for node in members)
    bound = fewest_packs(circuit, schedule, nodes)
    if bound == len(packs):
        return packs, bound
    model = cp_model().CpModel()
    slots = range(len(packs))
    codes = sorted({code for code, _ in packs})
    has_code = {(slot, code): model.new_bool_var("") for slot in slots for code in codes}
    is_at = {(node, slot): model.new_bool_var("") for node in nodes for slot in slots}
    number = {node: model.new_int_var(0, len(packs) - 1, "") for node in nodes}
    used = [sum(has_code[slot, code] for code in codes) for slot in slots]
    for slot in slots:
        model.add(used[slot] <= (used[slot - 1] if slot else 1))  # slots that are used come first
        for lane in {schedule.lanes[node] for node in nodes}:
            model.add_at_most_one(is_at[node, slot] for node in nodes if schedule.lanes[node] == lane)
    for node in nodes:
        model.add_exactly_one(is_at[node, slot] for slot in slots)
        model.add(number[node] == sum(slot * is_at[node, slot] for slot in slots))
        for slot in slots:
            model.add_implication(is_at[node, slot], has_code[slot, circuit.codes[node]])
        for operand in circuit.operands[node]:
            if operand in number:
                model.add(number[operand] < number[node])
    for slot, (_, members) in enumerate(packs):
        for node in members:
            model.add_hint(number[node], slot)
    model.add(sum(used) >= bound)
    model.minimize(sum(used))
    answer = solve(model, effort, seed)
    bound = max(bound, answer.bound)
    if answer.value is None or answer.value >= len(packs):
        return packs, min(bound, len(packs))
    best: dict[int, list[int]] = {}
    for node in nodes:
        best.setdefault(answer.solver.value(number[node]), []).append(node)
    return [(circuit.codes[members[0]], tuple(members)) for _, members in sorted(best.items())], bound
