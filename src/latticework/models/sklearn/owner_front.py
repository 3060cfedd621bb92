"""The beginning of an estimator that its owner computes: encoders, imputers, vectorizers, and all that leads to them.

Their nodes hold the owner's steps. What only takes or joins columns of their results moves along, and so do functions
that cost levels encrypted and nothing in the clear; scales and linear maps stay with the server, where they are free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from latticework.functions.function_record import Moved
from latticework.functions.table import BY_NAME
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.model_graph import ModelNode, Ref, needed_nodes
from latticework.plan.client_steps import (
    Affine,
    Beside,
    Columns,
    Elementary,
    Normalise,
    Numbers,
    OwnerArray,
    OwnerStep,
)
from latticework.values.inputs.column_names import Names

Chain = tuple[OwnerStep, ...]
OWNER = "owner"  # a node of steps: options `steps`, `width` of its result, and whether it `is_numeric`
X = "x"


@dataclass(frozen=True)
class Front:
    """The owner's computation of raw columns, and the nodes that are left.

    steps    of all raw columns;  width  of their result, which is encrypted as x
    columns  numbers of the raw columns that are read
    """

    steps: Chain
    width: int
    nodes: list[ModelNode]
    outputs: list[Ref]
    columns: tuple[int, ...]


def owner_front(
    nodes: Sequence[ModelNode], outputs: Sequence[Ref], widths: Mapping[str, int | None], *, by_name: bool
) -> Front | None:
    """The front of an estimator; None where its rows are encrypted as they are.

    widths   of values by name
    by_name  whether columns that nothing reads can be left out of what the owner gives
    """
    nodes = needed_nodes(nodes, outputs)
    if not any(node.operator == OWNER for node in nodes):
        return None
    columns = _columns_read(nodes, widths) if by_name else None
    if columns is not None:
        nodes = [_renumber(node, columns) for node in nodes]
    width = len(columns) if columns is not None else widths[X]
    assert width is not None
    raw = {**widths, X: width}
    by_result = {node.results[0]: node for node in nodes}
    moved = _find_moved(nodes, by_result)
    rest = [node for node in nodes if node.results[0] not in moved]
    read = [name for node in rest for name in node.reads()]
    handed = [name for name in dict.fromkeys([*read, *(ref.name for ref in outputs)]) if name in moved | {X}]
    chains, sizes = _Chains(by_result, raw), [raw[name] or 1 for name in handed]
    steps = [chains.as_numbers(name) for name in handed]
    names = {name: X if len(handed) == 1 else f"{name}.given" for name in handed}
    left = [*_pick(names.values(), sizes, nodes[0].loc), *(_rename(node, names) for node in rest)]
    joined = steps[0] if len(handed) == 1 else chains.beside(steps, width)
    results = [Ref(names.get(ref.name, ref.name)) for ref in outputs]
    return Front(joined, sum(sizes), left, results, columns or tuple(range(width)))


def _pick(names: Iterable[str], sizes: Sequence[int], loc: Loc) -> list[ModelNode]:
    """Nodes that take values out of what is encrypted, in which they lie one after the other; none for one value."""
    if len(sizes) == 1:
        return []
    ends, width = np.cumsum(sizes).tolist(), sum(sizes)
    return [
        ModelNode("columns", (Ref(X),), {"indices": np.arange(end - size, end), "width": width}, (name,), loc)
        for name, end, size in zip(names, ends, sizes, strict=True)
    ]


def is_of_cells(value: Ref, nodes: Sequence[ModelNode], *, scaled: bool = False) -> bool:
    """Whether a value is of the owner's cells alone: raw columns, taken and joined, and steps of the owner's.

    scaled  also where numbers were scaled and shifted on the way
    """
    by_result = {node.results[0]: node for node in nodes}
    operators = {OWNER, "columns", "combine", *(("scale",) if scaled else ())}
    waiting, seen = [value.name], set[str]()
    while waiting:
        name = waiting.pop()
        node = by_result.get(name)
        if name in seen or node is None:
            continue
        seen.add(name)
        if node.operator not in operators or np.ndim(node.options.get("indices", [0])) == 0:
            return False
        waiting += node.reads()
    return True


def _find_moved(nodes: Sequence[ModelNode], by_result: Mapping[str, ModelNode]) -> set[str]:
    """Results of the nodes that the owner computes."""
    moved: set[str] = set()
    waiting = [node.results[0] for node in nodes if node.operator == OWNER]
    while waiting:
        name = waiting.pop()
        if name in by_result and name not in moved:
            moved.add(name)
            waiting += by_result[name].reads()
    for node in nodes:
        if _is_free(node) and all(name in moved or name == X for name in node.reads()):
            moved.add(node.results[0])
    return moved


def _is_free(node: ModelNode) -> bool:
    if node.operator == "columns":
        return np.ndim(node.options["indices"]) == 1
    record = BY_NAME.get(node.operator)
    is_moved = record is not None and record.owner_computes and record.moved is Moved.BEFORE_AND_AFTER
    return node.operator in ("combine", "normalize") or is_moved


def _columns_read(nodes: Sequence[ModelNode], widths: Mapping[str, int | None]) -> tuple[int, ...] | None:
    """The raw columns that nodes take; None where one reads all."""
    readers = [node for node in nodes if X in node.reads()]
    if not all(node.operator == "columns" and np.ndim(node.options["indices"]) == 1 for node in readers):
        return None
    taken = sorted({int(i) for node in readers for i in node.options["indices"]})
    return None if len(taken) == widths[X] else tuple(taken)


def _renumber(node: ModelNode, columns: tuple[int, ...]) -> ModelNode:
    if X not in node.reads():
        return node
    indices = np.searchsorted(columns, node.options["indices"])
    return replace(node, options={"indices": indices, "width": len(columns)})


def _rename(node: ModelNode, names: Mapping[str, str]) -> ModelNode:
    def rename(value: object) -> object:
        if isinstance(value, Ref):
            return Ref(names.get(value.name, value.name))
        return tuple(map(rename, value)) if isinstance(value, tuple) else value

    return replace(node, args=tuple(map(rename, node.args)))


class _Chains:
    """Steps from the raw columns to values."""

    def __init__(self, by_result: Mapping[str, ModelNode], widths: Mapping[str, int | None]) -> None:
        self._by_result, self._widths = by_result, widths

    def as_numbers(self, name: str) -> Chain:
        """The steps to a value that is encrypted: of cells that they leave as they are, each has to be a number."""
        node = self._by_result.get(name)
        if node is not None and node.operator == "combine":
            return self.beside([self.as_numbers(part.name) for part in node.args[0]], self._width(X))
        return self._of(name) if self._is_numeric(name) else (*self._of(name), Numbers())

    def beside(self, parts: Sequence[Chain], width: int) -> Chain:
        """Chains from the raw columns, as one: what they have in common first, the rest side by side."""
        shared = 0
        while all(len(part) > shared and part[shared] == parts[0][shared] for part in parts):
            shared += 1
        common, rest = parts[0][:shared], [part[shared:] for part in parts]
        for step in common:
            width = step.result_shape((1, width))[-1]
        return (*common, Beside(width, tuple(rest)))

    def _width(self, name: str) -> int:
        return self._widths[name] or 1

    def _of(self, name: str) -> Chain:
        node = self._by_result.get(name)
        if node is None:
            return ()
        if node.operator == "combine":
            return self.beside([self._of(part.name) for part in node.args[0]], self._width(X))
        return (*self._of(node.args[0].name), *self._steps(node))

    def _steps(self, node: ModelNode) -> Chain:
        """The steps of a node itself."""
        options, width = node.options, self._width(node.args[0].name)
        if node.operator == OWNER:
            steps: Chain = options["steps"]
            return steps
        if node.operator == "columns":
            places = tuple(int(i) for i in options["indices"])
            return () if places == tuple(range(width)) else (Columns(-1, width, places),)
        if node.operator == "scale":
            both = np.broadcast_arrays(np.float64(options["factor"]), np.float64(options["offset"]))
            is_blank = not self._is_numeric(node.args[0].name)
            return (Affine(OwnerArray.of(both[0]), OwnerArray.of(both[1]), is_blank),)
        return (Normalise(options["norm"]),) if node.operator == "normalize" else (Elementary(node.operator),)

    def _is_numeric(self, name: str) -> bool:
        """Whether a value holds numbers, and nothing is missing among them."""
        node = self._by_result.get(name)
        if node is None:
            return False
        if node.operator == OWNER:
            return bool(node.options["is_numeric"])
        if node.operator == "combine":
            return all(self._is_numeric(part.name) for part in node.args[0])
        return node.operator not in ("columns", "scale") or self._is_numeric(node.args[0].name)


def named_columns(names: Names, columns: Sequence[int]) -> Names:
    """Names of the columns that are read; () where they have none."""
    return tuple(names[i] for i in columns) if names else ()
