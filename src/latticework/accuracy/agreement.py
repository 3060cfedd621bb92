"""Degrees by layer, as low as decisions allow: `agreement=` asks for a share of rows whose decisions stay the same.

Every fourth sample is held back from calibration. A function's degrees are tried by themselves on some of the others:
how far they move the decision, by how far the program itself is from another one. Beginning with the lowest degrees,
the function is raised a class of levels whose next class takes most off the sum of squares, by what it costs in levels
and products; on the way so found, the first place is looked for whose polynomials, all together, keep the decisions of
the rows that were held back. Degrees within the last classes go down as long as they keep them.
After J. Lee et al., Optimized Layerwise Approximation for Efficient Private Inference on FHE (2023, arXiv 2310.10349),
which minimises the variance of the loss under a budget of time, the same for every layer's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from latticework.accuracy.effects import space_out, with_polynomials
from latticework.accuracy.uses import FloatArray, FunctionUse, uses_of
from latticework.approx.degrees import MAX_DEGREE
from latticework.approx.sign import CompositeSign
from latticework.errors import PrecisionError, RangeError
from latticework.frontend.samples import Sample, affordable_samples
from latticework.ir import Builder, Module, Op, Value, interpret, rebuild
from latticework.ops.apply import APPLY
from latticework.packing.constants import IntervalPolynomial

Outputs = Sequence[FloatArray]
Compare = Callable[[Outputs, Outputs], npt.NDArray[np.bool_]]  # the program's own, and others: one answer a row

HELD_BACK = 4  # one of so many
LEAST_SAMPLES = 8
TRIED_SAMPLES = 8  # on which each degree is tried by itself
MOST_SAMPLES = 4096
FIRST, LAST = 1, MAX_DEGREE.bit_length()  # classes: the highest degree of class c is 2^c - 1
PRODUCT = 1 / 32  # what a product costs, of what a level costs: everything has one limb more
AHEAD = 3  # classes that are looked at: the next one may be none better, as where a function is even
LOWERED = 15  # degrees from which on it pays to go down within a class
FAR = 1e3  # farther than this from the program's decision is as bad as can be
NEAR = 2.0**-24  # of the distance to another decision: nearer than this nothing is gained
MEASURED = 6  # classes: what functions with kinks move beyond follows from their errors, which halve
LEAST_DISTANCE = 2.0**-6  # to another decision, of the largest number, below which rows count as undecided


@dataclass(frozen=True)
class Agreement:
    """What was asked for, and how many decisions of rows that were held back are the program's own."""

    asked: float
    rows: int
    equal: int

    @property
    def share(self) -> float:
        """Of equal decisions."""
        return self.equal / self.rows

    def __str__(self) -> str:
        return (
            f"degrees were chosen for agreement={self.asked:g}: of {self.rows} rows held back from calibration "
            f"{self.equal} ({self.share:.2%}) have the decisions of the program itself"
        )


def same_largest(exact: Outputs, others: Outputs) -> npt.NDArray[np.bool_]:
    """Whether the largest number along the last axis of the first output is at the same place, or at one as large.

    The last axis is the last one that has several elements.
    raises  RangeError where there is none
    """
    wanted, found = (_open_ended(outputs[0]) for outputs in (exact, others))
    if wanted.size == 1:
        raise RangeError(
            "compile: agreement= compares decisions, and the first output is a single number a row, which may be none; "
            "ask for precision_bits=, or import a classifier's predict"
        )
    chosen = np.take_along_axis(wanted, np.argmax(found, axis=-1, keepdims=True), axis=-1)
    return np.asarray(np.ravel(chosen == np.max(wanted, axis=-1, keepdims=True)))


def _open_ended(results: FloatArray) -> FloatArray:
    """Without axes of one element at the end, but for one."""
    kept = results
    while kept.ndim > 1 and kept.shape[-1] == 1:
        kept = kept[..., 0]
    return kept.reshape(1) if kept.ndim == 0 else kept


