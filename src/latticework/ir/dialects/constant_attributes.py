"""The compact constants of ``plan`` registered as attributes: the values, maps and polynomials that ops carry."""

from __future__ import annotations

from latticework.errors import ShapeError
from latticework.ir import register_attribute
from latticework.values.packing.butterflies import Butterflies
from latticework.values.packing.channel_square import ChannelSquare, Parabolas
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import (
    Access,
    Approximant,
    ChannelPolynomial,
    ConstRef,
    Diagonal,
    IntervalPolynomial,
    LinearMap,
    LoopNest,
    MapPart,
    MapStrategy,
    MapSums,
    NumberMatrix,
    PiecewiseLinearComposition,
    Split,
    number_matrix,
)

for _name, _class in {
    "pack_dim": PackDim,
    "pack_map": PackMap,
    "access": Access,
    "loop_nest": LoopNest,
    "butterflies": Butterflies,
    "const_ref": ConstRef,
    "diagonal": Diagonal,
    "map_part": MapPart,
    "linear_map": LinearMap,
    "map_split": Split,
    "map_way": MapStrategy,
    "map_sums": MapSums,
    "number_matrix": NumberMatrix,
    "polynomial": IntervalPolynomial,
    "kinked_polynomial": PiecewiseLinearComposition,
    "channel_polynomial": ChannelPolynomial,
    "parabolas": Parabolas,
    "channel_square": ChannelSquare,
}.items():
    register_attribute(_name)(_class)

__all__ = [
    "Approximant",
    "ChannelPolynomial",
    "ChannelSquare",
    "ConstRef",
    "Diagonal",
    "IntervalPolynomial",
    "LinearMap",
    "MapSums",
    "NumberMatrix",
    "Parabolas",
    "mapped_count",
    "number_matrix",
]


def mapped_count(name: str, linear_map: LinearMap, count: int, slots: int) -> int:
    """Vectors that a map makes of an array; a map of one vector to one acts on each.

    raises  ShapeError where the array does not fit the map
    """
    single = (linear_map.count_in, linear_map.count_out) == (1, 1)
    if linear_map.slots != slots or not (single or linear_map.count_in == count):
        raise ShapeError(
            f"{name}: the map takes {linear_map.count_in} x {linear_map.slots} slots, its operand has {count} x {slots}"
        )
    return count if single else linear_map.count_out
