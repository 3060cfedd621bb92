"""keep-lanes: the lanes of an old circuit for one that is like it, and code beside them for what is new.

In:  a graph; the record of the old vector code, and where the old client packs its inputs.
Out: a vector program; None where the record is not whole, or the circuit is another one.
Meaning kept: nothing is believed of the old code. It is followed on the new circuit, on residues by chance
     (`lane_values.py`), so that each lane is known by what it holds now; what no lane holds is computed from lanes that
     hold its operands, moved by rotations whose keys are there, and by others only where there is no such way. The
     outputs of the whole are checked once more, on other residues.
Cost: O(instructions x lanes), and for each new operation the pairs of lanes of its operands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from latticework.compiler.lanes.codes import (
    ONE,
    V_ADD,
    V_ADD_CONSTANT,
    V_INPUT,
    V_MUL,
    V_MUL_CONSTANT,
    V_ROTATE,
    V_SUB,
)
from latticework.compiler.lanes.lane_graph import ADD_CONSTANT, INPUT, MUL, MUL_CONSTANT, Graph
from latticework.compiler.lanes.lane_record import OPS
from latticework.compiler.lanes.lane_values import LaneValues, computes
from latticework.compiler.lanes.scalar_code import CODES, count_codes
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.circuit_schedule import MAX_LANES, CircuitRecord, LaneStep
from latticework.values.extension import _core
from latticework.values.packing.pack import PackMap

MOST_PLACES = 24  # lanes of an operand that are looked at
Place = tuple[int, int]  # register, lane
Table = list[tuple[int, int]]  # (lane, node), or (lane, constant)
BINARY = (V_ADD, V_SUB, V_MUL)
PRODUCTS = (MUL, MUL_CONSTANT)
CONSTANT = {V_ADD_CONSTANT: ADD_CONSTANT, V_MUL_CONSTANT: MUL_CONSTANT}
_CODE_OF = {op: code for code, op in enumerate(OPS)} | {"mask": V_MUL_CONSTANT, "merge": V_ADD}


@dataclass(frozen=True)
class OldLanes:
    """Lanes of an old circuit: the record of its vector code, and where its inputs lie, by name."""

    record: CircuitRecord
    packs: Mapping[str, PackMap]

    @property
    def is_whole(self) -> bool:
        """Whether all instructions, and all lanes in use, were recorded."""
        record = self.record
        return record.vector is not None and len(record.steps) == record.num_steps and record.num_lanes <= MAX_LANES


def keep_lanes(graph: Graph, names: Sequence[str], old: OldLanes) -> _core.lanes.VectorProgram | None:
    """The vector program of a graph on the lanes of an old one.

    names  of the outputs that are nodes, in their order
    """
    if not old.is_whole or not graph.ends or any(group.is_by_rows for group in graph.groups):
        return None
    made = _KeptCode(graph, old)
    for step in old.record.steps:
        made.follow(step)
    code, outputs = _without_unread(made.code, made.outputs(names))
    if not computes(graph, old.record.width, code, outputs):
        return None
    blends = 0 if old.record.vector is None else old.record.vector.blends
    return _core.lanes.VectorProgram(code, outputs, count_codes([one.code for one in code], blends))


class _Way(NamedTuple):
    """A way to bring operands into one lane, to be compared: products in a row then, if more than in the old code; new
    keys; whether another lane is wanted; rotations; the lane, and the places of the operands."""

    depth: int
    new: int
    is_elsewhere: bool
    rotations: int
    lane: int
    operands: list[Place]


def _products_above(graph: Graph) -> list[int]:
    """Products in a row between each node and the end."""
    above = [0] * len(graph.nodes)
    for number in range(len(graph.nodes) - 1, -1, -1):
        own = above[number] + (graph.nodes[number].code in PRODUCTS)
        for operand in graph.operands(number):
            above[operand] = max(above[operand], own)
    return above


class _KeptCode:
    """Code that is made: that of an old circuit, as far as its inputs are there, then what is new."""

    def __init__(self, graph: Graph, old: OldLanes) -> None:
        self.graph, self.old, self.width = graph, old, old.record.width
        self.code: list[_core.lanes.VectorInstruction] = []
        self.values = LaneValues(graph, self.width, seed=0)
        self.node_of = {value: node for node, value in enumerate(self.values.nodes)}
        self.places: dict[int, list[Place]] = {}  # of each residue of a node
        self.registers: list[int | None] = []  # of the old instructions; None: of what is gone
        self.labelled: dict[int, int] = {}  # node that took the place of an old one, by its label
        self.depths: list[int] = []  # of registers: products in a row
        self.keys: dict[
            int, int
        ] = {}  # rotations that there are -> products before the earliest: a key serves later ones
        self.stage, self.most = 0, 0  # most: products in a row of the old code
        self.above = _products_above(graph)
        self.readers: dict[tuple[int, int], list[int]] = {}  # of each node, sums and products with public numbers
        for number, node in enumerate(graph.nodes):
            if node.code in CONSTANT.values():
                self.readers.setdefault((node.code, self.values.nodes[node.left]), []).append(number)
        self.vectors = {
            group.name: [self._table(number, vector) for vector in self._old_table(number)]
            for number, group in enumerate(graph.groups)
        }

    # -- what is old -----------------------------------------------------------------------

    def follow(self, step: LaneStep) -> None:
        """Write an old instruction again."""
        code, self.stage = _CODE_OF[step.op], step.stage
        if code == V_INPUT:
            self.registers.append(self._old_input(step))
            return
        operands = [self.registers[step.left], *([self.registers[step.right]] if code in BINARY else [])]
        known = [register for register in operands if register is not None]
        if len(known) < len(operands):
            self.registers.append(None)
            return
        table: Table = []
        if step.op == "mask":  # a value with a name that has none afterwards was cleared
            named = {lane for lane, label in self.old.record.steps[step.left].lanes if label >= 0}
            table = [(lane, ONE) for lane, label in step.lanes if label >= 0 or lane not in named]
        elif code in CONSTANT:
            table = list(self._constants(step, code, known[0]))
        shown = {lane for lane, label in step.lanes if label >= 0}
        self.registers.append(self._add(code, *known, steps=step.steps, table=table, shown=shown))

    def _old_input(self, step: LaneStep) -> int | None:
        """The register of the input vector that has the same numbers in the same lanes."""
        number = next((n for n, group in enumerate(self.graph.groups) if group.name == step.name), None)
        if number is None:
            return None
        labels = self.graph.groups[number].labels
        wanted = {(lane, self.old.record.labels[label]) for lane, label in step.lanes if label >= 0}
        for vector, table in enumerate(self.vectors[step.name]):
            if table and wanted <= {(lane, labels[self.graph.nodes[node].right]) for lane, node in table}:
                return self._input(number, vector)
        return None

    def _old_table(self, number: int) -> list[Table]:
        """(lane, element) of each vector in which the old client sends a group; what is given of lanes comes first."""
        group = self.graph.groups[number]
        if group.lanes:
            return [sorted((lane, element) for element, lane in enumerate(group.lanes))]
        pack = self.old.packs.get(group.name)
        if pack is None or pack.slots != self.width:
            return []
        elements = pack.element_of_slot().reshape(pack.count, pack.slots)
        return [[(lane, int(row[lane])) for lane in (row >= 0).nonzero()[0].tolist()] for row in elements]

    def _table(self, number: int, packed: Table) -> Table:
        """(lane, node) of those elements that are read."""
        nodes = {n.right: at for at, n in enumerate(self.graph.nodes) if n.code == INPUT and n.left == number}
        return [(lane, nodes[element]) for lane, element in packed if element in nodes]

    def _input(self, number: int, vector: int) -> int:
        table = self.vectors[self.graph.groups[number].name][vector]
        return self._add(V_INPUT, number, vector, table=table)

    def _constants(self, step: LaneStep, code: int, operand: int) -> Iterator[tuple[int, int]]:
        """(lane, constant) of an old sum or product with public numbers: that of the node which reads what is there.

        Of several such nodes each label has one of its own: that of its old number, if the circuit is the same.
        """
        held = self.values.registers[operand]
        for lane, label in step.lanes:
            readers = self.readers.get((CONSTANT[code], held.get(lane, 0)), [])
            if label < 0 or not readers:
                continue
            if self.labelled.get(label) not in readers:
                number = self.old.record.labels[label].partition(" ")[0].removeprefix("t")
                free = [node for node in readers if node not in self.labelled.values()] or readers
                self.labelled[label] = int(number) if number.isdigit() and int(number) in free else free[0]
            yield lane, self.graph.nodes[self.labelled[label]].right

    # -- what is new -----------------------------------------------------------------------

    def outputs(self, names: Sequence[str]) -> list[Place]:
        """Find where the outputs lie, as they did if they may; compute what no lane holds.

        names  of the outputs
        """
        known = {name: (register, lane) for name, register, lane in self.old.record.outputs}
        self.most = max(self.depths, default=0)
        wanted: dict[int, int] = {}
        result: list[Place | None] = []
        for name, node in zip(names, self.graph.ends, strict=True):
            register, lane = known.get(name, (-1, -1))
            at = None if register < 0 else self.registers[register]
            holds = at is not None and self.values.registers[at].get(lane, 0) == self.values.nodes[node]
            result.append((at, lane) if at is not None and holds else None)
            wanted.setdefault(node, lane)
        for node in self._missing([node for node, place in zip(self.graph.ends, result, strict=True) if place is None]):
            self._compute(node, wanted.get(node, -1))
        return [place or self._places_of(node)[0] for node, place in zip(self.graph.ends, result, strict=True)]

    def _places_of(self, node: int) -> list[Place]:
        """Places that hold a node."""
        return self.places.get(self.values.nodes[node], [])

    def _missing(self, ends: Sequence[int]) -> list[int]:
        """Nodes that no lane holds, and that some ends need, in the order of the circuit."""
        missing: set[int] = set()
        waiting = list(ends)
        while waiting:
            node = waiting.pop()
            if node not in missing and not self._places_of(node):
                missing.add(node)
                waiting += self.graph.operands(node)
        return sorted(missing)

    def _compute(self, node: int, wanted: int) -> None:
        """Compute a node from lanes that hold its operands; in a lane that is wanted, if that takes no more keys.

        An input that was not sent so far lies in a further vector with others of its group.
        """
        code, left, right = self.graph.nodes[node]
        if self._places_of(node):
            return
        if code == INPUT:
            self._send(left)
            return
        self.stage += 1
        way = min(self._ways(node, wanted), key=lambda way: way[:4])
        registers, lane = [self._move(place, way.lane) for place in way.operands], way.lane
        table = [(lane, right)] if code in CONSTANT.values() else []
        register = self._add(CODES[code], *registers, table=table, shown={lane})
        if not self._places_of(node):  # of a node that is 0 whatever is sent
            self.places[self.values.nodes[node]] = [(register, lane)]

    def _send(self, number: int) -> None:
        """Send those numbers of a group that are read and were not sent."""
        group = self.graph.groups[number]
        vectors = self.vectors[group.name]
        sent = {node for table in vectors for _, node in table}
        new = [at for at, node in enumerate(self.graph.nodes) if (node.code, node.left) == (INPUT, number)]
        held = [vector for vector, table in enumerate(vectors) if any(not self._places_of(node) for _, node in table)]
        if unsent := [node for node in new if node not in sent]:
            held.append(len(vectors))
            vectors.append(list(enumerate(unsent)))
        for vector in held:
            self._input(number, vector)

    def _ways(self, node: int, wanted: int) -> Iterator[_Way]:
        """Ways to bring the operands of a node into one lane."""
        is_product = self.graph.nodes[node].code in PRODUCTS
        first, *others = (self._places_of(operand)[:MOST_PLACES] for operand in self.graph.operands(node))
        for a in first:
            for b in others[0] if others else [a]:
                moved = [a, b] if others else [a]
                depth = max(self.depths[register] for register, _ in moved) + is_product + self.above[node]
                for lane in dict.fromkeys((a[1], b[1], *([wanted] if wanted >= 0 else []))):
                    moves = [(place, one) for place in moved for one in self._steps(place, lane)]
                    new = sum(not self._is_served(place, one) for place, one in moves)
                    yield _Way(max(depth, self.most), new, lane != wanted, len(moves), lane, moved)

    def _is_served(self, place: Place, steps: int) -> bool:
        """Whether there is a key for a rotation of what has as many products in a row."""
        return self.keys.get(steps, inf) <= self.depths[place[0]]

    def _steps(self, place: Place, lane: int) -> list[int]:
        """Rotations that bring a place to a lane: two by keys that are there rather than one by a new key."""
        steps = self._sign(place[1] - lane)
        if not steps or self._is_served(place, steps):
            return [steps] if steps else []
        served = [one for one in sorted(self.keys) if self._is_served(place, one)]
        both = next(((one, self._sign(steps - one)) for one in served if self._sign(steps - one) in served), None)
        return [steps] if both is None else list(both)

    def _sign(self, steps: int) -> int:
        """The shortest rotation to the same place."""
        return (steps + self.width // 2) % self.width - self.width // 2

    def _move(self, place: Place, lane: int) -> int:
        """The register that holds in a lane what another place holds."""
        register = place[0]
        for step in self._steps(place, lane):
            register = self._add(V_ROTATE, register, steps=step)
        return register

    def _add(
        self, code: int, left: int, right: int = -1, *, steps: int = 0, table: Sequence[tuple[int, int]] = (),
        shown: Collection[int] = (),
    ) -> int:  # fmt: skip
        """Append an instruction; returns its register.

        shown  lanes whose nodes it is said to compute, where they are none of its operands'
        """
        operands = [] if code == V_INPUT else [left, right] if code in BINARY else [left]
        is_mask = code == V_MUL_CONSTANT and all(number == ONE for _, number in table)
        one = _core.lanes.VectorInstruction(code, left, right, steps, table, (), self.stage, is_mask)
        lanes, number = self.values.follow(one), len(self.code)
        depth = max((self.depths[operand] for operand in operands), default=0)
        self.depths.append(depth + (code in (V_MUL, V_MUL_CONSTANT)))
        if code == V_ROTATE:
            self.keys[self._sign(steps)] = min(depth, self.keys.get(self._sign(steps), depth))
        computed = []
        for lane, value in sorted(lanes.items()):
            node = self.node_of.get(value)
            if node is None:
                continue
            self.places.setdefault(value, []).append((number, lane))
            is_new = all(self.values.registers[o].get(lane) != value for o in operands)
            if code not in (V_INPUT, V_ROTATE) and not is_mask and lane in shown and is_new:
                computed.append((lane, node))
        self.code.append(_core.lanes.VectorInstruction(code, left, right, steps, table, computed, self.stage, is_mask))
        return number


def _without_unread(
    code: Sequence[_core.lanes.VectorInstruction], outputs: Sequence[Place]
) -> tuple[list[_core.lanes.VectorInstruction], list[Place]]:
    """The instructions that outputs need, and where these are then."""
    read = {register for register, _ in outputs}
    for number in range(len(code) - 1, -1, -1):
        one = code[number]
        if number in read and one.code != V_INPUT:
            read |= {one.left, one.right} if one.code in BINARY else {one.left}
    at = {register: number for number, register in enumerate(sorted(read))}

    def renumber(one: _core.lanes.VectorInstruction) -> _core.lanes.VectorInstruction:
        left = one.left if one.code == V_INPUT else at[one.left]
        right = at[one.right] if one.code in BINARY else one.right
        return _core.lanes.VectorInstruction(
            one.code, left, right, one.steps, one.table, one.computes, one.stage, one.is_mask
        )

    return [renumber(code[register]) for register in at], [(at[register], lane) for register, lane in outputs]
