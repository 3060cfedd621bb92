"""Sentences that text and page say about a circuit and its schedule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from latticework.plan.schema.circuit_schedule import CircuitRecord, LaneStep
from latticework.report.quantities import count

METHODS = {
    "search": "schedule found by search",
    "annealing": "schedule found by annealing",
    "scalar": "one operation after the other",
    "apart": "one operation after the other, numbers sent one by one",
    "tensors": "recognised as operations on arrays",
}
_SIGNS = {"add": "+", "sub": "-", "mul": "*"}


def method_text(circuit: CircuitRecord) -> str:
    """Describe how the circuit is computed, and on how many lanes."""
    said = METHODS.get(circuit.method, circuit.method)
    if circuit.vector is None:
        return said
    return f"{said}; {count(circuit.num_lanes)} of {count(circuit.width)} lanes used"


def step_text(number: int, step: LaneStep) -> str:
    """An instruction on one line."""
    left, right = f"v{step.left}", f"v{step.right}"
    if step.op in _SIGNS:
        said = f"{left} {_SIGNS[step.op]} {right}"
    elif step.op == "rotate":
        said = f"rotate {left}, {step.steps:+d}"
    elif step.op == "input":
        said = f"input {step.name}"
    else:
        said = {
            "neg": f"-{left}",
            "mask": f"mask {left}",
            "merge": f"merge {left}, {right}",
            "add_constant": f"{left} + public",
            "mul_constant": f"{left} * public",
        }.get(step.op, step.op)
    return f"v{number} = {said}"


def count_rows(circuit: CircuitRecord) -> list[list[str]]:
    """(kind, scalar as written, scalar needed, vector) of every kind of operation that occurs."""
    written, needed, vector = circuit.written, circuit.needed, circuit.vector
    kinds = (
        ("products of two ciphertexts", "muls"),
        ("additions, subtractions", "adds"),
        ("negations", "negs"),
        ("products with public numbers", "mul_constants"),
        ("additions of public numbers", "add_constants"),
    )
    rows = [
        [name, *(count(getattr(n, field)) for n in (written, needed)), _make(vector, field)]
        for name, field in kinds
        if any(n is not None and getattr(n, field) for n in (written, needed, vector))
    ]
    if vector is not None:
        rows += [
            ["rotations", "", "", count(vector.rotations)],
            ["blends", "", "", count(vector.blends)],
            ["masks (products with 0 and 1)", "", "", count(vector.masks)],
            ["ciphertexts sent by the client", "", "", count(vector.inputs)],
        ]
    return rows


def _make(vector: object, field: str) -> str:
    return "" if vector is None else count(getattr(vector, field))


def runs(lanes: Iterable[int]) -> str:
    """Ascending lanes as 0-3, 6."""
    found: list[list[int]] = []
    for lane in lanes:
        if found and lane == found[-1][1] + 1:
            found[-1][1] = lane
        else:
            found.append([lane, lane])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def holdings(named: Sequence[tuple[int, str]]) -> str:
    """Describe the values in lanes: "0-1: a[0] a[1]; 4: b"; `named` ascending by lane."""
    parts: list[tuple[list[int], list[str]]] = []
    for lane, text in named:
        if parts and lane == parts[-1][0][-1] + 1:
            parts[-1][0].append(lane)
            parts[-1][1].append(text)
        else:
            parts.append(([lane], [text]))
    return "; ".join(f"{runs(at)}: {' '.join(texts)}" for at, texts in parts)


def input_rows(circuit: CircuitRecord) -> list[tuple[str, str]]:
    """(vector, what lies in its lanes) of the inputs that are kept."""
    return [
        (
            f"v{number}, {step.name}",
            holdings([(lane, circuit.labels[label]) for lane, label in step.lanes if label >= 0]),
        )
        for number, step in enumerate(circuit.steps)
        if step.op == "input"
    ]


def output_rows(circuit: CircuitRecord) -> list[tuple[str, str]]:
    """(vector, what lies in its lanes) of the outputs."""
    registers: dict[int, list[tuple[int, str]]] = {}
    for name, register, lane in circuit.outputs:
        registers.setdefault(register, []).append((lane, name))
    return [(f"v{register}", holdings(sorted(named))) for register, named in registers.items()]
