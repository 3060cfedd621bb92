"""OpenFHE through its Python package. Arguments: ckks a|b|c, bfv 13|14, boot LOG2_DEGREE."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import openfhe as fhe
import work
from protocol import Operation, Session, serve
from sets import BFV, CKKS, HOISTED, PLAIN_MODULUS

LIBRARY = f"openfhe {version('openfhe')}, its wheel"
WORD_BYTES = 8
BOOT_LEVELS = 9  # of which the next bootstrap takes one, to adjust the scale before ModRaise
BOOT_BUDGET = [4, 3]
BOOT_SCALE_BITS, BOOT_FIRST_BITS = 59, 60


def size_of(thing: object) -> int:
    """Bytes of a thing in OpenFHE's binary form."""
    return len(fhe.Serialize(thing, fhe.BINARY))


class Ckks:
    """Full packing, manual rescaling, hybrid key switching; the library's own security check is off."""

    def __init__(self, name: str) -> None:
        chosen = CKKS[name]
        p = fhe.CCParamsCKKSRNS()
        p.SetRingDim(1 << chosen.log2_degree)
        p.SetMultiplicativeDepth(chosen.limbs - 1)
        p.SetScalingModSize(chosen.scale_bits)
        p.SetFirstModSize(chosen.first_bits)
        p.SetScalingTechnique(fhe.FIXEDMANUAL)
        p.SetKeySwitchTechnique(fhe.HYBRID)
        p.SetNumLargeDigits(chosen.digits)
        p.SetSecurityLevel(fhe.HEStd_NotSet)
        self.chosen = chosen
        self.context = fhe.GenCryptoContext(p)
        for feature in (fhe.PKE, fhe.KEYSWITCH, fhe.LEVELEDSHE, fhe.ADVANCEDSHE):
            self.context.Enable(feature)
        self.pair = self.context.KeyGen()
        self.secret = self.pair.secretKey
        self.slots = 1 << (chosen.log2_degree - 1)
        self.x = work.slots_vector(self.slots)
        self.turned: set[int] = set()
        self.next_step = 3001
        self.plain = self.encode(self.x)
        self.cipher = self.context.Encrypt(self.pair.publicKey, self.plain)
        self.context.EvalMultKeyGen(self.secret)
        self.need([1])
        self.one_key_bytes = len(fhe.SerializeEvalAutomorphismKeyString(fhe.BINARY, ""))

    def encode(self, values: np.ndarray) -> object:
        return self.context.MakeCKKSPackedPlaintext(np.ascontiguousarray(values))

    def decrypt(self, cipher: object) -> np.ndarray:
        plain = self.context.Decrypt(self.secret, cipher)
        plain.SetLength(self.slots)
        return np.array(plain.GetRealPackedValue())

    def need(self, steps: object) -> None:
        """Rotation keys that are not there yet."""
        new = [s for s in steps if s not in self.turned]
        if new:
            self.context.EvalRotateKeyGen(self.secret, new)
            self.turned.update(new)

    def key_bytes(self) -> int:
        """Of one rotation key."""
        return self.one_key_bytes

    def special_limbs(self) -> int:
        """P limbs by the library's own rule, from the size of a key: 2 x digits x (Q + P limbs) x N words."""
        words = self.key_bytes() / WORD_BYTES
        return round(words / (2 * self.chosen.digits << self.chosen.log2_degree)) - self.chosen.limbs

    def facts(self) -> dict[str, object]:
        chosen, special = self.chosen, self.special_limbs()
        log2_q = chosen.first_bits + (chosen.limbs - 1) * chosen.scale_bits
        return {
            "library": LIBRARY,
            "log2_degree": chosen.log2_degree,
            "limbs": chosen.limbs,
            "digits": chosen.digits,
            "log2_q": log2_q,
            "log2_qp": log2_q + 60 * special,
            "special_limbs": special,
            "matvec": "baby-step giant-step 16 x 8, hoisted baby steps (extended plaintexts are not in the package)",
        }

    def keygen(self) -> object:
        step, self.next_step = self.next_step, self.next_step + 1
        return self.context.EvalRotateKeyGen(self.secret, [step])

    def hoisted(self, cipher: object, steps: object) -> list[object]:
        digits = self.context.EvalFastRotationPrecompute(cipher)
        return [self.context.EvalFastRotation(cipher, s, 2 << self.chosen.log2_degree, digits) for s in steps]

    def matvec(self) -> Operation:
        data = work.MatrixVector(self.slots)
        self.need(work.STEPS_OF_MATVEC)
        giants = [(g, [(b, self.encode(d)) for b, d in row]) for g, row in data.giants()]
        cipher, cc = self.context.Encrypt(self.pair.publicKey, self.encode(data.vector)), self.context

        def run() -> object:
            babies = [cipher, *self.hoisted(cipher, range(1, len(giants[0][1])))]
            total = None
            for giant, row in giants:
                part = cc.EvalMult(babies[row[0][0]], row[0][1])
                for baby, plain in row[1:]:
                    cc.EvalAddInPlace(part, cc.EvalMult(babies[baby], plain))
                part = cc.EvalRotate(part, giant) if giant else part
                total = part if total is None else cc.EvalAdd(total, part)
            return cc.Rescale(total)

        return Operation(run, lambda found: work.largest_error(self.decrypt(found), data.expected))

    def operations(self) -> dict[str, object]:
        cc, x, ct, pt, pk = self.context, self.x, self.cipher, self.plain, self.pair.publicKey
        square = cc.EvalMult(ct, ct)

        def checked(run: object, expected: np.ndarray) -> object:
            return lambda: Operation(run, lambda found: work.largest_error(self.decrypt(found), expected))

        def rotate() -> Operation:
            self.need([1])
            return Operation(
                lambda: cc.EvalRotate(ct, 1), lambda found: work.largest_error(self.decrypt(found), np.roll(x, -1))
            )

        def hoisted() -> Operation:
            self.need(HOISTED)
            return Operation(
                lambda: self.hoisted(ct, HOISTED),
                lambda found: max(
                    work.largest_error(self.decrypt(y), np.roll(x, -s)) for y, s in zip(found, HOISTED, strict=True)
                ),
            )

        def opened() -> Operation:
            return Operation(lambda: self.decrypt(ct), lambda found: work.largest_error(found, x))

        return {
            "encode": lambda: Operation(
                lambda: self.encode(x), lambda found: work.largest_error(self.decrypt(cc.Encrypt(pk, found)), x)
            ),
            "encrypt": checked(lambda: cc.Encrypt(pk, pt), x),
            "decrypt_decode": opened,
            "add": checked(lambda: cc.EvalAdd(ct, ct), 2 * x),
            "mul_plain": checked(lambda: cc.EvalMult(ct, pt), x * x),
            "rescale": checked(lambda: cc.Rescale(square), x * x),
            "mul_relin": checked(lambda: cc.EvalMult(ct, ct), x * x),
            "mul_relin_rescale": checked(lambda: cc.Rescale(cc.EvalMult(ct, ct)), x * x),
            "rotate": rotate,
            "rotate_8_hoisted": hoisted,
            "keygen_rotation": lambda: Operation(self.keygen),
            "matvec": self.matvec,
            "key_bytes": lambda: Operation(self.key_bytes),
            "ciphertext_bytes": lambda: Operation(lambda: size_of(ct)),
        }


