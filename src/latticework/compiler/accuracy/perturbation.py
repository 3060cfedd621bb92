"""Runs of a program whose functions are moved a little, each on top of an exact run whose values are kept.

Only what depends on a function that is moved is computed again: of the last function of a network its last layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import pi, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy.function_uses import FunctionUse
from latticework.compiler.accuracy.replaced_runs import dependents
from latticework.frontend.calibration.calibration_data import Sample
from latticework.functions.approximation.chebyshev import to_unit
from latticework.ir import Builder, Module, Op, Value, interpret, rebuild
from latticework.ir.core import walk_regions
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.apply import APPLY
from latticework.tensor.ops.base import shape_of

FloatArray = npt.NDArray[np.float64]
Pattern = Callable[[FloatArray], FloatArray]  # from arguments on [-1, 1] to numbers in [-1, 1]

WAVES = (3, 8, 21)
RANDOM = 4
FUNCTION_WORK = 32  # multiplications that a function of one number takes as long as, and any other operation on it
ELEMENTWISE_WORK = 4


@dataclass(frozen=True)
class ExactRun:
    """Results of a run with unperturbed functions.

    results  the outputs, then the arguments of every function;  inner_results  results of operations outside of loops
    """

    sample: Sample
    results: list[FloatArray]
    inner_results: dict[Op, list[Any]]


@dataclass(frozen=True)
class Signs:
    """A pattern by chance, each element for itself."""

    rng: np.random.Generator

    def __call__(self, unit: FloatArray) -> FloatArray:
        """New ones each time."""
        return self.rng.choice([-1.0, 1.0], np.shape(unit))


class PerturbedRuns:
    """Runs of one program.

    work  of one run, and  following  of what follows each function: about so many multiplications
    size  numbers that an exact run keeps
    """

    def __init__(self, module: Module, uses: Sequence[FunctionUse]) -> None:
        self.uses = uses
        self._amplitudes = [0.0] * len(uses)
        self._pattern: Pattern = np.zeros_like
        self._arguments: list[list[FloatArray]] = []
        self._moved, functions = self._movable(module)
        ops = self._moved.body.ops
        numbers = {op: number for number, op in enumerate(functions)}
        self._inside = {op: [numbers[o] for o in (op, *walk_regions(op.regions)) if o in numbers] for op in ops}
        works = {op: _work(op) for op in ops}
        self.work = sum(works.values())
        self._after = dependents(self._moved, functions)
        self.following = [sum(works[op] for op in after) for after in self._after]
        values = [value for op in ops for value in op.results]
        self.size = sum(prod(shape_of(v)) for v in values if isinstance(v.type, TensorType) and v.is_secret)

    def exact(self, sample: Sample, *, keep: bool = True) -> ExactRun:
        """Run a sample with unperturbed functions; without `keep` results of operations are not kept."""
        self._amplitudes, self._pattern = [0.0] * len(self.uses), np.zeros_like
        inner_results: dict[Op, list[Any]] = {}

        def note(value: Value, array: Any) -> None:
            if isinstance(value.owner, Op) and value.owner.block is self._moved.body:
                inner_results.setdefault(value.owner, []).append(array)

        return ExactRun(sample, self._run(sample, on_value=note if keep else None), inner_results)

    def perturb(self, run: ExactRun, amplitudes: Sequence[float], pattern: Pattern) -> list[FloatArray]:
        """The same with every function moved by its amplitude times the pattern: outputs, then arguments."""
        self._amplitudes, self._pattern = list(amplitudes), pattern
        again = {op for number, size in enumerate(amplitudes) if size for op in self._after[number]}

        def known_results(op: Op) -> list[Any] | None:
            if op in again or op not in run.inner_results:  # not one within a loop either
                return None
            for number in self._inside[op]:
                argument = run.results[len(run.results) - len(self.uses) + number]
                self._arguments[number].append(argument)
                if isinstance(pattern, Signs):  # chance goes on as if the function had been computed
                    pattern(argument)
            return run.inner_results[op]

        return self._run(run.sample, known=known_results if run.inner_results else None)

    def _run(self, sample: Sample, **options: Any) -> list[FloatArray]:
        self._arguments = [[np.zeros(0)] for _ in self.uses]
        with np.errstate(all="ignore"):
            outputs = interpret(self._moved, sample, **options)
        return [*outputs, *(np.concatenate(seen) for seen in self._arguments)]

    def _movable(self, module: Module) -> tuple[Module, list[Op]]:
        """The program with functions that are moved by the pattern, and keep their arguments; and these."""
        numbers, moved = {use.op: number for number, use in enumerate(self.uses)}, dict[int, Op]()

        def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
            if op not in numbers:
                return False
            number = numbers[op]
            function = replace(self.uses[number].function, reference=self._move(number))
            mapping[op.result] = builder.build(
                APPLY.spec, [mapping[op.operands[0]]], **{**op.attrs, "function": function}
            )
            moved[number] = mapping[op.result].owner  # type: ignore[assignment]
            return True

        made = rebuild(module, visit)
        return made, [moved[number] for number in range(len(self.uses))]

    def _move(self, number: int) -> Callable[[FloatArray], FloatArray]:
        use = self.uses[number]

        def perturbed_value(x: FloatArray) -> FloatArray:
            self._arguments[number].append(np.ravel(x))
            unit = np.minimum(np.maximum(to_unit(np.asarray(x), use.interval), -1.0), 1.0)
            return np.asarray(use.function.reference(x) + self._amplitudes[number] * self._pattern(unit))

        return perturbed_value


def patterns(rng: np.random.Generator) -> list[Pattern]:
    """Everything up, down, by waves over the argument, and by chance."""

    def wave(periods: int, phase: float) -> Pattern:
        return lambda unit: np.sign(np.cos(periods * np.arccos(unit) + phase))

    waves = [wave(periods, phase) for periods in WAVES for phase in (0.0, pi / 2)]
    return [np.ones_like, lambda unit: -np.ones_like(unit), *waves, *[Signs(rng)] * RANDOM]


def work_of(module: Module) -> int:
    """Estimate how many multiplications a run takes, those of loops once."""
    return sum(_work(op) for op in module.body.ops)


def _work(op: Op) -> int:
    if op.regions:
        return sum(_work(nested) for region in op.regions for nested in region.block.ops)
    size = sum(prod(shape_of(v)) for v in op.results if isinstance(v.type, TensorType))
    shapes = [shape_of(v) for v in op.operands if isinstance(v.type, TensorType)]
    if op.name == "tensor.matmul":
        return size * shapes[0][-1]
    if op.name == "tensor.conv2d":
        return size * prod(shapes[1][1:])
    if op.name == "tensor.polynomial":
        return size * ELEMENTWISE_WORK * int(op.attrs["polynomial"].degree)
    return size * (FUNCTION_WORK if op.spec is APPLY.spec else ELEMENTWISE_WORK)
