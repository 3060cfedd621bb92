"""Linear transforms, polynomials and key switches as primitive operations: the one place where they become so."""

from latticework.expand.module import expand, expanding
from latticework.expand.ways import LevelPrices, choose_ways

__all__ = ["LevelPrices", "choose_ways", "expand", "expanding"]
