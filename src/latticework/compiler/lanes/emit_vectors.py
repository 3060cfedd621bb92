"""emit-vectors: the vector program of a circuit becomes vec IR, with the packing of what is sent and returned.

In:  a graph and what the search for lanes (or `scalar_code`) made of it.
Out: vec IR whose inputs are the groups that are used and whose outputs are the registers that hold results; every table
     of lanes as a gather of the few numbers in it. A constant is one number in every slot where no lane that it would
     otherwise clear is read: that takes no level in CKKS if it is a small integer.
Meaning kept: packing, running and unpacking gives what `graph.evaluate` gives.
"""

from __future__ import annotations

import numpy as np

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
from latticework.compiler.lanes.lane_graph import Graph, Public
from latticework.errors import LayoutError
from latticework.ir import Builder, Loc, Module, Origin, Value
from latticework.ir.dialects import loop_dialect  # noqa: F401  (defines loop.yield)
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.values.extension import _core
from latticework.values.packing.pack import PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, LoopNest

Table = list[tuple[int, int]]
_NAMES = {V_ADD: "vec.add", V_SUB: "vec.sub", V_MUL: "vec.mul"}


@dataclass(frozen=True)
class EmittedCircuit:
    """Vector code of a circuit.

    module        vec IR
    groups        the circuit's groups that are inputs of it
    input_packs   where their elements lie: tables over the vectors of each
    output_packs  where the numbers lie that are read from each output register
    places        of every output of the circuit: (output register, which of its numbers)
    computed      values that hold results of operations: the value, and (lane, node) of each
    """

    module: Module
    groups: tuple[int, ...]
    input_packs: tuple[PackMap, ...]
    output_packs: tuple[PackMap, ...]
    places: tuple[tuple[int, int], ...]
    computed: tuple[tuple[Value, tuple[tuple[int, int], ...]], ...]


def emit_vectors(
    graph: Graph,
    program: _core.lanes.VectorProgram,
    width: int,
    *,
    modulus: int | None = None,
    dirty: frozenset[int] = frozenset(),
) -> EmittedCircuit:
    """The vec module of a vector program on `width` slots.

    modulus  of integers: constants are its representatives nearest to 0
    dirty    groups whose vectors may hold anything beside their elements, and are cleared first
    """
    return _CircuitEmitter(graph, program, width, modulus, dirty).emit()


