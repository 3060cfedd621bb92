"""latticework's core. Arguments: ckks a|b|c, bfv 13|14, ntt LOG2_DEGREE, and the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import work
from protocol import Operation, Session, serve
from sets import BFV, CKKS, HOISTED, PLAIN_MODULUS, SIDE, CkksSet

from latticework import __version__, _core, bfv, ckks
from latticework.commands.machine import default_backend
from latticework.plan.parameters import modulus_limit_bits

LIBRARY = "latticework " + __version__
BACKEND = default_backend()
LEVELS = (128, 192, 256)
CONSTANT_BYTES = 6 << 30  # holds every encoded matrix of these suites, and what their runs work in


def security_bits(log2_degree: int, log2_qp: float) -> int:
    """The highest security level of the table that a modulus passes; 0: below all of them."""
    limits = {bits: modulus_limit_bits(1 << log2_degree, bits) for bits in LEVELS}
    return max((bits for bits, limit in limits.items() if limit is not None and log2_qp <= limit), default=0)


def parameters_of(chosen: CkksSet) -> ckks.Parameters:
    """A set with primes of at most 49 bits."""
    return ckks.Parameters(
        1 << chosen.log2_degree,
        [chosen.our_first_bits, *[chosen.scale_bits] * (chosen.limbs - 1)],
        scale_bits=chosen.scale_bits,
        p_bits=[chosen.our_special_bits] * chosen.limbs_a_digit,
        num_digits=chosen.digits,
    )


class Ckks:
    """A set with primes of at most 49 bits, through the expert API as a user would call it."""

    def __init__(self, name: str, threads: int) -> None:
        self.chosen = chosen = CKKS[name]
        self.parameters = parameters_of(chosen).on(backend=BACKEND, threads=threads)
        self.generator = ckks.KeyGenerator(self.parameters)
        self.x = work.slots_vector(self.parameters.slots)
        self.encoder = ckks.Encoder(self.parameters)
        self.keys = self.generator.evaluation_keys(steps=list(HOISTED))
        self.evaluator = self.evaluator_with(self.keys)
        self.encryptor = ckks.Encryptor(self.parameters, self.generator.public_key(), evaluator=self.evaluator)
        self.decryptor = ckks.Decryptor(self.parameters, self.generator.secret_key())
        self.plain = self.encoder.encode(self.x)
        self.cipher = self.encryptor.encrypt(self.plain)

    def evaluator_with(self, keys: ckks.EvaluationKeys) -> ckks.Evaluator:
        return ckks.Evaluator(self.parameters, keys, constant_bytes=CONSTANT_BYTES)

    def error(self, cipher: ckks.Ciphertext, expected: np.ndarray) -> float:
        return work.largest_error(self.decryptor.decrypt(cipher), expected)

    def facts(self) -> dict[str, object]:
        return {
            "library": LIBRARY,
            "backend": self.parameters.context.backend,
            "log2_degree": self.chosen.log2_degree,
            "limbs": self.chosen.limbs,
            "digits": self.parameters.num_digits,
            "log2_q": round(self.parameters.log2_q, 1),
            "log2_qp": round(self.parameters.log2_qp, 1),
            "special_limbs": len(self.parameters.chain.special),
            "matvec": "LinearTransform: baby-step giant-step, double hoisting; matrix encoded in the first run",
        }

    def matvec(self) -> Operation:
        data = work.MatrixVector(self.parameters.slots)
        transform = ckks.LinearTransform(data.matrix)
        required = transform.required_keys(self.parameters)
        evaluator = self.evaluator_with(self.generator.evaluation_keys(required=required, relin=False))
        cipher = self.encryptor.encrypt(data.vector[:SIDE]).using(evaluator)  # repeats in all slots
        return Operation(
            lambda: evaluator.linear_transform(cipher, transform), lambda found: self.error(found, data.expected[:SIDE])
        )

    def hoisted(self) -> Operation:
        def check(found: list[ckks.Ciphertext]) -> float:
            pairs = zip(found, HOISTED, strict=True)
            return max(self.error(turned, np.roll(self.x, -step)) for turned, step in pairs)

        return Operation(lambda: self.evaluator.rotate_many(self.cipher, list(HOISTED)), check)

    def operations(self) -> dict[str, Callable[[], Operation]]:
        e, x, ct, pt = self.evaluator, self.x, self.cipher, self.plain
        square = e.relinearize(e.mul(ct, ct))

        def checked(run: Callable[[], Any], expected: np.ndarray) -> Callable[[], Operation]:
            return lambda: Operation(run, lambda found: self.error(found, expected))

        opened = Operation(lambda: self.decryptor.decrypt(ct), lambda found: work.largest_error(found, x))
        encoded = Operation(
            lambda: self.encoder.encode(x), lambda found: work.largest_error(self.encoder.decode(found), x)
        )
        key = Operation(
            lambda: self.generator.galois_keys([1]),
            lambda keys: self.error(self.evaluator_with(keys).rotate(ct.using(e), 1), np.roll(x, -1)),
        )

        def stored(thing: Callable[[Path], object]) -> int:
            with TemporaryDirectory() as folder:
                thing(path := Path(folder) / "stored")
                return path.stat().st_size

        return {
            "encode": lambda: encoded,
            "encrypt": checked(lambda: self.encryptor.encrypt(pt), x),
            "decrypt_decode": lambda: opened,
            "add": checked(lambda: e.add(ct, ct), 2 * x),
            "mul_plain": checked(lambda: e.mul_plain(ct, pt), x * x),
            "rescale": checked(lambda: e.rescale(square), x * x),
            "mul_relin": checked(lambda: e.relinearize(e.mul(ct, ct)), x * x),
            "mul_relin_rescale": checked(lambda: e.rescale(e.relinearize(e.mul(ct, ct))), x * x),
            "rotate": checked(lambda: e.rotate(ct, 1), np.roll(x, -1)),
            "rotate_8_hoisted": self.hoisted,
            "keygen_rotation": lambda: key,
            "matvec": self.matvec,
            "key_bytes": lambda: Operation(lambda: stored(self.generator.galois_keys([1]).save)),
            "ciphertext_bytes": lambda: Operation(lambda: stored(lambda p: ckks.save_ciphertexts(p, [square]))),
        }


class Bfv:
    """Batched integers modulo the peers' plaintext modulus."""

    def __init__(self, name: str, threads: int) -> None:
        chosen = BFV[name]
        self.chosen = chosen
        parameters = bfv.Parameters(
            1 << chosen.log2_degree,
            [chosen.prime_bits] * chosen.limbs,
            p_bits=[chosen.special_bits] * chosen.special_limbs,
            plain_modulus=PLAIN_MODULUS,
        )
        self.parameters = parameters.on(backend=BACKEND, threads=threads)
        keys = bfv.KeyGenerator(self.parameters)
        self.evaluator = bfv.Evaluator(self.parameters, keys.evaluation_keys(steps=[1]))
        self.encoder = bfv.Encoder(self.parameters)
        self.encryptor = bfv.Encryptor(self.parameters, keys.public_key(), evaluator=self.evaluator)
        self.decryptor = bfv.Decryptor(self.parameters, keys.secret_key())
        self.x = work.integers(1 << chosen.log2_degree, PLAIN_MODULUS).reshape(2, -1)
        self.plain = self.encoder.encode(self.x)
        self.cipher = self.encryptor.encrypt(self.plain)

    def facts(self) -> dict[str, object]:
        return {
            "library": LIBRARY,
            "backend": self.parameters.context.backend,
            "log2_degree": self.chosen.log2_degree,
            "limbs": self.chosen.limbs,
            "digits": self.parameters.num_digits,
            "special_limbs": self.chosen.special_limbs,
            "log2_q": round(self.parameters.log2_q, 1),
            "log2_qp": round(self.parameters.log2_qp, 1),
        }

    def operations(self) -> dict[str, Callable[[], Operation]]:
        e, x, ct, pt = self.evaluator, self.x, self.cipher, self.plain

        def wrong(found: np.ndarray, expected: np.ndarray) -> float:
            """Number of wrong slots."""
            return float(np.count_nonzero((found - expected) % PLAIN_MODULUS))

        def checked(run: Callable[[], Any], expected: np.ndarray) -> Callable[[], Operation]:
            return lambda: Operation(run, lambda found: wrong(self.decryptor.decrypt(found), expected))

        opened = Operation(lambda: self.decryptor.decrypt(ct), lambda found: wrong(found, x))
        return {
            "encrypt": checked(lambda: self.encryptor.encrypt(pt), x),
            "decrypt_decode": lambda: opened,
            "mul_plain": checked(lambda: e.mul_plain(ct, pt), x * x),
            "mul_relin": checked(lambda: e.mul_relin(ct, ct), x * x),
            "rotate": checked(lambda: e.rotate(ct, 1), np.roll(x, -1, axis=1)),
            "ciphertext_bytes": lambda: Operation(lambda: len(e.mul_plain(ct, pt).to_bytes())),
        }


