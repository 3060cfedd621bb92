"""Runs of a program whose functions are moved a little, each on top of an exact run whose values are kept.

Only what depends on a function that is moved is computed again: of the last function of a network its last layer. Runs
of all patterns and samples go side by side, operation by operation, with the bits of each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from math import pi, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy.function_uses import FunctionUse
from latticework.compiler.accuracy.replaced_runs import KEPT_ELEMENTS, ReplaceableProgram
from latticework.frontend.calibration.calibration_data import Sample, has_large_arrays
from latticework.functions.approximation.chebyshev import to_unit
from latticework.ir import Module, Op, Value, interpret
from latticework.ir.core import walk_regions
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.interpret import Semantics
from latticework.ir.types import INDEX
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.apply import APPLY
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.stacked import RUN_AXES, evaluate_stacked
from latticework.values.map_in_order import map_in_order

FloatArray = npt.NDArray[np.float64]

WAVES = (3, 8, 21)
RANDOM = 4
STACKED_ELEMENTS = 1 << 25  # of the values of runs that go side by side
FUNCTION_WORK = 32  # multiplications that a function of one number takes as long as, and any other operation on it
ELEMENTWISE_WORK = 4


class Pattern(NamedTuple):
    """Signs by which arguments on [-1, 1] decide how a function is moved.

    sign  everywhere;  wave  periods and phase of one over the argument;  draw  number of one by chance, each element
    for itself
    """

    sign: float = 0.0
    wave: tuple[int, float] | None = None
    draw: int | None = None


PATTERNS = (
    Pattern(1.0),
    Pattern(-1.0),
    *(Pattern(wave=(periods, phase)) for periods in WAVES for phase in (0.0, pi / 2)),
    *(Pattern(draw=number) for number in range(RANDOM)),
)


@dataclass
class ExactRuns:
    """Runs of some samples, whose run-time integers are the same, with unperturbed functions.

    outputs    (samples, *shape) each;  arguments  of every function, all that it got: (samples, number)
    arrays     values from which moved runs go on, by samples; empty if they start anew
    evaluated  functions in the order in which they are evaluated, and how many arguments each time
    """

    samples: Sequence[Sample]
    outputs: list[FloatArray]
    arguments: list[FloatArray]
    arrays: dict[Value, FloatArray]
    evaluated: list[tuple[int, int]]
    draws: list[FloatArray] = field(default_factory=list)  # (samples, number) of each pattern by chance

    @cached_property
    def unmoved(self) -> FloatArray:
        """Distances of the arguments of each function from themselves: 0, and NaN if one is not finite."""
        return np.stack([_farthest(a[None], a)[0] for a in self.arguments], axis=-1)


class PerturbedRuns:
    """Runs of one program.

    work     of one run, and  following  of what follows each function, and of loops with functions: about so many
             multiplications
    stacked  semantics of operations on runs side by side
    inside   numbers of the functions that an operation outside of loops is, or holds
    size     numbers of a run
    is_large  whether runs at the same time take less than one after the other
    """

    def __init__(self, module: Module, uses: Sequence[FunctionUse]) -> None:
        self.module, self.uses, self.is_large = module, uses, has_large_arrays(module)
        self.program = ReplaceableProgram(module, uses)
        self.stacked = {op: _semantics(op) for op in module.walk() if _is_stacked(op)}
        ops = module.body.ops
        works = {op: _work(op) for op in ops}
        self.work = sum(works.values())
        loops = {op for op in ops if any(nested.spec is APPLY.spec for nested in walk_regions(op.regions))}
        self.following = [sum(works[op] for op in after | loops) for after in self.program.after]
        numbers = {use.op: number for number, use in enumerate(uses)}
        self.inside = {op: [numbers[o] for o in (op, *walk_regions(op.regions)) if o in numbers] for op in ops}
        values = [value for op in ops for value in op.results]
        self.size = sum(prod(shape_of(v)) for v in values if isinstance(v.type, TensorType) and v.is_secret)

    def exact(self, samples: Sequence[Sample]) -> list[ExactRuns]:
        """Runs with unperturbed functions, in the order of the samples: those that can go side by side together."""
        integers = [
            name for name, v in zip(self.module.input_names, self.module.inputs, strict=True) if v.type is INDEX
        ]
        groups: list[list[Sample]] = []
        most = max(1, STACKED_ELEMENTS // (max(self.size, 1) * len(PATTERNS)))
        for sample in samples:
            alike = groups and all(groups[-1][0][name] == sample[name] for name in integers)
            if alike and len(groups[-1]) < most:
                groups[-1].append(sample)
            else:
                groups.append([sample])
        keeps = len(samples) * self.program.size <= KEPT_ELEMENTS
        return list(map_in_order(lambda group: self._exact(group, keeps), groups, is_worth_it=self.is_large))

    def _exact(self, samples: Sequence[Sample], keeps: bool) -> ExactRuns:
        found = map_in_order(lambda sample: self._run_exactly(sample, keeps), samples, is_worth_it=self.is_large)
        outputs, arguments, arrays, evaluated = zip(*found, strict=True)
        return ExactRuns(
            samples,
            [np.stack(each) for each in zip(*outputs, strict=True)],
            [np.stack(each) for each in zip(*arguments, strict=True)],
            {value: np.stack([each[value] for each in arrays]) for value in arrays[0]},
            evaluated[0],
        )

    def _run_exactly(
        self, sample: Sample, keeps: bool
    ) -> tuple[list[FloatArray], list[FloatArray], dict[Value, Any], list[tuple[int, int]]]:
        arguments: list[list[FloatArray]] = [[np.zeros(0)] for _ in self.uses]
        arrays: dict[Value, Any] = {}
        evaluated: list[tuple[int, int]] = []

        def noting(number: int) -> Semantics:
            def value_of(operands: list[Any]) -> list[Any]:
                arguments[number].append(np.ravel(operands[0]))
                evaluated.append((number, operands[0].size))
                return [np.asarray(self.uses[number].function.reference(operands[0]), dtype=np.float64)]

            return value_of

        def note(value: Value, array: Any) -> None:
            if keeps and value in self.program.kept:
                arrays[value] = array

        instead = {use.op: noting(number) for number, use in enumerate(self.uses)}
        with np.errstate(all="ignore"):
            outputs = interpret(self.module, sample, on_value=note, instead=instead)
        return outputs, [np.concatenate(seen) for seen in arguments], arrays, evaluated

    def draw(self, exact: Sequence[ExactRuns], rng: np.random.Generator) -> None:
        """Draw the signs of patterns by chance, one after the other as if each run were carried out by itself."""
        drawn: list[list[list[FloatArray]]] = [[[] for _ in range(RANDOM)] for _ in exact]
        for number in range(RANDOM):
            for runs, signs in zip(exact, drawn, strict=True):
                count = sum(size for _, size in runs.evaluated)
                for _ in runs.samples:
                    signs[number].append(rng.choice([-1.0, 1.0], count).astype(np.int8))
        for runs, signs in zip(exact, drawn, strict=True):
            runs.draws = [np.stack(each) for each in signs]

    def perturb(
        self, runs: ExactRuns, amplitudes: Sequence[float], patterns: Sequence[Pattern] = PATTERNS
    ) -> FloatArray:
        """Move every function by its amplitude times the pattern, and measure how far results move.

        returns  (patterns, samples, outputs and arguments of every function): the largest change
        """
        most = max(1, STACKED_ELEMENTS // (max(self.size, 1) * len(runs.samples)))
        parts = [patterns[first : first + most] for first in range(0, len(patterns), most)]
        return np.concatenate([_MovedRuns(self, runs, amplitudes, part).changes() for part in parts])


class _MovedRuns:
    """Runs of some samples with functions moved by some patterns, all side by side: (patterns, samples, ...)."""

    def __init__(
        self, moved: PerturbedRuns, runs: ExactRuns, amplitudes: Sequence[float], patterns: Sequence[Pattern]
    ) -> None:
        self._moved, self._runs, self._amplitudes, self._patterns = moved, runs, amplitudes, patterns
        self._again = {op for n, size in enumerate(amplitudes) if size for op in moved.program.after[n]}
        if not runs.arrays:
            self._again = set(moved.module.body.ops)
        self._taken = [0] * len(moved.uses)  # arguments of every function so far
        self._drawn = 0  # signs by chance so far
        self._arguments = np.zeros((len(patterns), len(runs.samples), len(moved.uses)))

    def changes(self) -> FloatArray:
        """Carry out the runs; returns the changes of outputs, then of arguments."""
        module, moved, lead = self._moved.module, self._moved, self._arguments.shape[:RUN_AXES]
        inputs = [self._stack(name, value) for name, value in zip(module.input_names, module.inputs, strict=True)]
        instead = moved.stacked | {use.op: self._moving(number) for number, use in enumerate(moved.uses)}
        with np.errstate(all="ignore"):
            outputs = interpret(module, inputs, instead=instead, known=self._earlier_results, unchecked=True)
            pairs = zip(module.body.terminator.operands, outputs, self._runs.outputs, strict=True)
            changes = [_farthest(_with_runs(value, array), exact) for value, array, exact in pairs]
        return np.concatenate([np.stack([np.broadcast_to(each, lead) for each in changes], -1), self._arguments], -1)

    def _stack(self, name: str, value: Value) -> Any:
        """An input of all samples; a run-time integer is the same in all."""
        given = [value.type.accept(sample[name]) for sample in self._runs.samples]
        return np.stack(given)[None] if isinstance(value.type, TensorType) else given[0]

    def _earlier_results(self, op: Op) -> list[Any] | None:
        """Results of the exact runs for what does not change, None in the place of what nothing reads any more."""
        is_outer = op.block is self._moved.module.body
        if not is_outer or op in self._again or not any(value.is_secret for value in op.results):
            return None
        for number in self._moved.inside[op]:
            self._note(number, self._runs.unmoved[None, :, number], self._runs.arguments[number].shape[1])
        kept = self._runs.arrays
        return [kept[value][None] if value in kept else None for value in op.results]

    def _note(self, number: int, change: FloatArray, count: int) -> None:
        """Take note of a function's next arguments: how far they moved, and that chance went on."""
        self._arguments[:, :, number] = np.maximum(self._arguments[:, :, number], change)
        self._taken[number] += count
        self._drawn += count

    def _moving(self, number: int) -> Semantics:
        use, amplitude = self._moved.uses[number], self._amplitudes[number]

        def moved_value(operands: list[Any]) -> list[Any]:
            x = _with_runs(use.op.operands[0], operands[0])
            first, count = self._taken[number], prod(x.shape[RUN_AXES:])
            exact = self._runs.arguments[number][:, first : first + count]
            drawn = slice(self._drawn, self._drawn + count)
            self._note(number, _farthest(x, exact.reshape(len(exact), *x.shape[RUN_AXES:])), count)
            value = np.asarray(use.function.reference(x), dtype=np.float64)
            if not amplitude and not np.isnan(x).any():
                return [value]
            unit = np.minimum(np.maximum(to_unit(x, use.interval), -1.0), 1.0)
            return [value + amplitude * self._signs(unit, drawn)]

        return moved_value

    def _signs(self, unit: FloatArray, drawn: slice) -> FloatArray:
        """The signs of every pattern at arguments on [-1, 1]."""
        shape = len(self._patterns), len(self._runs.samples), *unit.shape[RUN_AXES:]
        signs, angles = np.empty(shape), np.broadcast_to(np.arccos(unit), shape)
        for place, (sign, wave, draw) in enumerate(self._patterns):
            if draw is not None:
                signs[place] = self._runs.draws[draw][:, drawn].reshape(shape[1:])
            elif wave is not None:
                signs[place] = np.sign(np.cos(wave[0] * angles[place] + wave[1]))
            else:
                signs[place] = sign
        return signs


def _is_stacked(op: Op) -> bool:
    return op.name.startswith("tensor.") and any(value.is_secret for value in op.operands)


def _semantics(op: Op) -> Semantics:
    return lambda operands: [evaluate_stacked(op, operands)]


def _with_runs(value: Value, array: Any) -> FloatArray:
    """An array with axes of runs, though it is the same in all."""
    return np.asarray(array)[None, None] if np.ndim(array) == len(shape_of(value)) else np.asarray(array)


def _farthest(moved: Any, exact: FloatArray) -> FloatArray:
    """The largest difference of a value in each run: (patterns, samples) for (patterns, samples, *shape)."""
    return np.asarray(np.max(np.abs(moved - exact), axis=tuple(range(RUN_AXES, np.ndim(moved))), initial=0.0))


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
