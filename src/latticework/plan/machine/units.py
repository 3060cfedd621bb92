"""Prices of single kernels on rows of N residues: the units of the cost model."""

from __future__ import annotations

import mmap
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from latticework.plan.machine.timing import REPEATS, best_of, best_of_loop, clock_of
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import galois_element

PRIME_BITS = 45
RESIDUE_PARTS = 2  # of such a prime, in products with a matrix
LIMBS = 12
FRESH_BYTES = 64 << 20
KEYS = 4
MATRIX = 32  # rows and columns of a matrix of numbers, of a byte each
FOUR = (0, 1, 2, 3)
MANY = tuple(range(4, 12))
SMALLEST = 1e-3  # share of a pointwise product that a difference of two times is worth at least


class UnitTimes:
    """Kernels of one ring degree on a backend.

    raises  RuntimeError if the transforms give a wrong product: such times are worth nothing
    """

    def __init__(self, ring_degree: int, backend: str, threads: int, repeats: int = REPEATS) -> None:
        self.degree, self.repeats, self.kept = ring_degree, repeats, list[mmap.mmap]()
        self.clock = clock_of(threads)
        primes = _core.primes_near(2.0**PRIME_BITS, 2 * ring_degree, LIMBS)
        self.ring = _core.Ring(ring_degree, primes, backend=backend, threads=threads)
        if not self.multiplies():
            raise RuntimeError(f"backend {backend!r} gives wrong products at N={ring_degree}")

    def multiplies(self) -> bool:
        """Whether X^(N-1) * X = -1 comes out of transform, product and inverse transform."""
        ring, limbs = self.ring, list(FOUR)
        monomials = []
        for power in (self.degree - 1, 1):
            coefficients = np.zeros(self.degree, dtype=np.int64)
            coefficients[power] = 1
            monomials.append(ring.ntt(ring.import_signed(coefficients, limbs), limbs))
        product = ring.intt(ring.mul(monomials[0], monomials[1], limbs), limbs)[0]
        expected = np.zeros_like(product)
        expected[:, 0] = np.array([ring.primes[j] - 1 for j in limbs], dtype=np.uint64)
        return np.array_equal(product, expected)

    def seconds(self, kernel: str, limbs: Sequence[int] = FOUR, to: Sequence[int] = (), terms: int = 1) -> float:
        """One run of a kernel over some limbs."""
        return best_of_loop(_core.KernelLoop(self.ring, kernel, limbs, to, terms).run, self.repeats, self.clock)

    def row_seconds(self, kernel: str) -> float:
        """One row of a kernel that takes every row by itself."""
        return self.seconds(kernel) / len(FOUR)

    def units(self) -> dict[str, float]:
        """Seconds of every unit, for one row (fft: one transform of N/2 slots; read_byte, fresh_byte: one byte)."""
        reading = {"key_row": self.key_row(), "read_byte": self.read_byte(), "fresh_byte": self.fresh_byte()}
        return self.kernels() | reading

    def kernels(self) -> dict[str, float]:
        """Seconds of the units that are kernels."""
        rows = len(FOUR)
        pointwise = self.seconds("mul") / rows
        small = SMALLEST * pointwise
        key_mac = (self.seconds("dot", terms=8) - self.seconds("dot", terms=2)) / (6 * rows)
        few, many = MANY[:1], MANY

        def convert(sources: int, targets: Sequence[int]) -> float:
            return self.seconds("base_convert", FOUR[:sources], targets)

        pairs = (len(FOUR) - 1) * (len(many) - len(few))
        term = (convert(4, many) - convert(4, few) - convert(1, many) + convert(1, few)) / pairs
        source = (convert(4, few) - convert(1, few)) / (len(FOUR) - 1) - term
        return {
            "ntt": (self.seconds("ntt") + self.seconds("intt")) / (2 * rows),
            "fft": (self.seconds("embed") + self.seconds("unembed")) / 2,
            "automorphism": self.seconds("automorphism") / rows,
            "pointwise": pointwise,
            "plain_mac": self.seconds("mul_add") / rows,
            "key_mac": max(key_mac, term, small),
            "lift_term": max(term, small),
            "lift_source": max(source, small),
            "expand": self.seconds("expand_uniform") / rows,
            "matrix_mac": self.seconds("integer_matmul", terms=MATRIX) / (RESIDUE_PARTS * rows * MATRIX**2),
        }

    def fresh_byte(self, size: int = FRESH_BYTES) -> float:
        """First use of memory, in large pages where the system gives them. Once, and the memory is kept until the end:
        what was given back a moment ago comes again at a tenth of the price where the machine is a virtual one."""
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.kept.append(memory)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        pages = np.frombuffer(memory, np.uint8)[:: mmap.PAGESIZE]
        start = time.thread_time()  # once: other work on the machine must not count
        pages[:] = 1
        return (time.thread_time() - start) / size

    def key_row(self) -> float:
        """A row of a key, brought again from its file, which the system has in memory; of some keys in turn."""
        q, p = self.ring.primes[: len(FOUR)], self.ring.primes[len(FOUR) : len(FOUR) + 1]
        track = {"groups": [[j] for j in FOUR], "scales": [2.0**PRIME_BITS] * len(q)}
        parameters = _core.Parameters(self.degree, q, p, [[j] for j in FOUR], [track], insecure=True)
        context = _core.Context(parameters, self.ring.backend, 1)
        generator = _core.KeyGenerator(context)
        elements = [galois_element(step, self.degree) for step in range(1, KEYS + 1)]
        specs = [{"kind": "galois", "galois_element": g, "track": 0, "level": len(q) - 1} for g in elements]
        rows = KEYS * len(q) * (len(q) + len(p))
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "keys")
            _core.save_evaluation_keys(path, generator.evaluation_keys(generator.secret_key(), specs))
            reader = _core.KeyLimbLoop(_core.EvaluationKeyFile(path, context), rows)
            return best_of(lambda: [reader.run(i) for i in range(KEYS)], self.repeats, clock_of(1)) / rows

    def read_byte(self) -> float:
        """Opening, verifying and unpacking rows of a file that the system has in memory."""
        limbs, widths = list(FOUR), [PRIME_BITS + 1] * len(FOUR)
        rows = self.ring.expand_uniform(bytes(32), 0, 0, 0, limbs)
        packed = self.ring.export_residues(rows, widths, limbs)
        kind = int(_core.FileKind.EVALUATION_KEYS)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "rows")
            _core.write_container(path, kind, bytes(32), {}, [(1, packed)])
            read = best_of(lambda: _core.ContainerReader(path, kinds=[kind]).section(0), self.repeats, clock_of(1))
        return (read + self.seconds("import_residues")) / len(packed)
