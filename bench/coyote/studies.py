"""The paper's studies: effort of annealing, alignment, data layouts, random polynomials; and the spread over seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median

from bench.coyote.cases import FIGURE_8, TABLE_1, Case, cases
from bench.coyote.exact_studies import alignment, optimum
from bench.coyote.graphs import graph
from bench.coyote.means import geometric_mean
from bench.coyote.measuring import RING_DEGREE, How, compiled, measure
from bench.coyote.outcomes import Outcome, rows_of
from bench.coyote.polynomials import DEPTHS, REGIMES, polynomials
from bench.coyote.published import tables
from bench.coyote.tuning import tuning
from bench.rows import Row
from latticework import _core

Tell = Callable[[str], None]
Study = Callable[[Sequence[Case] | None, How, int, Tell], Iterator[Row]]

MOVES, ROUNDS = (10_000, 15_000, 20_000), 150
SHOWN_ROUNDS = (0, 10, 25, 50, 100, 150)


def effort(chosen: Sequence[Case] | None, _how: How, seeds: int, tell: Tell) -> Iterator[Row]:
    """Cost of annealing's schedules after so many rounds, by moves a round; of dist.5 if no cases are named.

    Medians over seeds. Cost is the paper's: rotations and products 1, sums 0.1, blends nothing.
    """
    for case in chosen or [case for case in cases() if case.name.startswith("dist.5.")]:
        circuit = graph(case, RING_DEGREE // 2)
        for moves in MOVES:
            tell(f"{case.name}, {moves} moves")
            started = time.perf_counter()
            found = [_core.lanes.anneal(circuit, moves=moves, rounds=ROUNDS, seed=seed) for seed in range(seeds)]
            seconds = (time.perf_counter() - started) / seeds
            history = {str(at): median(x.best[min(at, len(x.best) - 1)] for x in found) for at in SHOWN_ROUNDS}
            yield Row(
                f"{case.name}, {moves} moves a round", f"cost after {ROUNDS} rounds, median of {seeds} seeds", "",
                median(x.cost for x in found),
                details={
                    "cost by rounds": history, "least": min(x.cost for x in found),
                    "most": max(x.cost for x in found), "seconds a search": round(seconds, 3),
                },
            )  # fmt: skip


def seeds_study(chosen: Sequence[Case] | None, how: How, seeds: int, tell: Tell) -> Iterator[Row]:
    """Rotations and blends, and predicted time, over seeds; of Table 1 if no cases are named."""
    for case in chosen or [case for case in cases() if case.table == TABLE_1]:
        tell(case.name)
        try:
            found = [Outcome(case) for _ in range(seeds)]
            for seed, outcome in enumerate(found):
                compiled(outcome, replace(how, seed=seed))
        except Exception as error:  # one row must not take the others with it
            yield Row(case.name, "rotations + blends", "", None, note=f"{type(error).__name__}: {error}", required=True)
            continue
        published = case.published
        moves = sorted(outcome.moves or 0 for outcome in found)
        predicted = sorted(1e3 * (outcome.predicted or 0.0) for outcome in found)
        yield Row(
            case.name, f"rotations + blends, median of {seeds} seeds", "", float(median(moves)),
            None if published is None else float(published.rotations + (published.blends or 0)),
            None if published is None else published.source,
            details={
                "each": [outcome.moves for outcome in found], "spread": moves[-1] - moves[0],
                "predicted ms": [round(x, 3) for x in predicted],
                "compile s": [round(outcome.compile_seconds or 0.0, 3) for outcome in found],
            },
        )  # fmt: skip


def layouts(_chosen: Sequence[Case] | None, how: How, _seeds: int, tell: Tell) -> Iterator[Row]:
    """A product of 3 x 3 matrices whose elements come in one, two, six or eighteen ciphertexts."""
    found = {}
    for case in cases():
        if case.table == FIGURE_8:
            tell(case.name)
            found[case.name] = measure(case, how)
            yield from rows_of(found[case.name], how.effort)
    ends = [found["mm.3 individual"], found["mm.3 together"]]
    if all(outcome.counts for outcome in ends):
        ours, theirs = (list(x) for x in zip(*((e.counts["rotations"], _rotations(e)) for e in ends), strict=True))
        yield Row(
            "mm.3", "rotations of individual by those of together", "x", ours[0] / max(ours[1], 1),
            theirs[0] / theirs[1], "Coyote's repository", checked=all(e.is_right for e in ends),
        )  # fmt: skip


def _rotations(outcome: Outcome) -> int:
    assert outcome.case.published is not None
    return outcome.case.published.rotations


def random_polynomials(_chosen: Sequence[Case] | None, how: How, seeds: int, tell: Tell) -> Iterator[Row]:
    """Trees of three regimes and two depths, as many of each as there are seeds, in the smallest ring for each."""
    found: dict[tuple[str, int], list[Outcome]] = {}
    for polynomial in polynomials(DEPTHS, seeds):
        case = polynomial.case()
        tell(case.name)
        outcome = measure(case, replace(how, ring_degree=None))
        found.setdefault((polynomial.regime, polynomial.depth), []).append(outcome)
        yield from rows_of(outcome, how.effort)
    most = tables()["coyote"]["polynomials"]["speedup_max"]
    for (regime, depth), outcomes in sorted(found.items(), key=lambda item: (item[0][1], REGIMES.index(item[0][0]))):
        speedups = [outcome.speedup for outcome in outcomes if outcome.speedup is not None]
        if speedups:
            yield Row(
                f"{regime}, depth {depth}", "speed-up over scalar code, geometric mean", "x", geometric_mean(speedups),
                most, "Coyote, published: the most of any", better="higher",
                checked=all(outcome.is_right for outcome in outcomes),
                details={"each": [round(x, 3) for x in speedups], "gates": [_gates(o.case) for o in outcomes]},
            )  # fmt: skip


def _gates(case: Case) -> int:
    return case.counts.adds + case.counts.muls


STUDIES: dict[str, Study] = {
    "effort": effort,
    "seeds": seeds_study,
    "layouts": layouts,
    "polynomials": random_polynomials,
    "alignment": alignment,
    "optimum": optimum,
    "tuning": tuning,
}
