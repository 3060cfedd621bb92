"""Seconds and levels of a program's layers, and what would make the dearest ones cheaper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from latticework.frontend.functions.window_comparisons import is_pool
from latticework.lazy_dataclass import dataclass
from latticework.report.quoted import DearLayer

DEAREST = 3
LEAST_SHARE = 0.02  # of a run, below which a layer is not named
SQUARE_LEVELS = 1  # that x * x takes in a function's place


@dataclass
class LayerCost:
    """The knowledge of a layer: seconds of a run, levels on a deepest path, its functions, and which have kinks."""

    seconds: float = 0.0
    levels: int = 0
    functions: list[str] = field(default_factory=list)
    has_kinks: bool = False


Place = tuple[str, str]  # file:line, and the line's text


def name_dearest(
    costs: Mapping[Place, LayerCost], operator_of: Callable[[Place], str], *, has_pools_option: bool, rows: int
) -> tuple[DearLayer, ...]:
    """The layers that take most of a run.

    operator_of  what an imported model calls what is computed at a place
    has_pools_option  the model is read with `pools=`;  rows  that slots have room for beside each other
    """
    whole = sum(cost.seconds for cost in costs.values()) or 1.0
    ranked = sorted(costs.items(), key=lambda item: -item[1].seconds)[:DEAREST]
    return tuple(
        DearLayer(
            place[0], _name_layer(place[1], operator_of(place)), cost.seconds / whole, cost.levels or None,
            tuple(_list_ways(cost, operator_of(place) or place[1], has_pools_option, rows)),
        )
        for place, cost in ranked
        if cost.seconds >= LEAST_SHARE * whole
    )  # fmt: skip


def _name_layer(text: str, operator: str) -> str:
    """The line of a layer; of PyTorch with what it computes, and the path of its module: "module 0.3, conv2d"."""
    _, is_torch, name = operator.partition("aten.")
    if not is_torch:
        return text
    kind = name.partition(".")[0]
    path, _, line = text.partition(": ")
    is_path = all(part.isidentifier() or part.isdecimal() for part in path.split("."))
    return f"{kind}: {text}" if not is_path else f"module {path}, {kind}" + (f": {line}" if line else "")


def _list_ways(cost: LayerCost, operator: str, has_pools_option: bool, rows: int) -> list[str]:
    """Sentences on what would take less."""
    ways = []
    if cost.has_kinks and (is_pool(operator) or "max_pool" in operator):
        how = 'pools="average"' if has_pools_option else "lw.avg_pool2d"
        ways.append(f"average pooling ({how}) takes no comparison, so {cost.levels} levels fewer; train on with it")
    elif cost.has_kinks:
        ways.append(
            f"x * x, trained on, takes {SQUARE_LEVELS} level for {cost.levels}; a smooth function such as silu or gelu "
            "needs a far lower degree"
        )
    elif cost.functions:
        ways.append("a lower degree=, or a narrower range of its argument")
    if cost.functions:
        ways.append("fewer bits: see the table")
    elif rows > 1:
        ways.append(f'batch="fill" computes {rows} rows in the time of one')
    else:
        ways.append("fewer outputs or channels")
    return ways
