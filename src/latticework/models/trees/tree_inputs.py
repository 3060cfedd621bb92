"""Rows of data carried through a model in the clear, up to where its trees read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from latticework.errors import UserError
from latticework.frontend.recording.plain import plain_array
from latticework.models.converters import Converters
from latticework.models.evaluate_graph import run
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref
from latticework.models.trees.leaves import Reals
from latticework.plan.client_steps.cells import EMPTY, numbers_of
from latticework.plan.client_steps.step import UnfitValueError
from latticework.values.inputs.foreign_arrays import as_cells


def rows_of(inputs: Sequence[GraphInput], given: Any, said: str, *, of_cells: bool = False) -> dict[str, Reals]:
    """Rows for each input of a model, (n, ...) whatever number of rows a run takes; inputs of one axis are a row each.

    given  an array, or a tuple of one for each input: rows, or stacks of what runs take
    said   who asks, for messages
    of_cells  of raw tables, whose cells may be texts, or missing
    raises  UserError for shapes that do not fit
    """
    arrays = given if isinstance(given, tuple) else (given,)
    if len(arrays) != len(inputs):
        names = ", ".join(each.name for each in inputs)
        raise UserError(f"{said}: {len(arrays)} arrays, and the model takes {names}; give a tuple of one for each")
    found = {}
    for each, array in zip(inputs, arrays, strict=True):
        rows = _cells_of(array) if of_cells else plain_array(array, said)
        inner = each.shape[1:] if len(each.shape) > 1 else each.shape
        if rows.shape[1:] == each.shape and len(each.shape) > 1:
            rows = rows.reshape(-1, *inner)
        if rows.shape[1:] != inner or not len(rows):
            wanted = ", ".join(["n", *map(str, inner)])
            raise UserError(f"{said}: rows of shape {rows.shape} for {each.name}; give ({wanted})")
        found[each.name] = rows
    if len({len(rows) for rows in found.values()}) > 1:
        raise UserError(f"{said}: inputs of {', '.join(str(len(rows)) for rows in found.values())} rows; give as many")
    return found


def _cells_of(given: Any) -> Any:
    """A column of a raw table: numbers, NaN where one is missing, or cells as they are."""
    cells = as_cells(given)
    cells = cells.reshape(-1, 1) if cells.ndim == 1 else cells
    try:
        return numbers_of(cells, EMPTY.where(cells))
    except UnfitValueError:
        return cells


def values_at(graph: ModelGraph, converters: Converters, rows: Mapping[str, Reals], name: str) -> Reals:
    """The rows, as `rows_of` makes them, at a value of a graph: (n, features)."""
    if name in rows:
        return rows[name]
    before = ModelGraph("rows", graph.inputs, graph.constants, _leading_to(graph, name), (Ref(name),), graph.loc)
    shapes = {each.name: each.shape for each in graph.inputs}
    count = len(next(iter(rows.values())))
    in_a_run = next(shape[0] if len(shape) > 1 else 1 for shape in shapes.values())
    made = []
    for start in range(0, count, in_a_run):
        numbers = np.arange(start, start + in_a_run).clip(max=count - 1)
        block = {each: rows[each][numbers].reshape(shape) for each, shape in shapes.items()}
        (value,) = run(before, converters, block)
        made.append(np.asarray(value, np.float64).reshape(in_a_run, -1)[: count - start])
    return np.concatenate(made)


def _leading_to(graph: ModelGraph, name: str) -> tuple[ModelNode, ...]:
    needed, kept = {name}, list[ModelNode]()
    for node in reversed(graph.nodes):
        if needed & set(node.results):
            kept.insert(0, node)
            needed.update(node.reads())
    return tuple(kept)
