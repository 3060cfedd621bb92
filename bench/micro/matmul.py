"""Products of integer matrices and residues against what the processor does of float64 multiply-adds."""

from __future__ import annotations

from collections.abc import Iterator

from bench.micro.checks import Checks
from bench.micro.cycles import Cycles
from bench.rows import Row
from latticework import _core

PRODUCT = "integer_matmul"
SIZE, LOG2_DEGREE = 1024, 12  # rows and columns of weights of a byte, words of a limb
PEAK_STEPS = 1 << 18
LEAST_SHARE = 0.6
WIDTHS = (30, 49)  # bits of primes: residues whole, and in two parts


def product_rows(backend: str, repeats: int, cycles: Cycles) -> Iterator[Row]:
    """Rows of one backend on `cpu`, one thread; the peak is the better of one before and one after."""
    for bits in WIDTHS:
        near = _core.primes_near(2.0**bits * (1 - 2.0**-10), 2 << LOG2_DEGREE, 8)
        ring = _core.Ring(1 << LOG2_DEGREE, [p for p in near if p < 1 << bits][:2], backend=backend, threads=1)
        checked = Checks(ring).of(PRODUCT)
        adds = _core.multiply_adds(ring, PEAK_STEPS)

        def peak(ring: _core.Ring = ring, adds: int = adds) -> float:
            run = lambda turns: [_core.multiply_adds(ring, PEAK_STEPS) for _ in range(turns)]  # noqa: E731
            return adds / cycles.measure(run, repeats).seconds

        before = peak()
        loop = _core.KernelLoop(ring, PRODUCT, [0], [], SIZE)
        rate = SIZE**2 * ring.degree / cycles.measure(loop.run, repeats).seconds
        best = max(before, peak())
        parts, _ = _core.integer_matmul_way(ring.primes[0], 128)
        case = f"{PRODUCT} {SIZE} x {SIZE} x {ring.degree}, {bits} bits, {backend}"
        yield Row(case, "products", "GFMA/s", rate / 1e9, better="higher", checked=checked, note=f"parts: {parts}")
        yield Row(
            case, "share of float64 multiply-adds", "", rate / best, None, None,
            LEAST_SHARE if parts == 1 else None, better="higher", checked=checked,
            note=f"{best / 1e9:.1f} GFMA/s in chains of their own",
        )  # fmt: skip
