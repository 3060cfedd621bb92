"""Linear transforms, polynomials and key switches as primitive operations: the one place where they become so."""

from latticework.expand.choose_ways import choose_ways
from latticework.expand.module import expand, expanding
from latticework.expand.ways import LevelPrices, MapWays

__all__ = ["LevelPrices", "MapWays", "choose_ways", "expand", "expanding"]
