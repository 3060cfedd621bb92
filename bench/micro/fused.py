"""What one more rotation costs inside a linear transform: the inner product with its key, by cycles for each mac.

`diag_sums` fuses decomposition, key switches and products with plaintexts, so its parts cannot be timed by themselves.
But two runs that differ in the number of baby steps alone differ by as many inner products with keys, turns of their
results and products with one plaintext each; all else cancels.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.micro.cycles import Cycles, Measured
from bench.rows import Row
from latticework import _core, ckks
from latticework.values.packing.key_manifest import galois_element

FUSED = "diag_sums"
FEW, MANY = 2, 6  # baby steps
SCALE_BITS, DIGITS, LIMBS_A_DIGIT = 40, 4, 4
TOLERANCE = 2.0**-12


class BabySteps:
    """Sums over rotations of one ciphertext, each times a plaintext. INSECURE where N is small."""

    def __init__(self, log2_degree: int, backend: str, threads: int) -> None:
        limbs = DIGITS * LIMBS_A_DIGIT
        self.parameters = ckks.Parameters(
            1 << log2_degree, [49, *[SCALE_BITS] * (limbs - 1)], scale_bits=SCALE_BITS, num_special=LIMBS_A_DIGIT,
            num_digits=DIGITS, insecure=True,
        ).on(backend=backend, threads=threads)  # fmt: skip
        context, slots = self.parameters.context, self.parameters.slots
        maker, scale = ckks.KeyGenerator(self.parameters), 2.0**SCALE_BITS
        self.level, self.product_scale = (0, limbs - 1), scale * scale
        self.elements = [galois_element(step, self.parameters.ring_degree) for step in range(1, MANY + 1)]
        self.keys = maker.galois_keys(range(1, MANY + 1)).core
        self.decryptor = _core.Decryptor(context, maker.secret_key().core)
        self.evaluator, encoder = _core.Evaluator(context), _core.Encoder(context)
        rng = np.random.default_rng(log2_degree)
        self.x, self.factors = rng.uniform(-1, 1, slots), rng.uniform(-1, 1, (MANY, slots))
        self.plains = [encoder.encode(f, self.level, scale, "QP") for f in self.factors]
        self.cipher = _core.Encryptor(context, maker.secret_key().core).encrypt(
            encoder.encode(self.x, self.level, scale)
        )

    @property
    def macs(self) -> int:
        """Of one more baby step: digits times both halves of the key, and both halves of the sum times a plaintext."""
        rows = len(self.parameters.chain.primes) + len(self.parameters.chain.special)
        return (2 * DIGITS + 2) * rows * self.parameters.ring_degree

    def sums(self, babies: int) -> _core.Ciphertext:
        """The sum over so many rotations, over QP."""
        terms = [(b + 1, 0, self.plains[b]) for b in range(babies)]
        (found,) = self.evaluator.diag_sums(self.cipher, self.elements[:babies], self.keys, terms, 1)
        return found

    def is_right(self) -> bool:
        """Whether the sum decrypts to NumPy's."""
        over_q = self.evaluator.mod_down(self.sums(MANY), self.level, self.product_scale)
        expected = sum(f * np.roll(self.x, -b - 1) for b, f in enumerate(self.factors))
        return float(np.max(np.abs(self.decryptor.decrypt(over_q) - expected))) < TOLERANCE


def fused_rows(log2_degree: int, backend: str, threads: int, repeats: int, cycles: Cycles) -> Iterator[Row]:
    """Rows of one backend at one ring degree."""
    work = BabySteps(log2_degree, backend, threads)

    def measured(babies: int) -> Measured:
        return cycles.measure(lambda turns: [work.sums(babies) for _ in range(turns)], repeats)

    found = [measured(FEW), measured(MANY)]
    checked = work.is_right()
    case = f"{FUSED}, {backend}, N=2^{log2_degree}" + (f", {threads} threads" if threads > 1 else "")
    steps = MANY - FEW
    yield Row(
        case, "time of one more baby step", "us", (found[1].seconds - found[0].seconds) / steps * 1e6, checked=checked
    )
    more = (found[1].cycles - found[0].cycles) / steps
    yield Row(case, "cycles per mac of one more baby step", "cycles", more / work.macs, checked=checked)
