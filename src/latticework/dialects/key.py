"""The key dialect: evaluation keys as values of the program."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np

from latticework.errors import IrError
from latticework.ir import Attrs, Region, Type, Value, attribute, define, register_attribute, register_type
from latticework.plan.keys import KeySpec

register_attribute("key_spec")(KeySpec)


@register_type("key")
class KeyType(Type):
    """An evaluation key, public; `spec` is its identity."""

    secret: ClassVar[bool] = False
    spec: KeySpec


def _infer_demand(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    if operands:
        raise IrError(f"key.demand: takes no operands, got {len(operands)}")
    return [KeyType(attribute("key.demand", attrs, "spec", KeySpec))]


# A key has no slots, so its array is empty: what it does is in its type.
DEMAND = define("key.demand", infer=_infer_demand, meaning=lambda _op, _inputs, _context: [np.empty(0)])


def galois_action(galois_element: int, slots: int) -> tuple[int, bool]:
    """What the automorphism X -> X^g does to vectors of `slots` slots: (left rotation, whether it conjugates).

    Slot j lies at zeta^(5^j), so g = 5^k rotates by k and -1 conjugates; a
    periodic vector of n slots sees g modulo 4n only.
    """
    residue = galois_element % (4 * slots)
    conjugates = residue % 4 == 3
    return _logarithms(slots)[-residue % (4 * slots) if conjugates else residue], conjugates


@lru_cache(maxsize=32)
def _logarithms(slots: int) -> dict[int, int]:
    """5^k mod 4*slots -> k, for slots a power of two."""
    return {pow(5, k, 4 * slots): k for k in range(slots)}
