"""What errors of functions do to the outputs of a program, found by running it with its functions disturbed.

The error of a polynomial is at most its largest one and of either sign, and where it has which sign is as good as
chance. So every function is moved by that much everywhere: up, down, by the sign of a wave over its argument (equal
arguments are off equally), and by random signs (each element for itself). The largest change of an output over all of
these and over calibration samples is taken for what other inputs like them may see: it does not depend on which errors
the samples happen to meet. Half of the samples that are run are those of which a first run shows that they change most.
An error also moves the arguments of functions that come later, which must not leave the range that those are close on:
so changes of arguments are measured as those of outputs are, even where no output would show them (what is normalised
afterwards).
Cost: as many runs a sample as there are patterns (`_patterns`), for each function and once for all together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import pi, prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from latticework.accuracy.uses import FunctionUse
from latticework.approx.chebyshev import to_unit
from latticework.approx.sign import CompositeSign
from latticework.dialects.tensor import TensorType
from latticework.frontend.samples import Sample, affordable_samples
from latticework.ir import Builder, Module, Op, Value, interpret, rebuild
from latticework.ops.apply import APPLY
from latticework.ops.base import shape_of
from latticework.ops.polynomial import POLYNOMIAL
from latticework.packing.constants import Approximant

FloatArray = npt.NDArray[np.float64]
T = TypeVar("T")
Pattern = Callable[[FloatArray], FloatArray]  # from arguments on [-1, 1] to numbers in [-1, 1]

WAVES = (3, 8, 21)
RANDOM = 4
RUN_SAMPLES = 32  # for all functions of a program together, but at least LEAST_SAMPLES for each
LEAST_SAMPLES = 4
COMPARED_SAMPLES = 256
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
        self.amplitudes = [0.0] * len(uses)
        self.pattern: Pattern = np.zeros_like
        self.arguments: list[list[FloatArray]] = []
        self.disturbed = self._disturb()
        pool = space_out(samples, affordable_samples(module, samples[0], _count_pool(module, len(uses))))
        exact = [self._run(sample) for sample in pool]
        most = max(LEAST_SAMPLES, RUN_SAMPLES // max(len(uses), 1))
        chosen = self._telling(pool, exact, most)
        self.samples, self.exact = [pool[n] for n in chosen], [exact[n] for n in chosen]
        outputs = len(module.outputs)
        sizes = [[np.max(np.abs(y), initial=0.0) for y in run[:outputs]] for run in exact]
        self.magnitudes = np.max(sizes, axis=0)
        self.rooms = np.array([self._room(use, [run[outputs + n] for run in exact]) for n, use in enumerate(uses)])

    def _telling(self, pool: Sequence[Sample], exact: Sequence[list[FloatArray]], most: int) -> list[int]:
        """For every function the samples whose outputs change most when it is moved, half of all; the others any."""
        self.pattern, outputs = np.ones_like, len(self.module.outputs)
        found: set[int] = set()
        for number, use in enumerate(self.uses):
            self.amplitudes = [SMALL * use.curve.size * (k == number) for k in range(len(self.uses))]
            pairs = [(run[:outputs], self._run(sample)[:outputs]) for sample, run in zip(pool, exact, strict=True)]
            changes = np.nan_to_num([distances(*pair) for pair in pairs], nan=np.inf)
            for change in changes.T:
                found.update(np.argsort(-change, kind="stable")[: max(1, most // (2 * changes.shape[1]))].tolist())
        return sorted({*found, *space_out(range(len(pool)), max(1, most // 2))})

    def _disturb(self) -> Module:
        """The program with functions that are moved by the pattern, and keep their arguments."""
        numbers = {use.op: number for number, use in enumerate(self.uses)}

        def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
            if op not in numbers:
                return False
            function = replace(self.uses[numbers[op]].function, reference=self._move(numbers[op]))
            attrs = {**op.attrs, "function": function}
            mapping[op.result] = builder.build(APPLY.spec, [mapping[op.operands[0]]], **attrs)
            return True

        return rebuild(self.module, visit)

    def _move(self, number: int) -> Callable[[FloatArray], FloatArray]:
        use = self.uses[number]

        def moved(x: FloatArray) -> FloatArray:
            self.arguments[number].append(np.ravel(x))
            unit = np.clip(to_unit(np.asarray(x), use.interval), -1.0, 1.0)
            return np.asarray(use.function.reference(x) + self.amplitudes[number] * self.pattern(unit))

        return moved

    def _run(self, sample: Sample) -> list[FloatArray]:
        """The outputs, and the arguments of every function."""
        self.arguments = [[np.zeros(0)] for _ in self.uses]
        with np.errstate(all="ignore"):
            outputs = interpret(self.disturbed, sample)
        return [*outputs, *(np.concatenate(seen) for seen in self.arguments)]

    def _room(self, use: FunctionUse, arguments: Sequence[FloatArray]) -> float:
        lo, hi = use.interval
        seen = np.concatenate(arguments)
        room = min(float(np.min(seen, initial=hi)) - lo, hi - float(np.max(seen, initial=lo)))
        return max(room, LEAST_ROOM * (hi - lo) / 2)

    def of(self, amplitudes: Sequence[float]) -> FloatArray:
        """Largest change of every output, and of every function's argument, when functions are off by so much."""
        return np.asarray(np.max(self._changes(amplitudes), axis=0))

    def _changes(self, amplitudes: Sequence[float]) -> FloatArray:
        """The same of every sample: (samples, outputs and arguments)."""
        self.amplitudes = list(amplitudes)
        rng = np.random.default_rng(0)
        most = np.zeros((len(self.samples), len(self.magnitudes) + len(self.uses)))
        for pattern in _patterns(rng):
            self.pattern = pattern
            runs = [distances(exact, self._run(x)) for x, exact in zip(self.samples, self.exact, strict=True)]
            most = np.maximum(most, runs)
        return np.nan_to_num(most, nan=np.inf)

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Changes as of `of`, for each unit of a function's error, and the largest that other inputs may see.

        returns  (outputs and arguments, functions) both; the second is `MARGIN` times the first but where all samples
                 agree, as where the function's value is the output itself
        """
        seen, expected = [], []
        for number, use in enumerate(self.uses):
            amplitude = SMALL * use.curve.size
            changes = self._changes([amplitude * (k == number) for k in range(len(self.uses))]) / amplitude
            most, least = np.max(changes, axis=0), np.min(changes, axis=0)
            seen.append(most)
            expected.append(np.where(most > ALIKE * least, MARGIN, 1.0) * most)
        return np.stack(seen, axis=1), np.stack(expected, axis=1)

    def shifts(self, approximated: Module) -> FloatArray:
        """Largest change of every output by the polynomials themselves, on calibration samples outside of gaps."""
        most = np.zeros(len(self.magnitudes))
        for sample in space_out(
            self.all_samples, affordable_samples(self.module, self.all_samples[0], COMPARED_SAMPLES)
        ):
            if not self._has_in_gap(sample):
                most = np.maximum(most, distances(interpret(self.module, sample), interpret(approximated, sample)))
        return most

    def _has_in_gap(self, sample: Sample) -> bool:
        """Whether a sign is taken of numbers so close to 0 that nothing is said about it."""
        if not any(use.function.gap for use in self.uses):
            return False
        self._run(sample)
        pairs = zip(self.uses, self.arguments, strict=True)
        return any(np.any(np.abs(x) < use.function.gap) for use, seen in pairs for x in seen[1:])


def _count_pool(module: Module, uses: int) -> int:
    """Samples among which those that tell most are looked for: more of small programs, where they take no time."""
    values = [value for op in module.walk() for value in op.results]
    elements = sum(prod(shape_of(v)) for v in values if isinstance(v.type, TensorType))
    each = (1 + uses) * max(elements, POOLED_ELEMENTS_AN_OP * len(values), 1)
    return max(LEAST_POOLED, min(MOST_POOLED, POOLED_ELEMENTS // each))


def with_error(found: Approximant | CompositeSign, error: float) -> Approximant | CompositeSign:
    """A polynomial that knows how far it is from its function; of composed signs the last.

    Those before it stand for themselves, but on their intervals alone: beyond, no later one may seem to be right.
    """
    if isinstance(found, Approximant):
        return replace(found, error=error)  # type: ignore[type-var]
    before = (replace(stage, error=ROUNDED) for stage in found.stages[:-1])
    return replace(found, stages=(*before, replace(found.stages[-1], error=error)))


def with_polynomials(module: Module, polynomials: Sequence[Approximant | CompositeSign]) -> Module:
    """A copy of a module whose functions, in order, are these polynomials, composed signs one stage after the other."""
    left = iter(polynomials)

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.spec is not APPLY.spec:
            return False
        found, value = next(left), mapping[op.operands[0]]
        for stage in found.stages if isinstance(found, CompositeSign) else (found,):
            value = builder.build(POLYNOMIAL.spec, [value], polynomial=stage)
        if op.result.origin is not None and not op.result.origin.name:
            value.origin = replace(op.result.origin, name=op.attrs["function"].name)
        mapping[op.result] = value
        return True

    return rebuild(module, visit)


def space_out(samples: Sequence[T], count: int) -> list[T]:
    """At most so many of them, evenly spaced."""
    numbers = np.unique(np.linspace(0, len(samples) - 1, min(count, len(samples))).round().astype(int))
    return [samples[int(number)] for number in numbers]


def distances(a: Sequence[npt.NDArray[np.float64]], b: Sequence[npt.NDArray[np.float64]]) -> FloatArray:
    """Largest difference of every output."""
    return np.array([np.max(np.abs(x - y), initial=0.0) for x, y in zip(a, b, strict=True)])


def _patterns(rng: np.random.Generator) -> list[Pattern]:
    def wave(turns: int, phase: float) -> Pattern:
        return lambda unit: np.sign(np.cos(turns * np.arccos(unit) + phase))

    waves = [wave(turns, phase) for turns in WAVES for phase in (0.0, pi / 2)]
    random: Pattern = lambda unit: rng.choice([-1.0, 1.0], np.shape(unit))  # noqa: E731
    return [np.ones_like, lambda unit: -np.ones_like(unit), *waves, *[random] * RANDOM]
