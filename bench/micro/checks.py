"""Whether a backend's kernels give what Python's integers and NumPy say, on the rows that are timed."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import numpy.typing as npt

from latticework import _core

Words = npt.NDArray[np.uint64]
SAMPLES = 64
SEED = bytes(range(32))


class Checks:
    """One ring, with a check for each kernel by name."""

    def __init__(self, ring: _core.Ring) -> None:
        self.ring, self.limbs = ring, [0, 1]
        rng = np.random.default_rng(ring.degree)
        self.x, self.y = (
            np.stack([[rng.integers(0, ring.primes[j], ring.degree, dtype=np.uint64) for j in self.limbs]])
            for _ in range(2)
        )
        self.values = rng.normal(size=ring.degree // 2) + 1j * rng.normal(size=ring.degree // 2)

    def of(self, kernel: str) -> bool:
        """Whether a kernel's results are right; transforms of both directions are checked by a product."""
        return self.table()[kernel]()

    def table(self) -> dict[str, Callable[[], bool]]:
        """A check by kernel."""
        ring, limbs, x, y = self.ring, self.limbs, self.x, self.y
        ones = [ring.primes[j] // 3 for j in limbs]
        scale = np.array(ones, dtype=object)[None, :, None]
        a, b = x.astype(object), y.astype(object)
        return {
            "ntt": self.transforms,
            "intt": self.transforms,
            "add": lambda: self.equal(ring.add(x, y, limbs), a + b),
            "sub": lambda: self.equal(ring.sub(x, y, limbs), a - b),
            "neg": lambda: self.equal(ring.neg(x, limbs), -a),
            "mul": lambda: self.equal(ring.mul(x, y, limbs), a * b),
            "mul_add": lambda: self.equal(ring.mul_add(x, x, y, limbs), a + a * b),
            "mul_scalar": lambda: self.equal(ring.mul_scalar(x, ones, limbs), a * scale),
            "add_scalar": lambda: self.equal(ring.add_scalar(x, ones, limbs), a + scale),
            "sub_scale": lambda: self.equal(ring.sub_scale(x, y, ones, limbs), (a - b) * scale),
            "dot": lambda: self.equal(ring.dot([x] * 4, [y] * 4, limbs), 4 * a * b),
            "weighted_sum": lambda: self.equal(
                ring.weighted_sum([x] * 4, 4 * [w for w in ones for _ in "ab"], limbs), 4 * a * scale
            ),
            "integer_matmul": lambda: self.equal(
                np.concatenate(ring.integer_matmul(np.array([[3, -128], [127, 0]]), [x, y], limbs)),
                np.concatenate([3 * a - 128 * b, 127 * a]),
            ),
            "automorphism": self.automorphism,
            "base_convert": self.base_convert,
            "import_signed": self.signed,
            "import_residues": self.packing,
            "export_residues": self.packing,
            "expand_uniform": self.uniform,
            "import_seeded": self.seeded,
            "embed": self.embedding,
            "unembed": self.embedding,
        }

    def equal(self, found: Words, expected: npt.NDArray[np.object_]) -> bool:
        """Whether rows are these integers modulo their primes."""
        modulus = np.array([self.ring.primes[j] for j in self.limbs], dtype=object)[None, :, None]
        return bool((found == expected % modulus).all())

    def transforms(self) -> bool:
        """X^(N-1) * X = -1, by transform, product and inverse."""
        ring, limbs = self.ring, self.limbs
        factors = []
        for power in (ring.degree - 1, 1):
            coefficients = np.zeros(ring.degree, dtype=np.int64)
            coefficients[power] = 1
            factors.append(ring.ntt(ring.import_signed(coefficients, limbs), limbs))
        found = ring.intt(ring.mul(factors[0], factors[1], limbs), limbs)
        expected = np.zeros(found.shape, dtype=object)
        expected[..., 0] = -1
        return self.equal(found, expected) and bool((ring.intt(ring.ntt(self.x, limbs), limbs) == self.x).all())

    def automorphism(self) -> bool:
        """X -> X^5 on coefficients: X^i goes to X^(5 i mod 2N), with X^N = -1."""
        ring, limbs = self.ring, self.limbs
        found = ring.intt(ring.automorphism(ring.ntt(self.x, limbs), 5, limbs), limbs)
        places = 5 * np.arange(ring.degree) % (2 * ring.degree)
        expected = np.zeros(found.shape, dtype=object)
        expected[..., places % ring.degree] = self.x.astype(object) * np.where(places < ring.degree, 1, -1)
        return self.equal(found, expected)

    def base_convert(self) -> bool:
        """Some coefficients, by the Chinese remainder theorem."""
        primes = self.ring.primes
        modulus = prod(primes[j] for j in self.limbs)
        parts = [modulus // primes[j] * pow(modulus // primes[j], -1, primes[j]) for j in self.limbs]
        targets = [len(primes) - 2, len(primes) - 1]
        found = self.ring.base_convert(self.x, self.limbs, targets)
        for i in range(SAMPLES):
            value = sum(int(self.x[0, j, i]) * part for j, part in enumerate(parts)) % modulus
            value -= modulus if 2 * value > modulus else 0
            if any(int(found[0, k, i]) != value % primes[t] for k, t in enumerate(targets)):
                return False
        return True

    def signed(self) -> bool:
        """Integers of both signs."""
        integers = np.random.default_rng(3).integers(-(2**61), 2**61, self.ring.degree)
        expected = np.stack([[integers.astype(object) for _ in self.limbs]])
        return self.equal(self.ring.import_signed(integers, self.limbs), expected)

    def packing(self) -> bool:
        """Out and in again; the first coefficients of a row lie at its lowest bits."""
        widths = [self.ring.primes[j].bit_length() for j in self.limbs]
        packed = self.ring.export_residues(self.x, widths, self.limbs)
        first = int.from_bytes(packed[:8], "little") % (1 << widths[0])
        again = self.ring.import_residues(packed, widths, self.limbs, 1)
        return first == int(self.x[0, 0, 0]) and bool((again == self.x).all())

    def uniform(self) -> bool:
        """The same twice, reduced, and with the mean of a uniform distribution."""
        found, again = (self.ring.expand_uniform(SEED, 2, 0, 0, self.limbs) for _ in range(2))
        shares = found[0] / np.array([self.ring.primes[j] for j in self.limbs], dtype=float)[:, None]
        bound = 6 / np.sqrt(12 * self.ring.degree)
        return bool((found == again).all() and (shares < 1).all() and (np.abs(shares.mean(axis=1) - 0.5) < bound).all())

    def seeded(self) -> bool:
        """What the two kernels that it joins make."""
        widths = [self.ring.primes[j].bit_length() for j in self.limbs]
        packed = self.ring.export_residues(self.x, widths, self.limbs)
        found = self.ring.import_seeded(packed, widths, self.limbs, SEED, 2, 0, 0)
        return bool(
            (found[:1] == self.x).all() and (found[1:] == self.ring.expand_uniform(SEED, 2, 0, 0, self.limbs)).all()
        )

    def embedding(self) -> bool:
        """Slot 0 and 1 by the definition, and there and back."""
        ring, n = self.ring, self.ring.degree // 2
        slots = ring.embed(self.values)
        # word i packs coefficients i and i + n; slot j is the value at exp(i pi 5^j / (2 n))
        for slot in (0, 1):
            point = np.exp(1j * np.pi * ((5**slot * np.arange(n)) % (4 * n)) / (2 * n))
            if not np.isclose(slots[slot], np.sum(self.values * point)):
                return False
        return bool(np.allclose(ring.unembed(slots), self.values))
