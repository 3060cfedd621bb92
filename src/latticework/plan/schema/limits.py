"""Limits of what clients can encode: a plan whose accepted inputs they cannot is refused when it is compiled."""

from __future__ import annotations

from typing import Any

from latticework.errors import RangeError
from latticework.plan.schema.schema import ClientSpec

MAX_COEFFICIENT = 2.0**62  # of a plaintext: a value times its scale


def check_encodable(spec: ClientSpec, at: Any) -> None:
    """RangeError at a line unless every accepted value of every encrypted input can be encoded."""
    for secret in spec.secret_inputs:
        largest, most = max(abs(secret.low), abs(secret.high)), MAX_COEFFICIENT / secret.scale
        if largest >= most:
            raise RangeError(
                f"program {spec.name}: the values of {secret.name} reach {largest:.3g}, clients can encrypt values up "
                f"to {most:.3g} here: give {secret.name} divided by a public number such as {_divisor(largest):.0e}, "
                "and multiply what becomes of it in the program, or after decryption",
                at=at,
            )


def _divisor(largest: float) -> float:
    """A power of ten by which values come to lie near 1."""
    return float(f"1e{f'{largest:.0e}'.partition('e')[2]}")
