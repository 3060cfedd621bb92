"""Whether a program on arrays computes what a circuit computes, on random numbers.

Where all public numbers are whole this is modulo a prime, three times: a program of degree d that differed would pass
with a probability of at most (d / 2^20)^3 for each of its outputs.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latticework.compiler.lanes.lane_graph import ADD, ADD_CONSTANT, BINARY, INPUT, MUL, MUL_CONSTANT, NEG, SUB, Graph
from latticework.ir import Module, Value
from latticework.plan.schema.arguments import Argument, Result
from latticework.tensor.ops.base import FloatArray

PRIME = 1048573  # products of residues, summed 2^13 times, are exact in floats
ROUNDS = 3
_TWO = {ADD: operator.add, SUB: operator.sub, MUL: operator.mul}
_ONE = {ADD_CONSTANT: operator.add, MUL_CONSTANT: operator.mul}


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
        values = _of_graph(graph, arguments, given, exact)
        ends = (values[o] if isinstance(o, int) else o.value % PRIME if exact else o.value for o in graph.outputs)
        wanted = np.array(list(ends))
        for result, got in zip(results, _of_module(module, given, exact), strict=True):
            expected = wanted[list(result.elements)].reshape(result.shape)
            if got.shape != expected.shape or not np.allclose(got, expected, rtol=0 if exact else 1e-9, atol=1e-9):
                return False
    return True


@dataclass(frozen=True)
class _Sources:
    sources: dict[str, Any]


def _of_module(module: Module, inputs: list[FloatArray], exact: bool) -> list[FloatArray]:
    """The outputs of straight tensor code; if exact, residues after every operation."""
    held: dict[Value, FloatArray] = dict(zip(module.inputs, inputs, strict=True))
    for op in module.body.ops[:-1]:
        meaning = op.spec.meaning
        assert meaning is not None
        (value,) = meaning(op, [held[v] for v in op.operands], _Sources(module.sources))  # type: ignore[arg-type]
        held[op.result] = np.mod(value, PRIME) if exact else value
    return [held[v] for v in module.body.terminator.operands]


def _of_graph(graph: Graph, arguments: Sequence[Argument], inputs: list[FloatArray], exact: bool) -> FloatArray:
    """Every node of a circuit; if exact, residues."""
    constants = [c % PRIME if exact else c for c in graph.constants]
    given: dict[tuple[int, int], float] = {}
    for argument, array in zip(arguments, inputs, strict=True):
        elements = [(argument.input, element) for element in argument.elements]
        given |= dict(zip(elements, array.reshape(-1).tolist(), strict=True))
    values: list[float] = []
    for code, left, right in graph.nodes:
        if code == INPUT:
            value = given[left, right]
        elif code in BINARY:
            value = _TWO[code](values[left], values[right])
        else:
            value = -values[left] if code == NEG else _ONE[code](values[left], constants[right])
        values.append(value % PRIME if exact else value)
    return np.array(values)
