"""Conversions between layouts: when each applies, what it costs, how it is done; and the choice among them."""

from latticework.layout.conversions.base import Conversion
from latticework.layout.conversions.choose import CONVERSIONS, cheapest, direct, stations
from latticework.layout.conversions.price import Price, Weights, transform_price

__all__ = ["CONVERSIONS", "Conversion", "Price", "Weights", "cheapest", "direct", "stations", "transform_price"]
