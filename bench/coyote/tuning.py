"""What the constants of the search for lanes do: each halved and doubled, the others as they are, at the same work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from bench.coyote.cases import TABLE_1, Case, cases
from bench.coyote.graphs import graph
from bench.coyote.means import geometric_mean
from bench.coyote.measuring import RING_DEGREE, How
from bench.coyote.polynomials import polynomials
from bench.rows import Row
from latticework import _core
from latticework.compiler.circuits.circuit_pipeline import STARTS, WORK

WEIGHTS = _core.lanes.InstructionWeights(1.0, 2.6, 0.06, 0.05, 0.05, 0.05, 1.0)  # as compilation has them for BFV
FACTORS = (0.5, 2.0)
TUNED = (
    "parts_share", "starts_share", "estimates_share", "quotients_share", "last_share", "arcs", "annealed",
    "hot", "warm", "cold", "settled", "most_rounds", "hopeless", "far", "most_copies", "most_quotiented",
)  # fmt: skip
TREES = 2  # random polynomials of each regime
DEPTHS = (5,)


def tuning(chosen: Sequence[Case] | None, how: How, seeds: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Prices of what is found, by those with all constants as they are.

    If no cases are named: those of Table 1 whose inputs are not replicated, and random polynomials. Each price is that
    of one search, with the work that the effort has for one.
    """
    if chosen is None:
        chosen = [
            case for case in cases() if case.table == TABLE_1 and not any(x.replicate for x in case.given.values())
        ]
        chosen = [*chosen, *(polynomial.case() for polynomial in polynomials(DEPTHS, TREES))]
    circuits = [graph(case, RING_DEGREE // 2) for case in chosen]
    work = WORK[how.effort] / STARTS[how.effort]
    tell("as they are")
    usual = _core.lanes.SearchTuning()
    prices, seconds = _searched(circuits, work, seeds, usual)
    yield Row(
        "as they are", "price of what is found, geometric mean", "rotations", geometric_mean(prices),
        details={"circuits": len(circuits), "seeds": seeds, "work": work, "processor s": round(seconds, 2)},
    )  # fmt: skip
    for name in TUNED:
        value = getattr(usual, name)
        for factor in FACTORS:
            other = type(value)(max(1, round(value * factor)) if isinstance(value, int) else value * factor)
            tell(f"{name} = {other:g}")
            found, took = _searched(circuits, work, seeds, _core.lanes.SearchTuning(**{name: other}))
            ratios = [new / old for new, old in zip(found, prices, strict=True)]
            yield Row(
                f"{name} = {other:g} instead of {value:g}", "price by that of the constants as they are", "x",
                geometric_mean(ratios),
                details={
                    "cheaper": sum(ratio < 1 - 1e-9 for ratio in ratios),
                    "dearer": sum(ratio > 1 + 1e-9 for ratio in ratios),
                    "least": round(min(ratios), 4), "most": round(max(ratios), 4),
                    "processor time": round(took / seconds, 3),
                },
            )  # fmt: skip


def _searched(
    circuits: Sequence[_core.lanes.ScalarCircuit], work: float, seeds: int, constants: _core.lanes.SearchTuning
) -> tuple[list[float], float]:
    """Prices by circuit and seed, and the processor time."""
    started = time.process_time()
    prices = [
        _core.lanes.vectorize(circuit, WEIGHTS, work=work, seed=seed, tuning=constants).program.cost
        for circuit in circuits
        for seed in range(seeds)
    ]
    return prices, time.process_time() - started
