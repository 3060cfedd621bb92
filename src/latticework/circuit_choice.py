"""Which vector programs of a circuit are worth comparing as whole programs, and which of them is taken.

What a mask costs in levels or noise depends on where it stands, and no price of one instruction says it. So where the
search uses masks, another one avoids them; and code for one number at a time, which has none, is looked at too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from latticework.circuit_arrays import with_ways
from latticework.circuit_pipeline import LaneOptions, Scalars
from latticework.plan.circuits import Circuit
from latticework.stages import Vectors

FIRST_SHARE = 0.7  # of the effort, for the first search
MAX_SCALAR = 400  # nodes of a circuit for which code for one number at a time is looked at


def candidates(scalars: Scalars, lanes: LaneOptions, made: Callable[[LaneOptions], Vectors]) -> list[Vectors]:
    """The vector programs that are worth comparing.

    made  finds lanes and emits code
    """
    if lanes.algorithm != "search":
        return [made(lanes)]
    found = [made(replace(lanes, share=FIRST_SHARE))]
    counts = record_of(found[0]).vector
    rotate, mul, _, *rest = lanes.weights
    if counts is not None and counts.masks:
        found.append(made(replace(lanes, share=1.0 - FIRST_SHARE, weights=(rotate, mul, mul, *rest))))
    if len(scalars.graph.nodes) <= MAX_SCALAR:
        found.append(made(replace(lanes, algorithm="scalar")))
    return found


def chosen(found: Sequence[Vectors], seconds: Sequence[float]) -> Vectors:
    """The fastest; its record names what else was looked at."""
    best = min(range(len(found)), key=lambda i: seconds[i])
    prices: dict[str, float] = {}
    for vectors, cost in zip(found, seconds, strict=True):
        method = record_of(vectors).method
        prices[method] = min(cost, prices.get(method, cost))
    return with_ways(found[best], prices) if len(prices) > 1 else found[best]


def record_of(vectors: Vectors) -> Circuit:
    """How the circuit was vectorised."""
    assert vectors.circuit is not None and vectors.circuit.record is not None
    return vectors.circuit.record