class Ntt:
    """Transforms of resident rows, by the limb; values are checked through X^(N-1) * X = -1."""

    ROWS = 8

    def __init__(self, log2_degree: str, threads: int) -> None:
        self.log2_degree, degree = int(log2_degree), 1 << int(log2_degree)
        self.primes = _core.primes_near(2.0**49 * (1 - 2.0**-20), 2 * degree, 4 * self.ROWS)
        self.primes = [p for p in self.primes if p.bit_length() <= 49][: self.ROWS]
        self.ring = _core.Ring(degree, self.primes, backend=BACKEND, threads=threads)

    def facts(self) -> dict[str, object]:
        return {
            "library": LIBRARY,
            "backend": self.ring.backend,
            "log2_degree": self.log2_degree,
            "rows": self.ROWS,
            "prime_bits": 49,
        }

    def error(self, _: object) -> float:
        """1 unless a product by transforms is right."""
        ring, limbs = self.ring, list(range(self.ROWS))
        factors = []
        for power in (ring.degree - 1, 1):
            coefficients = np.zeros(ring.degree, dtype=np.int64)
            coefficients[power] = 1
            factors.append(ring.ntt(ring.import_signed(coefficients, limbs), limbs))
        found = ring.intt(ring.mul(factors[0], factors[1], limbs), limbs)[0]
        expected = np.zeros_like(found)
        expected[:, 0] = np.array(self.primes, dtype=np.uint64) - 1
        return float(not np.array_equal(found, expected))

    def operations(self) -> dict[str, Callable[[], Operation]]:
        loops = {name: _core.KernelLoop(self.ring, name, list(range(self.ROWS))) for name in ("ntt", "intt")}
        return {name: lambda loop=loop: Operation(lambda: loop.run(1), self.error) for name, loop in loops.items()}


def make(arguments: list[str]) -> Session:
    """The session of one scheme and set."""
    scheme, name, threads = arguments
    made = {"ckks": Ckks, "bfv": Bfv, "ntt": Ntt}[scheme](name, int(threads))
    facts = made.facts()
    if "log2_qp" in facts:
        facts["security_bits"] = security_bits(int(facts["log2_degree"]), float(facts["log2_qp"]))
    return Session(facts, made.operations())


if __name__ == "__main__":
    serve(make)