@dataclass(frozen=True)
class DegreeOptions:
    """What is asked of functions that have no degree of their own, beside precision.

    degree     of each;  agreement  share of held-back rows that keep their decisions
    compare    decisions of two runs
    """

    degree: int | None = None
    agreement: float | None = None
    compare: Compare = same_largest

    def parted(self, samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
        """Samples to choose by, and those that are held back.

        raises  RangeError if they are too few
        """
        if self.agreement is None:
            return samples, []
        if len(samples) < LEAST_SAMPLES:
            raise RangeError(
                f"compile: agreement= is measured on samples that are held back, and calibrate= has {len(samples)}; "
                f"give at least {LEAST_SAMPLES}, better some hundreds, or ask for precision_bits= alone"
            )
        kept = [sample for number, sample in enumerate(samples) if number % HELD_BACK != HELD_BACK - 1]
        return kept, samples[HELD_BACK - 1 :: HELD_BACK]

    def applied(
        self, module: Module, samples: Sequence[Sample], held: Sequence[Sample]
    ) -> tuple[Module, Agreement | None]:
        """A calibrated module with the degrees that are asked for, and how well its decisions agree if that is asked.

        raises  PrecisionError if no degrees do, saying how far the highest come
        """
        uses = uses_of(module) if self.degree is not None or self.agreement is not None else []
        if self.degree is not None:
            module = _with_degrees(module, [self.degree if use.given is None else use.given for use in uses])
        if self.agreement is None or not any(use.given is None and not use.function.gap for use in uses):
            return module, None
        search = _Search(module, samples, held, self.compare)
        degrees = search.lowered(search.first(self.agreement), self.agreement)
        return _with_degrees(module, degrees), search.agreement(degrees, self.agreement)


FREE_DEGREES = DegreeOptions()


def _with_degrees(module: Module, degrees: Sequence[int | None]) -> Module:
    left = iter(degrees)

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.spec is not APPLY.spec:
            return False
        degree = next(left)
        attrs = op.attrs if op.attrs["function"].gap else {**op.attrs, "degree": degree}
        mapping[op.result] = builder.build(APPLY.spec, [mapping[op.operands[0]]], **attrs)
        return True

    return rebuild(module, visit)


class _Search:
    def __init__(self, module: Module, samples: Sequence[Sample], held: Sequence[Sample], compare: Compare) -> None:
        self.module, self.compare, self.uses = module, compare, uses_of(module)
        self.free = [n for n, use in enumerate(self.uses) if use.given is None and not use.function.gap]
        self.held = space_out(held, affordable_samples(module, held[0], MOST_SAMPLES))
        self.wanted = [interpret(module, sample) for sample in self.held]
        self.tried = space_out(samples, TRIED_SAMPLES)
        self.exact = [interpret(module, sample)[0] for sample in self.tried]
        self._moves: dict[tuple[int, int], float] = {}

    def first(self, asked: float) -> list[int]:
        """Classes of the free functions: the first on the way whose polynomials agree."""
        way = self._way()
        wrong, right = -1, 0  # far up polynomials take long to find: so from below in longer and longer steps
        while self.agreement(self.tops(way[right]), asked).share < asked:
            if right == len(way) - 1:
                raise self._refusal(way[right], asked)
            wrong, right = right, min(2 * right + 1, len(way) - 1)
        while right - wrong > 1:
            middle = (wrong + right) // 2
            if self.agreement(self.tops(way[middle]), asked).share >= asked:
                right = middle
            else:
                wrong = middle
        return way[right]

    def _refusal(self, classes: Sequence[int], asked: float) -> PrecisionError:
        last = self.agreement(self.tops(classes), asked)
        return PrecisionError(
            f"compile: agreement={asked:g} is not reached: with the highest degrees that help, {last.equal} of "
            f"{last.rows} rows held back from calibration keep their decisions ({last.share:.2%}); ask for less, or "
            "calibrate on more rows: what leaves the ranges seen there is off",
            at=self.uses[0].op.loc,
        )

    def lowered(self, classes: Sequence[int], asked: float) -> list[int | None]:
        """Degrees within their classes: each at three quarters of the highest where all still agree."""
        degrees = self.tops(classes)
        for number in sorted(self.free, key=lambda n: -(degrees[n] or 0)):
            highest = degrees[number] or 0
            less = list(degrees)
            less[number] = 3 * (highest + 1) // 4 - 1
            if highest >= LOWERED and self.agreement(less, asked).share >= asked:
                degrees = less
        return degrees

    def tops(self, classes: Sequence[int]) -> list[int | None]:
        """The highest degrees of these classes; None for signs."""
        degrees = [use.given for use in self.uses]
        for number, levels in zip(self.free, classes, strict=True):
            degrees[number] = (1 << levels) - 1
        return degrees

    def agreement(self, degrees: Sequence[int | None], asked: float) -> Agreement:
        """Of rows that were held back, with polynomials of all these degrees; signs are taken as they are."""
        made = with_polynomials(self.module, [_polynomial(*pair) for pair in zip(self.uses, degrees, strict=True)])
        equal = rows = 0
        with np.errstate(all="ignore"):
            for sample, wanted in zip(self.held, self.wanted, strict=True):
                outputs = interpret(made, sample)
                same = self.compare(wanted, outputs)
                rows += len(same)
                equal += int(np.sum(same)) if all(np.isfinite(output).all() for output in outputs) else 0
        return Agreement(asked, rows, equal)

    def _way(self) -> list[list[int]]:
        """Classes from the lowest on, one function raised in each step, until none gives anything."""
        classes = [FIRST] * len(self.free)
        way = [list(classes)]
        while True:
            steps = [self._best_step(place, levels) for place, levels in enumerate(classes)]
            best = max(range(len(steps)), key=lambda place: steps[place][0], default=None)
            if best is None or steps[best][0] <= 0.0:
                return way
            classes[best] += steps[best][1]
            way.append(list(classes))

    def _best_step(self, place: int, levels: int) -> tuple[float, int]:
        """What classes further up take off the sum of squares, by their cost, and how many of them do best."""
        now = self._move(place, levels)
        if now <= NEAR:
            return 0.0, 0
        found = [(0.0, 0)]
        for more in range(1, min(AHEAD, LAST - levels) + 1):
            products = 2 * (sqrt(2 ** (levels + more)) - sqrt(2**levels))
            found.append(((now**2 - self._move(place, levels + more) ** 2) / (more + PRODUCT * products), more))
        return max(found)

    def _move(self, place: int, levels: int) -> float:
        """How far this function's polynomial alone moves the first output, by the distance to another decision."""
        key = place, levels
        if key not in self._moves:
            alone: list[IntervalPolynomial | CompositeSign | None] = [None] * len(self.uses)
            alone[self.free[place]] = _polynomial(self.uses[self.free[place]], (1 << levels) - 1)
            made = with_polynomials(self.module, alone)
            squares = []
            with np.errstate(all="ignore"):
                for sample, exact in zip(self.tried, self.exact, strict=True):
                    off = np.max(np.abs(interpret(made, sample)[0] - exact) / _distance(exact), initial=0.0)
                    squares.append(min(float(np.nan_to_num(off, nan=FAR)), FAR) ** 2)
            self._moves[key] = sqrt(sum(squares) / len(squares))
        return self._moves[key]


def _polynomial(use: FunctionUse, degree: int | None) -> IntervalPolynomial | CompositeSign | None:
    return None if degree is None else use.given_curve.polynomial(degree)


def _distance(results: FloatArray) -> FloatArray:
    """Of each row, along the last axis, to another place of the largest number."""
    rows = _open_ended(results)
    size = float(np.max(np.abs(rows), initial=0.0)) or 1.0
    if rows.shape[-1] == 1:
        return np.full(results.shape, size)
    ordered = np.sort(rows, axis=-1)
    found = np.maximum(ordered[..., -1:] - ordered[..., -2:-1], LEAST_DISTANCE * size)
    return np.asarray(np.broadcast_to(found, rows.shape).reshape(results.shape))
