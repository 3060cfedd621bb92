"""Bootstraps in reports: each call's in a row, and what they add to a program."""

from __future__ import annotations

from latticework.analysis.bootstrap_costs import BootstrapCost, BootstrapCosts
from latticework.instructions.reason import LoopWay, RefreshReason
from latticework.plan.schema import Plan
from latticework.plan.weighed import WeighedChain
from latticework.report.data import BootstrapCallRow, Bootstrapping
from latticework.report.lines import where_text
from latticework.report.quantities import count, duration, share, size
from latticework.words.shown import count_noun

HEADS = ("line", "where", "slots", "levels", "times", "time", "share", "first adds", "why")
WEIGHED_HEADS = ("chain weighed", "why", "ring", "levels", "iterations", "a run")


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
        plan.weighed,
    )


def _row(plan: Plan, call: BootstrapCost) -> BootstrapCallRow:
    places = [plan.locations[number] for number, _ in plan.shares(call.location)]
    kind = call.kind
    return BootstrapCallRow(
        ", ".join(dict.fromkeys(where_text(place) for place in places)),
        "; ".join(dict.fromkeys(place.text.strip() for place in places)),
        kind.slots, kind.count, kind.real, kind.iterations, kind.start.level, kind.end.level, call.times,
        call.seconds, call.encode_seconds, call.reason, "" if call.reason is None else reason_words(call.reason),
    )  # fmt: skip


def bootstrap_rows(found: Bootstrapping, whole: float) -> list[list[str]]:
    """A row for each call; `whole` is the time of a run."""
    reasons = _reasons(found)
    return [
        [row.text or "(no source)", row.where, _slots(row), f"{row.level} to {row.target_level}", count(row.times),
         duration(row.seconds), share(row.seconds, whole), duration(row.encode_seconds) if row.encode_seconds else "",
         str(1 + reasons.index(row.why)) if row.why else ""]
        for row in found.calls
    ]  # fmt: skip


def _slots(row: BootstrapCallRow) -> str:
    """2 x 4096 real, twice."""
    many = f"{count(row.ciphertexts)} x " if row.ciphertexts > 1 else ""
    twice = ", two iterations" if row.iterations > 1 else ""
    return f"{many}{count(row.slots)} {'real' if row.real else 'complex'}{twice}"


def reason_words(reason: RefreshReason) -> str:
    """Why a bootstrap stands where it does, in a sentence without its full stop."""
    iterations = "iteration" if reason.every == 1 else f"{reason.every} iterations"
    left = f"{reason.left} of {reason.most} levels left"
    start = f", from the {reason.first} on line {reason.first_line}" if reason.first_line else ""
    line = f" on line {reason.until_line}" if reason.until_line else ""
    end = {
        "bootstrap": f" to the next bootstrap{line}", "iteration": f" to the end of the {iterations}",
        "condition": f" to the end of the condition{line}", "result": " to the result",
    }[reason.until]  # fmt: skip
    spent = f"{reason.spent} spent behind it{start}{end}"
    if not reason.loop:
        return f"{left}, {spent}"
    often = "every iteration" if reason.every == 1 else f"once in {iterations}"
    return f"{left}, {spent}; {often} of the loop on line {reason.loop}" + (", which carries it" * reason.carried)


def loop_lines(found: Bootstrapping) -> list[str]:
    """What was weighed for each loop that bootstraps, in an iteration, and why it was not taken."""
    weighed = {(r.loop, r.ways): None for row in found.calls if (r := row.reason) is not None and r.ways}
    return [
        f"Weighed for the loop on line {line}, by what an iteration takes: "
        f"{'; '.join(_way_words(way, ways[0]) for way in ways)}."
        for line, ways in weighed
    ]


def _way_words(way: LoopWay, taken: LoopWay) -> str:
    """8 iterations a time, 1 bootstrap, 40.5 ms (taken)."""
    gap = "little quicker" if way.seconds < taken.seconds else "slower"
    if not way.every and way.seconds < taken.seconds:
        gap = "quicker by less than its code is worth"
    fate = "taken" if way == taken else gap
    often = "all iterations copied" if not way.every else count_noun(way.every, "iteration") + " a time"
    return f"{often}, {count_noun(way.bootstraps, 'bootstrap')}, {duration(way.seconds)} ({fate})"


def _reasons(found: Bootstrapping) -> list[str]:
    """What is said of bootstraps, each once."""
    return list(dict.fromkeys(row.why for row in found.calls if row.why))


def why_lines(found: Bootstrapping) -> list[str]:
    """Why bootstraps stand where they do, by the numbers in their rows."""
    return [f"{number}: {why}." for number, why in enumerate(_reasons(found), start=1)]


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


def weighed_rows(found: Bootstrapping) -> list[list[str]]:
    """A row for each chain that was compared: its set, what became of it, and what a run was predicted to take."""
    return [
        [each.name, _fate(each), count(each.ring_degree), count(each.levels), count(each.iterations),
         duration(each.seconds)]
        for each in found.weighed
    ]  # fmt: skip


def _fate(chain: WeighedChain) -> str:
    """Why a chain was taken or not."""
    if chain.chosen:
        return "taken"
    if chain.reached is not None:
        return f"reaches {chain.reached:g} bits"
    return "slower, bootstraps placed" if chain.is_placed else "roughly estimated"
