"""latticework's core. Arguments: ckks a|b|c, bfv 13|14, ntt LOG2_DEGREE, and the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from typing import Any

import numpy as np
import work
from protocol import Operation, Session, serve
from sets import BABIES, BFV, CKKS, HOISTED, PLAIN_MODULUS, SIDE

from latticework import __version__, _core, bfv
from latticework.calibrate import default_backend
from latticework.params import modulus_limit_bits
from latticework.plan.keys import galois_element

LIBRARY = "latticework " + __version__
BACKEND = default_backend()
LEVELS = (128, 192, 256)


def security_bits(log2_degree: int, log2_qp: float) -> int:
    """The highest security level of the table that a modulus passes; 0: below all of them."""
    limits = {bits: modulus_limit_bits(1 << log2_degree, bits) for bits in LEVELS}
    return max((bits for bits, limit in limits.items() if limit is not None and log2_qp <= limit), default=0)


class Ckks:
    """The set with primes of at most 49 bits."""

    def __init__(self, name: str, threads: int) -> None:
        self.chosen = chosen = CKKS[name]
        self.degree = degree = 1 << chosen.log2_degree
        self.scale = 2.0**chosen.scale_bits
        q = self.primes(chosen.our_first_bits, 1, []) + self.primes(chosen.scale_bits, chosen.limbs - 1, [])
        p = self.primes(chosen.our_special_bits, chosen.limbs_a_digit, q)
        digits = [
            list(range(first, min(first + chosen.limbs_a_digit, chosen.limbs)))
            for first in range(0, chosen.limbs, chosen.limbs_a_digit)
        ]
        track = {"groups": [[j] for j in range(chosen.limbs)], "scales": [self.scale] * chosen.limbs}
        self.log2_q, self.log2_qp = sum(map(log2, q)), sum(map(log2, q + p))
        self.special = len(p)
        self.context = _core.Context(
            _core.Parameters(degree, q, p, digits, [track], insecure=True), backend=BACKEND, threads=threads
        )
        self.top = (0, chosen.limbs - 1)
        self.generator = _core.KeyGenerator(self.context)
        self.secret = self.generator.secret_key()
        self.encoder, self.evaluator = _core.Encoder(self.context), _core.Evaluator(self.context)
        self.encryptor = _core.Encryptor(self.context, self.generator.public_key(self.secret))
        self.decryptor = _core.Decryptor(self.context, self.secret)
        self.x = work.slots_vector(degree // 2)
        self.plain = self.encode(self.x)
        self.cipher = self.encryptor.encrypt(self.plain)
        self.relin = self.generator.evaluation_keys(self.secret, [self.spec("relin", 0)])

    def primes(self, bits: int, count: int, taken: Sequence[int]) -> list[int]:
        """Primes just below a power of two, or nearest to a scale, that are not taken."""
        target = 2.0**bits if bits < 49 else 2.0**bits * (1 - 2.0**-20)
        found = _core.primes_near(target, 2 * self.degree, 4 * (count + len(taken)) + 8)
        fitting = [p for p in found if p not in taken and p.bit_length() <= 49]
        return fitting[:count]

    def spec(self, kind: str, element: int) -> dict[str, Any]:
        return {"kind": kind, "galois_element": element, "track": 0, "level": self.top[1]}

    def element(self, steps: int) -> int:
        return galois_element(steps, self.degree)

    def rotation_keys(self, steps: Sequence[int]) -> _core.EvaluationKeys:
        return self.generator.evaluation_keys(self.secret, [self.spec("galois", self.element(s)) for s in steps])

    def encode(self, values: np.ndarray, basis: str = "Q") -> _core.Plaintext:
        return self.encoder.encode(values, self.top, self.scale, basis)

    def error(self, cipher: _core.Ciphertext, expected: np.ndarray) -> float:
        return work.largest_error(self.decryptor.decrypt(cipher), expected)

    def facts(self) -> dict[str, object]:
        return {
            "library": LIBRARY,
            "backend": self.context.backend,
            "log2_degree": self.chosen.log2_degree,
            "limbs": self.chosen.limbs,
            "digits": len(self.context.parameters.digits),
            "log2_q": round(self.log2_q, 1),
            "log2_qp": round(self.log2_qp, 1),
            "special_limbs": self.special,
            "matvec": "baby-step giant-step 16 x 8, double hoisting",
        }

    def matvec(self) -> Operation:
        data = work.MatrixVector(self.degree // 2)
        keys = self.rotation_keys(work.STEPS_OF_MATVEC)
        giants = [(g, [(b, self.encode(d, "QP" if b else "Q")) for b, d in row]) for g, row in data.giants()]
        cipher, e = self.encryptor.encrypt(self.encode(data.vector)), self.evaluator

        def inner(
            row: list[tuple[int, _core.Plaintext]], babies: dict[int, _core.Ciphertext], level: tuple[int, int]
        ) -> _core.Ciphertext:
            """One giant's sum over Q: the baby steps over QP divided by P, and the value itself."""
            part = None
            for baby, plain in row[1:]:
                term = e.mul_plain(babies[baby], plain)
                part = term if part is None else e.add(part, term)
            assert part is not None
            return e.add(e.mod_down(part, level, part.scale), e.mul_plain(cipher, row[0][1]))

        def run() -> _core.Ciphertext:
            digits = e.hoist(cipher)
            babies = {k: e.key_product(digits, self.element(k), keys) for k in range(1, BABIES)}
            first, over_qp = None, None
            for giant, row in giants:
                part = inner(row, babies, self.top)
                if not giant:
                    first = part
                    continue
                turned = e.key_product(e.hoist(part), self.element(giant), keys)
                over_qp = turned if over_qp is None else e.add(over_qp, turned)
            assert first is not None and over_qp is not None
            return e.rescale(e.add(e.mod_down(over_qp, self.top, over_qp.scale), first))

        assert len(giants) * BABIES == SIDE
        return Operation(run, lambda found: self.error(found, data.expected))

    def hoisted(self) -> Operation:
        e, x, keys = self.evaluator, self.cipher, self.rotation_keys(list(HOISTED))

        def run() -> list[_core.Ciphertext]:
            digits = e.hoist(x)
            return [
                e.mod_down(e.key_product(digits, self.element(step), keys), self.top, self.scale) for step in HOISTED
            ]

        def check(found: list[_core.Ciphertext]) -> float:
            pairs = zip(found, HOISTED, strict=True)
            return max(self.error(turned, np.roll(self.x, -step)) for turned, step in pairs)

        return Operation(run, check)

    def operations(self) -> dict[str, Callable[[], Operation]]:
        e, x, ct, pt = self.evaluator, self.x, self.cipher, self.plain
        one = self.rotation_keys([1])
        square = e.relinearize(e.mul(ct, ct), self.relin)

        def checked(run: Callable[[], Any], expected: np.ndarray) -> Callable[[], Operation]:
            return lambda: Operation(run, lambda found: self.error(found, expected))

        opened = Operation(lambda: self.decryptor.decrypt(ct), lambda found: work.largest_error(found, x))
        encoded = Operation(lambda: self.encode(x), lambda found: self.error(e.trivial(found), x))
        key = Operation(lambda: self.rotation_keys([1]), lambda keys: self.error(rotated(keys), np.roll(x, -1)))

        def rotated(keys: _core.EvaluationKeys) -> _core.Ciphertext:
            return e.rotate(ct, self.element(1), keys)

        def product() -> _core.Ciphertext:
            return e.relinearize(e.mul(ct, ct), self.relin)

        return {
            "encode": lambda: encoded,
            "encrypt": checked(lambda: self.encryptor.encrypt(pt), x),
            "decrypt_decode": lambda: opened,
            "add": checked(lambda: e.add(ct, ct), 2 * x),
            "mul_plain": checked(lambda: e.mul_plain(ct, pt), x * x),
            "rescale": checked(lambda: e.rescale(square), x * x),
            "mul_relin": checked(product, x * x),
            "mul_relin_rescale": checked(lambda: e.rescale(product()), x * x),
            "rotate": checked(lambda: rotated(one), np.roll(x, -1)),
            "rotate_8_hoisted": self.hoisted,
            "keygen_rotation": lambda: key,
            "matvec": self.matvec,
            "key_bytes": lambda: Operation(lambda: len(_core.save_evaluation_keys(None, one))),
            "ciphertext_bytes": lambda: Operation(lambda: len(_core.save_ciphertexts(None, [square], ["x"]))),
        }


