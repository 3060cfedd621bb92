"""Nodes of an ONNX file as nodes of a graph: arrays read, attributes as options, functions unfolded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from latticework.errors import FormatError, UnsupportedError, UserError
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref
from latticework.models.onnx.node_attributes import options_of
from latticework.models.onnx.read_onnx import ML, OnnxFile
from latticework.models.onnx.size_limits import check_nodes, deepest, take_nodes
from latticework.models.onnx.subgraph import Captures, nested_graphs, select_nodes
from latticework.models.onnx.tensors import NARROW, TensorReader

ASKING = frozenset(
    {"Attention", "Split", "LayerNormalization", f"{ML}.LinearClassifier", f"{ML}.SVMClassifier"}
)  # of what is wanted
NAMING = frozenset(
    {"ArgMax", "ArgMin", "TopK", f"{ML}.ZipMap", f"{ML}.LabelEncoder", f"{ML}.CategoryMapper"}
)  # where to cut the graph


@dataclass(frozen=True)
class Scope:
    """A scope of names.

    names       of the file to names of the graph
    versions    of the sets of operators that are in force
    attributes  of the call, in the body of a function
    prefix      of names of the graph that are made here
    number      of the node of the file that all of it belongs to; 0 outside of functions and nested graphs
    """

    names: dict[str, str]
    versions: Mapping[str, int]
    attributes: Mapping[str, Any] | None = None
    prefix: str = ""
    number: int = 0
    depth: int = 0


@dataclass
class OnnxBuilder:
    """Builds one graph after another out of a file.

    constants  arrays by name, of all of them
    narrow     names of those of numbers of few bits
    """

    file: OnnxFile
    tensors: TensorReader
    captures: Captures
    constants: dict[str, Any] = field(default_factory=dict)
    narrow: set[str] = field(default_factory=set)
    _calls: int = 0
    _sizes: dict[int, int] = field(default_factory=dict)

    def keep(self, name: str, tensor: Any, said: str) -> None:
        """Read an array of the file as a constant."""
        self.constants[name] = self.tensors.array(tensor, said)
        if int(tensor.data_type) in NARROW:
            self.narrow.add(name)

    def build(self, nodes: list[tuple[int, Any]], outputs: Sequence[str], scope: Scope) -> list[ModelNode]:
        """Graph nodes of nodes of the file, in order; of their results those have names that something reads."""
        found: list[ModelNode] = []
        wanted = {name for _, node in nodes for name in self.captures.reads(node)} | set(outputs)
        for number, node in nodes:
            loc = self.file.at(scope.number or number, f"{node.op_type} {node.name}".strip())
            try:
                take_nodes(1, self.file.name)
                found.extend(self._build(node, wanted, scope, loc, number))
            except UserError as error:
                raise (error if error.at is not None else type(error)(error.message, at=loc)) from None
        return found

    def _build(self, node: Any, wanted: set[str], scope: Scope, loc: Loc, number: int) -> list[ModelNode]:
        domain = "" if node.domain == "ai.onnx" else node.domain
        function = self._function(domain, node)
        if scope.depth > deepest():
            raise FormatError("functions or graphs are nested too deeply, or call themselves; the file is damaged")
        inner: list[str] = []
        has_graph = any(True for _ in nested_graphs(node))

        def graph(body: Any) -> ModelGraph:
            inner.extend(name for name in self.captures.of(body) if name not in inner)
            return self._read_nested_graph(body, scope, loc, scope.number or number)

        options = options_of(node, self.tensors, graph, scope.attributes)
        args: tuple[Any, ...] = tuple(self._ref(name, scope) if name else None for name in node.input)
        if function is not None:
            return self._inline(function, args, options, node.output, scope, loc)
        results = tuple(self._result_name(name, scope) if name in wanted else "" for name in node.output)
        if domain == "" and node.op_type == "Constant" and results and results[0]:
            self.constants[results[0]] = _constant(options)
            if any(int(given.t.data_type) in NARROW for given in node.attribute if given.HasField("t")):
                self.narrow.add(results[0])
            return []
        while results and not results[-1]:
            results = results[:-1]
        if has_graph:
            outer = tuple(self._ref(name, scope) for name in inner)
            options["captured"] = tuple(ref.name for ref in outer)
            args = (*args, outer)
        operator = node.op_type if domain == "" else f"{domain}.{node.op_type}"
        if operator in ASKING:
            options["wanted"] = tuple(name in wanted for name in node.output)
        if operator in NAMING:
            options["of"] = node.input[0] if node.input else ""
        return [ModelNode(operator, args, options, results, loc, scope.versions.get(domain, 1))]

    def _function(self, domain: str, node: Any) -> Any:
        return self._functions.get((domain, node.op_type, node.overload))

    @cached_property
    def _functions(self) -> dict[tuple[str, str, str], Any]:
        """Those of the file, the first of each name."""
        found: dict[tuple[str, str, str], Any] = {}
        for each in self.file.model.functions:
            found.setdefault(("" if each.domain == "ai.onnx" else each.domain, each.name, each.overload), each)
        return found

    def _size(self, function: Any, depth: int = 0) -> int:
        """Nodes of a function with all that it calls unfolded; calls that are nested too deeply are refused later."""
        known = self._sizes.get(id(function))
        if known is not None or depth > deepest():
            return known or 0
        self._sizes[id(function)] = 0  # what calls itself
        size, unseen = 0, [function]
        while unseen:
            for node in unseen.pop().node:
                called = self._function("" if node.domain == "ai.onnx" else node.domain, node)
                size += 1 + (0 if called is None else self._size(called, depth + 1))
                unseen += nested_graphs(node)
        self._sizes[id(function)] = size
        return size

    def _inline(
        self, function: Any, args: tuple[Any, ...], options: dict[str, Any], outputs: Any, scope: Scope, loc: Loc
    ) -> list[ModelNode]:
        check_nodes(self._size(function), self.file.name)
        self._calls += 1
        prefix = f"{scope.prefix}{function.name}/{self._calls}/"
        if len(args) > len(function.input) or len(outputs) > len(function.output):
            raise FormatError(
                f"function {function.name} takes {len(function.input)} values and makes {len(function.output)}"
            )
        known = set(function.attribute) | {each.name for each in function.attribute_proto}
        if strange := set(options) - known:
            raise FormatError(f"function {function.name} has no attribute {', '.join(sorted(strange))}")
        defaults = options_of(_Defaults(function.attribute_proto), self.tensors, _refuse_graph)
        names = {name: arg.name for name, arg in zip(function.input, args, strict=False) if arg is not None}
        for name, wanted in zip(function.output, outputs, strict=False):
            if name in names:
                raise FormatError(f"function {function.name} returns what it takes, {name}")
            if wanted:
                names[name] = self._result_name(wanted, scope)
        versions = {("" if e.domain == "ai.onnx" else e.domain): int(e.version) for e in function.opset_import}
        body = Scope(names, {**scope.versions, **versions}, {**defaults, **options}, prefix, loc.line, scope.depth + 1)
        wanted = [name for name, asked in zip(function.output, outputs, strict=False) if asked]
        kept, _ = select_nodes(function, wanted, function.input, f"function {function.name}", self.captures)
        return self.build(kept, wanted, body)

    def _read_nested_graph(self, body: Any, scope: Scope, loc: Loc, number: int) -> ModelGraph:
        """A graph within a node: its inputs by their names, and what it captures as further inputs."""
        self._calls += 1
        prefix = f"{scope.prefix}{body.name}/{self._calls}/"
        taken = [value.name for value in body.input]
        names = {name: f"{prefix}{name}" for name in taken}
        inside = Scope({**scope.names, **names}, scope.versions, scope.attributes, prefix, number, scope.depth + 1)
        arrays = {}
        for array in body.initializer:
            inside.names[array.name] = f"{prefix}{array.name}"
            arrays[f"{prefix}{array.name}"] = self.tensors.array(array, array.name)
        outputs = [value.name for value in body.output]
        outer = self.captures.of(body)
        kept, _ = select_nodes(
            body, outputs, [*taken, *(a.name for a in body.initializer), *outer], body.name or "a graph", self.captures
        )
        outside, self.constants = self.constants, arrays
        try:
            nodes = self.build(kept, outputs, inside)
        finally:
            arrays, self.constants = self.constants, outside
        inputs = [GraphInput(names[name], (), loc) for name in taken]
        inputs += [GraphInput(self._ref(name, scope).name, (), loc) for name in outer]
        refs = tuple(self._ref(name, inside) for name in outputs)
        return ModelGraph(body.name or "graph", tuple(inputs), arrays, tuple(nodes), refs, loc)

    def _ref(self, name: str, scope: Scope) -> Ref:
        if name not in scope.names:
            raise FormatError(f"a node reads {name}, which nothing makes before; the file is damaged")
        return Ref(scope.names[name])

    def _result_name(self, name: str, scope: Scope) -> str:
        return scope.names.setdefault(name, f"{scope.prefix}{name}")


@dataclass(frozen=True)
class _Defaults:
    """Attributes of a function with their values, as `options_of` reads those of a node."""

    attribute: Any


def _refuse_graph(_body: Any) -> Any:
    raise FormatError("a function's attribute has a graph as its default, which is not supported")


def _constant(options: dict[str, Any]) -> Any:
    if len(options) != 1:
        raise FormatError(f"Constant: {', '.join(options) or 'no value'}; one value is wanted")
    ((name, value),) = options.items()
    if name == "value":
        return value
    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    if name in kinds:
        return np.array(value, kinds[name])
    if name in ("value_string", "value_strings"):
        return np.array(value)
    raise UnsupportedError(f"Constant: {name} is not supported; use value")
