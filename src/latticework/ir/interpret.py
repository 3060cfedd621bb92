"""Interpret a module on cleartext arrays by the semantics of its ops: the simulator of every stage.

Knows no dialect: an op with regions runs them through its `Context`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from latticework.errors import IrError, ShapeError, UserError
from latticework.ir.builder import locate
from latticework.ir.core import Array, Block, Op, Value, last_uses
from latticework.ir.module import Module
from latticework.ir.types import INDEX

OnValue = Callable[[Value, Array], None]
Semantics = Callable[[list[Array]], list[Array]]
Known = Callable[[Op], Sequence[Array] | None]


def interpret(
    module: Module,
    inputs: Mapping[str, Any] | Sequence[Any],
    *,
    on_value: OnValue | None = None,
    instead: Mapping[Op, Semantics] = {},
    known: Known | None = None,
    unchecked: bool = False,
) -> list[Array]:
    """Run a module.

    inputs    by name, or in order; an input of type index is a Python int
    on_value  called for every value as it gets known: inputs, block arguments and results, in loops each time
    instead   of some ops what computes their results, from their operands, in the place of their semantics
    known     gives the results of an op that need not be computed, or None; asked before every op
    unchecked inputs are in order, and as the ops that are run take them: not what their types say
    returns   the outputs, in order
    raises    ShapeError, RangeError for inputs that do not fit; IrError if an op has no semantics or a source no data
    """
    arguments = list(inputs) if unchecked else _arguments(module, inputs)
    context = _Interpreter(module.sources, _index_inputs(module, arguments), on_value, instead, known)
    return context.run(module.body, arguments)


def evaluate(op: Op, operands: Sequence[Array], sources: Mapping[str, Array]) -> list[Array]:
    """The results of one op on arrays, which need not be what its operands are.

    raises  IrError if it has no semantics
    """
    if op.spec.semantics is None:
        raise IrError(f"interpret: {op.name} has no semantics on arrays", at=op.loc)
    return op.spec.semantics(op, list(operands), _Interpreter(dict(sources), {}, None))


def interpret_together(
    module: Module, runs: Sequence[Mapping[str, Any] | Sequence[Any]], *, on_value: OnValue | None = None
) -> list[list[Array]]:
    """Run a module on several inputs, op by op: what an op needs for all of them is made once.

    Runs whose inputs of type index differ are carried out one after the other.

    on_value  as of `interpret`, called for a value of every run
    returns   the outputs of every run
    raises    as `interpret`
    """
    arguments = [_arguments(module, inputs) for inputs in runs]
    indices = [_index_inputs(module, arrays) for arrays in arguments]
    if any(each != indices[0] for each in indices):
        return [interpret(module, inputs, on_value=on_value) for inputs in runs]
    each = [_Interpreter(module.sources, indices[0], on_value) for _ in runs]
    return _JointRuns(each).run(module.body, arguments) if each else []


class _JointRuns:
    """Runs side by side; the `JointContext` of the semantics of ops for several runs."""

    def __init__(self, each: Sequence[_Interpreter]) -> None:
        self.each, self.sources = each, each[0].sources
        self._ending: dict[Block, dict[int, list[Value]]] = {}  # values of a block by the place of their last use

    def run(self, block: Block, arguments: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run a block for all; its values are forgotten after their last use, those of enclosing blocks are visible."""
        if block not in self._ending:
            self._ending[block] = _ending(block)
        ending = self._ending[block]
        for one, arrays in zip(self.each, arguments, strict=True):
            one.bind(block.args, arrays)
        for place, op in enumerate(block.ops):
            if op.spec.terminator:
                break
            self._step(op)
            for one in self.each:
                one.forget(ending.get(place, ()))
        yielded = [one.values(block.terminator.operands) for one in self.each]
        for one in self.each:
            one.forget(ending.get(len(block.ops) - 1, ()))
        return yielded

    def _step(self, op: Op) -> None:
        if op.spec.together is None:
            for one in self.each:
                one.step(op)
            return
        try:
            results = op.spec.together(op, [one.values(op.operands) for one in self.each], self)
        except UserError as error:
            raise locate(error, op.loc) from None
        for one, arrays in zip(self.each, results, strict=True):
            one.bind(op.results, arrays)


