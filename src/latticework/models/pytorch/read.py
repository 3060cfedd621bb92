"""An exported program as a `ModelGraph`: nodes with the user's places, weights as constants, outputs by name."""

from __future__ import annotations

import operator
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from latticework.errors.remedies import REMEDIES
from latticework.ir.location import Loc
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref
from latticework.models.model_refusals import Refusal
from latticework.models.pytorch.folding import fold, is_random, to_numpy
from latticework.models.pytorch.node_locations import SourcePlaces
from latticework.models.pytorch.whole_functions import with_whole_functions


class GraphReader:
    """Reads one graph, and those of the bodies of its loops.

    places    finds them
    known     operators that have a meaning, also if they can draw random numbers
    values    of its nodes that are public, as PyTorch has them: weights, and what is computed of them alone
    refusals  what of it cannot be computed encrypted, whatever operators mean
    """

    def __init__(self, torch: Any, places: SourcePlaces, known: Container[str]) -> None:
        self._torch, self._places, self._known = torch, places, known
        self.values: dict[Any, Any] = {}
        self.refusals: list[Refusal] = []
        self._refs: dict[Any, Ref | list[Ref]] = {}
        self._constants: dict[str, Any] = {}
        self._nodes: list[ModelNode] = []

    def read(
        self, graph_module: Any, public: Mapping[str, Any], name: str, loc: Loc, labels: Mapping[int, str] | None = None
    ) -> ModelGraph:
        """A graph.

        public  values of its placeholders that are no inputs, by their names
        labels  of those of its outputs that are kept, by their numbers; None: all of them, without names
        """
        inputs = []
        made = graph_module.graph.output_node().args[0]
        made = made if isinstance(made, tuple | list) else (made,)
        kept = range(len(made)) if labels is None else labels
        needed = _needed_nodes([made[i] for i in kept])
        for node in graph_module.graph.nodes:
            if node.op == "placeholder" and node.name in public:
                self.values[node] = public[node.name]
            elif node.op == "placeholder":
                inputs.append(GraphInput(node.name, tuple(node.meta["val"].shape), loc))
                self._refs[node] = Ref(node.name)
            elif node.op == "get_attr" and node in needed:
                self.values[node] = self._attribute(graph_module, node, loc)
            elif node.op == "call_function" and node in needed:
                self._call(node)
        outputs = tuple(self._output(made[i]) for i in kept)
        names = () if labels is None or not any(labels.values()) else tuple(labels.values())
        nodes = tuple(with_whole_functions(self._nodes, outputs))
        return ModelGraph(name, tuple(inputs), self._constants, nodes, outputs, loc, names)

    def _attribute(self, graph_module: Any, node: Any, loc: Loc) -> Any:
        """A tensor, or the body of a loop."""
        found = graph_module
        for part in node.target.split("."):
            found = getattr(found, part)
        if not isinstance(found, self._torch.fx.GraphModule):
            return found
        body = GraphReader(self._torch, self._places, self._known)
        graph = body.read(found, {}, node.target, loc)
        self.refusals += body.refusals
        return graph

    def _call(self, node: Any) -> None:
        loc = self._places.of(node.meta)
        if is_random(self._torch, node) and operator_name(node) not in self._known:
            remedy = REMEDIES["random"]
            self.refusals.append(Refusal(loc, operator_name(node), remedy.why, remedy.instead))
            self._refs[node] = Ref(node.name)
        elif node.target is operator.getitem and isinstance(self._refs.get(node.args[0]), list):
            self._refs[node] = self._refs[node.args[0]][node.args[1]]  # type: ignore[index]
        elif not is_random(self._torch, node) and self._is_public(node):
            self.values[node] = fold(self._torch, node, self.values, loc)
        else:
            self._nodes.append(self._node(node, loc))

    def _is_public(self, node: Any) -> bool:
        operands = node.all_input_nodes
        return all(o in self.values and not isinstance(self.values[o], ModelGraph) for o in operands)

    def _node(self, node: Any, loc: Loc) -> ModelNode:
        results: tuple[str, ...] = (node.name,)
        if isinstance(node.meta.get("val"), Sequence):
            used = {user.args[1] for user in node.users if user.target is operator.getitem}
            results = tuple(f"{node.name}.{i}" if i in used else "" for i in range(max(used, default=0) + 1))
            self._refs[node] = [Ref(result) for result in results]
        else:
            self._refs[node] = Ref(node.name)
        args = tuple(map(self._read_argument, _with_epsilon(self._torch, node)))
        options = {name: self._read_argument(value) for name, value in node.kwargs.items()}
        return ModelNode(operator_name(node), args, options, results, loc)

    def _output(self, made: Any) -> Ref:
        ref = self._read_argument(made)
        assert isinstance(ref, Ref), "outputs that are no tensors are left out"
        return ref

    def _read_argument(self, value: Any) -> Any:
        """An argument: names in the place of nodes, arrays and numbers in that of PyTorch's."""
        torch = self._torch
        if isinstance(value, torch.fx.Node):
            return self._public(value) if value in self.values else self._refs[value]
        if isinstance(value, tuple | list):
            return [self._read_argument(part) for part in value]
        if isinstance(value, torch.dtype):
            return numpy_dtype(torch, value)
        return value if value is None or isinstance(value, bool | int | float | str) else str(value)

    def _public(self, node: Any) -> Any:
        value = self.values[node]
        if not isinstance(value, self._torch.Tensor):
            return value
        if node.name not in self._constants:
            self._constants[node.name] = to_numpy(self._torch, value)
        return Ref(node.name)


def operator_name(node: Any) -> str:
    """PyTorch's name of an operator: "aten.add.Tensor", "getitem", "scan"."""
    return getattr(node.target, "__name__", str(node.target)) if "." not in str(node.target) else str(node.target)


def numpy_dtype(torch: Any, dtype: Any) -> np.dtype[Any]:
    """NumPy's name of a dtype; float32 for kinds of floating point that it has not."""
    if dtype.is_floating_point and dtype not in (torch.float16, torch.float32, torch.float64):
        return np.dtype(np.float32)
    return np.dtype(str(dtype).removeprefix("torch."))


def flat_labels(made: Any, path: str = "") -> Iterator[tuple[int, str]]:
    """The number and the name of every leaf of a structure of numbers: keys and positions, joined by dots."""
    if isinstance(made, Mapping):
        parts = [(str(key), part) for key, part in made.items()]
    elif isinstance(made, tuple | list):
        parts = [(str(i), part) for i, part in enumerate(made)]
    else:
        yield made, path
        return
    for key, part in parts:
        yield from flat_labels(part, f"{path}.{key}" if path else key)


def _with_epsilon(torch: Any, node: Any) -> tuple[Any, ...]:
    """The arguments of a node; where a root mean square is kept from 0 by what its numbers resolve, with that."""
    if "rms_norm" not in str(node.target) or (len(node.args) > 3 and node.args[3] is not None):
        return tuple(node.args)
    resolved = torch.finfo(node.args[0].meta["val"].dtype).eps
    return (*node.args[:3], *(None,) * (3 - len(node.args)), resolved)


def _needed_nodes(outputs: Sequence[Any]) -> set[Any]:
    """The nodes that outputs are computed of; checks of PyTorch's, of which nothing is, are not among them."""
    found: set[Any] = set()
    ahead = [output for output in outputs if hasattr(output, "all_input_nodes")]
    while ahead:
        node = ahead.pop()
        if node not in found:
            found.add(node)
            ahead += node.all_input_nodes
    return found
