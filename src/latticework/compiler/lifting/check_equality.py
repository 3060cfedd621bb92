"""Check on random numbers that a program on arrays computes what a circuit computes.

Where all public numbers are whole this is modulo a prime, three times: a program of degree d that differed would pass
with a probability of at most (d / 2^20)^3 for each of its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from latticework.compiler.lanes import lane_graph
from latticework.compiler.lanes.lane_graph import Graph
from latticework.ir import Module, Op, evaluate, interpret
from latticework.ir.core import Array
from latticework.plan.schema.arguments import Argument, Result
from latticework.tensor.ops.base import FloatArray

PRIME = 1048573  # products of residues, summed 2^13 times, are exact in floats
ROUNDS = 3


def agrees(module: Module, graph: Graph, arguments: Sequence[Argument], results: Sequence[Result]) -> bool:
    """Whether straight tensor code and a circuit compute the same; on reals, if public numbers are, up to rounding."""
    rng = np.random.default_rng(0)
    public = [*module.sources.values(), np.array(graph.constants, dtype=np.float64)]
    exact = all(np.array_equal(array, np.rint(array)) for array in public)
    for _ in range(ROUNDS):
        given = [
            rng.integers(0, PRIME, shape).astype(np.float64) if exact else rng.uniform(-1, 1, shape)
            for shape in (a.encrypted_shape for a in arguments)
        ]
        wanted = _of_graph(graph, arguments, given, exact)
        for result, got in zip(results, _of_module(module, given, exact), strict=True):
            expected = wanted[list(result.elements)].reshape(result.shape)
            if got.shape != expected.shape or not np.allclose(got, expected, rtol=0 if exact else 1e-9, atol=1e-9):
                return False
    return True


def _of_module(module: Module, inputs: list[FloatArray], exact: bool) -> list[FloatArray]:
    """The outputs of straight tensor code; if exact, residues after every operation."""

    def residue_of(op: Op) -> Callable[[list[Array]], list[Array]]:
        return lambda operands: [np.mod(array, PRIME) for array in evaluate(op, operands, module.sources)]

    return interpret(module, inputs, instead={op: residue_of(op) for op in module.body.ops[:-1]} if exact else {})


def _of_graph(graph: Graph, arguments: Sequence[Argument], inputs: list[FloatArray], exact: bool) -> FloatArray:
    """The outputs of a circuit; if exact, residues."""
    given: dict[int, dict[int, float]] = {}
    for argument, array in zip(arguments, inputs, strict=True):
        elements = zip(argument.elements, array.reshape(-1).tolist(), strict=True)
        given.setdefault(argument.input, {}).update(elements)
    if not exact:
        return np.array(lane_graph.evaluate(graph, given))
    reduced = replace(graph, constants=tuple(c % PRIME for c in graph.constants))
    return np.mod(lane_graph.evaluate(reduced, given, PRIME), PRIME)
