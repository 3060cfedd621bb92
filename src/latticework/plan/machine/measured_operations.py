"""Prices of whole operations on ciphertexts, on chains of several lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.plan.cost import Shape
from latticework.plan.cost.client_cost import message_limbs
from latticework.plan.machine.timing import clock_of
from latticework.plan.machine.units import PRIME_BITS
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import galois_element

SCALE = 2.0**PRIME_BITS


@dataclass(frozen=True)
class MeasuredChain:
    """A modulus chain: Q limbs, and P limbs, as many as a key-switching digit has."""

    ring_degree: int
    num_q: int
    num_p: int


class Operations:
    """Every operation at the top level of one chain."""

    def __init__(self, chain: MeasuredChain, backend: str, threads: int) -> None:
        degree, num_q, num_p = chain.ring_degree, chain.num_q, chain.num_p
        primes = _core.primes_near(SCALE, 2 * degree, num_q + num_p)
        digits = [list(range(a, min(a + num_p, num_q))) for a in range(0, num_q, num_p)]
        track = {"groups": [[j] for j in range(num_q)], "scales": [SCALE] * num_q}
        parameters = _core.Parameters(degree, primes[:num_q], primes[num_q:], digits, [track], insecure=True)
        self.context = _core.Context(parameters, backend=backend, threads=threads)
        self.top = (0, num_q - 1)
        self.evaluator, self.encoder = _core.Evaluator(self.context), _core.Encoder(self.context)
        self.values = np.random.default_rng(num_q).uniform(-1, 1, degree // 2)
        self.plain = self.encoder.encode(self.values, self.top, SCALE)
        generator = _core.KeyGenerator(self.context)
        secret = generator.secret_key()
        self.element = galois_element(1, degree)
        self.keys = generator.evaluation_keys(
            secret,
            [
                {"kind": kind, "galois_element": element, "track": 0, "level": self.top[1]}
                for kind, element in (("relin", 0), ("galois", self.element))
            ],
        )
        self.encryptor, self.decryptor = _core.Encryptor(self.context, secret), _core.Decryptor(self.context, secret)
        self.x = self.encryptor.encrypt(self.plain)
        self.read = message_limbs(tuple(primes[:num_q]), SCALE)

        def generate_key() -> Any:
            spec = {"kind": "galois", "galois_element": self.element, "track": 0, "level": self.top[1]}
            return generator.evaluation_keys(secret, [spec])

        self.generate_key = generate_key
        self.shape = Shape(degree, num_q, num_p, tuple(len(d) for d in digits))

    def calls(self) -> list[tuple[str, Shape, Callable[[], Any]]]:
        """(operation, shape that it is priced by, call)."""
        e, x, keys = self.evaluator, self.x, self.keys
        n, q, p, digits = self.shape.ring_degree, self.shape.q_limbs, self.shape.p_limbs, self.shape.digit_limbs
        product, hoisted = e.mul(x, x), e.hoist(x)
        over_qp = e.key_product(hoisted, self.element, keys)
        down = (0, self.top[1] - 1)
        simple = Shape(n, q)
        return [
            ("add", simple, lambda: e.add(x, x)),
            ("sub", simple, lambda: e.sub(x, x)),
            ("neg", simple, lambda: e.neg(x)),
            ("add_plain", simple, lambda: e.add_plain(x, self.plain)),
            ("sub_plain", simple, lambda: e.sub_plain(x, self.plain)),
            ("add_int", simple, lambda: e.add_int(x, 12345)),
            ("mul_int", simple, lambda: e.mul_int(x, 12345)),
            ("mul_plain", simple, lambda: e.mul_plain(x, self.plain)),
            ("trivial", simple, lambda: e.trivial(self.plain)),
            ("mul", simple, lambda: e.mul(x, x)),
            ("square", simple, lambda: e.square(x)),
            ("drop_level", Shape(n, q, target=q - 1), lambda: e.drop_level(x, down)),
            ("encode", Shape(n, q, slots=n // 2), lambda: self.encoder.encode(self.values, self.top, SCALE)),
            ("hoist", self.shape, lambda: e.hoist(x)),
            ("key_product", self.shape, lambda: e.key_product(hoisted, self.element, keys)),
            ("mod_down", Shape(n, q, p, target=q), lambda: e.mod_down(over_qp, self.top, x.scale)),
            ("mod_down", Shape(n, q, target=q - 1), lambda: e.rescale(x)),
            ("rotate", self.shape, lambda: e.rotate(x, self.element, keys)),
            ("relinearize", Shape(n, q, p, digits, polys=3), lambda: e.relinearize(product, keys)),
            ("generate_key", self.shape, self.generate_key),
            ("encrypt", simple, lambda: self.encryptor.encrypt(self.plain)),
            ("decrypt", Shape(n, self.read), lambda: self.decryptor.decrypt(x)),
        ]


Calls = list[tuple[str, Shape, Callable[[], Any]]]


def operation_times(
    chain: MeasuredChain, backend: str, threads: int, rounds: int
) -> Iterator[tuple[str, Shape, float]]:
    """(operation, shape, seconds) of every operation on a chain."""
    return best_times(Operations(chain, backend, threads).calls(), rounds, threads)


def best_times(calls: Calls, rounds: int, threads: int) -> Iterator[tuple[str, Shape, float]]:
    """(operation, shape, seconds): the best of some rounds of all operations in turn.

    In turn and with all results of a round kept, so that each operation meets caches that others have used and
    memory that is not yet mapped: a plan runs like that, with many values alive.
    """
    best, clock = [float("inf")] * len(calls), clock_of(threads)
    for _ in range(rounds):
        kept = []
        for place, (_, _, call) in enumerate(calls):
            start = clock()
            kept.append(call())
            best[place] = min(best[place], clock() - start)
    yield from ((op, shape, seconds) for (op, shape, _), seconds in zip(calls, best, strict=True))
