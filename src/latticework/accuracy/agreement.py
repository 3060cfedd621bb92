"""Degrees by layer, as low as a goal allows: decisions that stay the same (`agreement=`), results near (`tolerance=`).

Every fourth sample is held back from calibration. A function's degrees are tried by themselves on some of the others:
how far they move results, of what there is to lose: the distance to another decision, or the tolerance. Beginning with
the lowest degrees, the function is raised a class of levels whose next class takes most off the sum of squares, by what
it costs in levels and products; on the way so found, the first place is looked for whose polynomials, all together,
reach the goal on the rows that were held back. What a polynomial does alone says little of what all do: one that moves
arguments of later functions takes these out of their ranges, and in deep networks errors add up. So the lowest class
that does for all functions alike is a place too, the cheaper of the two is taken, and from there each function goes
down by classes, and within its last class, as long as the goal is reached, those first that give up least for what it
saves.
After J. Lee et al., Optimized Layerwise Approximation for Efficient Private Inference on FHE (2023, arXiv 2310.10349),
which minimises the variance of the loss under a budget of time, the same for every layer's choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from latticework.accuracy.effects import space_out, with_polynomials
from latticework.accuracy.goals import Goal
from latticework.accuracy.uses import FunctionUse, uses_of
from latticework.approx.degrees import MAX_DEGREE
from latticework.approx.sign import CompositeSign
from latticework.errors import PrecisionError, RangeError
from latticework.frontend.samples import Sample, affordable_samples
from latticework.ir import Builder, Module, Op, Value, interpret, rebuild
from latticework.ops.apply import APPLY
from latticework.packing.constants import IntervalPolynomial

HELD_BACK = 4  # one of so many
LEAST_SAMPLES = 8
TRIED_SAMPLES = 8  # on which each degree is tried by itself
MOST_SAMPLES = 4096
FIRST, LAST = 1, MAX_DEGREE.bit_length()  # classes: the highest degree of class c is 2^c - 1
PRODUCT = 1 / 32  # what a product costs, of what a level costs: everything has one limb more
AHEAD = 3  # classes that are looked at: the next one may be none better, as where a function is even
LOWERED = 15  # degrees from which on it pays to go down within a class
FAR = 1e3  # farther off than this is as bad as can be
NEAR = 2.0**-24  # nearer than this nothing is gained
EVEN = 6  # classes that are tried for all functions alike


@dataclass(frozen=True)
class Agreement:
    """What was asked for, and how many of the rows that were held back reach it."""

    goal: Goal
    rows: int
    equal: int

    @property
    def share(self) -> float:
        """Of rows that do."""
        return self.equal / self.rows

    @property
    def is_reached(self) -> bool:
        """Whether there are enough of them."""
        return self.share >= self.goal.share

    def __str__(self) -> str:
        return f"degrees were chosen for {self.goal.option}: {self.goal.told(self.equal, self.rows)}"


@dataclass(frozen=True)
class DegreeOptions:
    """What is asked of functions that have no degree of their own, beside precision.

    degree  of each;  goal  of rows that are held back
    """

    degree: int | None = None
    goal: Goal | None = None

    def parted(self, samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
        """Samples to choose by, and those that are held back.

        raises  RangeError if they are too few
        """
        if self.goal is None:
            return samples, []
        if len(samples) < LEAST_SAMPLES:
            raise RangeError(
                f"compile: {self.goal.option} is measured on samples that are held back, and calibrate= has "
                f"{len(samples)}; give at least {LEAST_SAMPLES}, better some hundreds, or ask for precision_bits= alone"
            )
        kept = [sample for number, sample in enumerate(samples) if number % HELD_BACK != HELD_BACK - 1]
        return kept, samples[HELD_BACK - 1 :: HELD_BACK]

    def applied(
        self, module: Module, samples: Sequence[Sample], held: Sequence[Sample]
    ) -> tuple[Module, Agreement | None]:
        """A calibrated module with the degrees that are asked for, and how many rows reach the goal if there is one.

        raises  PrecisionError if no degrees do, saying how far the highest come
        """
        uses = uses_of(module) if self.degree is not None or self.goal is not None else []
        if self.degree is not None:
            module = _with_degrees(module, [self.degree if use.given is None else use.given for use in uses])
        if self.goal is None or not any(use.given is None and not use.function.gap for use in uses):
            return module, None
        search = _Search(module, samples, held, self.goal)
        degrees = search.lowered(search.descended(search.first()))
        return _with_degrees(module, degrees), search.agreement(degrees)


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
    """For the degrees of one program.

    free  numbers of the functions that have no degree of their own
    held  rows that were held back, those that have least to lose first;  wanted  their outputs
    """

    def __init__(self, module: Module, samples: Sequence[Sample], held: Sequence[Sample], goal: Goal) -> None:
        self.module, self.goal, self.uses = module, goal, uses_of(module)
        self.free = [n for n, use in enumerate(self.uses) if use.given is None and not use.function.gap]
        spaced = space_out(held, affordable_samples(module, held[0], MOST_SAMPLES))
        known = [(sample, interpret(module, sample)) for sample in spaced]
        known.sort(key=lambda pair: goal.nearness(pair[1]))
        self.held, self.wanted = [sample for sample, _ in known], [outputs for _, outputs in known]
        self.rows = sum(len(goal.reached(outputs, outputs)) for outputs in self.wanted)
        self.tried = space_out(samples, TRIED_SAMPLES)
        self.exact = [interpret(module, sample) for sample in self.tried]
        self._moves: dict[tuple[int, int], float] = {}

    def first(self) -> list[int]:
        """Classes of the free functions that do: first on the way, or the same for all where that costs less."""
        even = next((each for each in self._even() if self.agrees(self.tops(each))), None)
        way = self._way(inf if even is None else sum(map(_cost, even)))
        wrong, right = -1, 0  # far up polynomials take long to find: so from below in longer and longer steps
        while not self.agrees(self.tops(way[right])):
            if right == len(way) - 1:
                if even is not None:
                    return even
                raise self._refusal(way[right])
            wrong, right = right, min(2 * right + 1, len(way) - 1)
        while right - wrong > 1:
            middle = (wrong + right) // 2
            if self.agrees(self.tops(way[middle])):
                right = middle
            else:
                wrong = middle
        return way[right]

    def _even(self) -> list[list[int]]:
        return [[levels] * len(self.free) for levels in range(FIRST, EVEN + 1)]

    def _refusal(self, classes: Sequence[int]) -> PrecisionError:
        last = self.agreement(self.tops(classes))
        return PrecisionError(
            f"compile: {self.goal.option} is not reached: with the highest degrees that help, "
            f"{self.goal.told(last.equal, last.rows)}; ask for less, or calibrate on more rows: what leaves the ranges "
            "seen there is off",
            at=self.uses[0].op.loc,
        )

    def descended(self, classes: Sequence[int]) -> list[int]:
        """Classes as far down, one function after the other, as all still agree."""
        found = list(classes)
        left = {place for place, levels in enumerate(found) if levels > FIRST}
        while left:
            place = min(left, key=lambda place: self._given_up(place, found[place]))
            less = [levels - (number == place) for number, levels in enumerate(found)]
            if not self.agrees(self.tops(less)):
                left.discard(place)
                continue
            found = less
            if found[place] == FIRST:
                left.discard(place)
        return found

    def _given_up(self, place: int, levels: int) -> float:
        """What one class less adds to the sum of squares, for what it saves."""
        added = self._move(place, levels - 1) ** 2 - self._move(place, levels) ** 2
        return added / (_cost(levels) - _cost(levels - 1))

    def lowered(self, classes: Sequence[int]) -> list[int | None]:
        """Degrees within their classes: each at three quarters of the highest where all still agree."""
        degrees = self.tops(classes)
        for number in sorted(self.free, key=lambda n: -(degrees[n] or 0)):
            highest = degrees[number] or 0
            less = list(degrees)
            less[number] = 3 * (highest + 1) // 4 - 1
            if highest >= LOWERED and self.agrees(less):
                degrees = less
        return degrees

    def tops(self, classes: Sequence[int]) -> list[int | None]:
        """The highest degrees of these classes; None for signs."""
        degrees = [use.given for use in self.uses]
        for number, levels in zip(self.free, classes, strict=True):
            degrees[number] = (1 << levels) - 1
        return degrees

    def agreement(self, degrees: Sequence[int | None]) -> Agreement:
        """Of rows that were held back, with polynomials of all these degrees; signs are taken as they are."""
        return Agreement(self.goal, self.rows, self.rows - sum(self._differing(degrees)))

    def agrees(self, degrees: Sequence[int | None]) -> bool:
        """Whether as many rows reach the goal as was asked for; too many that do not end it early."""
        differing = 0
        for more in self._differing(degrees):
            differing += more
            if (self.rows - differing) / self.rows < self.goal.share:
                return False
        return True

    def _differing(self, degrees: Sequence[int | None]) -> Iterator[int]:
        """By sample held back, how many rows do not reach the goal."""
        made = with_polynomials(self.module, [_polynomial(*pair) for pair in zip(self.uses, degrees, strict=True)])
        for sample, wanted in zip(self.held, self.wanted, strict=True):
            with np.errstate(all="ignore"):
                outputs = interpret(made, sample)
                same = self.goal.reached(wanted, outputs)
            is_finite = all(np.isfinite(output).all() for output in outputs)
            yield len(same) - int(np.sum(same)) if is_finite else len(same)

    def _way(self, most: float) -> list[list[int]]:
        """Classes from the lowest on, one function raised a step, until none gives anything or all cost `most`."""
        classes = [FIRST] * len(self.free)
        way = [list(classes)]
        while True:
            steps = [self._best_step(place, levels) for place, levels in enumerate(classes)]
            best = max(range(len(steps)), key=lambda place: steps[place][0], default=None)
            if best is None or steps[best][0] <= 0.0:
                return way
            classes[best] += steps[best][1]
            if sum(map(_cost, classes)) >= most:
                return way
            way.append(list(classes))

    def _best_step(self, place: int, levels: int) -> tuple[float, int]:
        """What classes further up take off the sum of squares, by their cost, and how many of them do best."""
        now = self._move(place, levels)
        if now <= NEAR:
            return 0.0, 0
        found = [(0.0, 0)]
        for more in range(1, min(AHEAD, LAST - levels) + 1):
            cost = _cost(levels + more) - _cost(levels)
            found.append(((now**2 - self._move(place, levels + more) ** 2) / cost, more))
        return max(found)

    def _move(self, place: int, levels: int) -> float:
        """How far this function's polynomial alone moves the first output, of what there is to lose."""
        key = place, levels
        if key not in self._moves:
            alone: list[IntervalPolynomial | CompositeSign | None] = [None] * len(self.uses)
            alone[self.free[place]] = _polynomial(self.uses[self.free[place]], (1 << levels) - 1)
            made = with_polynomials(self.module, alone)
            squares = []
            with np.errstate(all="ignore"):
                for sample, exact in zip(self.tried, self.exact, strict=True):
                    off = np.max(self.goal.off(exact, interpret(made, sample)), initial=0.0)
                    squares.append(min(float(np.nan_to_num(off, nan=FAR)), FAR) ** 2)
            self._moves[key] = sqrt(sum(squares) / len(squares))
        return self._moves[key]


def _cost(levels: int) -> float:
    """Of polynomials of a class, in levels."""
    return levels + PRODUCT * 2 * sqrt(2**levels)


def _polynomial(use: FunctionUse, degree: int | None) -> IntervalPolynomial | CompositeSign | None:
    return None if degree is None else use.given_curve.polynomial(degree)
