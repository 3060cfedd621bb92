"""Messages for functions that cannot be, or are not, as precise as was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from math import floor, log2

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy.agreement import Agreement
from latticework.compiler.accuracy.choose_degrees import part_taken
from latticework.compiler.accuracy.function_uses import ApproximatedProgram, Fitted, FunctionUse, StandIn
from latticework.compiler.accuracy.levels import LevelLimits
from latticework.compiler.expand.paterson_stockmeyer import num_products
from latticework.errors import LevelError, PrecisionError, UserError
from latticework.errors.rounded_numbers import over
from latticework.frontend.functions.window_comparisons import is_pool
from latticework.functions.approximation.chebyshev import interpolate
from latticework.functions.approximation.degree_limits import MAX_DEGREE
from latticework.functions.approximation.piecewise_linear_curve import PiecewiseLinearCurve
from latticework.ir import Loc
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain, Need, build_chain
from latticework.plan.schema.schema import Scores
from latticework.values.packing.channel_square import Parabolas
from latticework.values.packing.packed_constants import ChannelPolynomial

FloatArray = npt.NDArray[np.float64]

LISTED = (15, 31, 63, 127, 255, 511, MAX_DEGREE)
MAX_LISTED = 3  # functions
COMPOSED = "x * sign(x)"
COMPOSED_LEVELS = (12, 15, 18, 21, 24)
OperatorAt = Callable[[Loc], str]  # what an imported model calls what is computed at a place; "" of others
USUAL = 63  # degrees that are advised where there is a choice


def _no_operator(_loc: Loc) -> str:
    return ""


def refusal(uses: Sequence[FunctionUse], parts: FloatArray, precision_bits: float) -> PrecisionError:
    """No affordable degrees fit the budget: what each degree would give, and cost.

    parts  (outputs, uses): the part of an output's budget that a unit of a function's error takes
    """
    free = [number for number, use in enumerate(uses) if use.given_degree is None]
    listed = [*LISTED, *_compositions(uses)]
    by_degree = {
        degree: part_taken(uses, parts, [use.given_degree or min(degree, use.highest) for use in uses])
        for degree in listed
    }
    last = np.max(by_degree[listed[-1]], axis=0)
    worst = max(free, key=lambda number: float(last[number]))
    allowed = 1.0 / float(np.max(parts[:, worst]))
    if uses[worst].function.gap:
        return PrecisionError(
            f"compile: precision_bits={precision_bits:g} asks for {uses[worst]} to within {allowed:.2g} from "
            f"gap={uses[worst].function.gap:g} on, and no composition of up to {uses[worst].curve.most_levels} levels "
            "comes so close; give a larger gap, or ask for fewer bits",
            at=uses[worst].op.loc,
        )
    chain = build_chain(1 << 15, Need(MAX_DEGREE.bit_length(), 1, 40, 10), 1, insecure=True)
    rows, reached = [], {}
    for degree in listed:
        taken = np.sum(by_degree[degree][:, free], axis=1)
        reached[degree] = precision_bits - log2(float(np.max(taken)))
        if degree <= uses[worst].highest and _is_new(uses[worst], degree):
            rows.append(_row(uses[worst], degree, reached[degree], chain))
    others = [str(uses[n]) for n in free if n != worst and last[n] > 0.1]
    beside = f" (with {', '.join(others)} at the same degree)" if others else ""
    composed = f" and no {COMPOSED} on up to {listed[-1].bit_length()} levels" if listed[-1] > MAX_DEGREE else ""
    why = f"no polynomial of a degree up to {MAX_DEGREE}{composed} comes so close{beside}"
    remedy = _remedy(reached)
    enough = [degree for degree, bits in reached.items() if bits >= precision_bits and degree <= MAX_DEGREE]
    if enough:  # each by itself would do
        remedy = f"Give degree={enough[0]} or a higher one, ask for fewer bits, or scale arguments down"
        why = "errors grow so fast on their way through later functions that no degrees were settled on"
    return PrecisionError(
        f"compile: precision_bits={precision_bits:g} asks for {uses[worst]} to within {allowed:.2g}, and {why}. What "
        f"degrees give, as largest error and bits of the results: {'; '.join(rows)}. {remedy}",
        at=uses[worst].op.loc,
    )


def _compositions(uses: Sequence[FunctionUse]) -> list[int]:
    """Degrees that stand for compositions, where any function may become one."""
    most = max(
        (use.highest for use in uses if use.given_degree is None and isinstance(use.curve, PiecewiseLinearCurve)),
        default=0,
    )
    return [degree for levels in COMPOSED_LEVELS if MAX_DEGREE < (degree := (1 << levels) - 1) <= most]


def _row(use: FunctionUse, degree: int, bits: float, chain: ModulusChain) -> str:
    """Describe a degree: its error, the bits of the results, and its cost."""
    composed = use.curve.find_composition(degree) if isinstance(use.curve, PiecewiseLinearCurve) else None
    if composed is None:
        degree = min(degree, MAX_DEGREE)
        products = num_products(interpolate(use.function.finite, use.interval, degree), chain)
    else:
        products = composed.products
    takes = f"{degree.bit_length()} levels, {products} products"
    return f"{_words(use, degree)}: {use.estimate(degree):.2g}, {bits:.1f} bits, {takes}"


def _remedy(reached: dict[int, float]) -> str:
    sensible = [(degree, floor(bits)) for degree, bits in reached.items() if bits >= 1.0 and degree <= MAX_DEGREE]
    asked = next((f"precision_bits={bits}" for degree, bits in sensible if degree >= USUAL), "")
    less = f"Ask for {asked} (degree {next(d for d, _ in sensible if d >= USUAL)} or less), " if asked else ""
    rest = "give degree=, agreement= or tolerance= to accept the loss, or make the range of the argument narrower: "
    return (less or "Either ") + rest + "calibrate on data without outliers, or scale the argument down"


def form_words(use: FunctionUse, degree: int) -> str:
    """Describe how a piecewise linear function was composed, its cost and that of one polynomial; or the number of
    polynomials, if each channel has its own; "" for one polynomial."""
    polynomial = None if use.given_degree is None else use.given_curve.polynomial(use.given_degree)
    if isinstance(polynomial, Parabolas):
        return f"{len(polynomial.table)} parabolas, one for each channel, whose constants weights take in: 1 level"
    if isinstance(polynomial, ChannelPolynomial):
        return f"{len(polynomial.table)} polynomials, one for each channel on the part of the interval that it takes"
    composed = (
        use.curve.find_composition(degree)
        if use.given_degree is None and isinstance(use.curve, PiecewiseLinearCurve)
        else None
    )
    if composed is None:
        return ""
    assert isinstance(use.curve, PiecewiseLinearCurve)
    kinks, by_one = len(use.curve.pieces.places), use.curve.polynomials.estimate(MAX_DEGREE)
    each = f" for each of its {kinks} kinks" if kinks > 1 else ""
    return (
        f"{COMPOSED}, the sign composed of degrees {', '.join(map(str, composed.degrees))}: {composed.levels} levels "
        f"and {composed.products} products{each}, off by up to {use.error(degree):.2g}; the closest polynomial of "
        f"degree {MAX_DEGREE} would spend {MAX_DEGREE.bit_length()} levels and be off by {by_one:.2g}"
    )


def _words(use: FunctionUse, degree: int) -> str:
    """A degree, or what a composition that it stands for spends."""
    return f"{COMPOSED} on {degree.bit_length()} levels" if _is_composed(use, degree) else f"degree {degree}"


def _is_new(use: FunctionUse, degree: int) -> bool:
    """Whether a degree stands for another form than the last polynomial."""
    return degree <= MAX_DEGREE or (
        isinstance(use.curve, PiecewiseLinearCurve) and use.curve.find_composition(degree) is not None
    )


def _is_composed(use: FunctionUse, degree: int) -> bool:
    return degree > MAX_DEGREE and use.function.pieces is not None


class FunctionsTooDeepError(PrecisionError):
    """The polynomials that precision takes spend more levels than any ring has."""


@dataclass(frozen=True)
class TooDeep:
    """Functions that take more levels than there are, for the user.

    levels   that all take, one after another
    cheaper  levels that fewer bits of precision take, by bits
    """

    uses: Sequence[FunctionUse]
    degrees: Sequence[int]
    levels: int
    bits: float
    cheaper: Mapping[int, int] = field(default_factory=dict)
    operator_at: OperatorAt = _no_operator

    def of_all(self, most: int) -> FunctionsTooDeepError:
        """The error where all together spend more than `most`, which the largest ring has."""
        return self._error(
            f"with the products between secrets at least {self.levels} levels one after another, and at this precision "
            f"the largest ring allowed has room for at most {most}"
        )

    def of_one(self, at_once: int, limits: LevelLimits) -> FunctionsTooDeepError:
        """The error where one function spends `at_once`, more than any bootstrap leaves."""
        beside = ", which no ring allowed has without bootstraps" if limits.plain else ""
        return self._error(
            f"{self.levels} levels one after another{beside}, and one alone spends up to {at_once}, where a bootstrap "
            f"leaves at most {limits.between}"
        )

    def _error(self, why: str) -> FunctionsTooDeepError:
        pools = [n for n, use in enumerate(self.uses) if is_pool(self.operator_at(use.op.loc))]
        deepest = max(pools or range(len(self.uses)), key=lambda number: self.degrees[number])
        fewer = ", ".join(f"{levels} levels at precision_bits={bits}" for bits, levels in self.cheaper.items())
        ask = f"ask for fewer bits ({fewer})" if fewer else "ask for fewer bits"
        means = ""
        if pools:
            spent = sum(self.degrees[n].bit_length() for n in pools)
            means = (
                ', import the model with pools="average" (means take no comparisons, where the max-pools spend '
                f"{spent} levels)"
            )
        return FunctionsTooDeepError(
            f"compile: precision_bits={self.bits:g} takes {self._list_functions()}: {why}; {ask}{means}, give lower "
            "degrees with degree=, or apply fewer functions one after another",
            at=self.uses[deepest].op.loc,
        )

    def _list_functions(self) -> str:
        """List what every function is made of, equal ones once; those of an imported model by their operators."""
        counts: dict[str, int] = {}
        for use, degree in zip(self.uses, self.degrees, strict=True):
            name = self.operator_at(use.op.loc) or use.function.name
            words = f"{name} {'as' if _is_composed(use, degree) else 'of'} {_words(use, degree)}"
            counts[words] = counts.get(words, 0) + 1
        return ", ".join(words + (f" ({count} times)" if count > 1 else "") for words, count in counts.items())


def with_pools(error: UserError, stand_ins: Sequence[StandIn], operator_at: OperatorAt) -> UserError:
    """An error about levels or precision that came late, with the part that max-pools have in it."""
    pools = [each for each in stand_ins if is_pool(operator_at(each.use.op.loc))]
    if not pools:
        return error
    levels = sum(each.degree.bit_length() for each in pools)
    names = ", ".join(dict.fromkeys(operator_at(each.use.op.loc) for each in pools))
    kind = type(error) if type(error) in (LevelError, PrecisionError) else LevelError
    return kind(
        f"{error.message}; {names} compare {len(pools)} times, which spends {levels} levels: ask for fewer "
        'precision_bits, or import the model with pools="average", whose means take no comparisons',
        at=error.at or pools[0].use.op.loc,
    )


def divergence(
    uses: Sequence[FunctionUse], degrees: Sequence[int], errors: FloatArray, parts: FloatArray
) -> PrecisionError:
    """Return the error for the user's degrees with which values leave the intervals of later functions and diverge.

    parts  (outputs and arguments, uses): the part of what either may be off by that a unit of a function's error takes
    """
    given = [number for number, use in enumerate(uses) if use.given_degree is not None]
    taken = np.nan_to_num(np.max(parts, axis=0) * errors, nan=0.0)
    worst = uses[number := max(given, key=lambda n: float(taken[n]))]
    return PrecisionError(
        f"compile: {worst} is off by up to {errors[number]:.3g} at degree {degrees[number]}. So functions "
        "after it are given numbers from outside of their intervals, where polynomials grow without end, "
        "until results are no numbers on the calibration data: give it a higher degree, or a smaller range, or leave "
        "degree= out",
        at=worst.op.loc,
    )


def loss(
    program: ApproximatedProgram,
    precision_bits: float,
    share: float,
    scores: Scores | None,
    agreement: Agreement | None = None,
) -> str:
    """Describe how much more than precision_bits allows is lost by degrees given by the user, and what would do.

    share      of the budget for errors, that functions may take
    agreement  of rows that were held back, where degrees were chosen by a goal
    """
    fitted, magnitudes = program.fitted, program.magnitudes
    relative = program.effects / np.where(magnitudes > 0.0, magnitudes, np.inf)
    worst = int(np.argmax(relative))
    bits = -log2(float(relative[worst]))
    if agreement is not None:
        listed = ", ".join(f"{f.function} of degree {f.degree} at {_where(f)}" for f in fitted if f.has_given_degree)
        return (
            f"{agreement}: {listed}. Results themselves are moved by up to {program.effects[worst]:.3g} on inputs like "
            f"those of calibration ({program.shifts[worst]:.3g} on the calibration data), which leaves "
            f"{over(bits, precision_bits)} bits of the largest"
        ) + ("" if scores is None else f"; {scores}")
    given = [f for f in fitted if f.has_given_degree]
    parts = [
        f"{_where(f)}: {f.function} of degree {f.degree} is off by up to {f.max_error:.3g} on "
        f"[{f.interval[0]:.4g}, {f.interval[1]:.4g}]"
        for f in given
    ]
    listed = "; ".join(parts[:MAX_LISTED]) + (
        f"; and {len(parts) - MAX_LISTED} more" if len(parts) > MAX_LISTED else ""
    )
    would = f"no degree up to {MAX_DEGREE} would do"
    if all(f.needed is not None for f in given):
        needs = [(f.needed, f.function) for f in given[:MAX_LISTED] if f.needed is not None]
        would = f"about {', '.join(f'{_degree_needed(degree)} for {function}' for degree, function in needs)} would do"
        remedies = ["leave degree= out"]
    else:
        remedies = []
    ask = floor(bits + log2(share))
    remedies += [f"ask for precision_bits={ask}"] if ask >= 1 else []
    remedy = ", ".join([*remedies, "or take the loss as it is"]) if remedies else "take the loss as it is"
    return (
        f"{listed}. This moves results by up to {program.effects[worst]:.3g} on inputs like those of calibration "
        f"({program.shifts[worst]:.3g} on the calibration data), which leaves {over(bits, precision_bits)} bits of the "
        f"largest where precision_bits={precision_bits:g} was asked; {would}"
        + ("" if scores is None else f"; {scores}")
        + f". {remedy[0].upper()}{remedy[1:]}"
    )


def _degree_needed(degree: int) -> str:
    """Name the degree that is enough: of given degrees, those beyond the last stand for compositions."""
    return f"degree {degree}" if degree <= MAX_DEGREE else f"{COMPOSED} on {degree.bit_length()} levels"


def _where(fitted: Fitted) -> str:
    """file:line, the folder left out."""
    return str(fitted.loc).replace("\\", "/").rsplit("/", 1)[-1]
