"""Interval arithmetic on circuits: between which values the results lie, for inputs anywhere in their ranges.

Sums and products modulo t are right whenever the result fits, whatever happens on the way; so only outputs count.
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.circuit.graph import ADD, ADD_CONSTANT, INPUT, MUL, MUL_CONSTANT, SUB, Graph, Public

Interval = tuple[Public, Public]


def intervals(graph: Graph, inputs: Sequence[Sequence[Interval]]) -> list[Interval]:
    """The lowest and highest value of every node.

    inputs  of each element of each group
    """
    found: list[Interval] = []
    for code, left, right in graph.nodes:
        if code == INPUT:
            found.append(inputs[left][right])
            continue
        low, high = found[left]
        if code in (ADD, SUB):
            a, b = found[right]
            found.append((low + a, high + b) if code == ADD else (low - b, high - a))
        elif code == MUL:
            found.append(_product(found[left], found[right], same=left == right))
        elif code == ADD_CONSTANT:
            found.append((low + graph.constants[right], high + graph.constants[right]))
        elif code == MUL_CONSTANT:
            found.append(_product(found[left], (graph.constants[right],) * 2))
        else:
            found.append((-high, -low))
    return found


def _product(a: Interval, b: Interval, *, same: bool = False) -> Interval:
    corners = [x * y for x in a for y in b]
    if same:
        corners = [a[0] ** 2, a[1] ** 2] + ([0] if a[0] < 0 < a[1] else [])
    return min(corners), max(corners)


def overflowing(graph: Graph, inputs: Sequence[Sequence[Interval]], modulus: int) -> list[tuple[int, Interval]]:
    """Outputs (number among the circuit's, range) that may not fit integers modulo `modulus`, nearest to 0."""
    found = intervals(graph, inputs)
    most = (modulus - 1) // 2
    ends = ((number, found[o] if isinstance(o, int) else (o.value,) * 2) for number, o in enumerate(graph.outputs))
    return [(number, (low, high)) for number, (low, high) in ends if low < -most or high > most]


def bits_that_hold(interval: Interval) -> int:
    """Bits of a plaintext modulus by which an interval is represented."""
    return int(max(-interval[0], interval[1])).bit_length() + 1
