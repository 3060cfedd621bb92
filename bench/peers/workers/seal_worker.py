"""Microsoft SEAL through the raw bindings inside TenSEAL. Arguments: ckks a|b|c, bfv 13|14, ntt LOG2_DEGREE.

SEAL has one special prime and one digit a limb, and does not share decompositions: its eight rotations are separate.
"""

from __future__ import annotations

import os
import tempfile
from importlib.metadata import version

import numpy as np
import tenseal.sealapi as seal
import work
from protocol import Operation, Session, serve
from sets import BFV, CKKS, HOISTED, PLAIN_MODULUS

LIBRARY = "seal in tenseal " + version("tenseal")
SPECIAL_BITS = 60
LARGEST_KEYS = 12 << 30  # bytes of rotation keys that are made at most


def size_of(thing: object) -> int:
    """Bytes of a thing in SEAL's compressed file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "thing")
        thing.save(path)
        return os.path.getsize(path)


def context_of(scheme: object, log2_degree: int, bits: list[int] | None, plain_modulus: int | None = None) -> tuple:
    """(context, parameters); SEAL's security check is off, and without bits its own default primes are used."""
    parameters = seal.EncryptionParameters(scheme)
    degree = 1 << log2_degree
    parameters.set_poly_modulus_degree(degree)
    primes = (
        seal.CoeffModulus.Create(degree, bits)
        if bits
        else seal.CoeffModulus.BFVDefault(degree, seal.SEC_LEVEL_TYPE.TC128)
    )
    parameters.set_coeff_modulus(primes)
    if plain_modulus is not None:
        parameters.set_plain_modulus(seal.Modulus(plain_modulus))
    return seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.NONE), parameters


class Keys:
    """Keys of one context, rotation keys by steps as they are needed."""

    def __init__(self, context: object, log2_degree: int) -> None:
        self.order = 2 << log2_degree
        self.generator = seal.KeyGenerator(context)
        self.public, self.relin = seal.PublicKey(), seal.RelinKeys()
        self.generator.create_public_key(self.public)
        self.generator.create_relin_keys(self.relin)
        self.encryptor = seal.Encryptor(context, self.public)
        self.decryptor = seal.Decryptor(context, self.generator.secret_key())

    def rotations(self, steps: object) -> object:
        """Keys of left rotations; SEAL's generator of rotations is 3."""
        keys = seal.GaloisKeys()
        self.generator.create_galois_keys([pow(3, s, self.order) for s in steps], keys)
        return keys

    def encrypt(self, plain: object) -> object:
        cipher = seal.Ciphertext()
        self.encryptor.encrypt(plain, cipher)
        return cipher

    def open(self, cipher: object) -> object:
        plain = seal.Plaintext()
        self.decryptor.decrypt(cipher, plain)
        return plain


