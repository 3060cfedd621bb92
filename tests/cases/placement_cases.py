"""Oracles of placement that share nothing with it: every choice tried, and a placement carried out from the inputs."""

from __future__ import annotations

from itertools import combinations, product

from latticework.compiler.levels.placement import OUTPUT, Problem, schedule


def carry_out(problem: Problem, placement) -> float:
    """Seconds of a placement, run from the inputs on at the highest levels it has; asserts that all levels suffice."""
    bypassing = {v: refresh.bypassing for v, refresh in placement.refreshes.items()}
    steps = schedule(problem, bypassing, placement.pairs)
    assert steps is not None, "what is refreshed together waits for each other"
    made = {v: p.available for v, p in enumerate(problem.values) if p.available is not None}
    refreshed: dict[int, int] = {}
    seconds = 0.0

    def read(v: int, reader: int) -> int:
        return refreshed[v] if v in bypassing and reader not in bypassing[v] else made[v]

    for step in steps:
        if isinstance(step, tuple):
            assert all(v in made for v in step)
            for v in step:
                refreshed[v] = placement.refreshes[v].target
            prices = problem.values[step[0]]
            seconds += (prices.alone if len(step) == 1 else prices.shared)[max(refreshed[v] for v in step)]
            assert len(step) == 1 or problem.values[step[0]].kind == problem.values[step[1]].kind is not None
        else:
            op = problem.ops[step]
            need = max((placement.needs[v] for v in op.results), default=0)
            assert all(read(v, step) >= op.enters[need] for v in op.operands)
            made.update(dict.fromkeys(op.results, need))
            seconds += op.seconds[need]
    assert all(read(v, OUTPUT) >= level for v, level in problem.wanted.items())
    return seconds


def best_of_all(problem: Problem) -> float:
    """The seconds of the best placement: all readers of all values, and all pairs, are tried."""
    ways = []
    for v, prices in enumerate(problem.values):
        readers = problem.readers[v]
        choices = [frozenset()]
        if prices.alone is not None:
            choices += [frozenset(c) for n in range(1, len(readers) + 1) for c in combinations(readers, n)]
        ways.append(choices)
    best = float("inf")
    for reading in product(*ways):
        refreshed = [v for v, readers in enumerate(reading) if readers]
        needs = _needs(problem, reading)
        if needs is None:
            continue
        targets, seconds = needs
        for pairs in _pairings(refreshed, problem):
            together = {v for pair in pairs for v in pair}
            total = seconds + sum(problem.values[v].alone[max(targets[v], 1)] for v in refreshed if v not in together)
            total += sum(problem.values[a].shared[max(targets[a], targets[b], 1)] for a, b in pairs)
            if total < best and _can_run(problem, reading, pairs):
                best = total
    return best


def _needs(problem, reading):
    """Levels and targets by going round until nothing rises any more."""
    levels, targets = [0] * len(problem.values), [0] * len(problem.values)
    while True:
        before = (list(levels), list(targets))
        wants = [(v, OUTPUT, level) for v, level in problem.wanted.items()]
        for number, op in enumerate(problem.ops):
            entered = op.enters[max((levels[v] for v in op.results), default=0)]
            if entered > problem.residual:
                return None
            wants += [(v, number, entered) for v in op.operands]
        for v, reader, level in wants:
            at = targets if reader in reading[v] else levels
            at[v] = max(at[v], level)
        if (levels, targets) == before:
            break
    if any(p.available is not None and levels[v] > p.available for v, p in enumerate(problem.values)):
        return None
    seconds = sum(op.seconds[max((levels[v] for v in op.results), default=0)] for op in problem.ops)
    return targets, seconds


def _pairings(values, problem):
    if not values:
        yield ()
        return
    first, rest = values[0], values[1:]
    yield from _pairings(rest, problem)
    for other in rest:
        if problem.values[first].kind is not None and problem.values[first].kind == problem.values[other].kind:
            for more in _pairings([v for v in rest if v != other], problem):
                yield ((first, other), *more)


def _can_run(problem, reading, pairs) -> bool:
    partner = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    made = {v for v, p in enumerate(problem.values) if p.available is not None}
    refreshed: set[int] = set()
    done: set[int] = set()
    while True:
        before = len(made) + len(refreshed) + len(done)
        refreshed |= {v for v in made if reading[v] and partner.get(v, v) in made}
        for number, op in enumerate(problem.ops):
            if all(v in (refreshed if number in reading[v] else made) for v in op.operands):
                done.add(number)
                made.update(op.results)
        if before == len(made) + len(refreshed) + len(done):
            return len(done) == len(problem.ops)
