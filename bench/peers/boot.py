"""Bootstrapping beside a peer: one process after the other, since each needs most of a machine's memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench.peers.compare import TOLERANCES, Findings, Say, details
from bench.peers.environments import PEERS, Peer, Unavailable, environment
from bench.peers.installation import NATIVE, Native
from bench.peers.process import Failed, Library
from bench.rows import Row

LOG2_DEGREE = 16
OURS = {"ours": "complex", "ours, real": "real"}  # side: its slots; OpenFHE's messages are real
FASTER, AIM = 6, 10  # times, than a wheel
FASTER_A_BIT = 4  # times a bit of modulus left, than what was built for this machine
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
    log2_degree: int,
    threads: int,
    rounds: int,
    peers: tuple[str, ...],
    say: Say,
    native: Native | None = None,
) -> tuple[Findings, dict[str, Figures]]:
    """Figures by library; what could not run is noted as skipped.

    native  the user's own OpenFHE, which is given as many levels as leave our number of bits of modulus
    """
    found, figures = Findings("boot", str(log2_degree), threads), {}
    clock = "cpu" if threads == 1 else "wall"
    for name, start in _sides(log2_degree, threads, peers, native, figures):
        say(f"bootstrap, N=2^{log2_degree}: {name}")
        try:
            with start() as library:
                found.facts[name] = library.facts
                figures[name] = measure(library, rounds, clock)
        except (Unavailable, Failed) as error:
            found.skip("", name, str(error))
    return found, figures


def _sides(
    log2_degree: int, threads: int, peers: tuple[str, ...], native: Native | None, figures: dict[str, Figures]
) -> Iterator[tuple[str, Callable[[], Library]]]:
    """Libraries by name, and what starts each; ours first, from whose figures the levels of others follow."""
    arguments = ["boot", str(log2_degree)]
    for name, slots in OURS.items():
        words = [*arguments, str(threads), slots]
        yield name, partial(Library, name, Path(sys.executable), "ours_boot_worker.py", words, threads)
    for peer in PEERS:
        if peer.name in peers:
            yield peer.name, partial(_of_wheel, peer, arguments, threads)
    for name, slots in OURS.items():
        if native is not None and name in figures:
            yield f"{NATIVE}, {slots}", partial(native.boot, log2_degree, slots, bits_left(figures[name]), threads)


def _of_wheel(peer: Peer, arguments: list[str], threads: int) -> Library:
    return Library(peer.name, environment(peer), peer.worker, arguments, threads)


def bits_left(figures: Figures) -> float:
    """Of modulus, that products may spend between a bootstrap and the next."""
    return figures["levels_left"] * figures["level_bits"]


def boot_rows(found: Findings, figures: dict[str, Figures]) -> Iterator[Row]:
    """Rows of our figures beside those of each peer."""
    for side, slots in OURS.items():
        case, ours = f"boot N=2^{found.name}, our slots {slots}", figures.get(side)
        others = [f"{NATIVE}, {kind}" for kind in OURS.values() if kind != slots]
        peers = [name for name in figures if name not in (*OURS, *others)]
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
    is_native = peer.startswith(NATIVE)
    order = found.facts[peer].get("order")
    source = ", ".join(filter(None, (found.facts[peer]["library"], order, "same run, one after the other")))
    errors: dict[str, Any] = {"errors": [ours["error"], theirs["error"]]}
    wanted = {} if is_native else {"times_faster_wanted": FASTER, "times_faster_aimed_at": AIM}
    yield Row(
        case, _time(found), "s", ours["seconds"], theirs["seconds"], source,
        None if is_native else theirs["seconds"] / FASTER, checked=right, details=facts | errors | wanted,
        required=not is_native,
    )  # fmt: skip
    left, theirs_left = ours["levels_left"], theirs["levels_left"]
    yield Row(
        case, "time for each level left", "s", ours["seconds"] / left, theirs["seconds"] / theirs_left, source,
        checked=right, details=facts,
    )  # fmt: skip
    each, theirs_each = (1e3 * side["seconds"] / bits_left(side) for side in (ours, theirs))
    yield Row(
        case, "time for each bit of modulus left", "ms", each, theirs_each, source,
        theirs_each / FASTER_A_BIT if is_native else None, checked=right, details=facts, required=is_native,
        note=f"{_described(ours)}; theirs {_described(theirs)}",
    )  # fmt: skip
    for metric, figure, unit, divisor, better in ROWS:
        yield Row(
            case, metric, unit, ours[figure] / divisor, theirs[figure] / divisor, source, better=better,
            checked=right, details=facts,
        )  # fmt: skip


def _described(side: Figures) -> str:
    """What a bootstrap leaves, and how precisely."""
    return (
        f"{side['levels_left']:g} levels of {side['level_bits']:.0f} bits left, precise to {side['rms_bits']:.1f} bits "
        f"rms, {side['worst_bits']:.1f} at worst"
    )
