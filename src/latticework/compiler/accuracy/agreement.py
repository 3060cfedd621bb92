"""Degrees by layer, as low as a goal allows: decisions that stay the same (`agreement=`), results near (`tolerance=`).

Every fourth sample is held back from calibration. A function's degrees are tried by themselves on some of the others:
how far they move results, of what there is to lose: the distance to another decision, or the tolerance. Beginning with
the lowest degrees, the function is raised a class of levels whose next class takes most off the sum of squares, by what
it costs in levels and products; on the path so found, the first place is looked for whose polynomials, all together,
reach the goal on the rows that were held back. What a polynomial does alone says little of what all do in deep
networks, where it moves arguments of later functions out of their ranges and errors add up: so the lowest class that
does for all functions alike is a place too, and the cheaper of the two is taken. From there each function goes down by
classes, and within its last class, as long as they do, those first that give up least for what it saves. Rows that are
asked so often are no longer like others, so every second one is left out of this, and of the degrees on the path down
the last are taken that reach the goal on all.
After J. Lee et al., Optimized Layerwise Approximation for Efficient Private Inference on FHE (2023, arXiv 2310.10349),
which minimises the variance of the loss under a budget of time, the same for every layer's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from latticework.compiler.accuracy.choose_degrees import SHARE
from latticework.compiler.accuracy.effects import space_out, stages_of
from latticework.compiler.accuracy.function_uses import FunctionUse, uses_of
from latticework.compiler.accuracy.goals import Goal
from latticework.compiler.accuracy.replaced_runs import ReplaceableProgram, ReplacedRun, Replacement
from latticework.errors import PrecisionError, RangeError
from latticework.frontend.calibration.calibration_data import Sample, affordable_samples
from latticework.functions.approximation.chebyshev import Interval
from latticework.functions.approximation.degree_limits import MAX_DEGREE
from latticework.functions.approximation.parabola_curve import DEGREE as PARABOLA
from latticework.ir import Builder, Module, Op, Value, rebuild
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.apply import APPLY
from latticework.values.map_in_order import map_in_order

HELD_BACK = 4  # one of so many
LEAST_SAMPLES = 8
TRIED_SAMPLES = 8  # on which each degree is tried by itself
MOST_SAMPLES = 4096
FIRST, LAST = 1, MAX_DEGREE.bit_length()  # classes: the highest degree of class c is 2^c - 1, of the first maybe 2
PRODUCT = 1 / 32  # what a product costs, of what a level costs: everything has one limb more
AHEAD = 3  # classes that are looked at: the next one may be none better, as where a function is even
LOWERED = 15  # degrees from which on it pays to go down within a class
FAR = 1e3  # farther off than this is as bad as can be
NEAR = 2.0**-24  # nearer than this nothing is gained
EVEN = 6  # classes that are tried for all functions alike


@dataclass(frozen=True)
class Agreement:
    """A goal that was asked for, and how many of the rows that were held back reach it."""

    goal: Goal
    rows: int
    equal: int

    @property
    def share(self) -> float:
        """Share of the rows that reach the goal."""
        return self.equal / self.rows

    @property
    def is_reached(self) -> bool:
        """Whether there are enough of them."""
        return self.share >= self.goal.share

    def __str__(self) -> str:
        return f"degrees were chosen for {self.goal.option}: {self.goal.describe(self.equal, self.rows)}"


@dataclass(frozen=True)
class DegreeOptions:
    """The degree or the goal asked for of functions that have no degree of their own, beside precision.

    degree  of each, or of all together;  goal  of rows that are held back
    least, share  as of `accuracy.approximate_functions`
    intervals  beyond which none of the functions is approximated that calibration has within; None: by its margin alone
    """

    degree: int | tuple[int, ...] | None = None
    goal: Goal | None = None
    least: tuple[int | None, ...] | None = None
    share: float = SHARE
    intervals: tuple[Interval, ...] | None = None

    def hold_back(self, samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
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
        calibration = [sample for number, sample in enumerate(samples) if number % HELD_BACK != HELD_BACK - 1]
        return calibration, samples[HELD_BACK - 1 :: HELD_BACK]

    def choose(
        self,
        module: Module,
        samples: Sequence[Sample],
        held: Sequence[Sample],
        find_foldable: Callable[[Module], Sequence[bool]] | None = None,
    ) -> tuple[Module, Agreement | None]:
        """A calibrated module with the degrees that are asked for, and how many rows reach the goal if there is one.

        find_foldable  tells of which functions weights take in factors by channel; None: of none
        raises  PrecisionError if no degrees do, saying how far the highest come; RangeError for another number of
                degrees than of functions
        """
        module = module if self.intervals is None else _keep_within(module, self.intervals)
        uses = uses_of(module) if self.degree is not None or self.goal is not None else []
        if self.degree is not None:
            module = _with_degrees(module, self._degrees_of(uses))
        if self.goal is None or not any(use.given_degree is None and not use.function.gap for use in uses):
            return module, None
        foldable = [False] * len(uses) if find_foldable is None else find_foldable(module)
        search = _Search(module, samples, held, self.goal, foldable)
        degrees = search.last(search.way_down(search.first()))
        return _with_degrees(module, degrees, search.bent), search.agreement(degrees)

    def _degrees_of(self, uses: Sequence[FunctionUse]) -> list[int | None]:
        """Degrees of all functions, of which some may have their own."""
        free = [use for use in uses if use.given_degree is None and not use.function.gap]
        degrees = self.degree if isinstance(self.degree, tuple) else (self.degree,) * len(free)
        if len(degrees) != len(free):
            raise RangeError(
                f"compile: degree= has {len(degrees)} degrees, and {len(free)} functions of the program have none: "
                f"{'; '.join(f'{use} at {use.op.loc}' for use in free) or 'none'}; give one for each, in this order"
            )
        left = iter(degrees)
        return [next(left) if use in free else use.given_degree for use in uses]


FREE_DEGREES = DegreeOptions()


def _keep_within(module: Module, intervals: Sequence[Interval]) -> Module:
    """The module with functions that are approximated no further than these intervals reach, in order."""
    uses = uses_of(module)
    if len(uses) != len(intervals):
        return module
    pairs = iter(zip(uses, intervals, strict=True))

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.spec is not APPLY.spec:
            return False
        use, (low, high) = next(pairs)
        attrs = op.attrs
        if use.seen is not None and low <= use.seen[0] and use.seen[1] <= high:
            attrs = {**attrs, "interval": (max(low, use.interval[0]), min(high, use.interval[1]))}
        mapping[op.result] = builder.build(APPLY.spec, [mapping[op.operands[0]]], **attrs)
        return True

    return rebuild(module, visit)


def _with_degrees(module: Module, degrees: Sequence[int | None], bent: Collection[int] = ()) -> Module:
    """The module with degrees of all functions, in order; of those in `bent` degree 2 is parabolas by channel."""
    left = iter(enumerate(degrees))

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.spec is not APPLY.spec:
            return False
        number, degree = next(left)
        attrs = op.attrs if op.attrs["function"].gap else {**op.attrs, "degree": degree}
        if number in bent and degree == PARABOLA:
            attrs["channels"] = replace(attrs["channels"], as_parabolas=True)
        mapping[op.result] = builder.build(APPLY.spec, [mapping[op.operands[0]]], **attrs)
        return True

    return rebuild(module, visit)


class HeldBackSample(NamedTuple):
    """The runs of a sample that was held back, and how many rows it is."""

    run: ReplacedRun
    rows: int


class _Search:
    """A search for the degrees of one program.

    free  numbers of the functions that have no degree of their own
    bent  those of which parabolas by channel are the first class, since weights take their constants in
    validation  samples that were held back, and  often  those of them that are asked often; those first that told last
    """

    def __init__(
        self,
        module: Module,
        samples: Sequence[Sample],
        held: Sequence[Sample],
        goal: Goal,
        foldable: Sequence[bool],
    ) -> None:
        self.module, self.goal, self.uses = module, goal, uses_of(module)
        self.free = [n for n, use in enumerate(self.uses) if use.given_degree is None and not use.function.gap]
        spaced = space_out(held, affordable_samples(module, held[0], MOST_SAMPLES))
        program = ReplaceableProgram(module, self.uses)
        self.is_large = program.is_large
        self.tried = program.runs(space_out(samples, TRIED_SAMPLES))
        runs = program.runs(spaced)
        self.validation = [HeldBackSample(run, len(goal.rows_reaching(run.exact, run.exact))) for run in runs]
        self.often = self.validation[::2]
        self._moves: dict[tuple[int, int], float] = {}
        self._polynomials: dict[tuple[int, int], Replacement] = {}
        self.bent = {n for n in self.free if foldable[n] and self._move(n, PARABOLA) < self._move(n, 1)}

    def first(self) -> list[int]:
        """Classes of the free functions that agree: first on the path, or the same for all where that costs less."""
        alike = ([levels] * len(self.free) for levels in range(FIRST, EVEN + 1))
        even = next((classes for classes in alike if self.agrees(self.tops(classes), self.validation)), None)
        path = self._raise_classes(inf if even is None else sum(map(_cost, even)))
        wrong, right = -1, 0  # far up polynomials take long to find: so from below in longer and longer steps
        while not self.agrees(self.tops(path[right]), self.validation):
            if right == len(path) - 1:
                if even is not None:
                    return even
                raise self._refusal(path[right])
            wrong, right = right, min(2 * right + 1, len(path) - 1)
        while right - wrong > 1:
            middle = (wrong + right) // 2
            if self.agrees(self.tops(path[middle]), self.validation):
                right = middle
            else:
                wrong = middle
        return path[right]

    def _refusal(self, classes: Sequence[int]) -> PrecisionError:
        last = self.agreement(self.tops(classes))
        return PrecisionError(
            f"compile: {self.goal.option} is not reached: with the highest degrees that help, "
            f"{self.goal.describe(last.equal, last.rows)}; ask for less, or calibrate on more rows: what leaves the "
            "ranges seen there is off",
            at=self.uses[0].op.loc,
        )

    def way_down(self, classes: Sequence[int]) -> list[list[int | None]]:
        """Degrees from the highest of these classes down, as long as the rows that are asked often agree.

        By classes, one function after the other; then within them, to three quarters of the highest.
        """
        result, at = [self.tops(classes)], list(classes)
        left = {place for place, levels in enumerate(at) if levels > FIRST}
        while left:
            place = min(left, key=lambda place: self._given_up(place, at[place]))
            less = [levels - (number == place) for number, levels in enumerate(at)]
            agrees = self.agrees(self.tops(less), self.often)
            if agrees:
                at = less
                result.append(self.tops(at))
            if not agrees or at[place] == FIRST:
                left.discard(place)
        for number in sorted(self.free, key=lambda n: -(result[-1][n] or 0)):
            degrees = list(result[-1])
            highest = degrees[number] or 0
            degrees[number] = 3 * (highest + 1) // 4 - 1
            if highest >= LOWERED and self.agrees(degrees, self.often):
                result.append(degrees)
        return result

    def last(self, path: Sequence[list[int | None]]) -> list[int | None]:
        """The last degrees on a path down with which all rows held back agree, as they do with the first."""
        return next((degrees for degrees in reversed(path[1:]) if self.agrees(degrees, self.validation)), path[0])

    def _given_up(self, place: int, levels: int) -> float:
        """Return what one level less adds to the sum of squares, divided by the cost that it saves."""
        added = self._class_move(place, levels - 1) ** 2 - self._class_move(place, levels) ** 2
        return added / (_cost(levels) - _cost(levels - 1))

    def tops(self, classes: Sequence[int]) -> list[int | None]:
        """The highest degrees of these classes; None for signs."""
        degrees = [use.given_degree for use in self.uses]
        for number, levels in zip(self.free, classes, strict=True):
            degrees[number] = self._top(number, levels)
        return degrees

    def _top(self, number: int, levels: int) -> int:
        """The highest degree of a function in a class."""
        return PARABOLA if levels == FIRST and number in self.bent else (1 << levels) - 1

    def agreement(self, degrees: Sequence[int | None]) -> Agreement:
        """Agreement of the rows held back, with polynomials of these degrees; signs are taken as they are."""
        return self._without(self.validation, sum(missing for _, missing in self._missing(degrees, self.validation)))

    def agrees(self, degrees: Sequence[int | None], samples: list[HeldBackSample]) -> bool:
        """Whether enough rows of samples reach the goal; those that tell otherwise come first the next time."""
        telling, missing = [], 0
        for number, more in self._missing(degrees, samples):
            missing += more
            if more:
                telling.append(number)
            if not self._without(samples, missing).is_reached:
                others = [number for number in range(len(samples)) if number not in telling]
                samples[:] = [samples[number] for number in (*telling, *others)]
                return False
        return True

    def _without(self, samples: Sequence[HeldBackSample], missing: int) -> Agreement:
        rows = sum(held.rows for held in samples)
        return Agreement(self.goal, rows, rows - missing)

    def _missing(self, degrees: Sequence[int | None], samples: Sequence[HeldBackSample]) -> Iterator[tuple[int, int]]:
        """Yield each sample's number and how many of its rows do not reach the goal."""
        functions = [None if degree is None else self._polynomial(n, degree) for n, degree in enumerate(degrees)]

        def missing(held: HeldBackSample) -> int:
            with np.errstate(all="ignore"):
                outputs = held.run.outputs(functions)
                same = self.goal.rows_reaching(held.run.exact, outputs)
            is_finite = all(np.isfinite(output).all() for output in outputs)
            return held.rows - int(np.sum(same)) if is_finite else held.rows

        yield from enumerate(map_in_order(missing, samples, is_worth_it=self.is_large))

    def _raise_classes(self, most: float) -> list[list[int]]:
        """Classes from the lowest on, one function raised a step, until none gives anything or all cost `most`."""
        classes = [FIRST] * len(self.free)
        path = [list(classes)]
        while True:
            steps = [self._best_step(place, levels) for place, levels in enumerate(classes)]
            best = max(range(len(steps)), key=lambda place: steps[place][0], default=None)
            if best is None or steps[best][0] <= 0.0:
                return path
            classes[best] += steps[best][1]
            if sum(map(_cost, classes)) >= most:
                return path
            path.append(list(classes))

    def _best_step(self, place: int, levels: int) -> tuple[float, int]:
        """Find the number of further levels that reduces the sum of squares most for its cost: ratio and number."""
        now = self._class_move(place, levels)
        if now <= NEAR:
            return 0.0, 0
        candidates = [(0.0, 0)]
        for more in range(1, min(AHEAD, LAST - levels) + 1):
            cost = _cost(levels + more) - _cost(levels)
            candidates.append(((now**2 - self._class_move(place, levels + more) ** 2) / cost, more))
        return max(candidates)

    def _class_move(self, place: int, levels: int) -> float:
        """The same as `_move` of the highest degree in a class."""
        return self._move(self.free[place], self._top(self.free[place], levels))

    def _move(self, number: int, degree: int) -> float:
        """Measure how far this function's polynomial alone moves the first output, relative to what may be lost."""
        key = number, degree
        if key not in self._moves:
            alone: list[Replacement | None] = [None] * len(self.uses)
            alone[number] = self._polynomial(number, degree)

            def square(run: ReplacedRun) -> float:
                with np.errstate(all="ignore"):
                    off = np.max(self.goal.off(run.exact, run.outputs(alone, stay=True)), initial=0.0)
                    return min(float(np.nan_to_num(off, nan=FAR)), FAR) ** 2

            squares = list(map_in_order(square, self.tried, is_worth_it=self.is_large))
            self._moves[key] = sqrt(sum(squares) / len(squares))
        return self._moves[key]

    def _polynomial(self, number: int, degree: int) -> Replacement:
        """The polynomial of a degree in the place of a function, the same object each time."""
        key = number, degree
        if key not in self._polynomials:
            use = self.uses[number]
            stages = stages_of((use.parabolas if degree == PARABOLA else use.given_curve).polynomial(degree))
            self._polynomials[key] = lambda x: reduce(lambda value, stage: stage(value), stages, x)
        return self._polynomials[key]


def _cost(levels: int) -> float:
    """Cost of a polynomial of `levels` levels, products counted in levels."""
    return levels + PRODUCT * 2 * sqrt(2**levels)
