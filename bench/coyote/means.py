"""Figures over all rows of Table 1, where all of them are there; else over those that are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import exp, log
from typing import Any

from bench.coyote.cases import TABLE_1
from bench.coyote.outcomes import LEAST, Outcome
from bench.coyote.published import COYOTE, LARGE
from bench.rows import Row

ROWS, MEASURED = 39, 18  # of Table 1, and of Table 3, which has the published speed-ups
SHARE, COMPILE_RATIO, SPEEDUP = 0.5, 100.0, 1.5  # geometric means wanted, beside the published figures
ALL_COMPILE_SECONDS = 60.0
LARGE_ROTATIONS = 70.0


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers."""
    return exp(sum(log(value) for value in values) / len(values))


class Means:
    """The rows of Table 1 that were found."""

    def __init__(self, found: Sequence[Outcome]) -> None:
        rows = [x for x in found if x.case.table == TABLE_1]
        self.done = [x for x in rows if x.failure is None]
        failed = [x.case.name for x in rows if x.failure is not None]
        self.note = f"without {', '.join(failed)}" if failed else None
        self.title = f"table 1, {len(self.done)} rows"

    def rows(self) -> Iterator[Row]:
        """All figures."""
        if self.done:
            yield from self._counts()
            yield from self._compile()
            yield from self._speedups()

    def _counts(self) -> Iterator[Row]:
        shares = [x.share for x in self.done if x.share is not None]
        zeros = sum(x.moves == 0 for x in self.done)
        yield self._row(
            "rotations + blends, ours by published, geometric mean", "x", geometric_mean(shares), None, SHARE,
            details={"rows at zero": zeros, "a zero counts as": LEAST},
        )  # fmt: skip
        yield self._number("rows with more rotations + blends than published", (share > 1 for share in shares))
        muls = [(x.counts["muls"], x.case.published.muls) for x in self.done if x.case.published is not None]
        more = (theirs is not None and ours > theirs for ours, theirs in muls)
        yield self._number("rows with more ciphertext products than published", more)
        used = ((x.ciphertexts or 0) > x.case.ciphertexts or (x.slots or 0) > x.case.slots for x in self.done)
        yield self._number("rows with more ciphertexts or slots than their class", used)
        for x in self.done:
            if x.case.name == LARGE and x.case.published is not None:
                ours, theirs = float(x.counts["rotations"]), float(x.case.published.rotations)
                yield Row(LARGE, "rotations", "", ours, theirs, COYOTE, LARGE_ROTATIONS, checked=x.is_right)

    def _compile(self) -> Iterator[Row]:
        times = [
            (x.compile_seconds, x.case.published.compile_seconds)
            for x in self.done
            if x.compile_seconds and x.case.published and x.case.published.compile_seconds
        ]
        ratio = geometric_mean([theirs / ours for ours, theirs in times])
        title = "compile, published by ours, geometric mean"
        yield self._row(title, "x", ratio, None, COMPILE_RATIO, better="higher")
        ours, theirs = (sum(column) for column in zip(*times, strict=True))
        yield self._row("compile, sum", "s", ours, theirs, ALL_COMPILE_SECONDS)

    def _speedups(self) -> Iterator[Row]:
        speedups = [(x.speedup, x.case) for x in self.done if x.speedup is not None]
        if not speedups:
            return
        yield self._number("rows slower than scalar code", (ours < 1 for ours, _ in speedups))
        title = "speed-up over scalar code, geometric mean"
        yield self._row(title, "x", geometric_mean([ours for ours, _ in speedups]), None, None, better="higher")
        table3 = [(ours, case.published) for ours, case in speedups if case.name != LARGE]  # that one is of the text
        both = [(ours, known.speedup) for ours, known in table3 if known is not None and known.speedup]
        if both:
            mean, theirs = (geometric_mean(column) for column in zip(*both, strict=True))
            yield self._row(
                f"speed-up over scalar code, {len(both)} rows of table 3, geometric mean", "x", mean, theirs,
                SPEEDUP * theirs if len(both) == MEASURED else None, better="higher",
            )  # fmt: skip

    def _number(self, metric: str, is_counted: Iterable[bool]) -> Row:
        return self._row(metric, "", float(sum(is_counted)), None, 0.0)

    def _row(
        self, metric: str, unit: str, ours: float, reference: float | None, target: float | None, **more: Any
    ) -> Row:
        source = None if reference is None else COYOTE
        goal = target if len(self.done) == ROWS or target == 0 else None
        return Row(
            self.title, metric, unit, ours, reference, source, goal,
            checked=all(x.is_right for x in self.done), note=self.note, **more,
        )  # fmt: skip
