"""Conversions from one layout to another: the cheapest ones, by the price of the vector operations they become.

A conversion has one step, or several with layouts between them from which a rolled one is reached by rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import inf

from latticework.ir import Block, Builder
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.conversions import Conversion, candidates, stations
from latticework.tensor.layout.conversions.convert_take import distinct_vectors
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.search import Price

ConversionSteps = tuple[Conversion, ...]
MOST_PLACES = 1 << 16  # slots of a target up to which one step is tried too where there are layouts to go through


@dataclass
class Conversions:
    """The cheapest conversions, found once and remembered.

    priced  the price of a block of vector operations on operands that have spent so many levels; with or without
            what its linear maps take
    spread  whether sums may be shared out among copies;  rolls  whether conversions may roll
    """

    priced: Callable[[Block, int, bool], Price]
    spread: bool = True
    rolls: bool = True
    _sequences: dict[object, ConversionSteps] = field(default_factory=dict)
    _steps: dict[object, tuple[Conversion, Price]] = field(default_factory=dict)
    _prices: dict[object, Price] = field(default_factory=dict)
    _lowered: dict[Conversion, Block] = field(default_factory=dict)

    def price(self, shape: Shape, old: Layout, new: Layout, spent: int) -> Price:
        """Price the cheapest conversion, for a tensor that has spent `spent` levels."""
        key = (shape, old, new, spent)
        if key not in self._prices:
            total = Price()
            for step in self.find_conversions(shape, old, new):
                price = self.priced(self._block(step), spent + total.levels, True)
                total = Price(total.seconds + price.seconds, total.levels + price.levels)
            self._prices[key] = total
        return self._prices[key]

    def find_conversions(self, shape: Shape, old: Layout, new: Layout) -> ConversionSteps:
        """The cheapest conversion of a tensor that has spent no levels yet."""
        key = (shape, old, new)
        if key not in self._sequences:
            self._sequences[key] = self._cheapest(shape, old, new)
        return self._sequences[key]

    def _cheapest(self, shape: Shape, old: Layout, new: Layout) -> ConversionSteps:
        here, stops = distinct_vectors(old).layout, stations(new)
        middles = [stop for stop in stops if distinct_vectors(stop).layout != here]
        steps: ConversionSteps = ()
        best = Price(inf)
        if not stops or len(middles) < len(stops) or new.count * new.slots <= MOST_PLACES:
            step, best = self._step(shape, old, new)
            steps = (step,)
        for middle in middles if not steps or best.levels else ():
            price = self.price(shape, old, middle, 0)
            if _rank(price) < _rank(best):
                last, more = self._step(shape, middle, new)
                total = Price(price.seconds + more.seconds, price.levels + more.levels)
                if _rank(total) < _rank(best):
                    steps, best = (*self.find_conversions(shape, old, middle), last), total
        return steps

    def _step(self, shape: Shape, old: Layout, new: Layout) -> tuple[Conversion, Price]:
        """The cheapest single conversion; of equally cheap ones the first."""
        key = (shape, old, new)
        if key not in self._steps:
            last, *others = reversed(candidates(shape, old, new, self.spread, self.rolls))
            best = last, self.priced(self._block(last), 0, True)
            for c in others:
                # Linear maps take the longest to price, and a recipe may be too dear without them.
                if self.priced(self._block(c), 0, False).seconds <= best[1].seconds:
                    price = self.priced(self._block(c), 0, True)
                    best = (c, price) if _rank(price) <= _rank(best[1]) else best
            self._steps[key] = best
        return self._steps[key]

    def _block(self, conversion: Conversion) -> Block:
        """Return the block that a conversion is lowered to."""
        if conversion not in self._lowered:
            block = Block()
            source = conversion.source
            conversion.lower(Builder(block), block.add_arg(VecType(source.count, source.slots, "real", True)))
            self._lowered[conversion] = block
        return self._lowered[conversion]


def _rank(price: Price) -> tuple[float, int]:
    return price.seconds, price.levels
