"""Bootstrapping beside a peer: one process after the other, since each needs most of a machine's memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench.peers.compare import TOLERANCES, Findings, Say, details
from bench.peers.environments import PEERS, Unavailable, environment
from bench.peers.process import Failed, Library
from bench.rows import Row

LOG2_DEGREE = 16
OURS = {"ours": "complex", "ours, real": "real"}  # side: its slots; OpenFHE's messages are real
FASTER, AIM = 6, 10
GIGA = 1e9
Figures = dict[str, float]
VALUES = ("rms_bits", "worst_bits", "peak_bytes", "levels_left", "level_bits", "key_bytes", "key_memory_bytes")
ROWS = (  # metric, figure, unit, divisor, better
    ("precision rms", "rms_bits", "bits", 1.0, "higher"),
    ("precision of the worst slot", "worst_bits", "bits", 1.0, "higher"),
    ("levels left", "levels_left", "", 1.0, "higher"),
    ("keys in files", "key_bytes", "GB", GIGA, "lower"),
    ("keys in memory", "key_memory_bytes", "GB", GIGA, "lower"),
    ("peak memory", "peak_bytes", "GB", GIGA, "lower"),
)


def measure(library: Library, rounds: int, clock: str) -> Figures:
    """A first run, then the median of `rounds`; what the library says about its result, keys and memory."""
    times = library.ask(op="bootstrap", seconds=0.0, least=rounds, most=rounds)[clock]
    values = {name: float(library.ask(value=name)["value"]) for name in VALUES}
    return values | {"seconds": median(times), "error": library.ask(check="bootstrap")["error"]}


def compare_boot(
    log2_degree: int, threads: int, rounds: int, peers: tuple[str, ...], say: Say
) -> tuple[Findings, dict[str, Figures]]:
    """Figures by library; what could not run is noted as skipped."""
    found, figures = Findings("boot", str(log2_degree), threads), {}
    clock = "cpu" if threads == 1 else "wall"
    arguments = ["boot", str(log2_degree)]
    sides = [*((name, None) for name in OURS), *((peer.name, peer) for peer in PEERS if peer.name in peers)]
    for name, peer in sides:
        say(f"bootstrap, N=2^{log2_degree}: {name}")
        try:
            python = Path(sys.executable) if peer is None else environment(peer)
            worker = "ours_boot_worker.py" if peer is None else peer.worker
            extra = [str(threads), OURS[name]] if peer is None else []
            with Library(name, python, worker, [*arguments, *extra], threads) as library:
                found.facts[name] = library.facts
                figures[name] = measure(library, rounds, clock)
        except (Unavailable, Failed) as error:
            found.skip("", name, str(error))
    return found, figures


def boot_rows(found: Findings, figures: dict[str, Figures]) -> Iterator[Row]:
    """Rows of our figures beside those of each peer."""
    peers = [name for name in figures if name not in OURS]
    for side, slots in OURS.items():
        case, ours = f"boot N=2^{found.name}, our slots {slots}", figures.get(side)
        if ours is None or not peers:
            why = "; ".join(f"{who}: {text}" for who, text in found.skipped.get("", {}).items())
            seconds = None if ours is None else ours["seconds"]
            yield Row(case, _time(found), "s", seconds, note=f"skipped: {why}", required=True)
            continue
        for peer in peers:
            yield from _beside(case, found, ours, peer, figures[peer], details(found, peer, side))


def _time(found: Findings) -> str:
    return f"bootstrap, {found.threads} thread{'s' if found.threads > 1 else ''}"


def _beside(
    case: str, found: Findings, ours: Figures, peer: str, theirs: Figures, facts: dict[str, Any]
) -> Iterator[Row]:
    right = all(side["error"] <= TOLERANCES["boot"] for side in (ours, theirs))
    source = f"{found.facts[peer]['library']}, same run, one after the other"
    wanted = {
        "times_faster_wanted": FASTER,
        "times_faster_aimed_at": AIM,
        "errors": [ours["error"], theirs["error"]],
    }
    yield Row(
        case, _time(found), "s", ours["seconds"], theirs["seconds"], source, theirs["seconds"] / FASTER, checked=right,
        details=facts | wanted, required=True,
    )  # fmt: skip
    left, theirs_left = ours["levels_left"], theirs["levels_left"]
    yield Row(
        case, "time for each level left", "s", ours["seconds"] / left, theirs["seconds"] / theirs_left, source,
        checked=right, details=facts,
    )  # fmt: skip
    bits, theirs_bits = left * ours["level_bits"], theirs_left * theirs["level_bits"]
    yield Row(
        case, "time for each bit of modulus left", "ms", 1e3 * ours["seconds"] / bits,
        1e3 * theirs["seconds"] / theirs_bits, source, checked=right, details=facts,
    )  # fmt: skip
    for metric, figure, unit, divisor, better in ROWS:
        yield Row(
            case, metric, unit, ours[figure] / divisor, theirs[figure] / divisor, source, better=better,
            checked=right, details=facts,
        )  # fmt: skip
