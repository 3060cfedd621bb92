"""A scalar circuit as numbered nodes: what rewriting and the search for lanes work on.

In:  scalar IR (frontend/circuits/circuit.py).
Out: inputs first, then operations after their operands; equal ones once; public numbers apart, as the right operand of
     `add constant` and `mul constant` (c - x is -x + c). What no output needs is gone.
Meaning kept: `evaluate` of the graph equals the interpreter on the module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from latticework.ir import Loc, Module, Op, Value
from latticework.ir.dialects.scalar_dialect import FREE, PACKINGS, ROWS, GroupType
from latticework.lazy_dataclass import dataclass
from latticework.values.extension import _core

INPUT, ADD, SUB, MUL, NEG, ADD_CONSTANT, MUL_CONSTANT = range(7)
BINARY = (ADD, SUB, MUL)
COMMUTATIVE = (ADD, MUL)
EXACT = 1 << 53  # whole public numbers below it are floats to which no other is rounded
PART = 1 << 52  # by which larger ones are taken apart
MOST_PARTS = 64  # of one that is added
Public = int | float
Numbers = Sequence[Sequence[Any]] | Mapping[int, Mapping[int, Any]]


class Node(NamedTuple):
    """One number.

    left, right  operands: nodes; of constant operations `right` numbers a constant; of an input they are its group
                 and which element of that it is; of `neg` right is -1
    """

    code: int
    left: int
    right: int


@dataclass(frozen=True)
class Constant:
    """A public number, where an operand may turn out to be one."""

    value: Public


Operand = int | Constant


@dataclass(frozen=True)
class InputGroup:
    """An input group: its name, packing as of `GroupType`, fixed lanes or (), elements by name."""

    name: str
    packing: str
    lanes: tuple[int, ...]
    labels: tuple[str, ...]

    @property
    def is_by_rows(self) -> bool:
        """Whether it is a matrix whose rows have a vector each."""
        return self.packing == ROWS

    def place(self, number: int, width: int) -> tuple[int, int, int]:
        """Return where a number of a matrix by rows lies in vectors of a width: vector, first lane of its row, column.

        Rows are as many lanes apart as the power of two that holds them.
        """
        columns = max(self.lanes) + 1
        apart = 1 << (columns - 1).bit_length()
        row, column = divmod(number, columns)
        vector, place = divmod(row, max(1, width // apart))
        return vector, place * apart, column


@dataclass(frozen=True)
class Graph:
    """A circuit.

    constants  public numbers by their number
    outputs    a node each, or a public number
    lines      of every node
    """

    nodes: tuple[Node, ...]
    constants: tuple[Public, ...]
    groups: tuple[InputGroup, ...]
    outputs: tuple[Operand, ...]
    lines: tuple[Loc, ...]

    @property
    def ends(self) -> list[int]:
        """The outputs that are nodes."""
        return [output for output in self.outputs if isinstance(output, int)]

    @property
    def num_inputs(self) -> int:
        """Number of input nodes, which come first."""
        return sum(node.code == INPUT for node in self.nodes)

    @property
    def num_products(self) -> int:
        """Products of two encrypted numbers."""
        return sum(node.code == MUL for node in self.nodes)

    def operands(self, number: int) -> tuple[int, ...]:
        """The nodes that a node reads."""
        code, left, right = self.nodes[number]
        return () if code == INPUT else (left, right) if code in BINARY else (left,)

    def uses(self) -> list[int]:
        """Count how often each node is read, by outputs too."""
        counts = [0] * len(self.nodes)
        for number in range(len(self.nodes)):
            for operand in self.operands(number):
                counts[operand] += 1
        for output in self.ends:
            counts[output] += 1
        return counts

    def depths(self, codes: tuple[int, ...] = (MUL, MUL_CONSTANT)) -> list[int]:
        """Products on the longest path to each node, those by constants too, or operations of other kinds."""
        depths: list[int] = []
        for number, node in enumerate(self.nodes):
            below = max((depths[i] for i in self.operands(number)), default=0)
            depths.append(below + (node.code in codes))
        return depths

    def depth(self, codes: tuple[int, ...] = (MUL, MUL_CONSTANT)) -> int:
        """The same on the longest path of all."""
        depths = self.depths(codes)
        return max((depths[i] for i in self.ends), default=0)

    def for_lanes(self, width: int) -> _core.lanes.ScalarCircuit:
        """Convert to the input of the search for lanes; `width`: slots of a vector."""
        inputs = [node for node in self.nodes if node.code == INPUT]
        return _core.lanes.ScalarCircuit(
            code=[node.code for node in self.nodes],
            left=[-1 if node.code == INPUT else node.left for node in self.nodes],
            right=[-1 if node.code == INPUT else node.right for node in self.nodes],
            group=[node.left if node.code == INPUT else -1 for node in self.nodes],
            packing=[PACKINGS.index(FREE if group.is_by_rows else group.packing) for group in self.groups],
            fixed=[
                [group.lanes[node.right] for node in inputs if node.left == number]
                if group.lanes and not group.is_by_rows
                else []
                for number, group in enumerate(self.groups)
            ],
            outputs=self.ends,
            width=width,
        )


class GraphBuilder:
    """Makes nodes, each once, with public numbers folded."""

    def __init__(self, groups: Sequence[InputGroup]) -> None:
        self.groups = tuple(groups)
        self.nodes: list[Node] = []
        self.constants: list[Public] = []
        self.line = Loc.unknown()
        self._lines: list[Loc] = []
        self._numbers: dict[Node, int] = {}
        self._constants: dict[Public, int] = {}

    def _node(self, code: int, left: int, right: int) -> int:
        if code in COMMUTATIVE and right < left:
            key = Node(code, right, left)
        else:
            key = Node(code, left, right)
        if key not in self._numbers:
            self._numbers[key] = len(self.nodes)
            self.nodes.append(Node(code, left, right))
            self._lines.append(self.line)
        return self._numbers[key]

    def _constant(self, value: Public) -> int:
        if value not in self._constants:
            self._constants[value] = len(self.constants)
            self.constants.append(value)
        return self._constants[value]

    def input(self, group: int, element: int) -> int:
        """An element of an input group."""
        return self._node(INPUT, group, element)

    def add(self, a: Operand, b: Operand) -> Operand:
        """a + b."""
        if isinstance(a, Constant):
            a, b = b, a
        if isinstance(a, Constant) and isinstance(b, Constant):
            return Constant(a.value + b.value)
        if isinstance(b, Constant):
            return self._plus(_number(a), b.value)
        return self._node(ADD, _number(a), b)

    def sub(self, a: Operand, b: Operand) -> Operand:
        """a - b."""
        if isinstance(b, Constant):
            return self.add(a, Constant(-b.value))
        if isinstance(a, Constant):
            return self.add(self.neg(b), a)
        return Constant(0) if a == b else self._node(SUB, a, b)

    def mul(self, a: Operand, b: Operand) -> Operand:
        """a * b."""
        if isinstance(a, Constant):
            a, b = b, a
        if isinstance(a, Constant) and isinstance(b, Constant):
            return Constant(a.value * b.value)
        if isinstance(b, Constant):
            return self._times(_number(a), b.value)
        return self._node(MUL, _number(a), b)

    def neg(self, a: Operand) -> Operand:
        """-a."""
        if isinstance(a, Constant):
            return Constant(-a.value)
        node = self.nodes[a]
        return node.left if node.code == NEG else self._node(NEG, a, -1)

    def _plus(self, a: int, value: Public) -> Operand:
        node = self.nodes[a]
        if node.code == ADD_CONSTANT:
            return self._plus(node.left, self.constants[node.right] + value)
        for part in _exact_parts(value):
            a = self._node(ADD_CONSTANT, a, self._constant(part))
        return a

    def _times(self, a: int, value: Public) -> Operand:
        node = self.nodes[a]
        if value in (0, 1, -1):
            return (Constant(0), a, self.neg(a))[int(value)]
        if not _is_exact(value):
            high, low = divmod(int(value), PART)
            return self.add(self.mul(self._times(a, high), Constant(PART)), self._times(a, low))
        if node.code == MUL_CONSTANT and _is_exact(self.constants[node.right] * value):
            return self._times(node.left, self.constants[node.right] * value)
        if node.code == NEG:
            return self._times(node.left, -value)
        return self._node(MUL_CONSTANT, a, self._constant(value))

    def build_graph(self, outputs: Sequence[Operand]) -> Graph:
        """The graph of the nodes that the outputs need, inputs first in the order of their groups."""
        needed = [False] * len(self.nodes)
        for output in outputs:
            if isinstance(output, int):
                needed[output] = True
        for number in reversed(range(len(self.nodes))):
            code, left, right = self.nodes[number]
            if needed[number] and code != INPUT:
                needed[left] = True
                needed[right if code in BINARY else left] = True
        needed_nodes = [number for number in range(len(self.nodes)) if needed[number]]
        inputs = sorted((n for n in needed_nodes if self.nodes[n].code == INPUT), key=lambda n: self.nodes[n][1:])
        order = inputs + [n for n in needed_nodes if self.nodes[n].code != INPUT]
        place = {number: i for i, number in enumerate(order)}
        used: dict[int, int] = {}

        def renumber(node: Node) -> Node:
            match node.code:
                case 0:
                    return node
                case 5 | 6:
                    return Node(node.code, place[node.left], used.setdefault(node.right, len(used)))
            return Node(node.code, place[node.left], place.get(node.right, -1))

        nodes = tuple(renumber(self.nodes[n]) for n in order)
        constants = tuple(self.constants[n] for n in used)
        ends = tuple(place[o] if isinstance(o, int) else o for o in outputs)
        return Graph(nodes, constants, self.groups, ends, tuple(self._lines[n] for n in order))


def _is_exact(value: Public) -> bool:
    """Whether a float, as which vectors have it, is a public number and no other is rounded to it."""
    return not isinstance(value, int) or abs(value) < EXACT


def _exact_parts(value: Public) -> Iterator[Public]:
    """Numbers that add up to a public one, each exact; itself where that would be too many, which is refused later."""
    count = 1 if _is_exact(value) else -(-abs(int(value)) // (EXACT - 1))
    if count > MOST_PARTS or not value:
        yield from [value] if value else []
        return
    share, rest = divmod(value, count) if count > 1 else (value, 0)
    yield from (share + (i < rest) for i in range(count))


def copy_node(builder: GraphBuilder, graph: Graph, number: int, operands: Sequence[Operand]) -> Operand:
    """A node of a graph again, on what its operands have become."""
    code, left, right = graph.nodes[number]
    match code:
        case 0:
            return builder.input(left, right)
        case 1:
            return builder.add(operands[left], operands[right])
        case 2:
            return builder.sub(operands[left], operands[right])
        case 3:
            return builder.mul(operands[left], operands[right])
        case 4:
            return builder.neg(operands[left])
        case 5:
            return builder.add(operands[left], Constant(graph.constants[right]))
    return builder.mul(operands[left], Constant(graph.constants[right]))


def finish(builder: GraphBuilder, graph: Graph, operands: Sequence[Operand]) -> Graph:
    """The graph whose outputs are what those of another one have become."""
    return builder.build_graph([operands[o] if isinstance(o, int) else o for o in graph.outputs])


def _number(operand: Operand) -> int:
    assert isinstance(operand, int)
    return operand


def graph_of(module: Module) -> Graph:
    """The graph of a scalar module."""
    elements: list[dict[int, str]] = [{} for _ in module.inputs]
    for op in module.body.ops:
        if op.name == "scalar.element" and op.result.origin is not None:
            elements[op.operands[0].index][op.attrs["number"]] = _label(op.result)
    groups = []
    for name, value, names in zip(module.input_names, module.inputs, elements, strict=True):
        kind = value.type
        assert isinstance(kind, GroupType)
        labels = tuple(names.get(i, f"{name}[{i}]") for i in range(kind.count))
        groups.append(InputGroup(name, kind.packing, kind.lanes, labels))
    builder = GraphBuilder(groups)
    operands: dict[Value, Operand] = {}
    for op in module.body.ops[:-1]:
        builder.line = op.loc
        operands[op.result] = _make(builder, op, [operands[v] for v in op.operands if v in operands])
    return builder.build_graph([operands[v] for v in module.body.terminator.operands])


def _label(value: Value) -> str:
    origin = value.origin
    assert origin is not None
    return origin.name + (f"[{', '.join(map(str, origin.position))}]" if origin.position else "")


def _make(builder: GraphBuilder, op: Op, operands: list[Operand]) -> Operand:
    match op.name:
        case "scalar.element":
            return builder.input(op.operands[0].index, op.attrs["number"])
        case "scalar.constant":
            return Constant(op.attrs["value"])
        case "scalar.add":
            return builder.add(*operands)
        case "scalar.sub":
            return builder.sub(*operands)
        case "scalar.mul":
            return builder.mul(*operands)
    assert op.name == "scalar.neg", op.name
    return builder.neg(operands[0])


def evaluate(graph: Graph, inputs: Numbers, modulus: int | None = None) -> list[Any]:
    """The outputs on plain numbers: Python's own arithmetic, exact on integers.

    inputs   numbers by group and element; arrays in their place are computed elementwise
    modulus  integers are reduced to the representative nearest to 0
    """
    values: list[Any] = []
    for code, left, right in graph.nodes:
        match code:
            case 0:
                value = inputs[left][right]
            case 1:
                value = values[left] + values[right]
            case 2:
                value = values[left] - values[right]
            case 3:
                value = values[left] * values[right]
            case 4:
                value = -values[left]
            case 5:
                value = values[left] + graph.constants[right]
            case _:
                value = values[left] * graph.constants[right]
        values.append(value if modulus is None else centre(value, modulus))
    return [values[o] if isinstance(o, int) else o.value for o in graph.outputs]


def centre(value: Any, modulus: int) -> Any:
    """The representative nearest to 0."""
    return (value + modulus // 2) % modulus - modulus // 2
