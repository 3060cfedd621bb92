"""Functions as polynomials that are as precise as `precision_bits` asks.

What is promised is about the program itself: on inputs like those of calibration every output is within
2^-precision_bits of it, relative to the largest in calibration. That budget is for errors of functions and for noise
together. Functions may take three quarters (`SHARE`), and noise gets what they leave. A bit less for noise costs a bit
of scale, and two bits are the most that it can lose in this way, at most as many bits of modulus as one more level has.
For functions half instead of three quarters is a factor of 1.5 in error, a degree half as high again where they
have kinks, and one level more in every second program. What the last step of a degree leaves over goes back to noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from latticework.compiler.accuracy.choose_degrees import SHARE, choose_degrees
from latticework.compiler.accuracy.effects import Effects, stages_of, with_error, with_polynomials
from latticework.compiler.accuracy.function_uses import (
    ApproximatedProgram,
    Fitted,
    FloatArray,
    FunctionUse,
    StandIn,
    uses_of,
)
from latticework.compiler.accuracy.guess import OFF, DepthGuess
from latticework.compiler.accuracy.levels import LevelLimits, least_levels
from latticework.compiler.accuracy.precision_messages import (
    FunctionsTooDeepError,
    OperatorAt,
    TooDeep,
    divergence,
    form_words,
    loss,
    refusal,
    with_pools,
)
from latticework.compiler.accuracy.scores import scores_of
from latticework.compiler.accuracy.vanishing import sizes_to_compare_with, without_rounding
from latticework.errors import PrecisionError
from latticework.frontend.calibration.calibration_data import Sample
from latticework.ir import Module

__all__ = [
    "SHARE",
    "ApproximatedProgram",
    "Fitted",
    "FunctionsTooDeepError",
    "LevelLimits",
    "StandIn",
    "approximate_functions",
    "loss",
    "scores_of",
    "sizes_to_compare_with",
    "with_pools",
    "without_rounding",
]

ATTEMPTS = 6
STEEPER = 64.0  # times that slopes may be found to be steeper in one attempt
VANISHING = 2.0**-60  # outputs smaller than this part of the largest have no relative precision


def approximate_functions(
    module: Module,
    samples: Sequence[Sample],
    precision_bits: float,
    level_limits: LevelLimits | None = None,
    operator_at: OperatorAt = lambda _loc: "",
    least: Sequence[int | None] | None = None,
    share: float = SHARE,
) -> ApproximatedProgram:
    """Replace every function by a polynomial, of the degree that was given or of the lowest that is precise enough.

    module       calibrated: every function has an interval
    level_limits  at this precision; None: whatever it takes
    operator_at  what an imported model calls what is computed at a place
    least        degrees that functions are to have at least, whose levels they spend, in the order of the program
    share        of the budget for errors that functions may take
    raises       RangeError where an interval is missing; PrecisionError where no affordable degrees are precise enough,
                 and where those that were given leave no numbers as results
    """
    uses = uses_of(module)
    if least is not None and len(least) != len(uses):
        least = None
    if not uses:
        nothing = np.zeros(len(module.outputs))
        return ApproximatedProgram(module, [], nothing, nothing, nothing, is_lossy=False)
    guess = _guess(module, uses, samples, precision_bits, level_limits, operator_at)
    measured = Effects(module, uses, samples)
    seen = [value.origin.max_abs if value.origin else None for value in module.body.terminator.operands]
    magnitudes = np.maximum(measured.magnitudes, [size or 0.0 for size in seen])
    magnitudes = np.array(without_rounding(module, samples, magnitudes.tolist()))
    sizes = np.array(sizes_to_compare_with(magnitudes.tolist(), samples))
    budgets = np.where(sizes > VANISHING * np.max(sizes), share * 2.0**-precision_bits * sizes, np.inf)
    outputs, limits = len(budgets), np.concatenate([budgets, measured.rooms])
    seen_slopes, slopes = measured.slopes()
    for _ in range(ATTEMPTS):
        parts = slopes / limits[:, None]
        degrees = choose_degrees(uses, parts, least)
        if degrees is None and least is not None:
            raise PrecisionError("compile: functions are not precise enough by polynomials of the old model's levels")
        if degrees is None:
            raise refusal(uses, parts[:outputs], precision_bits)
        polynomials = [use.polynomial(degree) for use, degree in zip(uses, degrees, strict=True)]
        errors = np.array([use.error(degree) for use, degree in zip(uses, degrees, strict=True)])
        pairs = zip(polynomials, errors.tolist(), strict=True)
        approximated = with_polynomials(module, [with_error(polynomial, error) for polynomial, error in pairs])
        straight = slopes @ errors
        margin = straight / np.maximum(seen_slopes @ errors, 1e-300)
        moved = np.maximum(straight, margin * measured.of(errors.tolist()))
        shifts = measured.shifts(approximated)
        moved[:outputs] = np.maximum(moved[:outputs], margin[:outputs] * shifts)
        effects = moved[:outputs]
        is_lossy = bool(np.any(effects > budgets))
        if not is_lossy or any(use.given_degree is not None for use in uses):
            break
        steeper = np.clip(moved / np.maximum(straight, 1e-300), 1.0, STEEPER)[:, None]
        slopes, seen_slopes = slopes * steeper, seen_slopes * steeper
    else:
        raise refusal(uses, slopes[:outputs] / budgets[:, None], precision_bits)
    if not np.all(np.isfinite(effects)):
        raise divergence(uses, degrees, errors, parts)
    levels = least_levels(approximated, {})
    if level_limits is not None:
        _check_levels(
            approximated, TooDeep(uses, degrees, levels, precision_bits, {}, operator_at), level_limits, guess
        )
    bounds = [use.bound(degree) for use, degree in zip(uses, degrees, strict=True)]
    if bounds != errors.tolist():
        approximated = with_polynomials(module, [with_error(*pair) for pair in zip(polynomials, bounds, strict=True)])
    needed = _find_needed(uses, parts) if is_lossy else [None] * len(uses)
    fitted = [
        Fitted(
            use.function.name, use.op.loc, use.interval, made_of.degree, error, use.given_degree is not None, least,
            form_words(use, degree), use.leaving(degree), use.room, use.function.gap, use.function.told,
            use.is_sampled(degree),
        )
        for use, degree, made_of, error, least in zip(uses, degrees, polynomials, errors.tolist(), needed, strict=True)
    ]  # fmt: skip
    stand_ins = tuple(
        StandIn(use, stages_of(with_error(polynomial, error)), degree)
        for use, polynomial, error, degree in zip(uses, polynomials, errors.tolist(), degrees, strict=True)
    )
    return ApproximatedProgram(approximated, fitted, shifts, effects, magnitudes, is_lossy, stand_ins)


def _guess(
    module: Module, uses: Sequence[FunctionUse], samples: Sequence[Sample], precision_bits: float,
    level_limits: LevelLimits | None, operator_at: OperatorAt,
) -> DepthGuess | None:  # fmt: skip
    """Estimate by one sample the levels that piecewise linear functions take; None without a limit or such functions.

    raises  FunctionsTooDeepError, before anything that takes long, where it is plain that they take more
    """
    kinked = [use for use in uses if use.given_degree is None and use.function.pieces is not None]
    if level_limits is None or not kinked:
        return None
    guess = DepthGuess.of(module, uses, samples, SHARE)
    degrees = guess.degrees(precision_bits)
    if degrees is None:
        return guess
    levels = guess.levels(degrees)
    deep = TooDeep(uses, degrees, levels, precision_bits, {}, operator_at)
    if level_limits.most is not None and levels > level_limits.most + OFF:
        raise replace(deep, cheaper=guess.cheaper(precision_bits)).of_all(level_limits.most)
    staged = [use.function.gap > 0.0 for use in uses]  # of whose stages each is refreshed by itself
    steepest = max((d.bit_length() for d, is_staged in zip(degrees, staged, strict=True) if not is_staged), default=0)
    if level_limits.most is None and levels > level_limits.plain + OFF and steepest > level_limits.between + OFF:
        raise replace(deep, cheaper=guess.cheaper(precision_bits)).of_one(steepest, level_limits)
    return guess


def _check_levels(approximated: Module, found: TooDeep, limits: LevelLimits, guess: DepthGuess | None) -> None:
    """Refuse polynomials for which there is no ring, and those of which one spends more than any bootstrap leaves.

    raises  FunctionsTooDeepError
    """
    is_free = any(use.given_degree is None for use in found.uses)
    at_once = max(int(op.attrs["polynomial"].depth) for op in approximated.walk() if op.name == "tensor.polynomial")
    too_many = limits.most is not None and found.levels > limits.most and is_free
    if too_many or (limits.most is None and found.levels > limits.plain and at_once > limits.between):
        cheaper = {} if guess is None or not is_free else guess.cheaper(found.bits)
        found = replace(found, cheaper=cheaper)
        raise found.of_one(at_once, limits) if limits.most is None else found.of_all(limits.most)


def _find_needed(uses: Sequence[FunctionUse], parts: FloatArray) -> Sequence[int | None]:
    """The degrees that would be chosen if none were given."""
    return choose_degrees([use.free() for use in uses], parts) or [None] * len(uses)
