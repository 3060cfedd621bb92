"""Activations that files write out in several nodes, as the one operator that they are.

Exporters write x * (1 + erf(x / sqrt 2)) / 2 where they have no operator for GELU. Node by node that would be a
polynomial of the inner function, on the range of its own argument (a cubic of x, for the tanh of GPT-2), whose error
is multiplied by x; GELU itself is one polynomial on the range of x.

What nodes compute is not compared by how they are written, of which there are many ways, but by what it is: from a
value on, as long as nodes take it element by element with public numbers alone, their results are functions of one
number, and are carried out on a grid. Those that are an activation there, up to the rounding of constants in float32,
are that activation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.models.converters import Converters
from latticework.models.evaluate_graph import carry_out
from latticework.models.model_graph import ModelNode, Ref, needed_nodes
from latticework.models.semantics import activations
from latticework.models.semantics.unary import MEANINGS

_PLAIN = frozenset(("Add", "Sub", "Mul", "Div", "Neg", "Pow", "Identity", "Cast"))
_CURVED = frozenset(("Tanh", "Erf", "Sigmoid", "Softplus"))  # defined everywhere
_GRID = np.concatenate((np.linspace(-7.0, 7.0, 225), (-40.0, -15.0, 15.0, 40.0)))
_TOLERANCE = 2e-6  # constants of float32 are off by 6e-8 of themselves
_LONGEST = 24  # nodes from the argument to the result of an activation


@dataclass(frozen=True)
class _Activation:
    """An operator of ONNX that computes it, since a version."""

    operator: str
    since: int
    options: Mapping[str, Any]
    meaning: Callable[[Any], Any]


_ACTIVATIONS = (
    _Activation("Gelu", 20, {}, activations.gelu),
    _Activation("Gelu", 20, {"approximate": "tanh"}, lambda x: activations.gelu(x, "tanh")),
    _Activation("Swish", 24, {}, MEANINGS["silu"]),
    _Activation("Mish", 18, {}, MEANINGS["mish"]),
)


@dataclass(frozen=True)
class _OnGrid:
    """A value as a function of an earlier one.

    numbers  what it is on the grid
    curved   whether a function that is no polynomial has part in it;  length  nodes in a row, at most
    rank     largest number of axes of public numbers that have part in it
    """

    numbers: npt.NDArray[np.float64]
    curved: bool = False
    length: int = 0
    rank: int = 0


def with_whole_activations(
    nodes: Sequence[ModelNode], constants: Mapping[str, Any], outputs: Sequence[Ref], converters: Converters
) -> tuple[list[ModelNode], list[str]]:
    """Nodes in which activations are one operator, and which of them were put together; see above.

    Nodes of which nothing is read any more are left out.
    """
    known: dict[str, dict[str, _OnGrid]] = {}  # of each value, as functions of the values by these names
    made, found = list[ModelNode](), list[str]()
    for node in nodes:
        by_root = _on_grid(node, known, constants, converters)
        known[node.results[0] if node.results else ""] = by_root
        for root, value in by_root.items():
            activation = _matching(value)
            if activation is not None:
                made += _as_one(activation, root, value.rank, node)
                found.append(f"{activation.operator} ({node.results[0]})")
                break
        else:
            made.append(node)
    return (needed_nodes(made, outputs), found) if found else (list(nodes), [])


def _on_grid(
    node: ModelNode, known: Mapping[str, dict[str, _OnGrid]], constants: Mapping[str, Any], converters: Converters
) -> dict[str, _OnGrid]:
    """The result of a node as a function of what it reads, and of what that is a function of; {} where it is none."""
    converter = converters.find(node.operator, node.version)
    refs = [arg.name for arg in node.args if isinstance(arg, Ref)]
    numbers = {name: np.asarray(constants[name]) for name in refs if name in constants}
    values = dict.fromkeys(name for name in refs if name not in constants)
    if node.operator not in _PLAIN | _CURVED or converter is None or not values or len(node.results) != 1:
        return {}
    if any(number.size != 1 or number.dtype.kind not in "iuf" for number in numbers.values()):
        return {}
    ways = [{name: _OnGrid(_GRID), **known.get(name, {})} for name in values]
    found = {}
    for root in ways[0]:
        read = [way[root] for way in ways if root in way]
        if len(read) < len(ways) or (length := 1 + max(each.length for each in read)) > _LONGEST:
            continue
        given: dict[str, Any] = {name: number.reshape(()) for name, number in numbers.items()}
        given.update(zip(values, (each.numbers for each in read), strict=True))
        with np.errstate(all="ignore"):
            (result,) = carry_out(node, converter, given, converters)
        if np.shape(result) == _GRID.shape:
            curved = node.operator in _CURVED or any(each.curved for each in read)
            rank = max([number.ndim for number in numbers.values()] + [each.rank for each in read])
            found[root] = _OnGrid(np.asarray(result, dtype=np.float64), curved, length, rank)
    return found


def _matching(value: _OnGrid) -> _Activation | None:
    if not value.curved or value.length < 2:
        return None
    return next((a for a in _ACTIVATIONS if np.allclose(value.numbers, a.meaning(_GRID), _TOLERANCE, _TOLERANCE)), None)


def _as_one(activation: _Activation, root: str, rank: int, node: ModelNode) -> list[ModelNode]:
    """The activation, with as many axes as public numbers bring along."""
    (result,) = node.results
    options = dict(activation.options)
    once = replace(node, operator=activation.operator, args=(Ref(root),), options=options, version=activation.since)
    if not rank:
        return [once]
    inner = f"{result}/{activation.operator}"
    stretched = ModelNode("Expand", (Ref(inner), np.ones(rank, np.int64)), {}, (result,), node.loc, version=13)
    return [replace(once, results=(inner,)), stretched]
