"""What vec code with bootstraps takes by the tables that are published for one graphics processor.

Rotations and products with public vectors are on a line between two end points, all others between published levels.
Real and complex bootstraps have one price. A linear map is taken for so many products and the rotations of a split into
baby and giant steps, a polynomial for the products of Paterson and Stockmeyer's method.
"""

from __future__ import annotations

from functools import cache
from math import ceil, sqrt

from bench.placement.published import RESIDUAL, latencies
from latticework.compiler.levels.depth import spent_by
from latticework.ir import Op
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.packing.packed_constants import LinearMap


class PublishedPrices:
    """Prices by level above the floor."""

    def operation(self, op: Op, level: int) -> float:
        """An operation whose operands are read so many levels above the floor."""
        kind = op.results[0].type
        count = kind.count if isinstance(kind, VecType) else 1
        return count * self._each(op, min(level, RESIDUAL))

    def _each(self, op: Op, level: int) -> float:
        secrets = sum(v.is_secret for v in op.operands)
        rotate, rescale = latencies("rotate")[level], latencies("rescale")[level]
        product, public = latencies("multcc")[level], latencies("multcp")[level]
        match op.name:
            case "vec.mul" if secrets == 2:
                return product + rescale
            case "vec.mul":
                return (public + rescale) * spent_by(op)
            case "vec.rotate" | "vec.conjugate":
                return rotate
            case "vec.linear_transform":
                diagonals = _count_diagonals(op.attrs["map"])
                return 2 * sqrt(diagonals) * rotate + diagonals * public + rescale
            case "vec.polynomial":
                degree = op.attrs["polynomial"].degree
                number = ceil(sqrt(2 * degree)) + ceil(sqrt(degree / 2))
                lower = latencies("multcc")[max(level - spent_by(op) // 2, 0)]
                return number * (lower + rescale)
        return 0.0

    def bootstrap(self, target: int, *, real: bool, count: int = 1) -> float:
        """Bootstraps of so many ciphertexts to so many levels above the floor."""
        return count * latencies("bootstrap")[min(target, RESIDUAL)]


@cache
def _count_diagonals(linear_map: LinearMap) -> int:
    return len(linear_map.diagonals)
