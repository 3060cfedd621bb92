"""Placement of bootstraps: the abstract problem, our placer, and two others as baselines."""

from latticework.compiler.levels.placement.dacapo import place_by_points
from latticework.compiler.levels.placement.execution_order import Step, schedule
from latticework.compiler.levels.placement.layers import place_by_layers
from latticework.compiler.levels.placement.placer import place
from latticework.compiler.levels.placement.problem import (
    OUTPUT,
    BootstrapPlacement,
    OpPrices,
    Problem,
    Refresh,
    ValuePrices,
    spending,
)

__all__ = [
    "OUTPUT",
    "BootstrapPlacement",
    "OpPrices",
    "Problem",
    "Refresh",
    "Step",
    "ValuePrices",
    "place",
    "place_by_layers",
    "place_by_points",
    "schedule",
    "spending",
]
