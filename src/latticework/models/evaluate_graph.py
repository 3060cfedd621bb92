"""Carrying out a graph, on arrays or on secrets: each node by the meaning of its operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from latticework.errors import UserError
from latticework.ir.lines import standing_at
from latticework.models.converters import Converter, Converters
from latticework.models.model_graph import ModelGraph, ModelNode, Ref, is_plain
from latticework.models.model_refusals import Refusal, refuse
from latticework.values.inputs.reading_budget import current_budget

_FAULTS = (TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError, NotImplementedError)

OnNode = Callable[[ModelNode, Mapping[str, Any]], None]


def check_operators(graph: ModelGraph, converters: Converters) -> None:
    """UnsupportedError that names every node whose operator, arguments or options have no meaning here."""
    refusals = []
    for node in graph.all_nodes():
        found = converters.find(node.operator, node.version)
        remedy = converters.remedy(node.operator, node.version)
        if found is None:
            refusals.append(Refusal(node.loc, node.operator, remedy.why, remedy.instead))
        elif misfit := found.misfit(node):
            refusals.append(Refusal(node.loc, node.operator, misfit, remedy.instead))
    if refusals:
        raise refuse(graph, refusals)


def run(
    graph: ModelGraph, converters: Converters, inputs: Mapping[str, Any], *, on_node: OnNode | None = None
) -> list[Any]:
    """The outputs of a graph.

    inputs  a value for each input: arrays, or secrets of a program that is being traced
    on_node told of every node when it was carried out, with the values that are there
    raises  the error of a node, at its place; where several have one, UnsupportedError that names all of them, but for
            those that read what others did not make
    """
    values = {**graph.constants, **inputs}
    last = _last_reads(graph)
    faults: list[tuple[ModelNode, UserError]] = []
    missing: set[str] = set()
    for number, node in enumerate(graph.nodes):
        reads = set(node.reads())
        if reads & missing:
            missing.update(node.results)
            continue
        converter = converters.find(node.operator, node.version)
        assert converter is not None, "graphs are checked when they are imported"
        try:
            made = carry_out(node, converter, values, converters)
        except UserError as error:
            faults.append((node, error))
            budget = current_budget()
            if budget is not None and budget.is_spent:
                break  # all nodes after it would say the same, and their errors keep what they were given
            missing.update(node.results)
            continue
        values.update((name, value) for name, value in zip(node.results, made, strict=True) if name)
        if on_node is not None:
            on_node(node, values)
        for name in reads:
            if last[name] == number and name not in graph.constants:
                values.pop(name, None)
    if len(faults) == 1:
        node, only = faults[0]
        if not only.message.startswith(node.operator.rpartition(".")[2]):  # else it says whose it is
            name = f"{node.operator} ({node.loc.text})" if node.loc.text else node.operator
            only = type(only)(f"{name}: {only.message}", at=only.at)
        only.refused = graph, (Refusal(node.loc, node.operator, faults[0][1].message),)
        raise only
    if faults:
        raise refuse(graph, [Refusal(node.loc, node.operator, error.message) for node, error in faults])
    return [values[output.name] for output in graph.outputs]


def carry_out(
    node: ModelNode, converter: Converter, values: Mapping[str, Any], converters: Converters
) -> tuple[Any, ...]:
    """The results of a node; its errors are at its place."""
    with standing_at(node.loc):
        args = [_resolve_argument(arg, values, converters) for arg in node.args]
        options = {
            name: option if isinstance(option, ModelGraph) else _resolve_argument(option, values, converters)
            for name, option in node.options.items()
        }
        try:
            made = converter.meaning(*args, **options)
        except UserError as error:
            if error.at is not None:
                raise
            raise type(error)(error.message, at=node.loc) from error
        except _FAULTS as error:
            raise UserError(f"{node.operator}: {type(error).__name__}: {error}", at=node.loc) from error
    results: tuple[Any, ...] = made if isinstance(made, tuple) else (made,)
    if len(results) < len(node.results):
        message = f"{node.operator} makes {len(results)} results here, {len(node.results)} are wanted"
        raise UserError(f"{message}: {converter.note}" if converter.note else message, at=node.loc)
    return results[: len(node.results)]


def _resolve_argument(value: Any, values: Mapping[str, Any], converters: Converters) -> Any:
    """An argument with values in the place of names, functions in that of graphs; real numbers as float64."""
    if isinstance(value, Ref):
        return _resolve_argument(values[value.name], values, converters)
    if isinstance(value, tuple | list):
        return value if is_plain(value) else type(value)(_resolve_argument(part, values, converters) for part in value)
    if isinstance(value, ModelGraph):
        names = [given.name for given in value.inputs]
        return lambda *arrays: run(value, converters, dict(zip(names, arrays, strict=True)))
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.float64, copy=False)
    return value


def _last_reads(graph: ModelGraph) -> dict[str, int]:
    last = {name: number for number, node in enumerate(graph.nodes) for name in node.reads()}
    return last | {output.name: len(graph.nodes) for output in graph.outputs}
