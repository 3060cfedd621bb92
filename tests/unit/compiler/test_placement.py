"""Bootstraps are placed where they take least: against every choice tried, an exact model, and a run from the inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from placement_cases import best_of_all, carry_out

from bench.placement.exact import solve_exactly
from bench.placement.graphs import Graph, random_graph, residual_network, synthetic_bodies
from bench.placement.published import latencies
from bench.placement.suite import random_rows
from latticework.compiler.levels.placement import place, place_by_layers, place_by_points, schedule
from latticework.compiler.levels.placement.packed_pairs import Partners
from latticework.errors import LevelError, UnsupportedError

MICRO = 1e-6


def small_graph(seed: int):
    """A few operations with few levels; real values, which may be refreshed two at a time."""
    rng = np.random.default_rng(seed)
    graph = Graph(residual=3)
    graph.value(1, True, int(rng.integers(0, 4)))
    graph.value(1, bool(rng.random() < 0.8), 3)
    for _ in range(4):
        a, b = (int(v) for v in rng.integers(max(len(graph.values) - 4, 0), len(graph.values), 2))
        if rng.random() < 0.5:
            graph.times(a, b)
        else:
            graph.polynomial(a, int(rng.choice([3, 7])))
    read = {v for op in graph.ops for v in op.operands}
    return graph.problem([v for v in range(2, len(graph.values)) if v not in read])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("alone", [1.0, 0.7], ids=["one price", "cheaper alone"])
def test_nothing_is_better_than_what_is_placed_in_small_graphs(seed: int, alone: float) -> None:
    """With one price for bootstraps, and with real ones by themselves at less than two together take."""
    problem = small_graph(seed)
    values = [replace(v, alone=[alone * s for s in v.alone]) if v.shared else v for v in problem.values]
    problem = replace(problem, values=values)
    placed = place(problem)
    best = best_of_all(problem)
    assert placed.seconds == pytest.approx(best, rel=1e-9)
    assert placed.bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(16))
def test_a_placement_runs_and_takes_what_it_says(seed: int) -> None:
    problem = random_graph(seed)
    placed, points = place(problem), place_by_points(problem)
    for each in (placed, points):
        assert carry_out(problem, each) == pytest.approx(each.seconds, rel=1e-9)
    assert placed.bound <= placed.seconds <= points.seconds


def check_against_exact(seed: int, most: int, effort: float) -> None:
    problem = random_graph(seed, most)
    placed = place(problem)
    exact = solve_exactly(problem, effort)
    rounding = MICRO * (len(problem.ops) + len(problem.values))
    assert placed.bound <= (np.inf if exact.seconds is None else exact.seconds + rounding)
    if exact.is_optimal:
        assert exact.seconds - rounding <= placed.seconds <= 1.01 * exact.seconds
    else:
        assert exact.bound <= placed.seconds + rounding


@pytest.mark.parametrize("seed", range(300, 304))
def test_within_a_hundredth_of_an_exact_model(seed: int) -> None:
    pytest.importorskip("ortools")
    check_against_exact(seed, 18, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(400, 412))
def test_within_a_hundredth_of_an_exact_model_in_larger_graphs(seed: int) -> None:
    pytest.importorskip("ortools")
    check_against_exact(seed, 60, 10.0)


@pytest.mark.parametrize(("blocks", "layers"), [(1, 8), (3, 20)])
def test_residual_networks_are_placed_optimally(blocks: int, layers: int) -> None:
    """A ReLU takes 14 of 16 levels, so a bootstrap for every layer but the last is the least."""
    problem = residual_network(blocks)
    placed = place(problem)
    assert placed.gap < 1e-9
    assert len(placed.refreshes) - len(placed.pairs) == layers - 2
    assert carry_out(problem, placed) == pytest.approx(placed.seconds)
    by_layers, by_points = place_by_layers(problem), place_by_points(problem)
    for other in (by_layers, by_points):
        assert carry_out(problem, other) == pytest.approx(other.seconds)
        assert {refresh.target for refresh in other.refreshes.values()} == {problem.residual}
        assert placed.seconds < other.seconds


def test_two_real_values_share_a_bootstrap_also_where_one_is_made_from_the_other() -> None:
    """x and its rotation: half of one bootstrap each, although the rotation reads x as it was."""
    graph = Graph(residual=4)
    x = graph.value(1, True, 0)
    turned = graph.op("rotation", (x,), 0, graph.latency("rotate"))
    a, b = graph.polynomial(x, 15), graph.polynomial(turned, 15)
    problem = graph.problem([a, b])
    placed = place(problem)
    assert placed.pairs and len(placed.refreshes) == 2
    single = latencies("bootstrap", 4)[4]
    assert placed.seconds < 2 * single + sum(op.seconds[0] for op in problem.ops)
    carry_out(problem, placed)


@pytest.mark.parametrize(("carried", "published"), [(2, 18), (9, 81)])
def test_points_are_as_many_as_published(carried: int, published: int) -> None:
    """40 iterations of depth 4 with 16 levels: all values every fourth one, but for the first four."""
    placed = place_by_points(synthetic_bodies(carried, 4, 40))
    assert len(placed.refreshes) == published


def test_two_carried_values_share_every_bootstrap() -> None:
    problem = synthetic_bodies(2, 4, 12)
    placed = place(problem)
    assert (len(placed.refreshes), len(placed.pairs)) == (4, 2)
    assert carry_out(problem, placed) == pytest.approx(placed.seconds)


def test_published_latencies_are_met_and_joined_by_lines() -> None:
    table = latencies("bootstrap")
    assert table[4] == pytest.approx(0.294928) and table[16] == pytest.approx(0.463171)
    assert table[5] - table[4] == pytest.approx((0.339302 - 0.294928) / 3)
    assert table[4] - table[3] == pytest.approx(table[5] - table[4])


def test_faults_name_the_operation_and_the_levels() -> None:
    graph = Graph(residual=3)
    x = graph.value(1, True, 3)
    deep = graph.problem([graph.polynomial(x, 27)])
    with pytest.raises(LevelError, match="polynomial of degree 27 spends 5 levels at once, and a bootstrap leaves 3"):
        place(deep)
    graph = Graph(residual=3)
    x = graph.value(1, True, 2)
    y = graph.polynomial(graph.polynomial(x, 3), 7)
    problem = graph.problem([y])
    values = [replace(v, alone=None) for v in problem.values]
    with pytest.raises(
        LevelError, match="result of polynomial of degree 3 may not be bootstrapped, .* spends 3 levels"
    ):
        place(replace(problem, values=values))
    values = [problem.values[0], *values[1:]]
    with pytest.raises(LevelError, match="may not be bootstrapped"):
        place_by_points(replace(problem, values=values))
    with pytest.raises(LevelError, match="output is wanted 5 levels above the floor, and a bootstrap leaves 3"):
        place(replace(problem, wanted={y: 5}))
    graph = Graph(residual=4)
    x = graph.value(1, True, 1)
    problem = graph.problem([graph.polynomial(x, 7)])
    with pytest.raises(LevelError, match="reads an input needs it 3 levels above the floor, it is given at 1"):
        place(replace(problem, values=[replace(v, alone=None) for v in problem.values]))


def test_layers_refuse_what_is_not_nested() -> None:
    graph = Graph()
    x, y = graph.value(1, True, 16), graph.value(1, True, 16)
    with pytest.raises(UnsupportedError, match="one input and one output"):
        place_by_layers(graph.problem([graph.plus(x, y)]))
    graph = Graph()
    x = graph.value(1, True, 16)
    a, b = graph.times(x, x), graph.polynomial(x, 7)
    c = graph.plus(a, b)
    d = graph.times(c, graph.times(a, b))
    with pytest.raises(UnsupportedError, match="do not part and meet"):
        place_by_layers(graph.problem([d]))


def test_what_an_operation_enters_and_leaves_may_be_fixed() -> None:
    """As a loop that refreshes inside: it enters at 2 and leaves at 3, whatever is wanted of it."""
    graph = Graph(residual=4)
    x = graph.value(1, True, 4)
    a = graph.polynomial(x, 7)
    b = graph.op("loop", (a,), 0, graph.latency("rotate"))
    c = graph.polynomial(b, 7)
    problem = graph.problem([c])
    ops = list(problem.ops)
    ops[1] = replace(ops[1], enters=(2, 2, 2, 2, 5), seconds=(1.0,) * 5)
    placed = place(replace(problem, ops=ops))
    assert placed.needs[b] == 3 and placed.refreshes.keys() == {a} and placed.refreshes[a].target == 2


def test_the_benchmark_sets_placements_beside_others() -> None:
    pytest.importorskip("ortools")
    rows = random_rows((300, 301, 303, 308), 2.0, lambda _: None)
    within, worse, ratio, least, _ = rows
    assert within.meets and worse.ours == 0 and least.meets and ratio.ours >= 1.0


def test_pairs_that_would_wait_for_each_other_are_not_made() -> None:
    """Of two chains, the first value of each with the second of the other would save most."""
    graph = Graph()
    a, b = graph.value(1, True, 16), graph.value(1, True, 16)
    first, third = graph.times(a, a), graph.times(b, b)
    second, fourth = graph.times(first, first), graph.times(third, third)
    problem = graph.problem([second, fourth])
    made = Partners(problem).match({first: 16, fourth: 16, second: 4, third: 4})
    assert made == [(first, fourth)]
    none: frozenset[int] = frozenset()
    refreshed = dict.fromkeys((first, second, third, fourth), none)
    assert schedule(problem, refreshed, made) is not None
    assert schedule(problem, refreshed, [*made, (second, third)]) is None


def test_long_code_with_many_live_values_is_placed_by_a_bounded_search() -> None:
    """Nine values that depend on each other, four levels an iteration: every fourth one refreshes them, in pairs."""
    graph = Graph()
    values = [graph.value(1, True, 16) for _ in range(9)]
    for _ in range(5):
        total = values[0]
        for x in values[1:]:
            total = graph.plus(total, x)
        for _ in range(4):
            total = graph.times(total, total)
        values = [graph.plus(x, total) for x in values]
    problem = graph.problem(values)
    placed = place(problem, states=16)
    assert carry_out(problem, placed) == pytest.approx(placed.seconds)
    assert len(placed.refreshes) - len(placed.pairs) <= 5