class Bfv:
    """Batched integers modulo the peers' plaintext modulus."""

    def __init__(self, name: str, threads: int) -> None:
        chosen = BFV[name]
        self.chosen = chosen
        self.parameters = bfv.Parameters.of_bits(
            1 << chosen.log2_degree,
            q_bits=[chosen.prime_bits] * chosen.limbs,
            p_bits=[chosen.special_bits] * chosen.special_limbs,
            plain_modulus=PLAIN_MODULUS,
        )
        self.context = bfv.Context(self.parameters, backend=BACKEND, threads=threads)
        keys = bfv.KeyGenerator(self.context)
        self.evaluator = bfv.Evaluator(self.context, keys.evaluation_keys(steps=[1]))
        self.encoder = bfv.Encoder(self.context)
        self.encryptor = bfv.Encryptor(self.context, keys.public_key(), evaluator=self.evaluator)
        self.decryptor = bfv.Decryptor(self.context, keys.secret_key)
        self.x = work.integers(1 << chosen.log2_degree, PLAIN_MODULUS).reshape(2, -1)
        self.plain = self.encoder.encode(self.x)
        self.cipher = self.encryptor.encrypt(self.plain)

    def facts(self) -> dict[str, object]:
        top = self.parameters.levels
        return {
            "library": LIBRARY,
            "backend": self.context.backend,
            "log2_degree": self.chosen.log2_degree,
            "limbs": self.chosen.limbs,
            "digits": len(self.parameters.digits),
            "special_limbs": self.chosen.special_limbs,
            "log2_q": round(self.parameters.log2_q(top), 1),
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
            "mul_plain": checked(lambda: e.mul(ct, pt), x * x),
            "mul_relin": checked(lambda: e.mul(ct, ct), x * x),
            "rotate": checked(lambda: e.rotate_rows(ct, 1), np.roll(x, -1, axis=1)),
            "ciphertext_bytes": lambda: Operation(lambda: len(bfv.save_ciphertexts(None, {"x": e.mul(ct, pt)}) or b"")),
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
    if scheme == "boot":
        raise SystemExit("bootstrapping is not offered by our worker yet")
    made = {"ckks": Ckks, "bfv": Bfv, "ntt": Ntt}[scheme](name, int(threads))
    facts = made.facts()
    if "log2_qp" in facts:
        facts["security_bits"] = security_bits(int(facts["log2_degree"]), float(facts["log2_qp"]))
    return Session(facts, made.operations())


if __name__ == "__main__":
    serve(make)