class Bfv:
    """BFV with batching, at a depth with about our modulus."""

    def __init__(self, name: str) -> None:
        chosen = BFV[name]
        self.log2_degree = chosen.log2_degree
        p = fhe.CCParamsBFVRNS()
        p.SetPlaintextModulus(PLAIN_MODULUS)
        p.SetMultiplicativeDepth(chosen.openfhe_depth)
        p.SetSecurityLevel(fhe.HEStd_NotSet)
        p.SetRingDim(1 << self.log2_degree)
        self.context = fhe.GenCryptoContext(p)
        for feature in (fhe.PKE, fhe.KEYSWITCH, fhe.LEVELEDSHE):
            self.context.Enable(feature)
        self.pair = self.context.KeyGen()
        self.context.EvalMultKeyGen(self.pair.secretKey)
        self.context.EvalRotateKeyGen(self.pair.secretKey, [1])
        self.one_key_bytes = len(fhe.SerializeEvalAutomorphismKeyString(fhe.BINARY, ""))
        self.x = work.integers(1 << self.log2_degree, PLAIN_MODULUS)
        self.plain = self.context.MakePackedPlaintext(self.x.tolist())
        self.cipher = self.context.Encrypt(self.pair.publicKey, self.plain)

    def facts(self) -> dict[str, object]:
        log2_q = float(np.log2(float(self.context.GetModulus())))
        limbs = round(size_of(self.cipher) / WORD_BYTES / (2 << self.log2_degree))
        digits = round(self.one_key_bytes / WORD_BYTES / (2 << self.log2_degree) / limbs)
        technique = self.context.GetKeySwitchTechnique()
        assert technique == fhe.KeySwitchTechnique.BV, technique  # that is: no P
        return {
            "library": LIBRARY,
            "log2_degree": self.log2_degree,
            "limbs": limbs,
            "digits": digits,
            "special_limbs": 0,
            "log2_q": round(log2_q, 1),
            "log2_qp": round(log2_q, 1),
            "settings": "key switching by the package's default for BFV, BV",
        }

    def decrypt(self, cipher: object) -> np.ndarray:
        return np.array(self.context.Decrypt(self.pair.secretKey, cipher).GetPackedValue())

    def wrong(self, found: np.ndarray, expected: np.ndarray) -> float:
        """Number of wrong slots."""
        return float(np.count_nonzero((found[: len(expected)] - expected) % PLAIN_MODULUS))

    def operations(self) -> dict[str, object]:
        cc, x, ct, pt, pk = self.context, self.x, self.cipher, self.plain, self.pair.publicKey
        half = len(x) // 2
        turned = np.concatenate([np.roll(x[:half], -1), np.roll(x[half:], -1)])

        def checked(run: object, expected: np.ndarray) -> object:
            return lambda: Operation(run, lambda found: self.wrong(self.decrypt(found), expected))

        return {
            "encrypt": checked(lambda: cc.Encrypt(pk, pt), x),
            "decrypt_decode": lambda: Operation(lambda: self.decrypt(ct), lambda found: self.wrong(found, x)),
            "mul_plain": checked(lambda: cc.EvalMult(ct, pt), x * x),
            "mul_relin": checked(lambda: cc.EvalMult(ct, ct), x * x),
            "rotate": checked(lambda: cc.EvalRotate(ct, 1), turned),
            "ciphertext_bytes": lambda: Operation(lambda: size_of(ct)),
        }


