"""Linear transforms, polynomials and key switches as primitive operations: the one place where they become so."""

from latticework.compiler.expand.choose_strategies import choose_strategies
from latticework.compiler.expand.expand_module import expand, expanding
from latticework.compiler.expand.map_strategies import LevelPrices, MapStrategies

__all__ = ["LevelPrices", "MapStrategies", "choose_strategies", "expand", "expanding"]
