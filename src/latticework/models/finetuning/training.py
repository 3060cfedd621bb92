"""Training of a prepared module: a loss for ranges, and new intervals at its end."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from latticework.errors import UserError
from latticework.functions.approximation.chebyshev import to_chebyshev
from latticework.ir.lines import user_loc
from latticework.models.finetuning.argument_ranges import SeenArguments
from latticework.models.finetuning.trainable_polynomial import PolynomialFunction
from latticework.models.pytorch.example import example_of
from latticework.values.packing.packed_constants import IntervalPolynomial


def range_loss(prepared: nn.Module, reach: float = 0.9) -> Tensor:
    """The distance of polynomials' arguments from their intervals in the last forward, to be added to a loss.

    reach    the part of each interval that they may use without loss. Beyond its interval a polynomial grows fast, and
             calibration data that leave it are refused by `lw.compile`
    returns  the sum over functions of the squared distances beyond, in units of half the interval, summed over a row
             and averaged over rows
    raises   UserError where no forward with gradients came before, or no function is a polynomial
    """
    found = [part.excess(reach) for part in prepared.modules() if isinstance(part, PolynomialFunction)]
    losses = [loss for loss in found if loss is not None]
    if not losses:
        what = "it was not called with gradients before" if found else "it has no polynomials; give what prepare made"
        raise UserError(f"range_loss: {type(prepared).__name__}: {what}", at=user_loc())
    return torch.stack(losses).sum()


def recalibrate(prepared: nn.Module, calibrate: Any, margin: float = 0.1) -> None:
    """Write the polynomials anew, in place, on the intervals that data reach now: the same functions, up to rounding.

    After training, whose arguments have moved: plans compute with numbers as large as the intervals are.

    calibrate, margin  as for `prepare`
    raises             UserError where there are no polynomials; RangeError for arguments that are no range
    """
    functions = [part for part in prepared.modules() if isinstance(part, PolynomialFunction)]
    if not functions:
        raise UserError(
            f"recalibrate: {type(prepared).__name__} has no polynomials; give what prepare made", at=user_loc()
        )
    seen: dict[nn.Module, SeenArguments] = {}

    def note(function: nn.Module, given: tuple[Tensor, ...]) -> None:
        seen[function] = SeenArguments(given[0])

    args, kwargs = example_of(torch, prepared, calibrate, user_loc())
    hooks = [function.register_forward_pre_hook(note) for function in functions]
    try:
        with torch.no_grad():
            prepared(*args, **kwargs)
    finally:
        for hook in hooks:
            hook.remove()
    for function, arguments in seen.items():
        low, high = arguments.range_of(function.name)
        beyond = margin * (high - low)
        wide = torch.tensor([low - beyond, high + beyond], dtype=function.interval.dtype)
        before = IntervalPolynomial(
            tuple(function.coefficients.tolist()), tuple(function.interval.tolist()), "chebyshev"
        )
        after = to_chebyshev(before, tuple(wide.tolist()))
        with torch.no_grad():
            function.interval.copy_(wide)
            function.coefficients.zero_()
            function.coefficients[: len(after.coefficients)] = torch.tensor(after.coefficients, dtype=torch.float64)
