"""The levels of what loops with bootstraps carry."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.report.blocks import Drawing
from latticework.report.carried_drawing import BOOTSTRAP, CarriedValue, LoopLevels, drawings


def loop_levels(loops: Sequence[LoopLevels]) -> Drawing:
    """A row of bars for each value; in words, its levels one after the other."""
    lines = [line for loop in loops for line in (f"{loop.where} carries:", *(_line(value) for value in loop.values))]
    return Drawing(drawings(tuple(loops)), tuple(lines), data={"loops": loops})


def _line(value: CarriedValue) -> str:
    """Levels that are spent one after the other, from one bootstrap to the next."""
    levels = (f"{'| ' * (each.op == BOOTSTRAP)}{each.level}" for each in value.levels)
    return f"  {value.name}, levels (| a bootstrap): {' '.join(levels)}"
