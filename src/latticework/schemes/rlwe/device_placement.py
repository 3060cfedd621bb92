"""Operations run where their operands are to be: on a device if one of them is marked for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from latticework.errors import UserError
from latticework.runtime.devices.device import Device
from latticework.schemes.rlwe.checks import fail, locate
from latticework.schemes.rlwe.ciphertext import Resident

P = ParamSpec("P")
R = TypeVar("R")


def place_operands(method: Callable[P, R]) -> Callable[P, R]:
    """A method of an evaluator that runs on the device of its operands, or its own; what is elsewhere is brought there.

    Its errors name the caller's line.
    """
    here: Callable[..., Any] = locate(method)

    @wraps(method)
    def run(*operands: Any, **options: Any) -> Any:
        evaluator, *given = operands
        own = evaluator.parameters._place
        values = [operand for operand in given if isinstance(operand, Resident)]
        if all(value._place == own and value._is_at == own for value in values):
            return here(*operands, **options)
        asked: set[Device | None] = {own, *(value._place for value in values)}
        wanted = [place for place in asked if place is not None]
        if len(wanted) > 1:
            names = sorted({place.name for place in wanted})
            what = "different devices" if len(names) > 1 else "one device with different options"
            fail(UserError, f"operands are for {what} ({', '.join(names)}): bring one over with .gpu() or .cpu()")
        place = wanted.pop() if wanted else None
        there = [operand._at(place) if isinstance(operand, Resident) else operand for operand in given]
        return here(evaluator._at(place), *there, **options)

    return cast(Callable[P, R], run)
