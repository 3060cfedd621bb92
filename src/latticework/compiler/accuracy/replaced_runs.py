"""Runs of a program whose functions are replaced by others, again and again: what none of those reaches stays.

Between a function and the results lie few values that functions further down read: those are kept of a sample's last
run, and the next one begins at the first function that is another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from latticework.compiler.accuracy.function_uses import FloatArray, FunctionUse
from latticework.frontend.calibration.calibration_data import Sample, has_large_arrays
from latticework.ir import Module, Op, Value, interpret
from latticework.ir.core import walk_regions
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.tensor.ops.base import shape_of
from latticework.values.map_in_order import map_in_order

KEPT_ELEMENTS = 1 << 26  # of the values of all runs together; those beyond start anew each time

Replacement = Callable[[FloatArray], FloatArray]


class ReplaceableProgram:
    """A program, and what has to be computed again when one of its functions is another.

    after  of each function, operations outside of loops whose results may change
    kept   outputs, and secret values that one of these reads and that do not change with its function
    size   numbers that a run keeps
    is_large  whether runs at the same time take less than one after the other
    """

    def __init__(self, module: Module, uses: Sequence[FunctionUse]) -> None:
        self.module, self.uses, self.is_large = module, uses, has_large_arrays(module)
        self.after = dependents(module, [use.op for use in uses])
        self.kept = {value for value in module.body.terminator.operands if value.is_secret}
        outer = set(module.body.ops)
        for after in self.after:
            before = outer - after
            read = {value for op in after for each in (op, *walk_regions(op.regions)) for value in each.operands}
            self.kept |= {value for value in read if value.is_secret and value.owner in before}
        self._left = KEPT_ELEMENTS
        self.size = sum(prod(shape_of(value)) for value in self.kept if isinstance(value.type, TensorType))

    def runs(self, samples: Sequence[Sample]) -> list[ReplacedRun]:
        """Runs of samples with the program's own functions; the first ones keep what they can go on from."""
        kept = min(len(samples), self._left // max(self.size, 1))
        self._left -= kept * self.size
        numbered = enumerate(samples)
        run = map_in_order(
            lambda each: ReplacedRun(self, each[1], keeps=each[0] < kept), numbered, is_worth_it=self.is_large
        )
        return list(run)


class ReplacedRun:
    """The runs of one sample.

    exact  outputs with the program's own functions
    """

    def __init__(self, program: ReplaceableProgram, sample: Sample, *, keeps: bool) -> None:
        self._program, self._sample, self._keeps = program, sample, keeps
        self._functions: tuple[Replacement | None, ...] = (None,) * len(program.uses)
        self._arrays: dict[Value, Any] = {}
        self.exact = self.outputs(self._functions)

    def outputs(self, functions: Sequence[Replacement | None], *, stay: bool = False) -> list[FloatArray]:
        """Outputs with other functions, in the order of the program; None: its own.

        stay  whether the next run begins where its functions differ from those before, not from these
        """
        program, arrays = self._program, dict(self._arrays)
        pairs = enumerate(zip(functions, self._functions, strict=True))
        again = {op for number, (new, old) in pairs if new is not old for op in program.after[number]}

        def earlier_results(op: Op) -> list[Any] | None:
            """Results of the run before, None in the place of what nothing reads any more."""
            is_inner = op.block is not program.module.body
            if is_inner or not self._arrays or op in again or not any(value.is_secret for value in op.results):
                return None
            return [self._arrays.get(value) for value in op.results]

        def note(value: Value, array: Any) -> None:
            if value in program.kept and array is not None:
                arrays[value] = array

        instead = {use.op: _semantics(new) for use, new in zip(program.uses, functions, strict=True) if new is not None}
        with np.errstate(all="ignore"):
            outputs = interpret(program.module, self._sample, on_value=note, instead=instead, known=earlier_results)
        if self._keeps and not stay:
            self._functions, self._arrays = tuple(functions), arrays
        return outputs


def _semantics(function: Replacement) -> Callable[[list[Any]], list[Any]]:
    return lambda operands: [np.asarray(function(operands[0]), dtype=np.float64)]


def dependents(module: Module, starts: Sequence[Op]) -> list[set[Op]]:
    """The operations outside of loops whose results may change with each of some operations.

    It is among them itself, or the loop that it is in.
    """
    numbers = {op: number for number, op in enumerate(starts)}
    reached: dict[Op, int] = {}  # sets of numbers, as bits
    found: list[set[Op]] = [set() for _ in starts]
    for op in module.body.ops:
        changed = 0
        for each in (op, *walk_regions(op.regions)):
            changed |= 1 << numbers[each] if each in numbers else 0
            for value in each.operands:
                changed |= reached.get(value.owner, 0)  # type: ignore[arg-type]
        reached[op] = changed
        while changed:
            last = changed.bit_length() - 1
            found[last].add(op)
            changed ^= 1 << last
    return found
