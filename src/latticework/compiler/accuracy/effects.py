"""Effects of function errors on the outputs of a program, found by running it with its functions perturbed.

The error of a polynomial is at most its largest one and of either sign, and where it has which sign is as good as
chance. So every function is moved by that much everywhere: up, down, by the sign of a wave over its argument (equal
arguments are off equally), and by random signs (each element for itself). The largest change of an output over all of
these and over calibration samples is taken for what other inputs like them may see: it does not depend on which errors
the samples happen to meet. Half of the samples that are run are those of which a first run shows that they change most.
An error also moves the arguments of functions that come later, which must not leave the range that those are close on:
so changes of arguments are measured as those of outputs are, even where no output would show them (what is normalised
afterwards).
Cost: as many runs a sample as there are patterns, for each function of what follows it and once for all together; of
programs that take long a run, on fewer samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy.function_uses import FunctionUse
from latticework.compiler.accuracy.perturbation import PATTERNS, ExactRuns, PerturbedRuns, work_of
from latticework.frontend.calibration.calibration_data import Sample, affordable_samples
from latticework.functions.approximation.sign import CompositeSign
from latticework.ir import Builder, Module, Op, Value, interpret, rebuild
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.tensor.ops.apply import APPLY
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.polynomial import POLYNOMIAL
from latticework.values.map_in_order import map_in_order
from latticework.values.packing.packed_constants import Approximant

FloatArray = npt.NDArray[np.float64]
T = TypeVar("T")

RUN_SAMPLES = 32  # for all functions of a program together, but at least LEAST_SAMPLES for each
LEAST_SAMPLES = 4
COMPARED_SAMPLES = 256
MOST_WORK = 1 << 34  # multiplications of all runs with one function moved, which are some ten seconds
MOST_SOUGHT = 1 << 32  # the same of finding the samples to run, and of comparing polynomials with their functions
LEAST_RUN = 2  # samples that are run, whatever that takes
LEAST_POOLED, MOST_POOLED = 64, 4096
POOLED_ELEMENTS = 1 << 26  # that finding the samples to run may compute
POOLED_ELEMENTS_AN_OP = 1024  # which take as long as an operation itself
LEAST_ROOM = 2.0**-8  # of half a range, by which arguments may be moved though calibration saw the ends of the range
MARGIN = 1.25  # times what calibration shows, for other inputs like those
ALIKE = 1.001  # times as large as another is a change that does not depend on the sample
ROUNDED = 2.0**-50  # how far stages of a composition are from themselves
SMALL = 2.0**-20  # of a function's values, by which it is moved to see what follows


class Effects:
    """Runs of one program.

    magnitudes  largest |element| of every output in these runs
    rooms       by how much the argument of every function may be moved
    """

    def __init__(self, module: Module, uses: Sequence[FunctionUse], samples: Sequence[Sample]) -> None:
        self.module, self.uses, self.all_samples = module, uses, samples
        self.runs = PerturbedRuns(module, uses)
        self.is_large = self.runs.is_large
        work = sum(self.runs.following)
        count = min(_count_pool(module, len(uses)), max(LEAST_RUN, MOST_SOUGHT // max(work, 1)))
        pool = space_out(samples, affordable_samples(module, samples[0], count))
        most = max(LEAST_SAMPLES, RUN_SAMPLES // max(len(uses), 1))
        affordable = max(LEAST_RUN, MOST_WORK // max(work * len(PATTERNS), 1))
        exact = self.runs.exact(pool)
        chosen = self._telling(exact, most, affordable)
        self.exact = self.runs.exact([pool[n] for n in chosen])
        self.runs.draw(self.exact, np.random.default_rng(0))
        self.magnitudes = np.max([[np.max(np.abs(y), initial=0.0) for y in runs.outputs] for runs in exact], axis=0)
        self.rooms = np.array([self._slack(use, [runs.arguments[n] for runs in exact]) for n, use in enumerate(uses)])

    def _telling(self, exact: Sequence[ExactRuns], most: int, affordable: int) -> list[int]:
        """Choose for every function the samples whose outputs change most when it is moved, half of all; others any.

        Where that is more than are affordable, those of them that change most over all functions and outputs.
        """
        outputs = len(self.module.outputs)

        def move_alone(number: int) -> FloatArray:
            moved = [self.runs.perturb(runs, self._alone(number), PATTERNS[:1])[0] for runs in exact]
            return np.asarray(np.concatenate(moved)[:, :outputs])

        moved_each = map_in_order(move_alone, range(len(self.uses)), is_worth_it=self.is_large)
        changes = np.nan_to_num(list(moved_each), nan=np.inf)  # (uses, samples, outputs)
        candidates: set[int] = set()
        for each in changes:
            for change in each.T:
                candidates.update(np.argsort(-change, kind="stable")[: max(1, most // (2 * outputs))].tolist())
        candidates.update(space_out(range(changes.shape[1]), max(1, most // 2)))
        if len(candidates) <= affordable:
            return sorted(candidates)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.nan_to_num(changes / np.max(changes, axis=1, keepdims=True), nan=1.0)
        return sorted(sorted(candidates, key=lambda n: -float(np.sum(share[:, n])))[:affordable])

    def _slack(self, use: FunctionUse, arguments: Sequence[FloatArray]) -> float:
        lo, hi = use.interval
        seen = np.concatenate([np.ravel(each) for each in arguments])
        slack = min(float(np.min(seen, initial=hi)) - lo, hi - float(np.max(seen, initial=lo)))
        return max(slack, LEAST_ROOM * (hi - lo) / 2)

    def of(self, amplitudes: Sequence[float]) -> FloatArray:
        """Largest change of every output, and of every function's argument, when functions are off by so much."""
        return np.asarray(np.max(self._changes(amplitudes), axis=0))

    def _changes(self, amplitudes: Sequence[float]) -> FloatArray:
        """The same of every sample: (samples, outputs and arguments)."""
        parts = map_in_order(
            lambda runs: np.max(self.runs.perturb(runs, amplitudes), axis=0), self.exact, is_worth_it=self.is_large
        )
        return np.asarray(np.nan_to_num(np.concatenate(list(parts)), nan=np.inf))

    def _alone(self, number: int) -> list[float]:
        """Amplitudes by which one function is moved a little, and no other."""
        return [SMALL * use.curve.size * (k == number) for k, use in enumerate(self.uses)]

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Changes as of `of`, for each unit of a function's error, and the largest that other inputs may see.

        returns  (outputs and arguments, functions) both; the second is `MARGIN` times the first but where all samples
                 agree, as where the function's value is the output itself
        """
        seen, expected = [], []
        alone = [self._alone(number) for number in range(len(self.uses))]
        for number, moved in enumerate(map_in_order(self._changes, alone, is_worth_it=self.is_large)):
            changes = moved / alone[number][number]
            most, least = np.max(changes, axis=0), np.min(changes, axis=0)
            seen.append(most)
            expected.append(np.where(most > ALIKE * least, MARGIN, 1.0) * most)
        return np.stack(seen, axis=1), np.stack(expected, axis=1)

    def shifts(self, approximated: Module) -> FloatArray:
        """Largest change of every output by the polynomials themselves, on calibration samples outside of gaps.

        Infinite where results are no numbers.
        """
        nothing = np.zeros(len(self.magnitudes))
        count = min(COMPARED_SAMPLES, max(LEAST_RUN, MOST_SOUGHT // (work_of(self.module) + work_of(approximated))))
        chosen = space_out(self.all_samples, affordable_samples(self.module, self.all_samples[0], count))

        def shift(sample: Sample) -> FloatArray:
            if self._has_in_gap(sample):
                return nothing
            return distances(interpret(self.module, sample), interpret(approximated, sample))

        most = np.max(list(map_in_order(shift, chosen, is_worth_it=self.is_large)), axis=0, initial=0.0)
        return np.asarray(np.nan_to_num(most, nan=np.inf))

    def _has_in_gap(self, sample: Sample) -> bool:
        """Whether a sign is taken of numbers so close to 0 that nothing is said about it."""
        if not any(use.function.gap for use in self.uses):
            return False
        pairs = zip(self.uses, self.runs.exact([sample])[0].arguments, strict=True)
        return any(bool(np.any(np.abs(x) < use.function.gap)) for use, x in pairs)


def _count_pool(module: Module, uses: int) -> int:
    """Samples among which those that tell most are looked for: more of small programs, where they take no time."""
    values = [value for op in module.walk() for value in op.results]
    elements = sum(prod(shape_of(v)) for v in values if isinstance(v.type, TensorType))
    each = (1 + uses) * max(elements, POOLED_ELEMENTS_AN_OP * len(values), 1)
    return max(LEAST_POOLED, min(MOST_POOLED, POOLED_ELEMENTS // each))


def with_error(polynomial: Approximant | CompositeSign, error: float) -> Approximant | CompositeSign:
    """A polynomial that knows how far it is from its function; of composed signs the last.

    Those before it stand for themselves, but on their intervals alone: beyond, no later one may seem to be right. Nor
    may one that is exact there, as of a piecewise linear function with no kink in its interval.
    """
    error = max(error, ROUNDED)
    if isinstance(polynomial, Approximant):
        return replace(polynomial, error=error)  # type: ignore[type-var]
    before = (replace(stage, error=ROUNDED) for stage in polynomial.stages[:-1])
    return replace(polynomial, stages=(*before, replace(polynomial.stages[-1], error=error)))


def stages_of(polynomial: Approximant | CompositeSign) -> tuple[Approximant, ...]:
    """The polynomials that are evaluated one after the other."""
    return polynomial.stages if isinstance(polynomial, CompositeSign) else (polynomial,)


def with_polynomials(module: Module, polynomials: Sequence[Approximant | CompositeSign | None]) -> Module:
    """A copy of a module whose functions, in order, are these polynomials, composed signs one stage after the other.

    Where there is None, the function stays.
    """
    left = iter(polynomials)

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        polynomial = next(left) if op.spec is APPLY.spec else None
        if polynomial is None:
            return False
        value = mapping[op.operands[0]]
        for stage in stages_of(polynomial):
            value = builder.build(POLYNOMIAL.spec, [value], polynomial=stage)
        if op.result.origin is not None and not op.result.origin.name:
            value.origin = replace(op.result.origin, name=op.attrs["function"].name)
        mapping[op.result] = value
        return True

    return rebuild(module, visit)


def space_out(samples: Sequence[T], count: int) -> list[T]:
    """Return at most `count` of the samples, evenly spaced."""
    numbers = np.unique(np.linspace(0, len(samples) - 1, min(count, len(samples))).round().astype(int))
    return [samples[int(number)] for number in numbers]


def distances(a: Sequence[npt.NDArray[np.float64]], b: Sequence[npt.NDArray[np.float64]]) -> FloatArray:
    """Largest difference of every output."""
    return np.array([np.max(np.abs(x - y), initial=0.0) for x, y in zip(a, b, strict=True)])
