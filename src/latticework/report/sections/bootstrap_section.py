"""Bootstraps: each call's in a row, why it stands there, what they add to a program, and which chains were weighed."""

from __future__ import annotations

from typing import Annotated

from latticework.errors.shown import count_noun
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.bootstrap_costs import BootstrapCost, BootstrapCosts
from latticework.plan.instructions.reason import LoopStrategy, RefreshReason
from latticework.plan.schema.considered_chains import WeighedChain
from latticework.plan.schema.schema import Plan
from latticework.report.blocks import Section, Words, absent, code, place
from latticework.report.figure_labels import Column, Within, describe, number, table
from latticework.report.quantities import count, duration, share, size
from latticework.report.sections.time_section import if_any
from latticework.report.source_places import where_text


def _slots(row: BootstrapCallRow) -> str:
    """2 x 4096 real, twice."""
    many = f"{count(row.ciphertexts)} x " if row.ciphertexts > 1 else ""
    twice = ", two iterations" if row.iterations > 1 else ""
    return f"{many}{count(row.slots)} {'real' if row.real else 'complex'}{twice}"


@dataclass(frozen=True, slots=True)
class BootstrapCallRow:
    """The bootstraps of one call.

    where, text    of the lines that call;  times: how often that runs
    ciphertexts    bootstrapped each time
    level          where it starts;  target_level: where it ends
    seconds        of all of them in a later run;  encode_seconds: what the first run adds
    reason         why it stands there, and the same in words;  None and "": nothing was noted
    """

    where: Annotated[str, Column("where", place)]
    text: Annotated[str, Column("line", code)]
    slots: Annotated[int, Column("slots", row=_slots)]
    ciphertexts: Annotated[int, Within("slots")]
    real: Annotated[bool, Within("slots")]
    iterations: Annotated[int, Within("slots")]
    level: Annotated[int, Column("levels", row=lambda row: f"{row.level} to {row.target_level}", number=True)]
    target_level: Annotated[int, Within("level")]
    times: Annotated[int, number("times", count, total=True)]
    seconds: Annotated[float, number("time", duration, total=True)]
    encode_seconds: Annotated[float, number("first adds", if_any)]
    reason: Annotated[RefreshReason | None, Within("the sentences below")] = None
    why: Annotated[str, number("why")] = ""


@dataclass(frozen=True, slots=True)
class Bootstrapping:
    """All bootstraps of a run.

    number        of ciphertexts that are bootstrapped;  seconds: of a later run
    num_keys      that nothing else reads, and their bytes
    failure_log2  log2 of the probability, at most, that some slot of one of them is wrong
    weighed       the chains that were compared; none where there was no choice
    """

    calls: tuple[BootstrapCallRow, ...]
    number: int
    seconds: float
    num_keys: int
    stored_bytes: int
    resident_bytes: int
    failure_log2: float
    weighed: tuple[WeighedChain, ...] = ()


def _fate(chain: WeighedChain) -> str:
    """Tell why a chain was taken or not."""
    if chain.chosen:
        return "taken"
    if chain.reached is not None:
        return f"reaches {chain.reached:g} bits"
    return "slower, bootstraps placed" if chain.is_placed else "roughly estimated"


_WEIGHED = describe(
    WeighedChain,
    name=Column("chain weighed"),
    is_placed=Column("why", row=_fate),
    ring_degree=number("ring", count),
    levels=number("levels", count),
    iterations=number("iterations", count),
    seconds=number("a run", duration),
    reached=Within("is_placed"),
    chosen=Within("is_placed"),
)


def bootstrap_sections(found: Bootstrapping | None, whole: float) -> tuple[Section, ...]:
    """The calls, why they stand where they do, and the chains that were weighed; `whole` is the time of a run."""
    if found is None:
        return absent("bootstraps")
    reasons = list(dict.fromkeys(row.why for row in found.calls if row.why))
    number_of = number("why", lambda why: str(1 + reasons.index(why)) if why else "")
    part = Column("share", row=lambda row: share(row.seconds, whole), number=True, total=True)
    calls = table(
        "", BootstrapCallRow, found.calls, summed=found.calls, replaced={"why": number_of},
        after={"seconds": part}, first=("text", "where"),
    )  # fmt: skip
    said = (*(f"{place}: {why}." for place, why in enumerate(reasons, start=1)), *loop_lines(found))
    words = Words((bootstrap_words(found, whole),), data={"bootstraps": found})
    blocks = (calls, Words(said, "list"), words, table("", WeighedChain, found.weighed, columns=_WEIGHED))
    return (Section("Bootstraps", blocks, "of later runs"),)


def reason_words(reason: RefreshReason) -> str:
    """Tell why a bootstrap stands where it does, in a sentence without its full stop."""
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
    """List what was weighed for each loop that bootstraps, in an iteration, and why it was not taken."""
    weighed = {(r.loop, r.ways): None for row in found.calls if (r := row.reason) is not None and r.ways}
    return [
        f"Weighed for the loop on line {line}, by what an iteration takes: "
        f"{'; '.join(_way_words(way, ways[0]) for way in ways)}."
        for line, ways in weighed
    ]


def _way_words(way: LoopStrategy, taken: LoopStrategy) -> str:
    """8 iterations a time, 1 bootstrap, 40.5 ms (taken)."""
    gap = "little quicker" if way.seconds < taken.seconds else "slower"
    if not way.every and way.seconds < taken.seconds:
        gap = "quicker by less than its code is worth"
    fate = "taken" if way == taken else gap
    often = "all iterations copied" if not way.every else count_noun(way.every, "iteration") + " a time"
    return f"{often}, {count_noun(way.bootstraps, 'bootstrap')}, {duration(way.seconds)} ({fate})"


def bootstrap_words(found: Bootstrapping, whole: float) -> str:
    """Describe what bootstraps take and add, in a sentence."""
    ciphertexts = "ciphertext is" if found.number == 1 else "ciphertexts are"
    failing = "less than 2^-1000" if found.failure_log2 < -1000 else f"2^{found.failure_log2:.1f}"
    return (
        f"{count(found.number)} {ciphertexts} bootstrapped in a run, {share(found.seconds, whole)} of its time. "
        f"{count(found.num_keys)} keys serve bootstraps alone: {size(found.stored_bytes)} to send, "
        f"{size(found.resident_bytes)} in memory. Some slot of one of them is wrong with a probability of at most "
        f"{failing}."
    )


def bootstrapping(plan: Plan, costs: BootstrapCosts | None) -> Bootstrapping | None:
    """Make the report's record of a plan's bootstraps; None where there are none."""
    if costs is None:
        return None
    manifest = plan.client.manifest
    return Bootstrapping(
        tuple(_call_row(plan, call) for call in costs.calls),
        sum(call.times * call.kind.count for call in costs.calls),
        costs.seconds,
        len(costs.keys),
        sum(manifest.bytes_stored[key] for key in costs.keys),
        sum(manifest.bytes_resident[key] for key in costs.keys),
        costs.failure_log2,
        plan.weighed,
    )


def _call_row(plan: Plan, call: BootstrapCost) -> BootstrapCallRow:
    places = [plan.locations[number] for number, _ in plan.shares(call.location)]
    kind = call.kind
    return BootstrapCallRow(
        ", ".join(dict.fromkeys(where_text(place) for place in places)),
        "; ".join(dict.fromkeys(place.text.strip() for place in places)),
        kind.slots, kind.count, kind.real, kind.iterations, kind.start.level, kind.end.level, call.times,
        call.seconds, call.encode_seconds, call.reason, "" if call.reason is None else reason_words(call.reason),
    )  # fmt: skip