class Ckks:
    """The set with one special prime."""

    def __init__(self, name: str) -> None:
        self.chosen = chosen = CKKS[name]
        bits = [chosen.first_bits, *[chosen.scale_bits] * (chosen.limbs - 1), SPECIAL_BITS]
        context, _ = context_of(seal.SCHEME_TYPE.CKKS, chosen.log2_degree, bits)
        self.keys = Keys(context, chosen.log2_degree)
        self.encoder, self.evaluator = seal.CKKSEncoder(context), seal.Evaluator(context)
        self.slots = 1 << (chosen.log2_degree - 1)
        self.x = work.slots_vector(self.slots)
        self.listed = self.x.tolist()
        self.plain = self.encode(self.listed)
        self.cipher = self.keys.encrypt(self.plain)
        self.turns = None

    def facts(self) -> dict[str, object]:
        chosen = self.chosen
        log2_q = chosen.first_bits + (chosen.limbs - 1) * chosen.scale_bits
        return {
            "library": LIBRARY,
            "log2_degree": chosen.log2_degree,
            "limbs": chosen.limbs,
            "digits": chosen.limbs,
            "log2_q": log2_q,
            "log2_qp": log2_q + SPECIAL_BITS,
            "special_limbs": 1,
            "matvec": "baby-step giant-step 16 x 8, every rotation by itself",
        }

    def encode(self, values: list[float]) -> object:
        plain = seal.Plaintext()
        self.encoder.encode(values, 2.0**self.chosen.scale_bits, plain)
        return plain

    def decrypt(self, cipher: object) -> object:
        return self.encoder.decode_double(self.keys.open(cipher))

    def need(self, steps: object) -> object:
        """Rotation keys for these steps, or for all of the matrix where memory allows it."""
        one = 2 * self.chosen.limbs * (self.chosen.limbs + 1) * (8 << self.chosen.log2_degree)
        wanted = sorted({*work.STEPS_OF_MATVEC, *HOISTED})
        if self.turns is None or not set(steps) <= self.turns[0]:
            chosen = wanted if one * len(wanted) <= LARGEST_KEYS else sorted(steps)
            if one * len(chosen) > LARGEST_KEYS:
                raise MemoryError(f"{len(chosen)} rotation keys take {one * len(chosen) / 2**30:.0f} GiB")
            self.turns = None
            self.turns = (set(chosen), self.keys.rotations(chosen))
        return self.turns[1]

    def matvec(self) -> Operation:
        data = work.MatrixVector(self.slots)
        keys, ev = self.need(work.STEPS_OF_MATVEC), self.evaluator
        giants = [(g, [(b, self.encode(d.tolist())) for b, d in row]) for g, row in data.giants()]
        cipher = self.keys.encrypt(self.encode(data.vector.tolist()))

        def run() -> object:
            babies = [cipher]
            for step in range(1, len(giants[0][1])):
                turned = seal.Ciphertext()
                ev.rotate_vector(cipher, step, keys, turned)
                babies.append(turned)
            total, term = None, seal.Ciphertext()
            for giant, row in giants:
                part = seal.Ciphertext()
                ev.multiply_plain(babies[row[0][0]], row[0][1], part)
                for baby, plain in row[1:]:
                    ev.multiply_plain(babies[baby], plain, term)
                    ev.add_inplace(part, term)
                if giant:
                    ev.rotate_vector_inplace(part, giant, keys)
                if total is None:
                    total = part
                else:
                    ev.add_inplace(total, part)
            ev.rescale_to_next_inplace(total)
            return total

        return Operation(run, lambda found: work.largest_error(self.decrypt(found), data.expected))

    def operations(self) -> dict[str, object]:
        x, ct, pt, ev, keys = self.x, self.cipher, self.plain, self.evaluator, self.keys
        out, after = seal.Ciphertext(), seal.Ciphertext()

        def into(target: object, *calls: object) -> object:
            def run() -> object:
                for call in calls:
                    call()
                return target

            return run

        def checked(run: object, expected: np.ndarray) -> object:
            return lambda: Operation(run, lambda found: work.largest_error(self.decrypt(found), expected))

        def multiply(target: object) -> tuple:
            return (lambda: ev.multiply(ct, ct, target), lambda: ev.relinearize_inplace(target, keys.relin))

        def rotate() -> Operation:
            turns = self.need([1])
            return checked(into(out, lambda: ev.rotate_vector(ct, 1, turns, out)), np.roll(x, -1))()

        def eight() -> Operation:
            turns, targets = self.need(HOISTED), [seal.Ciphertext() for _ in HOISTED]

            def run() -> object:
                for step, target in zip(HOISTED, targets, strict=True):
                    ev.rotate_vector(ct, step, turns, target)
                return targets

            return Operation(
                run,
                lambda found: max(
                    work.largest_error(self.decrypt(y), np.roll(x, -s)) for y, s in zip(found, HOISTED, strict=True)
                ),
            )

        square = seal.Ciphertext()
        into(square, *multiply(square))()
        encoded = Operation(
            lambda: self.encode(self.listed), lambda found: work.largest_error(self.encoder.decode_double(found), x)
        )
        return {
            "encode": lambda: encoded,
            "encrypt": checked(lambda: keys.encrypt(pt), x),
            "decrypt_decode": lambda: Operation(lambda: self.decrypt(ct), lambda found: work.largest_error(found, x)),
            "add": checked(into(out, lambda: ev.add(ct, ct, out)), 2 * x),
            "mul_plain": checked(into(out, lambda: ev.multiply_plain(ct, pt, out)), x * x),
            "rescale": checked(into(after, lambda: ev.rescale_to_next(square, after)), x * x),
            "mul_relin": checked(into(out, *multiply(out)), x * x),
            "mul_relin_rescale": checked(into(after, *multiply(out), lambda: ev.rescale_to_next(out, after)), x * x),
            "rotate": rotate,
            "rotate_8_hoisted": eight,
            "keygen_rotation": lambda: Operation(lambda: keys.rotations([1])),
            "matvec": self.matvec,
            "key_bytes": lambda: Operation(lambda: size_of(keys.rotations([1]))),
            "ciphertext_bytes": lambda: Operation(lambda: size_of(ct)),
        }


