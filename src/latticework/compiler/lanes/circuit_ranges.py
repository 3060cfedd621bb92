"""Interval arithmetic on circuits: between which values the results lie, for inputs anywhere in their ranges.

Sums and products modulo t are right whenever the result fits, whatever happens on the way; so only outputs count.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from latticework.compiler.lanes.lane_graph import ADD, ADD_CONSTANT, INPUT, MUL, MUL_CONSTANT, SUB, Graph
from latticework.functions.approximation.intervals import Interval, minus, negative, plus, times


def intervals(graph: Graph, inputs: Sequence[Sequence[Interval]]) -> list[Interval]:
    """The lowest and highest value of every node.

    inputs  of each element of each group
    """
    result: list[Interval] = []
    for code, left, right in graph.nodes:
        if code == INPUT:
            result.append(inputs[left][right])
            continue
        if code in (ADD, SUB):
            result.append((plus if code == ADD else minus)(result[left], result[right]))
        elif code == MUL:
            result.append(times(result[left], result[right], same=left == right))
        elif code in (ADD_CONSTANT, MUL_CONSTANT):
            constant = graph.constants[right]
            result.append((plus if code == ADD_CONSTANT else times)(result[left], (constant, constant)))
        else:
            result.append(negative(result[left]))
    return result


def overflowing(graph: Graph, inputs: Sequence[Sequence[Interval]], modulus: int) -> list[tuple[int, Interval]]:
    """Outputs (number among the circuit's, range) that may not fit integers modulo `modulus`, nearest to 0."""
    ranges = intervals(graph, inputs)
    ends = ((number, ranges[o] if isinstance(o, int) else (o.value,) * 2) for number, o in enumerate(graph.outputs))
    return [(number, (low, high)) for number, (low, high) in ends if not fits((low, high), modulus)]


def fits(interval: Interval, modulus: int) -> bool:
    """Whether integers modulo `modulus`, nearest to 0, hold it."""
    most = (modulus - 1) // 2
    return -most <= interval[0] and interval[1] <= most


def bits_that_hold(interval: Interval, modulus: int) -> int | None:
    """Bits of a plaintext modulus that holds an interval which `modulus` does not hold; None if none does."""
    largest = max(-interval[0], interval[1])
    return max(int(largest).bit_length(), modulus.bit_length()) + 1 if largest < inf else None
