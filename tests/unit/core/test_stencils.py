"""Filters of images: the search finds one rotation for every distance, without masks."""

from __future__ import annotations

import numpy as np
from lane_cases import Circuit, run_program, run_scalar, tree_sum

from latticework import _core

WEIGHTS = _core.lanes.InstructionWeights(1.0, 3.0, 0.15, 0.05, 0.03, 0.03)
GROUPED = 1


def filtered(rows: int, columns: int, offsets: list[tuple[int, int]]) -> _core.lanes.ScalarCircuit:
    """Sums of the pixels at these offsets from every pixel that has them all."""
    circuit = Circuit()
    image = np.reshape(circuit.inputs(rows * columns, GROUPED), (rows, columns)).tolist()
    down, right = (max(offset[axis] for offset in offsets) for axis in (0, 1))
    circuit.outputs = [
        tree_sum(circuit, [image[r + i][c + j] for i, j in offsets])
        for r in range(rows - down)
        for c in range(columns - right)
    ]
    return circuit.graph()


def checked(graph: _core.lanes.ScalarCircuit) -> _core.lanes.InstructionCounts:
    found = _core.lanes.vectorize(graph, WEIGHTS, work=1e6).program
    values = list(range(len(graph.code)))
    expected = run_scalar(graph, values)
    registers = run_program(graph.width, found, values)
    assert [registers[at][lane] for at, lane in found.outputs] == [expected[node] for node in graph.outputs]
    return found.counts


def test_a_box_is_two_rotations():
    counts = checked(filtered(4, 4, [(0, 0), (0, 1), (1, 0), (1, 1)]))
    assert (counts.rotations, counts.masks, counts.adds) == (2, 0, 2)


def test_a_cross_is_a_rotation_for_every_arm():
    counts = checked(filtered(5, 6, [(0, 1), (1, 0), (1, 2), (2, 1)]))
    assert counts.rotations <= 4 and counts.masks == 0
