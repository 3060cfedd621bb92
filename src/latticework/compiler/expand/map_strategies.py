"""Strategies of linear maps, by price: `choose_strategies` decides for a whole module, `linear_transform` writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from math import gcd

from latticework.compiler.options.techniques import ITERATED, POWERS_OF_TWO, UNPACKED, Techniques
from latticework.ir import Op
from latticework.ir.dialects.rlwe_dialect import Level
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.loop_nests.baby_giant import (
    ROTOM,
    TYPICAL,
    BlockMapPrices,
    Choice,
    Mode,
    Split,
    choose,
    count_unpacked,
    places,
)
from latticework.values.packing.loop_nests.matrix_choice import MatrixChoice
from latticework.values.packing.packed_constants import LinearMap

LevelPrices = Callable[[Level], BlockMapPrices]  # of the parts of a linear map whose operand is at a level


@dataclass(frozen=True)
class MapStrategies:
    """The strategy of each linear map of a module that has diagonals.

    maps        its own
    techniques  by which those of bootstraps are, where that was not decided for all maps at once:
    pieces      then by the levels of their operands
    matrices    of maps that are products with public matrices, which need no strategy
    """

    maps: Mapping[Op, Choice] = field(default_factory=dict)
    techniques: Techniques = UNPACKED
    pieces: Mapping[tuple[LinearMap, Level], Choice] = field(default_factory=dict)
    matrices: Mapping[Op, MatrixChoice] = field(default_factory=dict)

    def of(self, op: Op) -> Choice | MatrixChoice | None:
        """The strategy of a map, or its matrix; None if it has no diagonals."""
        return self.matrices.get(op) or self.maps.get(op)

    @property
    def hoisting(self) -> bool:
        """Whether rotations in bootstraps share decompositions."""
        return bool(self.techniques.rotation_keys != POWERS_OF_TWO)

    def piece(self, piece: LinearMap, level: Level, babies: int) -> Choice | None:
        """The strategy of a map of a bootstrap, on an operand at `level`; babies: its baby steps by the set, 0: any."""
        return self.pieces.get((piece, level)) or choose_piece_strategy(piece, babies, self.techniques)


def choose_strategy(
    linear_map: LinearMap, techniques: Techniques = UNPACKED, prices: BlockMapPrices = TYPICAL, *, real: bool = False
) -> Choice | None:
    """The cheapest strategy for one map; None if it has no diagonals.

    real  whether the map and the vectors that it is applied to are real: only then the imaginary halves of slots are
          there to be used
    """
    where = places(linear_map)
    if not where.steps.size:
        return None
    return choose(
        where, comparison_prices(prices, techniques), packing=real and techniques.complex_packing,
        mode=mode_of(techniques), horner=techniques.horner_giants, iterated=(techniques.rotation_keys == ITERATED,),
    )  # fmt: skip


def choose_piece_strategy(
    piece: LinearMap, babies: int, techniques: Techniques = UNPACKED, prices: BlockMapPrices = TYPICAL
) -> Choice | None:
    """The strategy for a map of a bootstrap: with `babies` baby steps, as its set has, or the cheapest for 0."""
    unit = gcd(*(diagonal.steps for diagonal in piece.diagonals))
    if babies and unit:
        iterated = techniques.rotation_keys == ITERATED
        return count_unpacked(places(piece), Split(babies * unit), horner=techniques.horner_giants, iterated=iterated)
    return choose_strategy(piece, techniques, prices)


TYPICAL_STRATEGIES = MapStrategies()


def mode_of(techniques: Techniques) -> Mode:
    """The mode by which widths of baby steps are tried."""
    return "rotations" if not techniques.baby_steps else "cost" if techniques.tuned_widths else "counts"


def comparison_prices(prices: BlockMapPrices, techniques: Techniques) -> BlockMapPrices:
    """The prices by which strategies are compared."""
    if not techniques.tuned_widths:
        return ROTOM
    return prices if techniques.hoisting else prices.without_hoisting()
