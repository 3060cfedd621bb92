"""Rows that compare our core with the peers on one parameter set."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.peers.environments import PEERS, Unavailable, environment
from bench.peers.installation import NATIVE, Native
from bench.peers.process import Failed, Library
from bench.peers.turns import Duel, Effort, duel
from bench.rows import Row, rounded
from latticework.plan.parameters import modulus_limit_bits

TARGETS: Mapping[str, Mapping[str, float]] = {  # scheme -> operation -> how many times faster than the best peer
    "ckks": {"rotate": 4, "mul_relin_rescale": 4, "rotate_8_hoisted": 4, "matvec": 4},
    "bfv": {"mul_relin": 3, "rotate": 3},
    "ntt": {},
}
TOLERANCES = {"ckks": 2.0**-12, "bfv": 0.0, "boot": 2.0**-10, "ntt": 2.0**-12}
SIZES = ("key_bytes", "ciphertext_bytes")
ABOUT_SIZES = "one rotation key (ours: seeded, in a file)"
Say = Callable[[str], None]


@dataclass
class Findings:
    """What the passes against all peers found about one set."""

    scheme: str
    name: str
    threads: int
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    duels: dict[str, dict[str, Duel]] = field(default_factory=dict)  # operation -> peer -> medians
    sizes: dict[str, dict[str, float]] = field(default_factory=dict)  # size -> library -> bytes
    skipped: dict[str, dict[str, str]] = field(default_factory=dict)  # operation ("" for all) -> peer -> why

    def skip(self, operation: str, peer: str, why: str) -> None:
        """Note what could not be compared."""
        self.skipped.setdefault(operation, {})[peer] = why


def compare(
    scheme: str, name: str, threads: int, effort: Effort, peers: tuple[str, ...], say: Say, native: Native | None = None
) -> Findings:
    """Our core against each peer in turn; one peer is in memory at a time.

    native  the user's own OpenFHE, which is timed on sets of CKKS
    """
    found = Findings(scheme, name, threads)
    clock = "cpu" if threads == 1 else "wall"
    with ExitStack() as stack:
        try:
            ours = stack.enter_context(
                Library("ours", Path(sys.executable), "ours_worker.py", [scheme, name, str(threads)], threads)
            )
        except Failed as error:
            found.skip("", "ours", str(error))
            return found
        found.facts["ours"] = ours.facts
        for peer, start in _starts(scheme, name, threads, peers, native):
            try:
                say(f"{scheme} {name}: {peer} makes its keys")
                with start() as theirs:
                    found.facts[peer] = theirs.facts
                    _pass(found, ours, theirs, effort, clock, say)
            except (Unavailable, Failed) as error:
                found.skip("", peer, str(error))
    return found


def _starts(
    scheme: str, name: str, threads: int, peers: tuple[str, ...], native: Native | None
) -> Iterator[tuple[str, Callable[[], Library]]]:
    """Peers by name, and what starts each of them."""
    for peer in PEERS:
        if peer.name in peers:
            yield (
                peer.name,
                lambda peer=peer: Library(peer.name, environment(peer), peer.worker, [scheme, name], threads),
            )
    if native is not None and scheme == "ckks":
        yield NATIVE, lambda: native.ckks(name, threads)


def _pass(found: Findings, ours: Library, theirs: Library, effort: Effort, clock: str, say: Say) -> None:
    for operation in theirs.operations:
        if operation not in ours.operations:
            found.skip(operation, "ours", "our worker does not offer it")
            continue
        say(f"{found.scheme} {found.name}: {operation}, {theirs.name}")
        try:
            if operation in SIZES:
                for side in (ours, theirs):
                    found.sizes.setdefault(operation, {})[side.name] = side.ask(value=operation)["value"]
            else:
                tolerance = TOLERANCES[found.scheme]
                found.duels.setdefault(operation, {})[theirs.name] = duel(
                    ours, theirs, operation, effort, clock, tolerance
                )
        except Failed as error:
            found.skip(operation, theirs.name, str(error))
            if theirs.process.poll() is not None or ours.process.poll() is not None:
                raise


def rows(found: Findings) -> Iterator[Row]:
    """A row for every operation, against the fastest peer, and one for each slower peer."""
    case = f"{found.scheme} {found.name}"
    targets = TARGETS[found.scheme]
    missing = "; ".join(f"{who}: {why}" for who, why in found.skipped.get("", {}).items()) or None
    for operation in [*found.duels, *(name for name in targets if name not in found.duels)]:
        duels = found.duels.get(operation, {})
        metric = f"{operation}, {found.threads} thread{'s' if found.threads > 1 else ''}"
        reasons = [missing] if missing else []
        reasons += [f"{who}: {why}" for who, why in found.skipped.get(operation, {}).items()]
        note = "; ".join(reasons) or None
        if not duels:
            yield Row(case, metric, "ms", None, note=f"skipped: {note}", required=operation in targets)
            continue
        for place, (peer, result) in enumerate(sorted(duels.items(), key=lambda item: item[1].theirs)):
            yield _row(found, case, metric, operation, peer, result, place == 0, note)
    for size, values in found.sizes.items():
        for peer, value in values.items():
            if peer != "ours":
                yield Row(
                    case, size.removesuffix("_bytes") + " size", "MB", values["ours"] / 1e6, value / 1e6,
                    f"{found.facts[peer]['library']}, same run", details=details(found, peer),
                    note=ABOUT_SIZES if size == "key_bytes" else "two polynomials, in a file",
                )  # fmt: skip


def _row(
    found: Findings, case: str, metric: str, operation: str, peer: str, result: Duel, is_best: bool, note: str | None
) -> Row:
    factor = TARGETS[found.scheme].get(operation) if is_best else None
    per = found.facts["ours"].get("rows", 1) if found.scheme == "ntt" else 1
    ours, theirs = result.ours * 1e3 / per, result.theirs * 1e3 / per
    facts = details(found, peer)
    facts |= {"times_faster_wanted": factor, "runs": list(result.runs), "errors": list(result.errors)}
    for side, milliseconds in (("ours", ours), (peer, theirs)):
        bits = found.facts[side].get("log2_q") or found.facts[side].get("prime_bits")
        if operation == "matvec":
            facts[side]["matvec"] = found.facts[side].get("matvec")
        if bits:
            facts[side]["us_per_modulus_bit"] = rounded(1e3 * milliseconds / bits)
    library = f"{found.facts[peer]['library']}, same run, in turns"
    return Row(
        case,
        f"{metric}, a limb" if found.scheme == "ntt" else metric,
        "ms",
        ours,
        theirs,
        f"{library} (the faster peer)" if is_best and len(found.duels[operation]) > 1 else library,
        target=None if factor is None else theirs / factor,
        checked=result.checked,
        note=note,
        details=facts,
        required=factor is not None,
    )


def details(found: Findings, peer: str, side_of_ours: str = "ours") -> dict[str, Any]:
    """Facts about both sides that belong beside every figure; `side_of_ours` where there is more than one."""
    kept = ("order", "digits", "limbs", "special_limbs", "log2_q", "log2_qp", "security_bits", "prime_bits", "settings")
    shown: dict[str, Any] = {}
    for name, side in (("ours", side_of_ours), (peer, peer)):
        facts = found.facts[side]
        shown[name] = {k: facts[k] for k in kept if k in facts}
        if "log2_qp" in facts:
            shown[name]["secure"] = is_secure(facts)
    return shown


def is_secure(facts: Mapping[str, Any]) -> bool:
    """Whether a side has 128 bits of security, by one table for all; without QP there is nothing to break."""
    if "log2_qp" not in facts:
        return True
    limit = modulus_limit_bits(1 << facts["log2_degree"], 128)
    return limit is not None and facts["log2_qp"] <= limit
