"""What a search for lanes found, as a plan keeps it for reports.

Which lanes of a register matter is worked out here: forwards, which scalar value every lane holds; backwards, which of
them are read at all. The rest of a register may hold anything and is not told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from latticework.plan.circuits import (
    MAX_LABEL,
    MAX_LANES,
    MAX_STEPS,
    Circuit,
    LaneStep,
    ScalarCounts,
    VectorCounts,
    Way,
)

INPUT, ADD, SUB, MUL, NEG, ADD_CONSTANT, MUL_CONSTANT = range(7)  # of scalar nodes
OPS = ("input", "rotate", "add", "sub", "mul", "neg", "add_constant", "mul_constant")  # of vector instructions
_SIGNS = {ADD: "+", SUB: "-", MUL: "*"}

Held = dict[int, int]  # lane -> node
Taken = tuple[set[int], set[int]]  # lanes that the result of an addition has of its left, and of its right operand


def scalar_counts(codes: Sequence[int]) -> ScalarCounts:
    """Operations among the codes of scalar nodes."""
    n = Counter(int(code) for code in codes)
    return ScalarCounts(n[MUL], n[ADD] + n[SUB], n[NEG], n[MUL_CONSTANT], n[ADD_CONSTANT])


def recorded(
    graph: Mapping[str, Any],
    result: Mapping[str, Any],
    *,
    method: str,
    names: Mapping[int, str],
    groups: Sequence[str],
    outputs: Sequence[str],
    written: ScalarCounts,
    ways: Sequence[Way] = (),
) -> Circuit:
    """The record of a vector program.

    graph, result  of `_core.lanes.vectorize`
    names          of input nodes, such as a[0, 1];  groups  of input groups;  outputs  of the circuit's outputs
    written        operations before the circuit was simplified
    """
    width = int(graph["width"])
    ops, held, taken = _followed(graph, result, _may_read(result, width))
    read = _read(result, ops, taken, width)
    in_use = sorted(set[int]().union(*read)) if read else []
    shown = set(in_use[:MAX_LANES])
    labels: dict[str, int] = {}
    texts = _Labels(graph, names)
    steps = []
    for number in range(min(len(ops), MAX_STEPS)):
        op = ops[number]
        lanes = tuple(
            (lane, labels.setdefault(texts(node), len(labels)) if node >= 0 else -1)
            for lane in sorted(read[number] & shown)
            for node in (held[number].get(lane, -1),)
        )
        left, right = int(result["left"][number]), int(result["right"][number])
        name = groups[left] if op == "input" else ""
        binary = op in ("add", "sub", "mul", "merge")
        steps.append(
            LaneStep(
                op, -1 if op == "input" else left, right if binary else -1,
                _signed(int(result["steps"][number]), width),
                int(result["stage"][number]), name, lanes,
            )
        )  # fmt: skip
    ends = tuple((name, int(r), int(lane)) for name, (r, lane) in zip(outputs, result["outputs"], strict=True))
    return Circuit(
        method, width, written, scalar_counts(graph["code"]), _vector_counts(ops, result["counts"]),
        tuple(labels), tuple(steps), len(ops), len(in_use), ends, (), tuple(ways),
    )  # fmt: skip


def recorded_tensors(
    graph: Mapping[str, Any], *, formulas: Sequence[str], written: ScalarCounts, ways: Sequence[Way] = ()
) -> Circuit:
    """The record of a circuit that was recognised as tensors."""
    needed = scalar_counts(graph["code"])
    return Circuit(
        "tensors", int(graph["width"]), written, needed, None, (), (), 0, 0, (), tuple(formulas), tuple(ways)
    )


def _signed(steps: int, width: int) -> int:
    """The shortest way round."""
    return (steps + width // 2) % width - width // 2


def _vector_counts(ops: Sequence[str], counts: Mapping[str, Any]) -> VectorCounts:
    n = Counter(ops)
    return VectorCounts(
        n["mul"], n["add"] + n["sub"] + n["merge"], n["neg"], n["mul_constant"], n["add_constant"], n["rotate"],
        int(counts["blends"]), n["mask"], n["input"],
    )  # fmt: skip


def _may_read(result: Mapping[str, Any], width: int) -> list[set[int]]:
    """Lanes of every register whose value may go into a result: nothing else is worth following."""
    none: Taken = (set(), set())
    return _read(result, [OPS[code] for code in result["code"]], [none] * len(result["code"]), width)


def _followed(
    graph: Mapping[str, Any], result: Mapping[str, Any], may_read: Sequence[set[int]]
) -> tuple[list[str], list[Held], list[Taken]]:
    """What every instruction is, the scalar value in each lane that may be read, as far as that is known, and the lanes
    that an addition takes over from either operand.

    Values that the circuit has no node for get numbers below -1.
    """
    ops: list[str] = []
    held: list[Held] = []
    taken: list[Taken] = []
    width, unnamed = int(graph["width"]), -1
    for number, code in enumerate(result["code"]):
        op, left, right = OPS[code], int(result["left"][number]), int(result["right"][number])
        table = result["tables"][number]
        computes = {int(lane): int(node) for lane, node in result["computes"][number]}
        over: Taken = (set(), set())
        if op == "input":
            now = {int(lane): int(node) for lane, node in table if int(lane) in may_read[number]}
        elif op == "rotate":
            steps = int(result["steps"][number])
            back = {lane: (lane + steps) % width for lane in may_read[number]}
            now = {lane: held[left][at] for lane, at in back.items() if at in held[left]}
        elif result["is_mask"][number]:
            op, kept = "mask", {int(lane) for lane, _ in table}
            now = {lane: held[left][lane] for lane in may_read[number] & kept if lane in held[left]}
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


def _read(result: Mapping[str, Any], ops: Sequence[str], taken: Sequence[Taken], width: int) -> list[set[int]]:
    """Lanes of every register whose value goes into a result."""
    read: list[set[int]] = [set() for _ in ops]
    for register, lane in result["outputs"]:
        read[register].add(int(lane))
    for number in range(len(ops) - 1, -1, -1):
        op, lanes = ops[number], read[number]
        left, right = int(result["left"][number]), int(result["right"][number])
        if op == "input":
            continue
        if op == "rotate":
            steps = int(result["steps"][number])
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

    def __init__(self, graph: Mapping[str, Any], names: Mapping[int, str]) -> None:
        self.graph, self.names = graph, names

    def __call__(self, node: int) -> str:
        """At most MAX_LABEL characters."""
        code, left, right = (int(self.graph[field][node]) for field in ("code", "left", "right"))
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
        if int(self.graph["code"][node]) != INPUT:
            return f"t{node}"
        return self.names.get(node, f"x{node}")
