"""OpenFHE through its Python package. Arguments: ckks a|b|c, bfv 13|14, boot LOG2_DEGREE."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import openfhe as fhe
import work
from protocol import Operation, Session, serve
from sets import BFV, CKKS, HOISTED, PLAIN_MODULUS

LIBRARY = "openfhe " + version("openfhe")
WORD_BYTES = 8
BOOT_LEVELS = 9
BOOT_BUDGET = {16: [4, 3], 15: [4, 3]}


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
        self.x = work.integers(1 << self.log2_degree, PLAIN_MODULUS)
        self.plain = self.context.MakePackedPlaintext(self.x.tolist())
        self.cipher = self.context.Encrypt(self.pair.publicKey, self.plain)

    def facts(self) -> dict[str, object]:
        log2_q = float(np.log2(float(self.context.GetModulus())))
        return {"library": LIBRARY, "log2_degree": self.log2_degree, "log2_q": round(log2_q, 1)}

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
    """Bootstrapping of all slots, to nine levels."""

    def __init__(self, log2_degree: int) -> None:
        self.log2_degree, self.slots = log2_degree, 1 << (log2_degree - 1)
        budget = BOOT_BUDGET.get(log2_degree, [3, 3])
        p = fhe.CCParamsCKKSRNS()
        p.SetSecretKeyDist(fhe.SPARSE_ENCAPSULATED if log2_degree >= 15 else fhe.UNIFORM_TERNARY)
        p.SetSecurityLevel(fhe.HEStd_NotSet)
        p.SetRingDim(1 << log2_degree)
        p.SetScalingModSize(59)
        p.SetFirstModSize(60)
        p.SetScalingTechnique(fhe.FLEXIBLEAUTO)
        self.depth = BOOT_LEVELS + fhe.FHECKKSRNS.GetBootstrapDepth(budget, p.GetSecretKeyDist())
        p.SetMultiplicativeDepth(self.depth)
        self.context = cc = fhe.GenCryptoContext(p)
        for feature in (fhe.PKE, fhe.KEYSWITCH, fhe.LEVELEDSHE, fhe.ADVANCEDSHE, fhe.FHE):
            cc.Enable(feature)
        cc.EvalBootstrapSetup(budget, [0, 0], self.slots)
        self.pair = cc.KeyGen()
        cc.EvalMultKeyGen(self.pair.secretKey)
        cc.EvalBootstrapKeyGen(self.pair.secretKey, self.slots)
        self.x = work.slots_vector(self.slots)
        plain = cc.MakeCKKSPackedPlaintext(self.x, 1, self.depth - 1, None, self.slots)
        self.cipher = cc.Encrypt(self.pair.publicKey, plain)

    def facts(self) -> dict[str, object]:
        return {
            "library": LIBRARY,
            "log2_degree": self.log2_degree,
            "depth": self.depth,
            "levels_after": BOOT_LEVELS,
            "log2_q": 60 + 59 * self.depth,
            "settings": "FLEXIBLEAUTO, scale 2^59, real data, sparse secret encapsulated; security not checked",
        }

    def operations(self) -> dict[str, object]:
        def error(found: object) -> float:
            plain = self.context.Decrypt(self.pair.secretKey, found)
            plain.SetLength(self.slots)
            return work.largest_error(plain.GetRealPackedValue(), self.x)

        return {"bootstrap": lambda: Operation(lambda: self.context.EvalBootstrap(self.cipher), error)}


def make(arguments: list[str]) -> Session:
    """The session of one scheme and set."""
    scheme, name = arguments[:2]
    made = {"ckks": Ckks, "bfv": Bfv, "boot": lambda n: Boot(int(n))}[scheme](name)
    return Session(made.facts(), made.operations())


if __name__ == "__main__":
    serve(make)