class Boot:
    """Bootstrapping of all slots, to nine levels, of which products have eight."""

    def __init__(self, log2_degree: int) -> None:
        self.log2_degree, self.slots = log2_degree, 1 << (log2_degree - 1)
        p = fhe.CCParamsCKKSRNS()
        p.SetSecretKeyDist(fhe.SPARSE_ENCAPSULATED)
        p.SetSecurityLevel(fhe.HEStd_NotSet)
        p.SetRingDim(1 << log2_degree)
        p.SetScalingModSize(BOOT_SCALE_BITS)
        p.SetFirstModSize(BOOT_FIRST_BITS)
        p.SetScalingTechnique(fhe.FLEXIBLEAUTO)
        self.depth = BOOT_LEVELS + fhe.CryptoContext.GetBootstrapDepth(BOOT_BUDGET, p.GetSecretKeyDist())
        p.SetMultiplicativeDepth(self.depth)
        self.context = cc = fhe.GenCryptoContext(p)
        for feature in (fhe.PKE, fhe.KEYSWITCH, fhe.LEVELEDSHE, fhe.ADVANCEDSHE, fhe.FHE):
            cc.Enable(feature)
        cc.EvalBootstrapSetup(BOOT_BUDGET, [0, 0], self.slots)
        self.pair = cc.KeyGen()
        cc.EvalMultKeyGen(self.pair.secretKey)
        cc.EvalRotateKeyGen(self.pair.secretKey, [1])
        self.one_key_bytes = len(fhe.SerializeEvalAutomorphismKeyString(fhe.BINARY, ""))
        cc.EvalBootstrapKeyGen(self.pair.secretKey, self.slots)
        self.x = work.slots_vector(self.slots)
        self.floor = self.depth - 1
        plain = cc.MakeCKKSPackedPlaintext(self.x, 1, self.floor, None, self.slots)
        self.cipher = cc.Encrypt(self.pair.publicKey, plain)
        self.result = None

    def facts(self) -> dict[str, object]:
        words = self.one_key_bytes / WORD_BYTES
        log2_q = BOOT_FIRST_BITS + BOOT_SCALE_BITS * self.depth
        rows = round(words / (2 << self.log2_degree))  # digits x (Q + P limbs)
        digits = next(d for d in range(1, rows) if rows % d == 0 and self.fits(d, rows // d))
        special = rows // digits - self.depth - 1
        return {
            "library": LIBRARY,
            "log2_degree": self.log2_degree,
            "limbs": self.depth + 1,
            "digits": digits,
            "special_limbs": special,
            "log2_q": log2_q,
            "log2_qp": log2_q + 60 * special,
            "order": "ModRaise first",
            "settings": "FLEXIBLEAUTO, scale 2^59, real slots, sparse secret encapsulated, level budget 4 and 3",
        }

    def fits(self, digits: int, limbs: int) -> bool:
        """Whether so many P limbs of 60 bits are what a digit of so many Q limbs needs."""
        a_digit = -(-(self.depth + 1) // digits)
        return limbs - self.depth - 1 in (a_digit, a_digit + 1)

    def run(self) -> object:
        self.result = self.context.EvalBootstrap(self.cipher)
        return self.result

    def slots_of(self, cipher: object) -> np.ndarray:
        plain = self.context.Decrypt(self.pair.secretKey, cipher)
        plain.SetLength(self.slots)
        return np.array(plain.GetRealPackedValue())

    def levels_left(self) -> int:
        """To the level at which the next bootstrap takes its input; a product that is not rescaled yet spends one."""
        return self.floor - self.result.GetLevel() - (self.result.GetNoiseScaleDeg() - 1)

    def key_bytes(self) -> int:
        """Of all keys in the library's binary form, which is also what they take in memory."""
        count = len(self.context.GetExistingEvalAutomorphismKeyIndices(self.pair.secretKey.GetKeyTag()))
        return count * self.one_key_bytes  # of the sparse secret one is tiny; the relinearisation key comes to them

    def operations(self) -> dict[str, object]:
        return work.boot_operations(
            Operation,
            self.run,
            lambda: work.precision_bits(self.slots_of(self.result), self.x),
            levels_left=self.levels_left,
            level_bits=lambda: BOOT_SCALE_BITS,
            key_bytes=self.key_bytes,
            key_memory_bytes=self.key_bytes,
        )


def make(arguments: list[str]) -> Session:
    """The session of one scheme and set."""
    scheme, name = arguments[:2]
    made = {"ckks": Ckks, "bfv": Bfv, "boot": lambda n: Boot(int(n))}[scheme](name)
    return Session(made.facts(), made.operations())


if __name__ == "__main__":
    serve(make)
