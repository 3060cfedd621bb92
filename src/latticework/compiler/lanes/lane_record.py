"""Record of a search for lanes, as a plan keeps it for reports.

Which lanes of a register matter is worked out here: forwards, which scalar value every lane holds; backwards, which of
them are read at all. The rest of a register may hold anything and is not told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from latticework.plan.schema.circuit_schedule import (
    MAX_LABEL,
    MAX_LANES,
    MAX_STEPS,
    CircuitRecord,
    CircuitStrategy,
    LaneStep,
    ScalarCounts,
    VectorCounts,
)
from latticework.values.extension import _core

INPUT, ADD, SUB, MUL, NEG, ADD_CONSTANT, MUL_CONSTANT = range(7)  # of scalar nodes
OPS = ("input", "rotate", "add", "sub", "mul", "neg", "add_constant", "mul_constant")  # of vector instructions
_SIGNS = {ADD: "+", SUB: "-", MUL: "*"}

Code = Sequence[_core.lanes.VectorInstruction]
Ends = Sequence[tuple[int, int]]  # (register, lane) of every output
Held = dict[int, int]  # lane -> node
Taken = tuple[set[int], set[int]]  # lanes that the result of an addition has of its left, and of its right operand


def scalar_counts(codes: Sequence[int]) -> ScalarCounts:
    """Operations among the codes of scalar nodes."""
    n = Counter(int(code) for code in codes)
    return ScalarCounts(n[MUL], n[ADD] + n[SUB], n[NEG], n[MUL_CONSTANT], n[ADD_CONSTANT])


def record_lanes(
    circuit: _core.lanes.ScalarCircuit,
    program: _core.lanes.VectorProgram,
    *,
    method: str,
    names: Mapping[int, str],
    groups: Sequence[str],
    outputs: Sequence[str],
    written: ScalarCounts,
    ways: Sequence[CircuitStrategy] = (),
) -> CircuitRecord:
    """The record of a vector program.

    names    of input nodes, such as a[0, 1];  groups  of input groups;  outputs  of the circuit's outputs
    written  operations before the circuit was simplified
    """
    width, code, ends = circuit.width, program.code, program.outputs
    ops, held, taken = _follow(code, width, _may_read(code, ends, width))
    read = _read(code, ends, ops, taken, width)
    in_use = sorted(set[int]().union(*read)) if read else []
    shown = set(in_use[:MAX_LANES])
    labels: dict[str, int] = {}
    texts = _Labels(circuit, names)
    steps = []
    for number in range(min(len(ops), MAX_STEPS)):
        op = ops[number]
        lanes = tuple(
            (lane, labels.setdefault(texts(node), len(labels)) if node >= 0 else -1)
            for lane in sorted(read[number] & shown)
            for node in (held[number].get(lane, -1),)
        )
        left, right = code[number].left, code[number].right
        name = groups[left] if op == "input" else ""
        binary = op in ("add", "sub", "mul", "merge")
        steps.append(
            LaneStep(
                op, -1 if op == "input" else left, right if binary else -1,
                _sign_steps(code[number].steps, width), code[number].stage, name, lanes,
            )
        )  # fmt: skip
    named = tuple((name, register, lane) for name, (register, lane) in zip(outputs, ends, strict=True))
    return CircuitRecord(
        method, width, written, scalar_counts(circuit.code), _vector_counts(ops, program.counts.blends),
        tuple(labels), tuple(steps), len(ops), len(in_use), named, (), tuple(ways),
    )  # fmt: skip


def record_tensors(
    circuit: _core.lanes.ScalarCircuit,
    *,
    formulas: Sequence[str],
    written: ScalarCounts,
    ways: Sequence[CircuitStrategy] = (),
) -> CircuitRecord:
    """The record of a circuit that was recognised as tensors."""
    needed = scalar_counts(circuit.code)
    return CircuitRecord(
        "tensors", circuit.width, written, needed, None, (), (), 0, 0, (), tuple(formulas), tuple(ways)
    )


def _sign_steps(steps: int, width: int) -> int:
    """The shortest rotation to the same place."""
    return (steps + width // 2) % width - width // 2


def _vector_counts(ops: Sequence[str], blends: int) -> VectorCounts:
    n = Counter(ops)
    return VectorCounts(
        n["mul"], n["add"] + n["sub"] + n["merge"], n["neg"], n["mul_constant"], n["add_constant"], n["rotate"],
        blends, n["mask"], n["input"],
    )  # fmt: skip


def _may_read(code: Code, ends: Ends, width: int) -> list[set[int]]:
    """Lanes of every register whose value may go into a result: nothing else is worth following."""
    none: Taken = (set(), set())
    return _read(code, ends, [OPS[one.code] for one in code], [none] * len(code), width)


def _follow(instructions: Code, width: int, may_read: Sequence[set[int]]) -> tuple[list[str], list[Held], list[Taken]]:
    """Follow instructions forwards: return the operation of each, the scalar value in each lane that may be read, as
    far as it is known, and the lanes that an addition takes over from either operand.

    Values that the circuit has no node for get numbers below -1.
    """
    ops: list[str] = []
    held: list[Held] = []
    taken: list[Taken] = []
    unnamed = -1
    for number, one in enumerate(instructions):
        op, left, right, table, computes = OPS[one.code], one.left, one.right, one.table, dict(one.computes)
        over: Taken = (set(), set())
        if op == "input":
            now = {lane: node for lane, node in table if lane in may_read[number]}
        elif op == "rotate":
            back = {lane: (lane + one.steps) % width for lane in may_read[number]}
            now = {lane: held[left][at] for lane, at in back.items() if at in held[left]}
        elif one.is_mask:
            op, read_lanes = "mask", {lane for lane, _ in table}
            now = {lane: held[left][lane] for lane in may_read[number] & read_lanes if lane in held[left]}
        else:
            now, sources = {}, (held[left], held[right] if right >= 0 else {})
            for lane in sorted({*sources[0], *sources[1], *computes} & may_read[number]):
                node = computes.get(lane, -1)
                side = 0 if lane in sources[0] else 1
                alone = op == "add" and (lane in sources[0]) != (lane in sources[1])
                if alone and (node < 0 or node == sources[side][lane]):
                    node = sources[side][lane]
                    over[side].add(lane)
                elif node < 0:
                    node = unnamed = unnamed - 1
                now[lane] = node
            if op == "add" and len(over[0]) + len(over[1]) == len(now):
                op = "merge"
        ops.append(op)
        held.append(now)
        taken.append(over)
    return ops, held, taken


def _read(code: Code, ends: Ends, ops: Sequence[str], taken: Sequence[Taken], width: int) -> list[set[int]]:
    """Lanes of every register whose value goes into a result."""
    read: list[set[int]] = [set() for _ in ops]
    for register, lane in ends:
        read[register].add(lane)
    for number in range(len(ops) - 1, -1, -1):
        op, lanes = ops[number], read[number]
        left, right = code[number].left, code[number].right
        if op == "input":
            continue
        if op == "rotate":
            steps = code[number].steps
            read[left] |= {(lane + steps) % width for lane in lanes}
        elif op in ("add", "merge"):
            read[left] |= lanes - taken[number][1]
            read[right] |= lanes - taken[number][0]
        else:
            read[left] |= lanes
            if op in ("sub", "mul"):
                read[right] |= lanes
    return read


class _Labels:
    """Texts of nodes: names of inputs, and what operations do, their operands by name or by number."""

    def __init__(self, circuit: _core.lanes.ScalarCircuit, names: Mapping[int, str]) -> None:
        self.nodes, self.names = list(zip(circuit.code, circuit.left, circuit.right, strict=True)), names

    def __call__(self, node: int) -> str:
        """Label of a node, at most MAX_LABEL characters."""
        code, left, right = self.nodes[node]
        if code == INPUT:
            text = self._short(node)
        elif code in _SIGNS:
            text = f"t{node} = {self._short(left)} {_SIGNS[code]} {self._short(right)}"
        elif code == NEG:
            text = f"t{node} = -{self._short(left)}"
        else:
            text = f"t{node} = {self._short(left)} {'+' if code == ADD_CONSTANT else '*'} public"
        return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"

    def _short(self, node: int) -> str:
        if self.nodes[node][0] != INPUT:
            return f"t{node}"
        return self.names.get(node, f"x{node}")
