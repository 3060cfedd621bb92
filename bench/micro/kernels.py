"""Kernels on rows that stay where they are: time and cycles for each butterfly, term or coefficient."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.micro.checks import Checks
from bench.micro.cycles import Cycles
from bench.rows import Row
from latticework import _core

PRIME_BITS = 49
LIMBS = 32
SOURCES, TARGETS, TERMS = 8, 16, 4
MATRIX = 24  # rows and columns of weights
WIDE_CONVERSION = "base_convert to 24 limbs"
BYTES_OF = {"expand_uniform": "made", "import_residues": "packed", "export_residues": "packed"}


@dataclass(frozen=True)
class Work:
    """What a kernel is timed on: limbs that are read, limbs that are written, terms of a sum."""

    limbs: int = 1
    to: int = 0
    terms: int = 1
    unit: str = "coefficient"
    count: Callable[[int], float] = lambda degree: degree  # units a limb


def _butterflies(degree: int) -> float:
    return degree / 2 * (degree.bit_length() - 1)


def _base_convert(targets: int) -> Work:
    return Work(SOURCES, targets, 1, "term", lambda degree: degree * targets)


def _dot(terms: int) -> Work:
    return Work(terms=terms, unit="mac", count=lambda degree: degree * terms)


WORK: dict[str, Work] = {
    "ntt": Work(unit="butterfly", count=_butterflies),
    "intt": Work(unit="butterfly", count=_butterflies),
    "base_convert": _base_convert(TARGETS),
    "dot": _dot(TERMS),
    "integer_matmul": Work(terms=MATRIX, unit="mac", count=lambda degree: degree * MATRIX**2),
    "embed": Work(unit="butterfly", count=lambda degree: _butterflies(degree // 2)),
    "unembed": Work(unit="butterfly", count=lambda degree: _butterflies(degree // 2)),
}

SHAPES: dict[str, dict[str, Work]] = {  # other sizes of a kernel, by what its case is called
    "base_convert": {WIDE_CONVERSION: _base_convert(24)},
    "dot": {"dot of 5": _dot(5)},
}


@cache
def references() -> dict[tuple[str, str, str, int], dict[str, Any]]:
    """Figures of others by backend, kernel, metric and log2 of the ring degree."""
    content = json.loads((Path(__file__).parent / "references.json").read_text())
    found: dict[tuple[str, str, str, int], dict[str, Any]] = {}
    for part in content.values():
        if isinstance(part, dict):
            for row in part["rows"]:
                key = (row["backend"], row["kernel"], row["metric"], row["log2_degree"])
                found[key] = row | {"source": part["source"]}
    return found


def ring_of(log2_degree: int, backend: str, threads: int) -> _core.Ring:
    """A ring over primes just below 2^PRIME_BITS."""
    near = _core.primes_near(2.0**PRIME_BITS * (1 - 2.0**-20), 2 << log2_degree, 8 * LIMBS)
    primes = [p for p in near if p.bit_length() <= PRIME_BITS][:LIMBS]
    return _core.Ring(1 << log2_degree, primes, backend=backend, threads=threads)


def shapes(kernel: str) -> dict[str, Work]:
    """What a kernel is timed on, by what its case is called."""
    return {kernel: WORK.get(kernel, Work())} | SHAPES.get(kernel, {})


def kernel_rows(
    log2_degree: int, backend: str, threads: int, kernels: Sequence[str], repeats: int, cycles: Cycles
) -> Iterator[Row]:
    """Rows of every kernel at one ring degree on one backend; several threads share out limbs."""
    ring = ring_of(log2_degree, backend, threads)
    checks = Checks(ring)
    shaped = [(kernel, name, work) for kernel in kernels for name, work in shapes(kernel).items()]
    cycles_of: dict[str, float] = {}
    for kernel, name, work in shaped:
        limbs = work.limbs if work.to else max(work.limbs, threads)
        to = list(range(LIMBS - work.to, LIMBS)) if work.to else []
        loop = _core.KernelLoop(ring, kernel, list(range(limbs)), to, work.terms)
        found = cycles.measure(loop.run, repeats)
        cycles_of[name] = found.cycles
        checked = checks.of(kernel) if kernel in checks.table() else False
        rows = 1 if kernel in ("embed", "unembed") else limbs
        case = f"{name}, {backend}, N=2^{log2_degree}" + (f", {threads} threads" if threads > 1 else "")
        yield Row(case, "time a limb", "us", found.seconds / rows * 1e6, checked=checked)
        metric = f"cycles per {work.unit}"
        reference = references().get((backend, name, metric, log2_degree)) if threads == 1 else None
        yield Row(
            case,
            metric,
            "cycles",
            found.cycles / (work.count(ring.degree) * rows),
            reference["value"] if reference else None,
            reference["source"] if reference else None,
            reference["target"] if reference else None,
            checked=checked,
        )
        if kernel in BYTES_OF:
            words = ring.degree * (PRIME_BITS / 8 if BYTES_OF[kernel] == "packed" else 8)
            yield Row(
                case, f"bytes {BYTES_OF[kernel]}", "GB/s", words * rows / found.seconds / 1e9, better="higher",
                checked=checked,
            )  # fmt: skip
    if "base_convert" in kernels:  # what a target costs a backend that has read and scaled the sources already
        first, last = WORK["base_convert"], SHAPES["base_convert"][WIDE_CONVERSION]
        terms = (last.to - first.to) * first.limbs * ring.degree
        yield Row(
            f"base_convert by limb, {backend}, N=2^{log2_degree}" + (f", {threads} threads" if threads > 1 else ""),
            "cycles per term", "cycles", (cycles_of[WIDE_CONVERSION] - cycles_of["base_convert"]) / terms,
            checked=checks.of("base_convert"), note=f"{first.to} targets taken from {last.to}",
        )  # fmt: skip
