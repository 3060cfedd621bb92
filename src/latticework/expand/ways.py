"""How linear maps are carried out: decided here for a whole module, by price; `linear_transform` writes it."""

from __future__ import annotations

from collections.abc import Callable

from latticework.dialects.rlwe import Level
from latticework.expand.primitives import cipher
from latticework.ir import Module, Op
from latticework.packing.constants import LinearMap
from latticework.packing.loop_nests.baby_giant import (
    ROTOM,
    TYPICAL,
    BlockMapPrices,
    Choice,
    Mode,
    Split,
    choose,
    count,
    places,
)
from latticework.techniques import UNPACKED, Techniques

LINEAR = ("ckks.linear_transform", "bfv.linear_transform")
LevelPrices = Callable[[Level], BlockMapPrices]  # of the parts of a linear map whose operand is at a level


def choose_ways(
    module: Module, techniques: Techniques = UNPACKED, prices: LevelPrices | None = None
) -> dict[Op, Choice]:
    """The cheapest of the ways that may be gone, for each linear map of a managed module that has diagonals.

    prices  typical ones if not given
    """
    found: dict[Op, Choice] = {}
    for op in module.walk():
        if op.name in LINEAR:
            at = TYPICAL if prices is None else prices(cipher(op.operands[0]).level)
            choice = choose_way(op.attrs["map"], techniques, at, real=op.attrs.get("real") is True)
            if choice is not None:
                found[op] = choice
    return found


def choose_way(
    linear_map: LinearMap, techniques: Techniques = UNPACKED, prices: BlockMapPrices = TYPICAL, *, real: bool = False
) -> Choice | None:
    """The cheapest way for one map; None if it has no diagonals.

    real  whether the map and the vectors that it is applied to are real: only then the imaginary halves of slots are
          there to be used
    """
    where = places(linear_map)
    if not where.steps.size:
        return None
    prices = prices if techniques.hoisting else prices.without_hoisting()
    mode: Mode = "rotations" if not techniques.baby_steps else "cost" if techniques.tuned_widths else "counts"
    packing = real and techniques.complex_packing
    return choose(where, prices if techniques.tuned_widths else ROTOM, packing=packing, mode=mode)


def way_of_width(linear_map: LinearMap, width: int) -> Choice:
    """So many baby steps, whatever they cost."""
    return Choice(Split(width), count(places(linear_map), Split(width)))
