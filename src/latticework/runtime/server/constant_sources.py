"""Constants of a plan as the core asks for them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.plan.schema.schema import Plan
from latticework.values.packing.packed_constants import MapSums, slot_vectors


def slot_vector(plan: Plan, number: int, product: int | None = None) -> npt.NDArray[np.complex128]:
    """The slot vectors of a constant, or of one product of a block map."""
    return slot_vectors(plan.constants[number], plan.sources, product)


def map_products(plan: Plan, number: int) -> npt.NDArray[np.int64]:
    """The rows (input, baby, sum) of the products of a block map."""
    sums = plan.constants[number]
    assert isinstance(sums, MapSums)
    return sums.products.rows
