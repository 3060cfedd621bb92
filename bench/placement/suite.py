"""`latticework bench placement`: where bootstraps stand, beside other placers and the proven optimum."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.placement.exact import exists_below
from bench.placement.graphs import random_graph, residual_network, synthetic_bodies
from bench.placement.published import TABLES
from bench.rows import Row, report, show
from latticework.compiler.levels.placement import BootstrapPlacement, Problem, place, place_by_layers, place_by_points

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
NETWORKS = {"ResNet-20": (3, 5.0), "ResNet-32": (5, 20.0), "ResNet-56": (9, 20.0)}  # blocks, seconds allowed
WITHIN = 0.01
BODIES = {2: 18, 9: 81}  # carried values of depth 4 in 40 iterations, and what DaCapo takes (HALO, Table 5)
ORBIT = 1.19  # times DaCapo is slower, a geometric mean over networks


@app.command()
def placement(
    graphs: Annotated[int, typer.Option(min=1, help="Random graphs of up to 60 operations.")] = 200,
    effort: Annotated[float, typer.Option(min=0.1, help="Work of the exact model on each, in seconds about.")] = 30.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Place bootstraps in random graphs and in residual networks, priced by published tables."""
    conditions = {
        "prices": TABLES["source"],
        "checked": "random graphs: no placement takes 1 % less, by our bound or by an exact model",
        "graphs": f"{graphs} seeds; sums, products, rotations, maps, polynomials; 4 to 16 levels after a bootstrap",
    }
    with err.status("random graphs") as status:
        rows = random_rows(range(graphs), effort, status.update)
    show(report("placement", [*rows, *network_rows(), *body_rows()], conditions), json)


def random_rows(seeds: Sequence[int], effort: float, tell: Callable[[str], Any]) -> list[Row]:
    """How many placements are within a hundredth of the optimum, and how much longer other plans take."""
    shown, undecided, worse, dearer, longest = 0, [], [], [], 0.0
    by_model = 0
    for seed in seeds:
        tell(f"graph {seed}")
        problem = random_graph(seed)
        placed, seconds = timed(place, problem)
        longest = max(longest, seconds)
        dearer.append(place_by_points(problem).seconds / placed.seconds)
        better = False if placed.gap <= WITHIN else exists_below(problem, placed.seconds / (1 + WITHIN), effort)
        by_model += placed.gap > WITHIN and better is False
        shown += better is False
        if better is None:
            undecided.append(seed)
        elif better:
            worse.append(seed)
    source = f"undecided by {effort:g} s of work: {undecided}" if undecided else "bound, or CP-SAT"
    details = {"shown by the exact model": by_model, "undecided": undecided, "not within": worse}
    case = f"{len(seeds)} random graphs"
    return [
        Row(
            case, "within 1 % of the optimum", "graphs", shown, None, source, len(seeds), "higher", checked=not worse,
            details=details,
        ),
        Row(case, "better than these", "graphs", len(worse), None, "CP-SAT", 0, checked=True, note=f"{worse}"),
        Row(case, "DaCapo over ours, geometric mean", "x", geometric_mean(dearer), ORBIT, "Orbit", better="higher"),
        Row(case, "DaCapo over ours, least", "x", min(dearer), None, None, 1.0, "higher", checked=True),
        Row(case, "longest placement, processor time", "s", longest, None, None, 5.0, checked=True),
    ]  # fmt: skip


def network_rows() -> list[Row]:
    """Networks by predicted seconds and by bootstraps, beside other placers."""
    rows, ratios = [], []
    for name, (blocks, allowed) in NETWORKS.items():
        problem = residual_network(blocks)
        placed, seconds = timed(place, problem)
        rows.append(Row(name, "placement, processor time", "s", seconds, None, None, allowed, checked=True))
        rows.append(Row(
            name, "predicted time", "s", placed.seconds, placed.bound, "proven bound", placed.bound * (1 + WITHIN),
            checked=True,
        ))  # fmt: skip
        for label, placer in (("DaCapo", place_by_points), ("shortest path", place_by_layers)):
            other, _ = timed(placer, problem)
            both = placed.seconds, other.seconds
            rows.append(Row(name, f"predicted time, {label}", "s", *both, label, other.seconds, checked=True))
            counts = bootstraps(problem, placed), bootstraps(problem, other)
            rows.append(Row(name, f"bootstraps, {label}", "bootstraps", *counts, label))
            if label == "DaCapo":
                ratios.append(other.seconds / placed.seconds)
    mean = geometric_mean(ratios)
    metric = "DaCapo over ours, geometric mean"
    rows.append(Row("networks", metric, "x", mean, ORBIT, "Orbit", ORBIT, "higher", checked=True))
    return rows


def body_rows() -> list[Row]:
    """Unrolled loops by bootstraps: DaCapo's as published, and ours with two real values to one."""
    rows = []
    for carried, published in BODIES.items():
        problem = synthetic_bodies(carried, 4, 40)
        theirs, ours = (bootstraps(problem, placer(problem)) for placer in (place_by_points, place))
        case, source = f"{carried} values, depth 4, 40 iterations", "DaCapo in Table 5 of HALO"
        rows.append(Row(case, "bootstraps of DaCapo", "bootstraps", theirs, published, source, published, checked=True))
        rows.append(Row(case, "bootstraps", "bootstraps", ours, theirs, "DaCapo", published, checked=True))
    return rows


def bootstraps(problem: Problem, placed: BootstrapPlacement) -> int:
    """Ciphertexts that are bootstrapped; two real ones count once."""
    second = {b for _, b in placed.pairs}
    return sum(problem.values[v].count for v in placed.refreshes if v not in second)


def timed(placer: Callable[[Problem], BootstrapPlacement], problem: Problem) -> tuple[BootstrapPlacement, float]:
    """A placement and its processor time."""
    start = time.process_time()
    return placer(problem), time.process_time() - start


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of positive numbers."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
