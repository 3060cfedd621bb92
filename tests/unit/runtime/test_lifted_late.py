"""Plaintexts of sums that are transformed where they are used: the same bytes, within any budget, in less memory."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import latticework as lw
from latticework.plan.analysis import memory_plan
from latticework.plan.analysis.kept_constants import all_bytes, encodings, least_uses_kept, uses_of_constants
from latticework.plan.analysis.memory_plan import MemoryPlanner
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel
from latticework.runtime.server import constant_sources, shares

RNG = np.random.default_rng(11)
DATA = RNG.uniform(-1, 1, (16, 16))
WEIGHTS = RNG.normal(size=(16, 16)) / 4, RNG.normal(size=16), RNG.normal(size=(16, 16)) / 4


@lw.program
def layers(x: lw.Secret[16], w1, b1, w2):
    return w2 @ ((w1 @ x + b1) ** 2 + x)


@pytest.fixture(scope="module")
def case():
    model = lw.compile(layers, ring_degree=1024, insecure=True, calibrate=DATA, weights=WEIGHTS)
    client = model.client()
    keys = client.keygen().public()
    return model, keys, client.encrypt(DATA[0])


def serve(case, monkeypatch, budget, *, late):
    """A server with `budget` bytes for constants."""
    monkeypatch.setattr(shares, "DEFAULT_CONSTANTS", budget)
    monkeypatch.setattr(shares, "lifts_late", lambda _runs: late)
    model, keys, _ = case
    return model.server(keys, threads=1)


@pytest.mark.parametrize("budget", [0, 600, 20_000, 100_000, 300_000, 10**9])
def test_results_are_the_same_under_any_budget(case, monkeypatch, budget):
    wanted = serve(case, monkeypatch, 10**9, late=False)(case[2]).to_bytes()
    server = serve(case, monkeypatch, budget, late=True)
    for _ in range(2):
        assert server(case[2]).to_bytes() == wanted
        assert server.memory_use.constants <= budget


def test_threads_share_what_none_of_them_keeps(case, monkeypatch):
    wanted = serve(case, monkeypatch, 10**9, late=False)(case[2]).to_bytes()
    for budget in (0, 30_000):
        server = serve(case, monkeypatch, budget, late=True)
        with ThreadPoolExecutor(3) as pool:
            assert {one.to_bytes() for one in pool.map(server, [case[2]] * 6)} == {wanted}


def test_whole_plaintexts_of_a_sum_are_not_in_memory_together(case, monkeypatch):
    """Without a budget each is made, used and gone; before they all were there when the sum began."""
    peaks = []
    for late in (False, True):
        server = serve(case, monkeypatch, 0, late=late)
        server(case[2])
        peaks.append(server.context.peak_bytes)
    assert peaks[1] < peaks[0]


def test_a_failure_of_the_source_is_told_and_leaves_nothing(case, monkeypatch):
    server = serve(case, monkeypatch, 0, late=True)
    real, calls = constant_sources.slot_vectors, []

    def fail(*given):
        calls.append(given)
        if len(calls) == 5:
            raise ZeroDivisionError
        return real(*given)

    wanted = serve(case, monkeypatch, 10**9, late=False)(case[2]).to_bytes()
    monkeypatch.setattr(constant_sources, "slot_vectors", fail)
    with pytest.raises(ZeroDivisionError):
        server(case[2])
    assert server(case[2]).to_bytes() == wanted


def test_the_smallest_budget_is_that_of_coefficients(case, monkeypatch):
    """One run needs less than before; runs that share whole plaintexts need what they did."""
    plan, model = case[0].plan, CostModel.load()
    one, two = (MemoryPlanner(plan, model, runs=runs).values(0) for runs in (1, 2))
    monkeypatch.setattr(memory_plan, "lifts_late", lambda _runs, **_: False)
    before, both = (MemoryPlanner(plan, model, runs=runs).values(0) for runs in (1, 2))
    assert one < before < two == both


@pytest.mark.parametrize("late", [False, True])
def test_plaintexts_that_a_run_uses_most_stay(case, monkeypatch, late):
    """They take the place of others, which came first; of those that are used as often, the first stay, and none of
    those that count as unused."""
    plan = case[0].plan
    known = encodings(plan, TripCounts(plan), CostModel.load())
    rounded, first, small = all_bytes(known)[0], known[0], min(known, key=lambda one: one.whole_bytes)
    wanted = serve(case, monkeypatch, 10**9, late=False)(case[2]).to_bytes()
    kept, fitting = [], []
    for most, others in ((first, 1.0), (small, 1.0), (small, 0.0), (None, 0.0)):
        fitting.append(rounded + (most.whole_bytes if most else 0))
        for one in known if others else ():
            if one is not most and fitting[-1] + one.whole_bytes <= rounded + first.whole_bytes:
                fitting[-1] += one.whole_bytes
        uses = [3.0 if most and number in most.constants else others for number in range(len(plan.constants))]
        with monkeypatch.context() as patch:
            patch.setattr(shares, "Shares", partial(shares.Shares, uses=tuple(uses)))
            server = serve(case, patch, rounded + first.whole_bytes, late=late)
        assert [server(case[2]).to_bytes() for _ in range(2)] == [wanted] * 2
        kept.append(server.memory_use.constants)
    assert kept == fitting


def test_constants_for_which_no_room_is_left_count_as_unused(case):
    plan = case[0].plan
    known = encodings(plan, TripCounts(plan), CostModel.load())
    rounded, whole = all_bytes(known)
    often = [replace(one, uses=(7, 7, 3, *[1] * len(known))[place]) for place, one in enumerate(known)]
    sevens, threes = (sum(one.whole_bytes for one in often[:count]) for count in (2, 3))
    budgets = (0, rounded, rounded + sevens, rounded + sevens + 1, rounded + threes, rounded + threes + 1)
    assert [least_uses_kept(often, budget) for budget in budgets] == [7, 7, 7, 3, 3, 0]
    assert least_uses_kept(often, rounded + whole) == least_uses_kept(known, 0) == 0
    counted = uses_of_constants(plan, often, 3)
    assert [counted[one.constants[0]] for one in often] == [7, 7, 3, *[0] * (len(often) - 3)]
