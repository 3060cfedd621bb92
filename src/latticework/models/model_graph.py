"""A model as a graph: operators in order, what they read and make, and where the user finds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Ref:
    """A value of a graph by name, among the arguments of a node."""

    name: str


@dataclass(frozen=True, slots=True)
class ModelNode:
    """One use of an operator.

    operator  as the importer calls it: "Conv", "ai.onnx.ml.Scaler", "aten.conv2d.default"
    args      in order: a Ref, a public value, None for one left out, or a tuple or list of these; a ModelGraph is the
              body of a loop, which the meaning calls as a function of its inputs that returns a list of its outputs
    options   by name, public or of Refs; a ModelGraph among them is for the meaning to carry out, or not
    results   names of what it makes, in order; "" for what nothing reads
    loc       where the user finds it: file and line, and in `text` its name or its source
    version   of the set of operators that gives it its meaning; 0 where there are no versions
    """

    operator: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]
    results: tuple[str, ...]
    loc: Loc
    version: int = 0

    def reads(self) -> Iterator[str]:
        """Names of the values that it needs."""
        yield from _names((self.args, tuple(self.options.values())))

    def names(self) -> set[str]:
        """The names by which users may call it: its own, with or without its operator, or a result's."""
        text = self.loc.text
        return {name for name in (text, text.rpartition(" ")[2], *self.results) if name}


@dataclass(frozen=True, slots=True)
class GraphInput:
    """An input of a model, which will be encrypted."""

    name: str
    shape: tuple[int, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class ModelGraph:
    """A model: nodes in an order in which each reads what is there.

    constants  public values by name: weights as arrays, also whole numbers
    outputs    a value each, in order
    labels     names of the outputs, where a program returns a dictionary; none: an array, or a tuple of several
    """

    name: str
    inputs: tuple[GraphInput, ...]
    constants: Mapping[str, Any]
    nodes: tuple[ModelNode, ...]
    outputs: tuple[Ref, ...]
    loc: Loc
    labels: tuple[str, ...] = field(default=())

    def all_nodes(self) -> Iterator[ModelNode]:
        """Its nodes, and those of graphs among their arguments."""
        for node in self.nodes:
            yield node
            for given in node.args:
                if isinstance(given, ModelGraph):
                    yield from given.all_nodes()


def needed_nodes(nodes: Sequence[ModelNode], outputs: Sequence[Ref]) -> list[ModelNode]:
    """The nodes from which something leads to an output."""
    wanted, kept = {ref.name for ref in outputs}, list[ModelNode]()
    for node in reversed(nodes):
        if wanted & set(node.results):
            kept.append(node)
            wanted.update(node.reads())
    return kept[::-1]


def with_names(nodes: Sequence[ModelNode]) -> tuple[tuple[ModelNode, ...], dict[str, Any]]:
    """Nodes whose arrays of real numbers have names, and those by name: the weights of a model."""
    constants: dict[str, Any] = {}
    named = []
    for node in nodes:
        options = dict(node.options)
        for option, value in node.options.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                name = f"{node.results[0]}.{option}"
                constants[name], options[option] = value, Ref(name)
        named.append(replace(node, options=options))
    return tuple(named), constants


_PLAIN = {int, float, str, bool, type(None)}


def is_plain(parts: tuple[Any, ...] | list[Any]) -> bool:
    """Whether there are only numbers and texts in a list: attributes of trees have millions of them."""
    return set(map(type, parts)) <= _PLAIN


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, tuple | list) and not is_plain(value):
        for part in value:
            yield from _names(part)
