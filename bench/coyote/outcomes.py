"""What was found for a case, and as rows of a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bench.coyote.cases import TABLE_1, Case
from bench.coyote.published import LARGE
from bench.rows import Row

COMPILE_SECONDS = {"fast": 1.0, "normal": 1.0, "max": 60.0}
LARGE_COMPILE_SECONDS = 5.0
LEAST_SPEEDUP = 1.0  # over scalar code, where none is published
LEAST = 0.5  # what a count of zero enters a geometric mean as


@dataclass
class Outcome:
    """A case, compiled and run.

    counts             operations of the vector code: adds, muls, rotations, blends, masks, muls by constants
    ciphertexts, slots of the client, as used
    compile_seconds    of `lw.compile`
    predicted          seconds of a run on one thread
    vector, scalar     median seconds of a run
    by_hand            the same of an expert's code, for Table 2
    is_right           the results were those of Python's integers: decrypted, or simulated if nothing was encrypted
    was_encrypted      whether it was run encrypted
    failure            why there is nothing more
    """

    case: Case
    counts: dict[str, int] = field(default_factory=dict)
    ciphertexts: int | None = None
    slots: int | None = None
    compile_seconds: float | None = None
    predicted: float | None = None
    vector: float | None = None
    scalar: float | None = None
    by_hand: float | None = None
    by_hand_rotations: int | None = None
    is_right: bool = False
    was_encrypted: bool = False
    failure: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def moves(self) -> int | None:
        """Rotations and blends together."""
        return None if not self.counts else self.counts["rotations"] + self.counts["blends"]

    @property
    def speedup(self) -> float | None:
        """Of vector code over scalar code, measured in turns."""
        return None if self.vector is None or self.scalar is None else self.scalar / self.vector

    @property
    def share(self) -> float | None:
        """Rotations and blends by those that are published; neither counts as less than a half."""
        published = self.case.published
        if self.moves is None or published is None:
            return None
        return max(self.moves, LEAST) / max(published.rotations + (published.blends or 0), LEAST)


def rows_of(found: Outcome, effort: str) -> Iterator[Row]:
    """A case as rows."""
    case, counts, published = found.case, found.case.counts, found.case.published
    if found.failure is not None:
        yield Row(case.name, "rotations + blends", "", None, note=found.failure, required=True)
        return
    source = None if published is None else published.source
    limit = LARGE_COMPILE_SECONDS if case.name == LARGE else COMPILE_SECONDS[effort] if case.table == TABLE_1 else None

    def row(metric: str, unit: str, ours: float | None, theirs: float | None, target: float | None, **more: Any) -> Row:
        given = None if theirs is None else source
        return Row(
            case.name, metric, unit, None if ours is None else float(ours), theirs, given, target,
            checked=found.is_right, **more,
        )  # fmt: skip

    details = {"vector": found.counts, "scalar adds, muls": [counts.adds, counts.muls]}
    details["scalar adds, muls, equal ones shared"] = [counts.shared_adds, counts.shared_muls]
    moves = None if published is None else float(published.rotations + (published.blends or 0))
    muls = None if published is None or published.muls is None else float(published.muls)
    if published is not None:
        details["published rotations, blends"] = [published.rotations, published.blends]
    yield row("rotations + blends", "", found.moves, moves, moves, details=details | found.facts)
    yield row("ciphertext products", "", found.counts["muls"], muls, muls)
    yield row(
        "masks and products with constants", "", found.counts["masks"] + found.counts["mul_constants"], None, None
    )
    yield row("client ciphertexts", "", found.ciphertexts, None, float(case.ciphertexts))
    yield row("client slots", "", found.slots, None, float(case.slots))
    yield row("compile", "s", found.compile_seconds, published.compile_seconds if published else None, limit)
    if found.predicted is not None:
        yield row("run, predicted on one thread", "ms", 1e3 * found.predicted, None, None)
    if found.vector is not None and found.scalar is not None:
        yield row(
            "run", "ms", 1e3 * found.vector, None, None, details={"scalar code, ms": round(1e3 * found.scalar, 4)}
        )
        theirs = published.speedup if published else None
        yield row("speed-up over scalar code", "x", found.speedup, theirs, theirs or LEAST_SPEEDUP, better="higher")
    if found.vector is not None and found.by_hand is not None:
        yield Row(
            case.name, "run, beside code by hand", "ms", 1e3 * found.vector, 1e3 * found.by_hand, "by hand, same run",
            checked=found.is_right, details={"rotations by hand": found.by_hand_rotations},
        )  # fmt: skip
