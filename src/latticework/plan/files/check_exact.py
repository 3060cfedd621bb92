"""Rules for a file's plan of integers modulo t beyond those of every plan: its constants are integers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latticework.errors import FormatError
from latticework.plan.schema.schema import Plan
from latticework.values.packing.packed_constants import Constant, MapSums, NumberMatrix

MAX_INTEGER = 2.0**53


def check_exact(plan: Plan) -> None:
    """FormatError for a BFV plan with sources or factors that are no integers; other plans may have any."""
    if plan.chain.scheme != "bfv":
        return
    for name, source in plan.sources.items():
        if not (np.abs(source) <= MAX_INTEGER).all() or (source != np.rint(source)).any():
            raise FormatError(f"plan: source {name} holds more than integers of 53 bits; the file was altered")
    for number, constant in enumerate(plan.constants):
        for factor in _factors(constant):
            if isinstance(factor, complex) or not abs(factor) <= MAX_INTEGER or factor != round(factor):
                raise FormatError(f"plan: constant {number} is times {factor}, no integer; the file was altered")


def _factors(constant: Constant) -> Iterator[complex]:
    if isinstance(constant, MapSums | NumberMatrix):
        yield from (part.factor for part in constant.map.all_parts)
        for diagonal in constant.map.explicit:
            yield from _factors(diagonal.values)
        return
    yield constant.factor
    if constant.plus is not None:
        yield from _factors(constant.plus)
