"""The model of a placement: lanes, exchanged operands, rotations and merges as variables of CP-SAT.

Packs are given. A node has one lane, by a 0/1 variable for each. What an operation reads comes over a distance (lane of
the operand less lane of the operation), and each side of a pack is the merge of its *sources*, pairs of a register and
a distance. A source with a distance other than 0 is a rotation, made once for all sides that read it. A side with more
than one source costs a mask for each, and one addition less than there are; free inputs of a side are one source, in
lanes of their own, which needs no mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.coyote.exact.exact_circuit import COMMUTATIVE, ExactCircuit, Pack, Schedule
from bench.coyote.exact.lower_bounds import Register, distances, has_copies, registers, rotation_cuts
from bench.exact_solver import cp_model

Source = tuple[Register, int]  # register, distance
Side = tuple[int, int]  # pack, left or right


class PlacementModel:
    """Variables and constraints; `model` is to be minimised by `minimize`."""

    def __init__(self, circuit: ExactCircuit, packs: Sequence[Pack], num_lanes: int) -> None:
        self.circuit, self.packs, self.num_lanes = circuit, packs, num_lanes
        self.model: Any = cp_model().CpModel()
        self.where = registers(circuit, packs)
        self.at: dict[tuple[int, int], Any] = {}  # (node, lane)
        self.exchanged: dict[int, Any] = {}
        self.rotations: dict[Source, Any] = {}
        self.sources: dict[Side, dict[Source, Any]] = {}
        self.free: dict[Side, Any] = {}
        self.over: dict[tuple[int, int], dict[int, Any]] = {}  # (node, position of the operand) -> distance
        self.copies: dict[tuple[Register, int, int], Any] = {}  # (register, input, lane)
        self.place()
        for number, (_, nodes) in enumerate(packs):
            for node in nodes:
                self.read(number, node)
        self.separate_copies()
        if not any(self.circuit.fixed) and not self.copies:  # all lanes may be moved alike
            self.model.add_bool_or([one for (_, lane), one in self.at.items() if lane == 0])
        self.add_cuts()

    def place(self) -> None:
        """A lane for each operation and each input that has just one; different ones within a register."""
        fixed = {
            node: lane
            for group, lanes in enumerate(self.circuit.fixed)
            for node, lane in zip(self.circuit.inputs(group), lanes, strict=False)
        }
        members: dict[Register, list[int]] = {}
        for node, register in self.where.items():
            if has_copies(self.circuit, register):
                continue
            for lane in range(self.num_lanes):
                self.at[node, lane] = self.model.new_bool_var("")
            self.model.add_exactly_one(self.at[node, lane] for lane in range(self.num_lanes))
            if node in fixed:
                self.model.add(self.at[node, fixed[node]] == 1)
            else:
                members.setdefault(register, []).append(node)
        for nodes in members.values():
            for lane in range(self.num_lanes):
                self.model.add_at_most_one(self.at[node, lane] for node in nodes)

    def read(self, number: int, node: int) -> None:
        """Add the constraints on what one operation of a pack reads, and from which sources."""
        operands = self.circuit.operands[node]
        exchanged = None
        if self.circuit.codes[node] in COMMUTATIVE and any(operand in self.where for operand in operands):
            exchanged = self.exchanged[node] = self.model.new_bool_var("")
        for position, operand in enumerate(operands):
            # Where it is read, unless one of these holds.
            sides: list[tuple[Side, list[Any]]] = [((number, position), [])]
            if exchanged is not None:
                sides = [((number, position), [exchanged]), ((number, 1 - position), [~exchanged])]
            if operand not in self.where:
                for side, unless in sides:
                    if side not in self.free:
                        self.free[side] = self.model.new_bool_var("")
                    self.model.add_bool_or([self.free[side], *unless])
                continue
            register = self.where[operand]
            for distance, taken in self.distances(node, position, operand).items():
                if distance != 0:
                    self.model.add_implication(taken, self.rotation((register, distance)))
                for side, unless in sides:
                    self.model.add_bool_or([~taken, *unless, self.source(side, (register, distance))])

    def distances(self, node: int, position: int, operand: int) -> dict[int, Any]:
        """A variable for each distance over which an operand may be read."""
        register, lanes, width = self.where[operand], range(self.num_lanes), self.circuit.width
        copied = has_copies(self.circuit, register)
        if copied and not self.is_contested(register):
            return {0: self.model.new_constant(1)}
        taken = {d: self.model.new_bool_var("") for d in sorted({(to - at) % width for at in lanes for to in lanes})}
        self.model.add_exactly_one(taken.values())
        self.over[node, position] = taken
        for at in lanes:
            here = self.at[node, at]
            inside = {(to - at) % width: to for to in lanes}
            for distance, one in taken.items():
                if distance not in inside:
                    self.model.add_implication(here, ~one)
                elif copied:
                    self.model.add_bool_or([~here, ~one, self.copy(register, operand, inside[distance])])
                else:
                    self.model.add_bool_or([~here, ~self.at[operand, inside[distance]], one])
        return taken

    def is_contested(self, register: Register) -> bool:
        """Whether copies of different inputs may be wanted in one lane: by two packs, or by one operation."""
        reading = [
            (number, len([o for o in set(self.circuit.operands[node]) if self.where.get(o) == register]))
            for number, (_, nodes) in enumerate(self.packs)
            for node in nodes
        ]
        return len({number for number, inputs in reading if inputs}) > 1 or any(inputs > 1 for _, inputs in reading)

    def copy(self, register: Register, operand: int, lane: int) -> Any:
        """Whether a copy of an input lies in a lane."""
        key = (register, operand, lane)
        if key not in self.copies:
            self.copies[key] = self.model.new_bool_var("")
        return self.copies[key]

    def separate_copies(self) -> None:
        """Allow at most one input in each lane of a vector."""
        by_lane: dict[tuple[Register, int], list[Any]] = {}
        for (register, _, lane), there in self.copies.items():
            by_lane.setdefault((register, lane), []).append(there)
        for one_lane in by_lane.values():
            self.model.add_at_most_one(one_lane)

    def rotation(self, source: Source) -> Any:
        """Whether a register is rotated by a distance."""
        if source not in self.rotations:
            self.rotations[source] = self.model.new_bool_var("")
        return self.rotations[source]

    def source(self, side: Side, source: Source) -> Any:
        """Whether a side of a pack takes values from a source."""
        of_side = self.sources.setdefault(side, {})
        if source not in of_side:
            of_side[source] = self.model.new_bool_var("")
        return of_side[source]

    def add_cuts(self) -> None:
        """Add constraints that hold for every solution, but that a search finds slowly."""
        for cut in rotation_cuts(self.circuit, self.packs):
            rotations = [one for (register, _), one in self.rotations.items() if register in cut.registers]
            self.model.add(sum(rotations) >= cut.at_least)
        for (number, register), needed in distances(self.circuit, self.packs).items():
            sources = [self.sources.get((number, side), {}) for side in (0, 1)]
            self.model.add(
                sum(one for of_side in sources for source, one in of_side.items() if source[0] == register) >= needed
            )

    def minimize(self, rotate: int, mask: int, add: int) -> None:
        """The objective: rotations, masks and additions of merges at these prices."""
        terms = [rotate * one for one in self.rotations.values()]
        for side, sources in self.sources.items():
            free = self.free.get(side)
            merges = self.model.new_int_var(0, len(sources), "")  # sources but one
            is_merged = self.model.new_bool_var("")
            self.model.add(merges >= sum(sources.values()) + (0 if free is None else free) - 1)
            self.model.add(merges <= len(sources) * is_merged)
            terms += [add * merges, mask * (merges + is_merged)]
            if free is not None:
                without_mask = self.model.new_bool_var("")
                self.model.add_implication(without_mask, free)
                self.model.add_implication(without_mask, is_merged)
                terms.append(-mask * without_mask)
        self.model.minimize(sum(terms))

    def read_solution(
        self, value: Callable[[Any], int]
    ) -> tuple[Schedule, set[Source], dict[Side, set[Source | None]]]:
        """The schedule of a solution, its rotations, and the sources of each side (None: free inputs)."""
        lanes = [-1] * len(self.circuit.codes)
        for (node, lane), one in self.at.items():
            if value(one):
                lanes[node] = lane
        exchanged = tuple(node in self.exchanged and bool(value(self.exchanged[node])) for node in range(len(lanes)))
        rotations: set[Source] = set()
        sources: dict[Side, set[Source | None]] = {}
        for number, (_, nodes) in enumerate(self.packs):
            for node in nodes:
                for position, operand in enumerate(self.circuit.operands[node]):
                    of_side = sources.setdefault((number, position ^ exchanged[node]), set())
                    if operand not in self.where:
                        of_side.add(None)
                        continue
                    taken = self.over.get((node, position), {0: 1})
                    source = self.where[operand], next(d for d, one in taken.items() if value(one))
                    of_side.add(source)
                    if source[1] != 0:
                        rotations.add(source)
        return Schedule(tuple(self.packs), tuple(lanes), exchanged), rotations, sources

    def hint(self, schedule: Schedule) -> None:
        """Start from a schedule of the same packs, if its lanes fit."""
        lanes = [schedule.lanes[node] for node, _ in self.at]
        first = 0 if any(self.circuit.fixed) else min(lanes)
        if max(lanes) - first >= self.num_lanes:
            return
        for (node, lane), one in self.at.items():
            self.model.add_hint(one, schedule.lanes[node] - first == lane)
        for node, one in self.exchanged.items():
            self.model.add_hint(one, schedule.exchanged[node])
        for (node, position), taken in self.over.items():
            operand = self.circuit.operands[node][position]
            if (operand, 0) not in self.at:
                continue
            distance = (schedule.lanes[operand] - schedule.lanes[node]) % self.circuit.width
            for d, one in taken.items():
                self.model.add_hint(one, d == distance)