class Bfv:
    """SEAL's own primes for 128 bits."""

    def __init__(self, name: str) -> None:
        self.log2_degree = BFV[name].log2_degree
        context, parameters = context_of(seal.SCHEME_TYPE.BFV, self.log2_degree, None, PLAIN_MODULUS)
        self.bits = [m.bit_count() for m in parameters.coeff_modulus()]
        self.keys = Keys(context, self.log2_degree)
        self.encoder, self.evaluator = seal.BatchEncoder(context), seal.Evaluator(context)
        self.x = work.integers(1 << self.log2_degree, PLAIN_MODULUS)
        self.plain = seal.Plaintext()
        self.encoder.encode(self.x.tolist(), self.plain)
        self.cipher = self.keys.encrypt(self.plain)

    def facts(self) -> dict[str, object]:
        log2_q = sum(self.bits[:-1])
        return {
            "library": LIBRARY,
            "log2_degree": self.log2_degree,
            "limbs": len(self.bits) - 1,
            "digits": len(self.bits) - 1,
            "special_limbs": 1,
            "log2_q": log2_q,
            "log2_qp": sum(self.bits),
        }

    def decrypt(self, cipher: object) -> np.ndarray:
        return np.array(self.encoder.decode_int64(self.keys.open(cipher)))

    def operations(self) -> dict[str, object]:
        x, ct, pt, ev, keys = self.x, self.cipher, self.plain, self.evaluator, self.keys
        out, turns, half = seal.Ciphertext(), keys.rotations([1]), len(self.x) // 2
        turned = np.concatenate([np.roll(x[:half], -1), np.roll(x[half:], -1)])

        def wrong(found: np.ndarray, expected: np.ndarray) -> float:
            return float(np.count_nonzero((found - expected) % PLAIN_MODULUS))

        def checked(run: object, expected: np.ndarray) -> object:
            return lambda: Operation(run, lambda found: wrong(self.decrypt(found), expected))

        def multiply() -> object:
            ev.multiply(ct, ct, out)
            ev.relinearize_inplace(out, keys.relin)
            return out

        def by_plain() -> object:
            ev.multiply_plain(ct, pt, out)
            return out

        def rotate() -> object:
            ev.rotate_rows(ct, 1, turns, out)
            return out

        return {
            "encrypt": checked(lambda: keys.encrypt(pt), x),
            "decrypt_decode": lambda: Operation(lambda: self.decrypt(ct), lambda found: wrong(found, x)),
            "mul_plain": checked(by_plain, x * x),
            "mul_relin": checked(multiply, x * x),
            "rotate": checked(rotate, turned),
            "ciphertext_bytes": lambda: Operation(lambda: size_of(ct)),
        }


class Ntt:
    """Transforms of whole ciphertexts to and from the NTT domain, by the limb."""

    LIMBS, POLYS = 4, 2

    def __init__(self, log2_degree: str) -> None:
        self.log2_degree = int(log2_degree)
        context, _ = context_of(seal.SCHEME_TYPE.CKKS, self.log2_degree, [60] * (self.LIMBS + 1))
        keys, encoder = Keys(context, self.log2_degree), seal.CKKSEncoder(context)
        self.evaluator, plain = seal.Evaluator(context), seal.Plaintext()
        self.x = work.slots_vector(1 << (self.log2_degree - 1))
        encoder.encode(self.x.tolist(), 2.0**40, plain)
        self.source, self.out = keys.encrypt(plain), seal.Ciphertext()
        self.coefficients = seal.Ciphertext()
        self.evaluator.transform_from_ntt(self.source, self.coefficients)
        self.decrypted = lambda cipher: encoder.decode_double(keys.open(cipher))

    def facts(self) -> dict[str, object]:
        rows = self.LIMBS * self.POLYS
        return {"library": LIBRARY, "log2_degree": self.log2_degree, "rows": rows, "prime_bits": 60, "digits": 1}

    def operations(self) -> dict[str, object]:
        ev = self.evaluator

        def forward() -> object:
            ev.transform_to_ntt(self.coefficients, self.out)
            return self.out

        def backward() -> object:
            ev.transform_from_ntt(self.source, self.out)
            return self.out

        def returned(found: object) -> float:
            again = seal.Ciphertext()
            ev.transform_to_ntt(found, again)
            return work.largest_error(self.decrypted(again), self.x)

        return {
            "ntt": lambda: Operation(forward, lambda found: work.largest_error(self.decrypted(found), self.x)),
            "intt": lambda: Operation(backward, returned),
        }


def make(arguments: list[str]) -> Session:
    """The session of one scheme and set."""
    scheme, name = arguments[:2]
    made = {"ckks": Ckks, "bfv": Bfv, "ntt": Ntt}[scheme](name)
    return Session(made.facts(), made.operations())


if __name__ == "__main__":
    serve(make)
