"""Linear maps that share keys, and keys that cost: the choice against all combinations, and keys against expansions."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from gather_cases import conv, matmul, matvec, random_gather
from test_block_expansion import program
from vec_cases import Vectors, expanded, managed, plan_of, small_chain

import latticework as lw
from latticework.compiler.codegen.bootstrap_plans import bootstrap_plan, precision
from latticework.compiler.expand import choose_strategies
from latticework.compiler.expand.map_strategies import MapStrategies
from latticework.compiler.expand.shared_keys import MapSite, PricedStrategy, elements, settle, site, total
from latticework.compiler.options.techniques import ALONE, Techniques
from latticework.errors import UserError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.simulate import simulate_slots
from latticework.plan.cost import CostModel
from latticework.plan.cost.block_maps import block_prices
from latticework.plan.parameters import bootstrap_chain
from latticework.values.packing.loop_nests.baby_giant import BlockMapPrices, options, places
from latticework.values.packing.packed_constants import Diagonal, LinearMap, splat

MODEL = CostModel.load()


def random_sites(rng, count):
    sites = []
    for _ in range(count):
        ways = tuple(
            PricedStrategy(
                number,
                float(rng.uniform(1, 10)),
                frozenset(rng.choice(12, int(rng.integers(1, 6)), replace=False).tolist()),
            )
            for number in range(5)
        )
        key = float(rng.uniform(0, 3))
        alone = sorted(ways, key=lambda way: way.seconds + key * len(way.keys))
        sites.append(MapSite(tuple(alone), key))
    return sites


def test_maps_together_cost_no_more_than_each_by_itself_and_mostly_the_least():
    rng = np.random.default_rng(0)
    least = 0
    for _ in range(40):
        sites, held = random_sites(rng, 4), {int(k): float(rng.uniform(0, 3)) for k in rng.integers(12, size=3)}
        chosen = [
            next(w for w in of.strategies if w.choice == c) for of, c in zip(sites, settle(sites, held), strict=True)
        ]
        found = total(sites, chosen, held)
        assert found <= total(sites, [of.strategies[0] for of in sites], held) + 1e-9
        best = min(total(sites, ways, held) for ways in product(*(of.strategies for of in sites)))
        assert found >= best - 1e-9
        least += found <= best + 1e-9
    assert least >= 34


def test_what_is_there_anyway_costs_nothing_up_to_its_level():
    dear, cheap = PricedStrategy("dear", 3.0, frozenset({1, 2})), PricedStrategy("cheap", 1.0, frozenset({3, 4}))
    assert settle([MapSite((cheap, dear), 2.0)], {}) == ["cheap"]
    assert settle([MapSite((cheap, dear), 2.0)], {1: 2.0, 2: 2.5}) == ["dear"]
    assert settle([MapSite((cheap, dear), 2.0)], {1: 0.5, 2: 0.5}) == [
        "cheap"
    ]  # lower keys of which more would be stored


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rotation_keys", ["least-cost", "iterated"])
def test_keys_of_a_way_are_those_that_its_expansion_demands(seed, rotation_keys):
    rng = np.random.default_rng(seed)
    gather, sources = random_gather(rng)
    linear_map, chain = LinearMap.of(gather), small_chain(1)
    if not linear_map.diagonals:
        return
    prices = BlockMapPrices(*rng.uniform(0.1, 10, 9))
    allowed = Techniques(complex_packing=bool(seed % 2), rotation_keys=rotation_keys)
    module = expanded(program(linear_map, sources), chain, prices=lambda _: prices, techniques=allowed)
    (choice,) = choose_strategies(
        managed(program(linear_map, sources), chain), allowed, lambda _: prices, chain
    ).maps.values()
    demanded = {op.attrs["spec"].galois_element for op in module.walk() if op.name == "key.demand"}
    assert elements(places(linear_map), choice, chain.ring_degree) == demanded
    assert choice.iterated == (rotation_keys == "iterated")


def test_ways_that_take_too_long_are_left_out_and_none_that_could_be_best():
    prices = BlockMapPrices(key=2.0)
    where = places(LinearMap.of(matvec(32, 32, 32)))
    every = list(options(where, prices, horner=True))
    kept = site(where, every, prices, 1024)
    least = min(choice.price(prices) for choice in every)
    assert kept.strategies[0].seconds + 2.0 * len(kept.strategies[0].keys) == pytest.approx(least)
    assert all(way.seconds <= least for way in kept.strategies)
    assert {way.choice for way in kept.strategies} == {choice for choice in every if choice.time(prices) <= least}


def two_maps(first, second):
    v = Vectors(1, slots=64)
    linear = [LinearMap(64, explicit=tuple(Diagonal(s, splat(1.0, 64)) for s in steps)) for steps in (first, second)]
    return v.done(v.op("linear_transform", v.op("linear_transform", v.x[0], map=linear[0]), map=linear[1]))


def test_the_second_map_takes_the_keys_of_the_first():
    """By itself the second has two rotations; from the keys of the first it has a baby step and a giant step."""
    prices = BlockMapPrices(baby=1.0, giant=1.2, key=1.0)
    module, chain = two_maps((0, 1, 4), (0, 1, 4, 5)), small_chain(2)
    apart = choose_strategies(managed(module, chain), Techniques(shared_keys=False), lambda _: prices, chain)
    together = choose_strategies(managed(module, chain), Techniques(), lambda _: prices, chain)

    def keys(ways: MapStrategies):
        return frozenset().union(*(elements(places(op.attrs["map"]), choice, 1024) for op, choice in ways.maps.items()))

    assert len(keys(together)) <= len(keys(apart))
    assert len(keys(together)) == 2


def plan_by(linear_map, sources, key_price, **techniques):
    chain = small_chain(1, ring_degree=2048)
    model = MODEL.with_key_price(key_price)
    return plan_of(program(linear_map, sources), chain, techniques=Techniques(complex_packing=False, **techniques),
                   prices=lambda at: block_prices(model, chain, at.index))  # fmt: skip


@pytest.mark.parametrize("gather", [matmul(16, 8, 16, 128), matmul(16, 32, 16, 128), conv(2, 2, 8, 3, 128)])
def test_dearer_keys_are_fewer_bytes_for_more_time(gather):
    linear_map, sources = LinearMap.of(gather), {"w": np.ones(gather.source_access.view)}
    plans = [plan_by(linear_map, sources, price) for price in (0.0, 1.0, 100.0)]
    stored = [plan.client.manifest.total_stored_bytes for plan in plans]
    seconds = [estimate(plan, MODEL).warm_seconds for plan in plans]
    assert stored == sorted(stored, reverse=True) and stored[-1] < stored[0]
    assert seconds == sorted(seconds)


def test_a_price_of_keys_counts_how_often_a_map_is_run():
    """What is run often keeps its keys longer."""
    steps = tuple(range(48))

    def keys(trips, price):
        linear_map = LinearMap(64, explicit=tuple(Diagonal(s, splat(1.0, 64)) for s in steps))
        parts = BlockMapPrices(stored=price)
        found = site(places(linear_map), options(places(linear_map), parts, horner=True), parts, 1024, trips)
        return len(found.strategies[0].keys)

    assert keys(1, 5.0) < keys(10, 5.0) == keys(1, 0.5)


SETTINGS = [
    ("least-cost", None), ("least-cost", 0.5), ("least-cost", 50.0), ("iterated", None), ("powers-of-two", None),
]  # fmt: skip


@pytest.mark.parametrize(("rotation_keys", "price"), SETTINGS)
def test_bootstraps_with_fewer_keys_are_as_precise(rotation_keys, price):
    chain = bootstrap_chain("T11")
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, chain.slots) + 1j * rng.uniform(-1, 1, chain.slots)
    model = MODEL.with_key_price(price or 0.0)
    prices = None if price is None else lambda at: block_prices(model, chain, at.index, at.track)
    plan = bootstrap_plan(chain, chain.slots, 2, prices=prices, techniques=replace(ALONE, rotation_keys=rotation_keys))
    (y,) = simulate_slots(plan, [x], noise=rng)
    assert precision(y, x).rms_bits > 25.5
    own = bootstrap_plan(chain, chain.slots, 2, techniques=replace(ALONE, horner_giants=False))
    assert plan.client.manifest.total_stored_bytes < own.client.manifest.total_stored_bytes


def test_compiling_with_a_price():
    rng = np.random.default_rng(4)
    weights = rng.normal(size=(64, 64)) / 8

    def layer(x: lw.Secret[16, 64]):
        return x @ weights

    cheap, dear = (lw.compile(lw.program(layer), precision_bits=10, key_price=price) for price in (0, 20.0))
    assert dear.plan.client.manifest.total_stored_bytes < cheap.plan.client.manifest.total_stored_bytes
    x = rng.uniform(-1, 1, (16, 64))
    np.testing.assert_allclose(dear.simulate(x)[0], x @ weights, atol=2.0**-8)
    for bad in (-1, float("inf"), float("nan"), "cheap", True):
        with pytest.raises(UserError, match="key_price="):
            lw.compile(lw.program(layer), key_price=bad)
