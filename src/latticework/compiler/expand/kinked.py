"""Piecewise linear functions by composed signs: y s(y) for each kink, summed before anything is relinearised.

The last stage of s is made at the scale that, times that of y, is the scale of the sum, and has the weight of its kink
in its coefficients: a kink takes one product and one level beyond its stages. Cost: that of the stages.
"""

from __future__ import annotations

from latticework.compiler.expand.paterson_stockmeyer import add_constant, expand_chebyshev
from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.ir import Value
from latticework.values.packing.packed_constants import PiecewiseLinearComposition


def expand_piecewise_linear(
    p: Primitives, x: Value, polynomial: PiecewiseLinearComposition, level: int, scale: float
) -> Value:
    """Primitive operations for arguments in [-1, 1]; the result has exactly this level and scale."""
    assert polynomial.interval == (-1.0, 1.0)
    track = cipher(x).level.track
    wide, scales = scale * p.group(level + 1, track), p.chain.tracks[track].scales
    total: Value | None = None
    for number, place in enumerate(polynomial.places):
        distance = add_constant(p, x, -place)
        value, at = distance, cipher(x).level.index
        for stage in polynomial.stages[:-1]:
            at -= stage.depth
            value = expand_chebyshev(p, value, stage.coefficients, at, scales[at])
        distance = p.drop(distance, level + 1)
        last = expand_chebyshev(p, value, polynomial.last(number), level + 1, wide / cipher(distance).scale)
        total = p.add(total, p.builder.build("ckks.mul", [last, distance]))
    assert total is not None, "a function without kinks is a polynomial"
    return add_constant(p, p.settle(total, level, scale), polynomial.constant)
