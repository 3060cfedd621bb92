"""Interpret a module on cleartext arrays by the meanings of its ops: the simulator of every stage.

Knows no dialect: an op with regions runs them through its `Context`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from latticework.errors import IrError, ShapeError, UserError
from latticework.ir.builder import locate
from latticework.ir.core import Array, Block, Op, Value
from latticework.ir.module import Module
from latticework.ir.types import INDEX

OnValue = Callable[[Value, Array], None]
Known = Callable[[Op], Sequence[Array] | None]


def interpret(
    module: Module, inputs: Mapping[str, Any] | Sequence[Any], *, on_value: OnValue | None = None,
    known: Known | None = None,
) -> list[Array]:  # fmt: skip
    """Run a module.

    inputs    by name, or in order; an input of type index is a Python int
    on_value  called for every value as it gets known: inputs, block arguments and results, in loops each time
    known     gives the results of an op that need not be computed, or None; asked before every op
    returns   the outputs, in order
    raises    ShapeError, RangeError for inputs that do not fit; IrError if an op has no meaning or a source no data
    """
    if module.absent:
        raise IrError(f"interpret: {len(module.absent)} sources have no data; parse the module with sources=...")
    arguments = _arguments(module, inputs)
    indices = {
        name: int(array)
        for name, value, array in zip(module.input_names, module.inputs, arguments, strict=True)
        if value.type is INDEX
    }
    return _Interpreter(module.sources, indices, on_value, known).run(module.body, arguments)


def _arguments(module: Module, inputs: Mapping[str, Any] | Sequence[Any]) -> list[Array]:
    names = module.input_names
    if isinstance(inputs, Mapping):
        if set(inputs) != set(names):
            raise ShapeError(f"interpret: inputs are {', '.join(names)}; got {', '.join(map(str, inputs)) or 'none'}")
        inputs = [inputs[name] for name in names]
    if len(inputs) != len(names):
        raise ShapeError(f"interpret: {len(names)} inputs ({', '.join(names)}) are needed, got {len(inputs)}")
    arrays = []
    for name, value, given in zip(names, module.inputs, inputs, strict=True):
        try:
            arrays.append(value.type.accept(given))
        except UserError as error:
            raise type(error)(f"input {name}: {error.message}") from None
    return arrays


class _Interpreter:
    """The state of one run; the `Context` of the meanings it calls."""

    def __init__(
        self, sources: dict[str, Array], index_inputs: dict[str, int], on_value: OnValue | None, known: Known | None
    ) -> None:
        self.sources = sources
        self.index_inputs = index_inputs
        self._on_value, self._known = on_value, known
        self._arrays: dict[Value, Array] = {}

    def run(self, block: Block, arguments: Sequence[Array]) -> list[Array]:
        """Run a block; its values are forgotten at the end, those of enclosing blocks are visible."""
        arrays = self._arrays
        self._bind(block.args, arguments)
        for op in block.ops:
            if op.spec.terminator:
                break
            self._bind(op.results, self._results(op))
        else:
            raise IrError("interpret: a block does not end in a terminator")
        yielded = [arrays[value] for value in op.operands]
        for value in block.args:
            del arrays[value]
        for done in block.ops:
            for value in done.results:
                del arrays[value]
        return yielded

    def _results(self, op: Op) -> Sequence[Array]:
        found = None if self._known is None else self._known(op)
        if found is not None:
            return found
        if op.spec.meaning is None:
            raise IrError(f"interpret: {op.name} has no meaning on arrays", at=op.loc)
        try:
            results = op.spec.meaning(op, [self._arrays[value] for value in op.operands], self)
        except UserError as error:
            raise locate(error, op.loc) from None
        if len(results) != len(op.results):
            raise IrError(f"{op.name}: its meaning gave {len(results)} arrays for {len(op.results)} results", at=op.loc)
        return results

    def _bind(self, values: Sequence[Value], arrays: Sequence[Array]) -> None:
        for value, array in zip(values, arrays, strict=True):
            self._arrays[value] = array
            if self._on_value is not None:
                self._on_value(value, array)
