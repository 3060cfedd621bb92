"""What is said where a program's functions cannot be, or are not, as precise as was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log2

import numpy as np
import numpy.typing as npt

from latticework.accuracy.agreement import Agreement
from latticework.accuracy.degrees import part_taken
from latticework.accuracy.uses import ApproximatedProgram, Fitted, FunctionUse
from latticework.approx.chebyshev import interpolate
from latticework.approx.degrees import MAX_DEGREE
from latticework.errors import PrecisionError
from latticework.expand.polynomial import num_products
from latticework.params import Need, build_chain
from latticework.plan.schema import Scores
from latticework.words.figures import over

FloatArray = npt.NDArray[np.float64]

LISTED = (15, 31, 63, 127, 255, 511, MAX_DEGREE)
MAX_LISTED = 3  # functions
USUAL = 63  # degrees that are advised where there is a choice


def refusal(uses: Sequence[FunctionUse], parts: FloatArray, precision_bits: float) -> PrecisionError:
    """No affordable degrees fit the budget: what each degree would give, and cost.

    parts  (outputs, uses): the part of an output's budget that a unit of a function's error takes
    """
    free = [number for number, use in enumerate(uses) if use.given is None]
    by_degree = {degree: part_taken(uses, parts, [use.given or degree for use in uses]) for degree in LISTED}
    last = np.max(by_degree[MAX_DEGREE], axis=0)
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
    for degree in LISTED:
        taken = np.sum(by_degree[degree][:, free], axis=1)
        reached[degree] = precision_bits - log2(float(np.max(taken)))
        products = num_products(interpolate(uses[worst].function.finite, uses[worst].interval, degree), chain)
        rows.append(
            f"degree {degree}: {uses[worst].estimate(degree):.2g}, {reached[degree]:.1f} bits, "
            f"{degree.bit_length()} levels, {products} products"
        )
    others = [str(uses[n]) for n in free if n != worst and last[n] > 0.1]
    beside = f" (with {', '.join(others)} at the same degree)" if others else ""
    why = f"no polynomial of a degree up to {MAX_DEGREE} comes so close{beside}"
    remedy = _remedy(reached)
    enough = [degree for degree, bits in reached.items() if bits >= precision_bits]
    if enough:  # each by itself would do
        remedy = f"Give degree={enough[0]} or a higher one, ask for fewer bits, or scale arguments down"
        why = "errors grow so fast on their way through later functions that no degrees were settled on"
    return PrecisionError(
        f"compile: precision_bits={precision_bits:g} asks for {uses[worst]} to within {allowed:.2g}, and {why}. What "
        f"degrees give, as largest error and bits of the results: {'; '.join(rows)}. {remedy}",
        at=uses[worst].op.loc,
    )


def _remedy(reached: dict[int, float]) -> str:
    sensible = [(degree, floor(bits)) for degree, bits in reached.items() if bits >= 1.0]
    asked = next((f"precision_bits={bits}" for degree, bits in sensible if degree >= USUAL), "")
    less = f"Ask for {asked} (degree {next(d for d, _ in sensible if d >= USUAL)} or less), " if asked else ""
    rest = "give degree= or agreement= to accept the loss, or make the range of the argument narrower: calibrate on "
    return (less or "Either ") + rest + "data without outliers, or scale the argument down"


class FunctionsTooDeepError(PrecisionError):
    """The polynomials that precision takes spend more levels than any ring has."""


def too_deep(
    uses: Sequence[FunctionUse], degrees: Sequence[int], levels: int, most: int, bits: float
) -> FunctionsTooDeepError:
    """The chosen degrees take more levels than any ring has."""
    listed = ", ".join(f"{use.function.name} of degree {degree}" for use, degree in zip(uses, degrees, strict=True))
    deepest = max(range(len(uses)), key=lambda number: degrees[number])
    return FunctionsTooDeepError(
        f"compile: precision_bits={bits:g} takes {listed}: with the products between secrets at least {levels} levels "
        f"one after another, and at this precision the largest ring allowed has room for at most {most}; ask for fewer "
        "bits, give lower degrees with degree=, or apply fewer functions one after another",
        at=uses[deepest].op.loc,
    )


def loss(
    found: ApproximatedProgram,
    precision_bits: float,
    share: float,
    scores: Scores | None,
    agreement: Agreement | None = None,
) -> str:
    """That degrees which the user gave lose more than precision_bits allows, by how much, and what would do.

    share      of the budget for errors, that functions may take
    agreement  of decisions, where degrees were chosen by it
    """
    fitted, magnitudes = found.fitted, found.magnitudes
    relative = found.effects / np.where(magnitudes > 0.0, magnitudes, np.inf)
    worst = int(np.argmax(relative))
    bits = -log2(float(relative[worst]))
    if agreement is not None:
        listed = ", ".join(f"{f.function} of degree {f.degree} at {_where(f)}" for f in fitted if f.given)
        return (
            f"{agreement}: {listed}. Results themselves are moved by up to {found.effects[worst]:.3g} on inputs like "
            f"those of calibration ({found.shifts[worst]:.3g} on the calibration data), which leaves "
            f"{over(bits, precision_bits)} bits of the largest"
        ) + ("" if scores is None else f"; {scores}")
    given = [f for f in fitted if f.given]
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
        would = f"about degree {', '.join(f'{f.needed} for {f.function}' for f in given[:MAX_LISTED])} would do"
        remedies = ["leave degree= out"]
    else:
        remedies = []
    ask = floor(bits + log2(share))
    remedies += [f"ask for precision_bits={ask}"] if ask >= 1 else []
    remedy = ", ".join([*remedies, "or take the loss as it is"]) if remedies else "take the loss as it is"
    return (
        f"{listed}. This moves results by up to {found.effects[worst]:.3g} on inputs like those of calibration "
        f"({found.shifts[worst]:.3g} on the calibration data), which leaves {over(bits, precision_bits)} bits of the "
        f"largest where precision_bits={precision_bits:g} was asked; {would}"
        + ("" if scores is None else f"; {scores}")
        + f". {remedy[0].upper()}{remedy[1:]}"
    )


def _where(fitted: Fitted) -> str:
    """file:line, the folder left out."""
    return str(fitted.loc).replace("\\", "/").rsplit("/", 1)[-1]