class _CircuitEmitter:
    def __init__(
        self, graph: Graph, program: _core.lanes.VectorProgram, width: int, modulus: int | None, dirty: frozenset[int]
    ) -> None:
        self.graph, self.width, self.modulus, self.dirty = graph, width, modulus, dirty
        code_rows = program.code
        self.code = [one.code for one in code_rows]
        self.left, self.right, self.steps = (
            [x.left for x in code_rows],
            [x.right for x in code_rows],
            [x.steps for x in code_rows],
        )
        self.tables: list[Table] = [one.table for one in code_rows]
        self.computes: list[Table] = [one.computes for one in code_rows]
        self.outputs = program.outputs
        self.sent: dict[int, list[int]] = {}  # instructions that take each group in
        for i, code in enumerate(self.code):
            if code == V_INPUT:
                self.sent.setdefault(self.left[i], []).append(i)
        self.module = Module()
        self.builder = Builder(self.module.body)
        self.read = self._read()
        self.lines = self._lines()

    def emit(self) -> EmittedCircuit:
        """The module and its packing."""
        used = sorted(self.sent)
        packs, arrays = [], {}
        for number in used:
            pack = self._input_pack(number)
            group = self.graph.groups[number]
            arrays[number] = self.module.body.add_arg(VecType(pack.count, self.width, "real", True), Origin(group.name))
            self.module.input_names.append(group.name)
            packs.append(pack)
        values: list[Value] = []
        for i, code in enumerate(self.code):
            self.builder.loc = self.lines[i]
            values.append(self._input(arrays, i) if code == V_INPUT else self._emit_instruction(values, i))
        public = [o.value for o in self.graph.outputs if not isinstance(o, int)]
        if public:
            values.append(self._public(public))
        ends, constants = iter(self.outputs), ((len(values) - 1, lane) for lane in range(len(public)))
        outputs = [next(ends if isinstance(o, int) else constants) for o in self.graph.outputs]
        registers = list(dict.fromkeys(register for register, _ in outputs))
        lanes: dict[int, dict[int, int]] = {r: {} for r in registers}  # of each, lane -> which of its numbers
        for register, lane in outputs:
            lanes[register].setdefault(lane, len(lanes[register]))
        self.builder.create("loop.yield", [values[r] for r in registers], loc=(self.lines or [Loc.unknown()])[-1])
        self.module.outputs = [f"out{i}" for i in range(len(registers))]
        packings = [
            PackMap.of_table(len(held), self.width, ((lane, i) for i, lane in enumerate(held)))
            for held in lanes.values()
        ]
        numbers = {register: number for number, register in enumerate(registers)}
        places = tuple((numbers[r], lanes[r][lane]) for r, lane in outputs)
        held = (tuple((lane, node) for lane, node in table if node >= 0) for table in self.computes)
        computed = tuple((value, entries) for value, entries in zip(values, held, strict=False) if entries)
        return EmittedCircuit(self.module, tuple(used), tuple(packs), tuple(packings), places, computed)

    def _public(self, values: list[Public]) -> Value:
        """Outputs that are public numbers, in the first lanes of a vector that is encrypted without a key."""
        if len(values) > self.width:
            raise LayoutError(
                f"{len(values)} outputs are public numbers, a vector has {self.width} slots; leave some out, or give a "
                "larger ring_degree"
            )
        return self.builder.build("vec.trivial", [self._vector(list(enumerate(map(self._center, values))))])

    def _input_pack(self, number: int) -> PackMap:
        places, count = [], 1
        group = self.graph.groups[number]
        if group.is_by_rows:  # all of it, that clients do not learn what is read
            at = [group.place(number, self.width) for number in range(len(group.labels))]
            table = [(vector * self.width + first + lane, number) for number, (vector, first, lane) in enumerate(at)]
            return PackMap.of_table(len(at), self.width, table, at[-1][0] + 1)
        for i in self.sent[number]:
            count = max(count, self.right[i] + 1)
            first = self.right[i] * self.width
            places += [(first + lane, self.graph.nodes[node].right) for lane, node in self.tables[i]]
        return PackMap.of_table(len(group.labels), self.width, set(places), count)

    def _input(self, arrays: dict[int, Value], i: int) -> Value:
        array = arrays[self.left[i]]
        vector = array
        if array.type.count > 1:  # type: ignore[attr-defined]
            vector = self.builder.build("vec.take", [array], vectors=(self.right[i],))
        if self.left[i] in self.dirty and not self.read[i] <= {lane for lane, _ in self.tables[i]}:
            mask = self._vector([(lane, 1.0) for lane, _ in self.tables[i]])
            vector = self.builder.build("vec.mul", [vector, mask])
        return vector

    def _emit_instruction(self, registers: list[Value], i: int) -> Value:
        left, code = registers[self.left[i]], self.code[i]
        if code == V_ROTATE:
            steps = self.steps[i] % self.width
            steps -= self.width if steps > self.width // 2 else 0
            return self.builder.build("vec.rotate", [left], steps=steps)
        if code in _NAMES:
            return self.builder.build(_NAMES[code], [left, registers[self.right[i]]])
        if code not in (V_ADD_CONSTANT, V_MUL_CONSTANT):
            return self.builder.build("vec.neg", [left])
        name = "vec.mul" if code == V_MUL_CONSTANT else "vec.add"
        return self.builder.build(name, [left, self._constant(i)])

    def _constant(self, i: int) -> Value:
        """The public vector of an instruction."""
        table = self.tables[i]
        values = {self._value(number) for _, number in table}
        if len(values) == 1 and self.read[i] <= {lane for lane, _ in table}:
            return self.builder.build("vec.splat", value=values.pop(), slots=self.width)
        return self._vector([(lane, self._value(number)) for lane, number in table])

    def _vector(self, table: list[tuple[int, float]]) -> Value:
        values = [value for _, value in table]
        pack = PackMap.of_table(len(table), self.width, ((lane, i) for i, (lane, _) in enumerate(table)))
        in_order = Access((len(table),), ((1,),), (0,))
        if len(set(values)) == 1:
            ones = LoopNest((len(table),), pack, in_order, None, None)
            return self.builder.build("vec.constant", value=ConstRef(ones, factor=values[0]), slots=self.width)
        source = self.module.add_source(np.array(values, dtype=np.float64))
        gather = LoopNest((len(table),), pack, in_order, source, in_order)
        return self.builder.build("vec.constant", value=ConstRef(gather), slots=self.width)

    def _value(self, number: int) -> float:
        return self._center(1 if number == ONE else self.graph.constants[number])

    def _center(self, value: Public) -> float:
        if self.modulus is not None:
            value = (value + self.modulus // 2) % self.modulus - self.modulus // 2
        return float(value)

    def _read(self) -> list[set[int]]:
        """Find the lanes of every register that go into a result; zeros that clear a lane are read too."""
        read: list[set[int]] = [set() for _ in self.code]
        for register, lane in self.outputs:
            read[register].add(lane)
        for i in reversed(range(len(self.code))):
            code, lanes = self.code[i], read[i]
            if code == V_INPUT:
                continue
            if code == V_ROTATE:
                lanes = {(lane + self.steps[i]) % self.width for lane in lanes}
            elif code == V_MUL_CONSTANT:
                lanes = lanes & {lane for lane, _ in self.tables[i]}
            read[self.left[i]] |= lanes
            if code in _NAMES:
                read[self.right[i]] |= lanes
        return read

    def _lines(self) -> list[Loc]:
        """The user's lines of every instruction: of what its lanes compute, or of what it is first used for."""
        nodes = [[node for _, node in computed if node >= 0] for computed in self.computes]
        lines: list[Loc | None] = [self._fuse_lines(held) if held else None for held in nodes]
        for i in reversed(range(len(self.code))):
            line = lines[i]
            if self.code[i] == V_INPUT or line is None:
                continue
            for operand in (self.left[i], self.right[i] if self.code[i] in _NAMES else -1):
                if operand >= 0 and not nodes[operand]:
                    lines[operand] = line
        return [line or Loc.unknown() for line in lines]

    def _fuse_lines(self, nodes: list[int]) -> Loc:
        """The lines of nodes that one instruction computes, a lane each."""
        return Loc.fuse([(self.graph.lines[node], 1.0) for node in nodes], self.graph.lines[nodes[0]])
