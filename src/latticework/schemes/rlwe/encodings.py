"""The two encodings: slots, which multiply one by one, and coefficients, whose products are negacyclic convolutions."""

from __future__ import annotations

from typing import Any, Literal

from latticework.errors import ShapeError, UserError
from latticework.schemes.rlwe.checks import fail

Encoding = Literal["slots", "coefficients"]


def holds_coefficients(who: str, encoding: Any) -> bool:
    """Whether an encoding is that of coefficients; UserError for one that there is not."""
    if not isinstance(encoding, str) or encoding not in ("slots", "coefficients"):
        fail(UserError, f'{who}: encoding={encoding!r:.60}; choose "slots" or "coefficients"')
    return encoding == "coefficients"


def check_alike(who: str, encoding: str, other: str) -> None:
    """ShapeError where one operand holds slots and the other coefficients."""
    if encoding != other:
        fail(ShapeError, f"{who}: one operand holds {encoding}, the other {other}: encode both alike")


def check_slots(who: str, encoding: str) -> None:
    """ShapeError for coefficients, which only sums and products are for."""
    if encoding != "slots":
        fail(
            ShapeError,
            f"{who}: the ciphertext holds coefficients, which have sums and products only; encode slots for this",
        )


def refuse_constant(who: str) -> None:
    """ShapeError for the sum of coefficients and a number, which may mean two things."""
    fail(
        ShapeError,
        f"{who}: a number is no polynomial: give [number] to add to the first coefficient, or a vector for all of them",
    )
