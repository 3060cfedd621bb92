"""Softmaxes that files write out as exponentials over their sum, as the one operation that they are.

exp(x - m) / sum(exp(x - m)) is the softmax of x for every m that is the same along the axis of the sum. Exporters of
JAX and TensorFlow write it so, with the largest element for m, and with axes that are left out, reshaped and expanded
again. x - log(sum(exp(x))) is its logarithm, which exporters of naive Bayes write out. Encrypted, that largest
element would be as many comparisons one after another as the axis has doublings, and they are for nothing; at the end
of a model the softmax is its owner's.

Nodes are found by what reads what. Which axis it is, and whether what is reshaped comes to lie where it belongs,
follows from the shape of x, which is known when it is traced: there the nodes are carried out on random numbers, and
compared with the softmax along each axis. Where they are none, they stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.models.client_rules.onnx import WRITTEN_SOFTMAX
from latticework.models.converters import Converter, Converters
from latticework.models.evaluate_graph import run
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref, needed_nodes
from latticework.models.semantics import activations
from latticework.values.inputs.reading_budget import trying

_SHAPING = frozenset(("Reshape", "Expand", "Unsqueeze", "Squeeze", "Identity", "Cast"))
_MOST_TRIED = 1 << 22  # elements of x


@dataclass(frozen=True)
class WrittenSoftmax:
    """The nodes of one: their first input is x, the others are what shapes are taken from.

    log  whether it is the logarithm of a softmax
    """

    body: ModelGraph
    converters: Converters
    log: bool = False

    def axis(self, shape: Sequence[int], others: Iterable[Any]) -> int | None:
        """The axis of an x of that shape along which they are a softmax, the last of several; None: they are none."""
        if not shape or prod(shape) > _MOST_TRIED:
            return None
        x = np.random.default_rng(0).normal(size=shape)
        with trying((len(self.body.nodes) + 1) * x.size):
            found = self(x, others)
        if found.shape != x.shape:
            return None
        axes = (axis for axis in reversed(range(x.ndim)) if np.allclose(found, self.along(x, axis), rtol=1e-9))
        return next(axes, None)

    def __call__(self, x: Any, others: Iterable[Any]) -> Any:
        """Compute the nodes on x, one by one."""
        names = [given.name for given in self.body.inputs]
        (found,) = run(self.body, self.converters, dict(zip(names, (x, *others), strict=True)))
        return found

    def along(self, x: Any, axis: int) -> Any:
        """Compute what the nodes stand for, along an axis."""
        return (activations.log_softmax if self.log else activations.softmax)(x, axis)


def _meaning(x: Any, *others: Any, written: WrittenSoftmax) -> Any:
    axis = written.axis(np.shape(x), others)
    return written(x, others) if axis is None else written.along(x, axis)


CONVERTERS = (
    Converter(
        WRITTEN_SOFTMAX, _meaning, note="Exp over its ReduceSum, of Sub of a ReduceMax or not; Sub of a ReduceLogSumExp"
    ),
)


def with_whole_softmaxes(
    nodes: Sequence[ModelNode], constants: Mapping[str, Any], outputs: Sequence[Ref], converters: Converters
) -> list[ModelNode]:
    """Nodes in which softmaxes are one; those of which nothing is read any more are left out."""
    makers = {name: node for node in nodes for name in node.results if name}
    joined = [_fuse_softmax(node, nodes, makers, constants, converters) or node for node in nodes]
    return needed_nodes(joined, outputs) if joined != list(nodes) else joined


def _fuse_softmax(
    node: ModelNode,
    nodes: Sequence[ModelNode],
    makers: Mapping[str, ModelNode],
    constants: Mapping[str, Any],
    converters: Converters,
) -> ModelNode | None:
    """The softmax that a quotient is the last node of, or its logarithm, of which a difference is."""
    log = node.operator == "Sub"
    found = (_last_of_logarithm if log else _last_of_softmax)(node, makers, constants)
    if found is None:
        return None
    x, within = found
    made = {id(each) for each in within}
    body = tuple(each for each in nodes if id(each) in made)
    own = {name for each in body for name in each.results}
    read = dict.fromkeys(name for each in body for name in each.reads())
    others = [name for name in read if name not in own | {x} and name not in constants]
    inputs = tuple(GraphInput(name, (), node.loc) for name in (x, *others))
    kept = {name: constants[name] for name in read if name in constants}
    graph = ModelGraph(WRITTEN_SOFTMAX, inputs, kept, body, (Ref(node.results[0]),), node.loc)
    args = tuple(Ref(name) for name in (x, *others))
    return ModelNode(WRITTEN_SOFTMAX, args, {"written": WrittenSoftmax(graph, converters, log)}, node.results, node.loc)


def _last_of_softmax(
    node: ModelNode, makers: Mapping[str, ModelNode], constants: Mapping[str, Any]
) -> tuple[str, list[ModelNode]] | None:
    """The argument, and the nodes from it on."""
    if node.operator != "Div" or not all(isinstance(arg, Ref) for arg in node.args):
        return None
    top, bottom = (arg.name for arg in node.args)
    exp = makers.get(top)
    sums = _way(bottom, "ReduceSum", top, makers, constants)
    if exp is None or exp.operator != "Exp" or sums is None:
        return None
    (x,) = exp.reads()
    less = makers.get(x)
    if less is not None and less.operator == "Sub" and all(isinstance(arg, Ref) for arg in less.args):
        first, second = (arg.name for arg in less.args)
        if largest := _way(second, "ReduceMax", first, makers, constants):
            return first, [*largest, less, exp, *sums, node]
    return None if x in constants else (x, [exp, *sums, node])


def _last_of_logarithm(
    node: ModelNode, makers: Mapping[str, ModelNode], constants: Mapping[str, Any]
) -> tuple[str, list[ModelNode]] | None:
    """The argument of the logarithm of a softmax, and the nodes from it on."""
    if not all(isinstance(arg, Ref) for arg in node.args):
        return None
    x, other = (arg.name for arg in node.args)
    sums = _way(other, "ReduceLogSumExp", x, makers, constants)
    return None if sums is None or x in constants else (x, [*sums, node])


def _way(
    name: str, operator: str, start: str, makers: Mapping[str, ModelNode], constants: Mapping[str, Any]
) -> list[ModelNode] | None:
    """Nodes from the reduction of `start` to a value, between which axes are moved and no number is made."""
    found: list[ModelNode] = []
    while node := makers.get(name):
        found.append(node)
        first = next(_values_of(node, constants), None)
        if node.operator == operator:
            return found if first == start else None
        if first is None:
            return None
        name = first
    return None


def _values_of(node: ModelNode, constants: Mapping[str, Any]) -> Iterator[str]:
    """Names of the values that a node reduces, moves, or keeps above a number."""
    if node.operator == "Max":
        names = [arg.name for arg in node.args if isinstance(arg, Ref)]
        numbers = [name for name in names if name in constants and np.size(constants[name]) == 1]
        if len(numbers) == len(node.args) - 1:
            yield from (name for name in names if name not in numbers)
    elif (node.operator in _SHAPING or node.operator.startswith("Reduce")) and isinstance(node.args[0], Ref):
        yield node.args[0].name
