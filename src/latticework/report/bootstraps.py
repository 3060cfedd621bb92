"""Bootstraps in reports: each call's in a row, and what they add to a program."""

from __future__ import annotations

from latticework.analysis.bootstrap_costs import BootstrapCost, BootstrapCosts
from latticework.plan.schema import Plan
from latticework.report.data import BootstrapCallRow, Bootstrapping
from latticework.report.lines import where_text
from latticework.report.quantities import count, duration, share, size

HEADS = ("line", "where", "slots", "levels", "times", "time", "share", "first adds")


def bootstrapping(plan: Plan, costs: BootstrapCosts | None) -> Bootstrapping | None:
    """What a report says of the bootstraps of a plan; None where there are none."""
    if costs is None:
        return None
    manifest = plan.client.manifest
    return Bootstrapping(
        tuple(_row(plan, call) for call in costs.calls),
        sum(call.times * call.kind.count for call in costs.calls),
        costs.seconds,
        len(costs.keys),
        sum(manifest.bytes_stored[key] for key in costs.keys),
        sum(manifest.bytes_resident[key] for key in costs.keys),
        costs.failure_log2,
    )


def _row(plan: Plan, call: BootstrapCost) -> BootstrapCallRow:
    places = [plan.locations[number] for number, _ in plan.shares(call.location)]
    kind = call.kind
    return BootstrapCallRow(
        ", ".join(dict.fromkeys(where_text(place) for place in places)),
        "; ".join(dict.fromkeys(place.text.strip() for place in places)),
        kind.slots, kind.count, kind.real, kind.iterations, kind.start.level, kind.end.level, call.times,
        call.seconds, call.encode_seconds,
    )  # fmt: skip


def bootstrap_rows(found: Bootstrapping, whole: float) -> list[list[str]]:
    """A row for each call; `whole` is the time of a run."""
    return [
        [row.text or "(no source)", row.where, _slots(row), f"{row.level} to {row.target_level}", count(row.times),
         duration(row.seconds), share(row.seconds, whole), duration(row.encode_seconds) if row.encode_seconds else ""]
        for row in found.calls
    ]  # fmt: skip


def _slots(row: BootstrapCallRow) -> str:
    """2 x 4096 real, twice."""
    many = f"{count(row.ciphertexts)} x " if row.ciphertexts > 1 else ""
    twice = ", two iterations" if row.iterations > 1 else ""
    return f"{many}{count(row.slots)} {'real' if row.real else 'complex'}{twice}"


def bootstrap_words(found: Bootstrapping, whole: float) -> str:
    """What they take and add, in a sentence."""
    ciphertexts = "ciphertext is" if found.number == 1 else "ciphertexts are"
    failing = "less than 2^-1000" if found.failure_log2 < -1000 else f"2^{found.failure_log2:.1f}"
    return (
        f"{count(found.number)} {ciphertexts} bootstrapped in a run, {share(found.seconds, whole)} of its time. "
        f"{count(found.num_keys)} keys serve bootstraps alone: {size(found.stored_bytes)} to send, "
        f"{size(found.resident_bytes)} in memory. Some slot of one of them is wrong with a probability of at most "
        f"{failing}."
    )
