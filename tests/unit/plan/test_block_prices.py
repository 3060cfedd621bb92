"""Prices of block maps are those of the plan instructions that carry them out."""

import numpy as np
import pytest
from gather_cases import conv, matmul
from test_block_expansion import program
from vec_cases import plan_of, small_chain

from latticework.compiler.options.techniques import Techniques
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.cost.block_maps import KEY_SHARE, block_prices
from latticework.values.packing.loop_nests.baby_giant import choose, places
from latticework.values.packing.packed_constants import LinearMap

MODEL = CostModel.load()


@pytest.mark.parametrize("packing", [False, True])
@pytest.mark.parametrize("gather", [matmul(16, 8, 16, 128), matmul(16, 32, 16, 128), conv(2, 2, 8, 3, 128)])
def test_a_choice_costs_what_its_plan_is_estimated_to(gather, packing):
    linear_map, chain = LinearMap.of(gather), small_chain(3, ring_degree=4096)
    sources = {"w": np.ones(gather.source_access.view)}
    allowed = Techniques(complex_packing=packing)
    plan = plan_of(
        program(linear_map, sources), chain, prices=lambda at: block_prices(MODEL, chain, at.index), techniques=allowed
    )
    prices = block_prices(MODEL, chain, 3)
    choice = choose(places(linear_map), prices, packing=packing, horner=True)
    found = estimate(plan, MODEL)
    assert choice.counts.keys == len(plan.keys)
    assert choice.counts.key_switches == found.counts.key_switches
    assert choice.counts.products == found.counts.plaintext_products
    predicted = choice.counts.price(prices) - KEY_SHARE * prices.baby * choice.counts.keys
    assert found.warm_seconds == pytest.approx(predicted, rel=0.25)


def test_prices_are_positive_and_fall_with_the_level():
    chain = small_chain(6, ring_degree=4096)
    high, low = (block_prices(MODEL, chain, level) for level in (6, 1))
    for name in ("hoist", "baby", "giant", "rotation", "product", "finish"):
        assert 0 < getattr(low, name) < getattr(high, name)
    assert high.baby < high.giant  # what hoisting is for
