"""Probability that new inputs exceed the extremes of few calibration runs, whatever distribution they come from.

Of n exchangeable runs and one more, the last is farthest at either end of k arguments with a probability of about
2 k / (n + 1). How much it is for the runs that there were is told by how many of them hold an end: arguments that
belong together have them in common. The share has a beta distribution then, of which an upper limit is taken.

The slack of ranges beyond the ends makes it less, by how much no data of few runs can tell: the tail is taken to fall
off as a cube, as that of Student's t of 3 degrees of freedom does, and more slowly for very few runs, which may lie
close together by chance. From `FEW` runs on, slack counts as leaving each run out in turn shows: how many of them lie
beyond what the range would be without them, slack included.

Source: Campi and Garatti 2018 (the share beyond what n scenarios support); Quenouille 1949 (leaving one out).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, inf, lgamma, log, log1p

from latticework.lazy_dataclass import dataclass

FEW = 64  # runs, below which tails are not fitted alone
LIKELY = 0.75  # confidence that the share is at most so much, before the slack beyond: of a single argument 2 / (n + 1)
SURE = 0.95  # and that of what warnings state
TAIL = 3.0  # power that a tail is taken to fall off with
RUNS_A_POWER = 4.0  # and how many runs it takes to rely on one more: few may lie close together by chance

Interval = tuple[float, float]
End = tuple[tuple[float, int], ...]  # how far the two farthest runs go, the farthest first, and which runs they are


@dataclass(frozen=True, slots=True)
class RunExtremes:
    """Extremes that runs of calibration reached in one argument, and the runs that reached them.

    runs             that could have gone farthest, each an input like those to come: a row of a batch is one
    lowest, highest  ends: of one run, or of two
    """

    runs: int
    lowest: End
    highest: End


@dataclass(frozen=True, slots=True)
class RangeSlack:
    """Slack of a function's interval beyond the ends that calibration reached.

    runs  of calibration
    ends  that new runs may leave: the run that holds each, and the slack there as a part of the range seen
    lone  runs that the range of all others, with as much slack, would not hold
    """

    runs: int
    ends: tuple[tuple[int, float], ...]
    lone: frozenset[int]


def find_slack(extremes: RunExtremes, interval: Interval, scale: Callable[[float], float]) -> RangeSlack:
    """Return the slack of one function's interval, on the scale by which its range is widened."""
    low, high = ([(sign * scale(far), run) for far, run in end]
                 for sign, end in ((-1.0, extremes.lowest), (1.0, extremes.highest)))  # fmt: skip
    length = (low[0][0] + high[0][0]) or max(abs(high[0][0]), 1.0)
    beyond = -scale(interval[0]) - low[0][0], scale(interval[1]) - high[0][0]
    lone = set[int]()
    for (far, run), end, other, wide in ((low[0], low, high, beyond[0]), (high[0], high, low, beyond[1])):
        rest = [next((value for value, of in each if of != run), None) for each in (end, other)]
        if rest[0] is None or rest[1] is None or far - rest[0] > wide / length * (rest[0] + rest[1]):
            lone.add(run)
    ends = [(end[0][1], wide / length) for end, wide in ((low, beyond[0]), (high, beyond[1])) if wide < inf]
    return RangeSlack(extremes.runs, tuple(ends), frozenset(lone))


def share_leaving(slacks: Sequence[RangeSlack], confidence: float = LIKELY) -> float:
    """The share of new inputs, at most, by which the interval of any of some functions is left; 0 of none."""
    ends = [end for each in slacks for end in each.ends]
    if not ends:
        return 0.0
    runs = min(each.runs for each in slacks)
    if runs >= FEW:
        return upper_share(runs, len(frozenset[int]().union(*(each.lone for each in slacks))), confidence)
    power = min(TAIL, (runs - 1.0) / RUNS_A_POWER)
    buys: float = sum((1.0 + max(slack, 0.0)) ** -power for _, slack in ends) / len(ends)
    return buys * upper_share(runs, len({run for run, _ in ends}), confidence)


def upper_share(runs: int, holders: int, confidence: float) -> float:
    """An upper limit of the share of new runs beyond the range of some, of which so many hold its ends."""
    held = max(1, min(holders, runs))
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        below = sum(exp(_log_chance(runs, k, middle)) for k in range(held))
        low, high = (middle, high) if below > 1.0 - confidence else (low, middle)
    return high


def _log_chance(runs: int, count: int, share: float) -> float:
    """Return log P(count) of the binomial distribution of `runs` trials with probability `share` each."""
    log_choose = lgamma(runs + 1) - lgamma(count + 1) - lgamma(runs - count + 1)
    return log_choose + count * log(share) + (runs - count) * log1p(-share)


class ExtremesSeen:
    """Collects them."""

    def __init__(self) -> None:
        self._ends: tuple[dict[int, float], dict[int, float]] = {}, {}

    def add(self, run: int, low: float, high: float) -> None:
        """Note the extremes of a run; more than once where it has the argument several times."""
        for candidates, far in zip(self._ends, (-low, high), strict=True):
            candidates[run] = max(candidates.get(run, -inf), far)
            if len(candidates) > 2:
                del candidates[min(candidates, key=lambda known: (candidates[known], -known))]

    def of(self, runs: int) -> RunExtremes:
        """Return the extremes, seen among `runs` runs."""
        low, high = (sorted(((far, run) for run, far in extremes.items()), reverse=True) for extremes in self._ends)
        return RunExtremes(runs, tuple((-far, run) for far, run in low), tuple(high))
