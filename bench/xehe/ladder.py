"""The paper's ladder: forward transforms of 32K points, 1024 at a time, in each form that the build has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bench.reports import Row
from bench.xehe.bounds import bounded, transform_bytes
from bench.xehe.place import Place, counted
from bench.xehe.published import SOURCE, density, of_rung
from bench.xehe.rates import rates, ring_of
from latticework import _core

LOG_DEGREE, LIMBS, INSTANCES = 15, 8, 1024
ARITHMETICS = ("u64", "fp64")  # that of the paper first
OPERATIONS = {"u64": 10, "fp64": 9}  # of a butterfly: multiply-adds of 32-bit words; float64 operations
AS_BUILT = "as built"
TWO_QUEUES = "two queues on one device"
CALLS = 8


@dataclass(frozen=True)
class Rung:
    """A form of the transforms, and from how many queues they are called."""

    form: str
    queues: int = 1

    @property
    def name(self) -> str:
        """As rows have it; the paper's second tile is a second queue here."""
        return self.form if self.queues == 1 else f"{self.form}, {TWO_QUEUES}"

    @property
    def published(self) -> str:
        """As the paper's figures name it."""
        return self.form if self.queues == 1 else "two tiles"

    @property
    def radix(self) -> int | None:
        """Values that a thread holds; None where the form does not say so."""
        said = re.match(r"radix-(\d+)", self.form)
        return 2 if self.form == "naive" else int(said[1]) if said else None


def rungs(ring: Any) -> list[Rung]:
    """All that the build has, simplest first, then the one that is used from two queues."""
    names = _core.transform_names() if hasattr(_core, "transform_names") else []  # type: ignore[attr-defined]
    used = ring.transform if names else AS_BUILT
    return [*(Rung(name) for name in names or [AS_BUILT]), Rung(used, 2)]


def choose(ring: Any, rung: Rung) -> None:
    """Have a ring transform in the form of a rung."""
    if rung.form != AS_BUILT:
        ring.transform = rung.form


def passes(arithmetic: str, rung: Rung) -> int:
    """Kernels of a transform, each of which reads and writes every word: counted on a simulated device."""
    place = Place.of("sim", arithmetic)
    ring = ring_of(place.backend, LOG_DEGREE)
    choose(ring, rung)
    return int(place.counts(_core.TransformLoop(ring, [0]).run)["launches"])


def is_right(ring: Any) -> bool:
    """Whether a transform of a random polynomial is that of the host."""
    x = np.random.default_rng(0).integers(0, ring.primes[0], (1, 1, ring.degree), dtype=np.uint64)
    home = _core.Ring(ring.degree, ring.primes[:1])
    return np.array_equal(ring.ntt(x, [0]), home.ntt(x, [0]))


def figures(
    place: Place, arithmetic: str, rung: Rung, seconds: float, kernels: int, naive: float | None
) -> Iterator[Row]:
    """What a time says: speed-up, and shares of what arithmetic and memory could do."""
    case, found = f"{rung.name}, {arithmetic}", rates(place)
    assert found is not None
    if naive is not None:
        reference, both = of_rung("speedup_over_naive", rung.published)
        yield Row(case, "speed-up over naive", "", naive / seconds, reference, SOURCE if reference else None,
                  better="higher", details=both)  # fmt: skip
    operations = INSTANCES * LOG_DEGREE * OPERATIONS[arithmetic] << (LOG_DEGREE - 1)
    reference, both = of_rung("efficiency", rung.published)
    yield Row(case, "share of the arithmetic peak", "", operations / seconds / found.arithmetic[arithmetic], reference,
              SOURCE if reference else None, better="higher",
              details={"operations of a butterfly": OPERATIONS[arithmetic]} | both)  # fmt: skip
    moved = INSTANCES * transform_bytes(LOG_DEGREE, kernels)
    yield Row(case, "share of the bound of its passes", "", moved / found.copy / seconds, better="higher",
              details={"passes": kernels})  # fmt: skip


def rung_rows(place: Place, arithmetic: str, rung: Rung, naive: list[float]) -> Iterator[Row]:
    """One rung; the time of the first one is left for the others."""
    limbs, polys = (LIMBS, INSTANCES // LIMBS) if place.is_timed else (1, rung.queues)
    ring = ring_of(place.backend, LOG_DEGREE, limbs)
    choose(ring, rung)
    loop = _core.TransformLoop(ring, list(range(limbs)), polys, rung.queues)
    case, kernels, is_checked = f"{rung.name}, {arithmetic}", passes(arithmetic, rung), is_right(ring)
    if place.is_timed:
        seconds = place.seconds(partial(loop.run, CALLS)) / CALLS
        if rung.form == "naive":
            naive.append(seconds)
        moved = [INSTANCES * transform_bytes(LOG_DEGREE, kernels)]
        yield bounded(place, case, seconds, moved, checked=is_checked, passes=kernels)
        for row in figures(place, arithmetic, rung, seconds, kernels, naive[0] if naive else None):
            yield replace(row, checked=is_checked)
    else:
        note = f"{polys} of the {INSTANCES} transforms, on a simulated device"
        yield counted(case, place.counts(loop.run), note=note, checked=is_checked)
    if rung.radix is not None:
        reference, _ = of_rung("operational_density", rung.published)
        found = density(rung.radix, LOG_DEGREE, kernels)
        yield Row(case, "operational density", "a byte", found, reference, SOURCE if reference else None,
                  better="higher", checked=True, details={"passes": kernels})  # fmt: skip


def rows(place: Place) -> Iterator[Row]:
    """Every rung with every arithmetic, or the one that was asked for."""
    asked = place.device.arithmetic
    for arithmetic in ARITHMETICS if asked == "auto" else (asked,):
        there = Place.of(place.kind, arithmetic)
        naive: list[float] = []
        for rung in rungs(ring_of(there.backend, LOG_DEGREE)):
            yield from rung_rows(there, arithmetic, rung, naive)
