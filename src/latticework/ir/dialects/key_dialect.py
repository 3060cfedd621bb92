"""The key dialect: evaluation keys as values of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from latticework.errors import IrError
from latticework.ir import Attrs, Region, Type, Value, attribute, define, register_attribute, register_type
from latticework.values.packing.key_manifest import KeySpec

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
DEMAND = define("key.demand", infer=_infer_demand, semantics=lambda _op, _inputs, _context: [np.empty(0)])