def _ending(block: Block) -> dict[int, list[Value]]:
    """The values of a block itself by the place of the last op that reads them, nested regions included."""
    own = {*block.args, *(value for op in block.ops for value in op.results)}
    ending: dict[int, list[Value]] = {}
    for value, place in (dict.fromkeys(block.args, len(block.ops) - 1) | last_uses(block)).items():
        if value in own:
            ending.setdefault(place, []).append(value)
    return ending


def _index_inputs(module: Module, arguments: Sequence[Array]) -> dict[str, int]:
    given = zip(module.input_names, module.inputs, arguments, strict=True)
    return {name: int(array) for name, value, array in given if value.type is INDEX}


def _arguments(module: Module, inputs: Mapping[str, Any] | Sequence[Any]) -> list[Array]:
    if module.absent:
        raise IrError(f"interpret: {len(module.absent)} sources have no data; parse the module with sources=...")
    names = module.input_names
    if isinstance(inputs, Mapping):
        if set(inputs) != set(names):
            raise ShapeError(f"interpret: inputs are {', '.join(names)}; got {', '.join(map(str, inputs)) or 'none'}")
        inputs = [inputs[name] for name in names]
    if len(inputs) != len(names):
        raise ShapeError(f"interpret: {len(names)} inputs ({', '.join(names)}) are needed, got {len(inputs)}")
    arrays = []
    for name, value, argument in zip(names, module.inputs, inputs, strict=True):
        try:
            arrays.append(value.type.accept(argument))
        except UserError as error:
            raise type(error)(f"input {name}: {error.message}") from None
    return arrays


class _Interpreter:
    """The state of one run; the `Context` of the semantics it calls."""

    def __init__(
        self,
        sources: dict[str, Array],
        index_inputs: dict[str, int],
        on_value: OnValue | None,
        instead: Mapping[Op, Semantics] = {},
        known: Known | None = None,
    ) -> None:
        self.sources = sources
        self.index_inputs = index_inputs
        self._on_value, self._instead, self._known = on_value, instead, known
        self._arrays: dict[Value, Array] = {}

    def run(self, block: Block, arguments: Sequence[Array]) -> list[Array]:
        """Run a block; its values are forgotten at the end, those of enclosing blocks are visible."""
        self.bind(block.args, arguments)
        for op in block.ops:
            if op.spec.terminator:
                break
            self.step(op)
        else:
            raise IrError("interpret: a block does not end in a terminator")
        yielded = self.values(op.operands)
        self.forget(block.args)
        for done in block.ops:
            self.forget(done.results)
        return yielded

    def step(self, op: Op) -> None:
        """Compute one op."""
        self.bind(op.results, self._results(op))

    def values(self, values: Sequence[Value]) -> list[Array]:
        """Return the arrays that the values hold."""
        return [self._arrays[value] for value in values]

    def forget(self, values: Sequence[Value]) -> None:
        """Values that nothing reads any more."""
        for value in values:
            del self._arrays[value]

    def _results(self, op: Op) -> Sequence[Array]:
        result = None if self._known is None else self._known(op)
        if result is not None:
            return result
        if op.spec.semantics is None:
            raise IrError(f"interpret: {op.name} has no semantics on arrays", at=op.loc)
        operands = [self._arrays[value] for value in op.operands]
        try:
            other = self._instead.get(op)
            results = op.spec.semantics(op, operands, self) if other is None else other(operands)
        except UserError as error:
            raise locate(error, op.loc) from None
        if len(results) != len(op.results):
            raise IrError(
                f"{op.name}: its semantics gave {len(results)} arrays for {len(op.results)} results", at=op.loc
            )
        return results

    def bind(self, values: Sequence[Value], arrays: Sequence[Array]) -> None:
        """Values become known."""
        self._arrays.update(zip(values, arrays, strict=True))
        if self._on_value is not None:
            for value, array in zip(values, arrays, strict=True):
                self._on_value(value, array)
