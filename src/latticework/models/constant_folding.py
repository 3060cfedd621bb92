"""Values of a graph that do not depend on an input."""

from __future__ import annotations

from typing import Any

from latticework.models.client_rules.table_rules import SECRET, CannotMoveError, MovedNode
from latticework.models.converters import Converters
from latticework.models.evaluate_graph import carry_out
from latticework.models.model_graph import ModelGraph, ModelNode, Ref
from latticework.plan.client_steps.step import Shape


class PublicValues:
    """Values that depend on no input, computed when they are asked for."""

    def __init__(self, graph: ModelGraph, converters: Converters) -> None:
        self._values = dict(graph.constants)
        self._converters = converters
        self._makers: dict[str, ModelNode] = {}
        self.secret = {given.name for given in graph.inputs}
        for node in graph.nodes:
            if any(name in self.secret for name in node.reads()):
                self.secret.update(filter(None, node.results))
            else:
                self._makers.update((name, node) for name in node.results if name)

    def __getitem__(self, name: str) -> Any:
        waiting = [name]
        while waiting:
            wanted = waiting[-1]
            if wanted in self._values:
                waiting.pop()
                continue
            node = self._makers[wanted]
            missing = [read for read in node.reads() if read not in self._values]
            if missing:
                waiting += missing
                continue
            converter = self._converters.find(node.operator, node.version)
            if converter is None:
                raise CannotMoveError(f"{node.operator}, which it reads, is not known")
            made = carry_out(node, converter, self._values, self._converters)
            self._values.update((result, value) for result, value in zip(node.results, made, strict=False) if result)
        return self._values[name]

    def resolve(self, value: Any) -> Any:
        """An argument with public values for names, and SECRET for secret ones."""
        if isinstance(value, Ref):
            return SECRET if value.name in self.secret else self[value.name]
        if isinstance(value, tuple | list):
            return type(value)(self.resolve(part) for part in value)
        return value

    def secrets(self, node: ModelNode) -> list[str]:
        """The secret operands, one after the other."""
        return [name for name in node.reads() if name in self.secret]

    def moved_node(self, node: ModelNode, shape: Shape) -> MovedNode:
        """A node as rules see it."""
        args = tuple(self.resolve(arg) for arg in node.args)
        return MovedNode(node, args, {name: self.resolve(option) for name, option in node.options.items()}, shape)
