"""The rotation keys of a sketched program, by the linear maps and rotations of the layouts that were found.

Maps choose strategies together, as compiling does (`expand.shared_keys`), but among few of them: widths of baby steps
that are powers of two, without complex packing. Conversions between layouts are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from latticework.compiler.expand.shared_keys import MapSite, settle, site
from latticework.compiler.layout_choice.map_prices import places_of
from latticework.compiler.layout_choice.prices import LoweringPrices
from latticework.ir import Block, Module, Value
from latticework.plan.cost.block_maps import KEY_SHARE
from latticework.tensor.layout.layout import Layout
from latticework.tensor.layout.search import Decisions
from latticework.values.packing.key_manifest import galois_element
from latticework.values.packing.loop_nests.baby_giant import TYPICAL, options

PRICES = replace(TYPICAL, key=KEY_SHARE * TYPICAL.baby)
MOST_DIAGONALS = 1 << 17  # of a map whose strategies are looked at


def count_rotation_keys(module: Module, found: Decisions, ring_degree: int) -> int:
    """Different rotation keys that a module with these layouts needs."""
    fixed: dict[int, float] = {}
    sites: list[MapSite] = []
    for block in _list_code(module, found):
        for op in block.ops:
            if op.name == "vec.rotate":
                fixed[galois_element(op.attrs["steps"], ring_degree)] = PRICES.key
            elif op.name == "vec.linear_transform":
                where = places_of(op.attrs["map"], MOST_DIAGONALS)
                if where is not None and where.steps.size:
                    sites.append(site(where, options(where, PRICES, mode="counts", horner=True), PRICES, ring_degree))
    needed = set(fixed)
    for each, choice in zip(sites, settle(sites, fixed), strict=True):
        needed.update(next(strategy.keys for strategy in each.strategies if strategy.choice == choice))
    return len(needed - {1})


def _list_code(module: Module, found: Decisions) -> Iterator[Block]:
    """The code of each operation where it was placed; of one that reads what a loop carries, none."""
    assert isinstance(found.prices, LoweringPrices), "layouts were searched by lowering"
    lying: dict[Value, Layout] = {**found.inputs, **found.heads}
    lying |= {op.result: placement.result for op, placement in found.chosen.items()}
    for op in module.walk():
        placement = found.chosen.get(op)
        if placement is None:
            continue
        pairs = list(zip(op.operands, placement.operands, strict=True))
        layouts = [(wanted or lying.get(value)) if value.is_secret else None for value, wanted in pairs]
        if all(layout is not None for (value, _), layout in zip(pairs, layouts, strict=True) if value.is_secret):
            yield found.prices.code_of(op, placement, layouts)
