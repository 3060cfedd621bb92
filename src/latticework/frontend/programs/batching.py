"""Find the inputs whose first axis holds rows that a program treats alike and apart from each other, and prove it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations
from typing import Any

import numpy as np

from latticework.ir.core import Block, Op, Value
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.location import Loc
from latticework.ir.module import Module
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.batch import Batch
from latticework.tensor.ops import BY_NAME
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.constant import CONSTANT
from latticework.tensor.ops.row_rules import Rows, either, public_array

MOST_TRIED = 64  # sets of inputs that may hold rows together
MOST_TURNS = 8  # of a loop, until what it carries is settled


def batch_of(module: Module) -> Batch | None:
    """The batch axis of a program on tensors; None if no input has an axis that could be one.

    Of inputs whose first axes are equally long, as many as possible hold rows; the others are the same for all rows. Of
    several answers the one with the most inputs, and of these the first in the order of the signature.
    """
    mixed: dict[str, str] = {}
    batch = Batch()
    for names in _candidates(module):
        walk = _RowWalk(module)
        found = walk.outputs(names)
        if found is not None:
            rows = next(shape_of(v)[0] for n, v in zip(module.input_names, module.inputs, strict=True) if n in names)
            batch = Batch(rows, names, found)
            break
        mixed = {name: walk.reason for name in names} | mixed
    others = tuple((name, mixed.get(name) or _reason(module, name, batch)) for name in _with_axes(module))
    found_others = tuple(item for item in others if item[0] not in batch.inputs)
    return replace(batch, mixed=found_others) if others else None


def row_axes(module: Module, names: Sequence[str]) -> dict[Value, int]:
    """Find the axis along which each value holds the rows of these inputs.

    Empty where the module does not keep the rows of these inputs apart.
    """
    walk = _RowWalk(module)
    found = walk.known if walk.outputs(names) is not None else {}
    return {value: rows.axis for value, rows in found.items() if rows.axis is not None}


def _reason(module: Module, name: str, batch: Batch) -> str:
    """Return the reason why an input does not hold rows although others do."""
    walk = _RowWalk(module)
    return walk.reason if walk.outputs((name,)) is None else f"the rows are those of {' and '.join(batch.inputs)}"


def _with_axes(module: Module) -> list[str]:
    pairs = zip(module.input_names, module.inputs, strict=True)
    return [name for name, value in pairs if isinstance(value.type, TensorType) and value.type.shape]


def _candidates(module: Module) -> Iterator[tuple[str, ...]]:
    by_length: dict[int, list[str]] = {}
    for name, value in zip(module.input_names, module.inputs, strict=True):
        if isinstance(value.type, TensorType) and value.type.shape:
            by_length.setdefault(value.type.shape[0], []).append(name)
    tried = 0
    for names in sorted(by_length.values(), key=len, reverse=True):
        for count in range(len(names), 0, -1):
            for chosen in combinations(names, count):
                tried += 1
                if tried > MOST_TRIED:
                    return
                yield chosen


def call_in_batches(module: Module, inputs: Mapping[str, Any], call: Callable[[Mapping[str, Any]], Any]) -> Any | None:
    """Call a function on arrays with another number of rows than declared, batch by batch in NumPy.

    module  the function, traced
    inputs  its arguments;  call  the function, of arguments of the declared shapes
    returns None unless all inputs that hold rows, and no others, have another number of them
    """
    batch = batch_of(module)
    shapes = {n: v.type.shape for n, v in zip(module.input_names, module.inputs, strict=True)
              if isinstance(v.type, TensorType)}  # fmt: skip
    other = {name for name, shape in shapes.items() if np.shape(inputs[name]) != shape}
    if batch is None or other != set(batch.inputs):
        return None
    given = {np.shape(inputs[name])[:1] for name in other}
    fits = all(np.shape(inputs[name])[1:] == shapes[name][1:] and np.shape(inputs[name])[:1] != (0,) for name in other)
    if len(given) != 1 or not fits:
        return None
    ((rows,),) = given
    found = []
    for first in range(0, rows, batch.rows):
        places = np.minimum(np.arange(first, first + batch.rows), rows - 1)  # the last row fills the last batch up
        found.append(call({**inputs, **{name: np.asarray(inputs[name])[places] for name in other}}))
    first_found = found[0]
    if isinstance(first_found, Mapping):
        pairs = zip(first_found, batch.axes, strict=True)
        return {key: _join([part[key] for part in found], axis, rows) for key, axis in pairs}
    if isinstance(first_found, tuple | list):
        parts = (_join(list(arrays), axis, rows) for arrays, axis in zip(zip(*found, strict=True), batch.axes,
                                                                           strict=True))  # fmt: skip
        return type(first_found)(parts)
    return _join(found, batch.axes[0], rows)


def _join(arrays: Sequence[Any], axis: int, rows: int) -> Any:
    return np.concatenate(arrays, axis).take(range(rows), axis)


class _Mixed(Exception):
    """Rows come together here."""


@dataclass
class _RowWalk:
    """Follows rows through a module once."""

    module: Module
    reason: str = ""
    known: dict[Value, Rows] = field(default_factory=dict)

    def outputs(self, names: Sequence[str]) -> tuple[int, ...] | None:
        """The axis of every output along which the rows of these inputs lie; None, and a reason, if it is not so."""
        for name, value in zip(self.module.input_names, self.module.inputs, strict=True):
            if isinstance(value.type, TensorType):
                self.known[value] = Rows(0) if name in names else Rows()
        try:
            found = self.block(self.module.body)
        except _Mixed as mixed:
            self.reason = str(mixed)
            return None
        axes = []
        for name, rows in zip(self.module.outputs, found, strict=True):
            if rows is None or rows.axis is None:
                self.reason = f"the output {name} is not made of rows"
                return None
            axes.append(rows.axis)
        return tuple(axes)

    def block(self, block: Block) -> list[Rows | None]:
        """Return what is known of the values that a block ends with; None for run-time integers."""
        for op in block.ops:
            if op.spec.terminator:
                return [self.known.get(value) for value in op.operands]
            for value, rows in zip(op.results, self.results(op), strict=True):
                if rows is not None:
                    self.known[value] = rows
        raise AssertionError("a block does not end in a terminator")

    def results(self, op: Op) -> Sequence[Rows | None]:
        """Return what is known of an operation's results; raises _Mixed."""
        if op.spec is CONSTANT.spec:
            return [public_array(self.module.sources[op.attrs["source"]])]
        if op.name in BY_NAME:
            found = BY_NAME[op.name].rows(op, [self.known.get(value, Rows()) for value in op.operands])
            if found is None:
                raise _Mixed(f"{op.name.removeprefix('tensor.')} {_where(op.loc)}")
            return [found]
        if op.name == "loop.for":
            return self.loop(op)
        if op.regions or any(isinstance(value.type, TensorType) for value in op.results):
            raise _Mixed(f"{op.name} {_where(op.loc)}")
        return [None] * len(op.results)

    def loop(self, op: Op) -> Sequence[Rows | None]:
        """Return what is known of a loop's carried values before and after any number of iterations."""
        body = op.regions[0].block
        carried = [self.known.get(value) for value in op.operands[len(op.operands) - len(op.results) :]]
        for _ in range(MOST_TURNS):
            self.known.update(_tensors(dict(zip(body.args[1:], carried, strict=True))))
            after = [
                self.join(op, value, before, then)
                for value, before, then in zip(op.results, carried, self.block(body), strict=True)
            ]
            if after == carried:
                return after
            carried = after
        raise _Mixed(f"the loop {_where(op.loc)}")

    def join(self, op: Op, value: Value, before: Rows | None, then: Rows | None) -> Rows | None:
        """Join what is known before a loop with what is known after an iteration."""
        if before is None or then is None:
            return None
        found = either(before, then, shape_of(value))
        if found is None:
            raise _Mixed(f"the loop {_where(op.loc)}")
        return found


def _tensors(found: Mapping[Value, Rows | None]) -> dict[Value, Rows]:
    return {value: rows for value, rows in found.items() if rows is not None}


def _where(loc: Loc) -> str:
    """file:line, the folder left out: clients get this too."""
    return f"at {loc.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{loc.line}" if loc.file else "of the program"
