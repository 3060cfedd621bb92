"""Conversions between layouts: when each applies, what it costs, how it is done; and which there are to choose from."""

from latticework.tensor.layout.conversions.base import Conversion
from latticework.tensor.layout.conversions.choose import CONVERSIONS, candidates, direct, find_conversion, stations

__all__ = ["CONVERSIONS", "Conversion", "candidates", "direct", "find_conversion", "stations"]
