"""Prices of what only BFV does: products, and encoding integers. All else costs what it costs for CKKS."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latticework.plan.cost import Shape
from latticework.plan.machine.measured_operations import Calls, MeasuredChain, best_times
from latticework.plan.machine.units import PRIME_BITS
from latticework.plan.parameters.bfv_chain import plain_prime
from latticework.values.extension import _core

PLAIN_BITS = 20  # of the plaintext modulus, on which no price depends


class BfvOperations:
    """The operations at the top level of one chain, with as many primes as given."""

    def __init__(self, chain: MeasuredChain, backend: str, threads: int) -> None:
        degree, num_q, num_p = chain.ring_degree, chain.num_q, chain.num_p
        plain = plain_prime(degree, PLAIN_BITS, None)
        primes = _core.primes_near(2.0**PRIME_BITS, 2 * degree, num_q + num_p)
        digits = [list(range(a, min(a + num_p, num_q))) for a in range(0, num_q, num_p)]
        track = {"groups": [[j] for j in range(num_q)], "scales": [1.0] * num_q}
        parameters = _core.Parameters(
            degree, primes[:num_q], primes[num_q:], digits, [track], insecure=True, plain_modulus=plain
        )
        self.context = _core.Context(parameters, backend=backend, threads=threads)
        self.top = (0, num_q - 1)
        self.evaluator, self.encoder = _core.BfvEvaluator(self.context), _core.BfvEncoder(self.context)
        self.residues = np.random.default_rng(num_q).integers(0, plain, degree).astype(np.uint64)
        generator = _core.KeyGenerator(self.context)
        secret = generator.secret_key()
        spec = {"kind": "relin", "galois_element": 0, "track": 0, "level": self.top[1]}
        self.keys = generator.evaluation_keys(secret, [spec])
        encryptor, self.decryptor = _core.Encryptor(self.context, secret), _core.BfvDecryptor(self.context, secret)
        self.x, self.y = (encryptor.encrypt(self.plain()) for _ in range(2))
        extra = len(parameters.extension_primes(self.top))
        self.shape = Shape(degree, num_q, num_p, tuple(map(len, digits)), b_limbs=extra)

    def plain(self) -> _core.Plaintext:
        """Integers, encoded to be multiplied by."""
        return self.encoder.factor(self.encoder.encode(self.residues), self.top)

    def calls(self) -> Calls:
        """(operation, shape that it is priced by, call)."""
        e, n, q, b = self.evaluator, self.shape.ring_degree, self.shape.q_limbs, self.shape.b_limbs
        product = Shape(n, q, b_limbs=b)
        return [
            ("bfv.mul", product, lambda: e.mul(self.x, self.y)),
            ("bfv.square", product, lambda: e.mul(self.x, self.x)),
            ("mul_relinearize", self.shape, lambda: e.mul(self.x, self.y, self.keys)),
            ("bfv.decrypt", Shape(n, q), lambda: self.decryptor.decrypt(self.x)),
            ("bfv.encode", Shape(n, q, slots=n // 2), self.plain),
        ]


def bfv_times(chain: MeasuredChain, backend: str, threads: int, rounds: int) -> Iterator[tuple[str, Shape, float]]:
    """(operation, shape, seconds) of every operation on a chain."""
    return best_times(BfvOperations(chain, backend, threads).calls(), rounds, threads)
