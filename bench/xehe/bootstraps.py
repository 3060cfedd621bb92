"""Bootstraps: T12, which warms up, and A14 with complex and with real slots."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.reports import Row
from bench.xehe.bounds import TARGETS
from bench.xehe.pairs import Pair, compared
from bench.xehe.place import Place
from latticework import ckks

CASES = (("T12", False), ("A14", False), ("A14", True))
SMALL = "T11"  # on a simulation
LEAST_BITS = {"T11": 24.5, "T12": 24.5, "A14": 24.0}  # of precision, root mean square
CALLS = 4  # before the host waits


def bootstrap_row(place: Place, name: str, real: bool) -> Row:
    """One set."""
    kind = "real" if real else "complex"
    chosen = name if place.is_timed else SMALL
    start = time.perf_counter()
    bootstrapper = ckks.Bootstrapper(chosen, real=real)
    pair = Pair.make(ckks, bootstrapper.parameters, place, required=bootstrapper.required_keys())
    random = np.random.default_rng(0)
    values: Any = random.uniform(-1, 1, bootstrapper.slots)
    if not real:
        values = values + 1j * random.uniform(-1, 1, bootstrapper.slots)
    x, at_home = (y.evaluator.level_to(y, bootstrapper.floor) for y in pair.encrypt(values))
    setup = time.perf_counter() - start
    error = pair.decryptor.decrypt(pair.host.bootstrap(at_home, bootstrapper)) - values
    bits = float(-np.log2(np.sqrt(np.mean(np.abs(error) ** 2) / (1 if real else 2))))
    assert bits >= LEAST_BITS[chosen], f"{chosen}: {bits:.2f} bits of precision"
    target = f"bootstrap {name}{', real' if real else ''}"
    moved = [1e9 * count for count in TARGETS.get(target, {}).get("gigabytes", [])]
    note = None if chosen == name else f"the set {chosen}, which is small and insecure"
    facts: dict[str, Any] = {"precision bits": round(bits, 2)}
    if place.is_timed:
        facts["setup, s"] = round(setup, 1)
    return compared(
        place, f"bootstrap {name}, {kind}, N = 2^{bootstrapper.parameters.ring_degree.bit_length() - 1}",
        lambda: pair.device.bootstrap(x, bootstrapper), lambda: pair.host.bootstrap(at_home, bootstrapper), moved,
        name=target, calls=CALLS, repeats=3, unit="ms", note=note, **facts,
    )  # fmt: skip


def rows(place: Place) -> Iterator[Row]:
    """A row for each; a simulation, which has one set for all, runs each kind of slots once."""
    for name, real in CASES if place.is_timed else CASES[1:]:
        yield bootstrap_row(place, name, real)
