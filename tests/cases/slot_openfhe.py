"""OpenFHE's Python package as exported programs see it, on slot vectors in the clear: what a test can run anywhere.

It holds a program to what the package would refuse or silently get wrong: keys that were not made, levels beyond the
depth, rotations of three polynomials, plaintexts of another length, values too large for a bootstrap or the last prime.
"""

from dataclasses import dataclass, field, replace

import numpy as np

CONSTANTS = (
    "FLEXIBLEAUTO", "HEStd_NotSet", "HEStd_128_classic", "COMPLEX", "REAL", "SPARSE_ENCAPSULATED", "PKE", "KEYSWITCH",
    "LEVELEDSHE", "ADVANCEDSHE", "FHE", "HYBRID", "BV", "HPS",
)  # fmt: skip
SECURE_RING, BOOTSTRAP_DEPTH = 1 << 14, 10
globals().update({name: name for name in CONSTANTS})


class _Parameters:
    """Whatever is set."""

    def __init__(self):
        self.set = {"SecretKeyDist": "UNIFORM_TERNARY"}

    def __getattr__(self, name):
        if name.startswith("Set"):
            return lambda value: self.set.__setitem__(name[3:], value)
        return lambda: self.set[name[3:]]


class CCParamsCKKSRNS(_Parameters):
    pass


class CCParamsBFVRNS(_Parameters):
    pass


@dataclass(frozen=True)
class Plain:
    values: np.ndarray
    level: int = 0

    def SetLength(self, length):
        assert length <= len(self.values)

    def GetCKKSPackedValue(self):
        return self.values

    def GetPackedValue(self):
        return self.values.tolist()


@dataclass(frozen=True)
class Cipher:
    values: np.ndarray
    level: int
    degree: int = 1  # of the scale
    polynomials: int = 2

    def GetLevel(self):
        return self.level

    def GetNoiseScaleDeg(self):
        return self.degree


@dataclass
class _Pair:
    publicKey: str = "public"
    secretKey: str = "secret"


@dataclass
class CryptoContext:
    set: dict
    rotations: set = field(default_factory=set)
    has_products: bool = False
    bootstraps: int = 0
    features: set = field(default_factory=set)

    @staticmethod
    def GetBootstrapDepth(budget, distribution):
        assert distribution == "SPARSE_ENCAPSULATED" and len(budget) == 2
        return BOOTSTRAP_DEPTH

    @property
    def modulus(self):
        return self.set.get("PlaintextModulus", 0)

    @property
    def depth(self):
        return self.set["MultiplicativeDepth"]

    def GetMultiplicativeDepth(self):
        return self.depth

    def GetRingDimension(self):
        small = self.set.get("KeySwitchTechnique") == "BV"
        return self.set.get("RingDim") or SECURE_RING >> small

    def GetModulus(self):
        return 2.0 ** (60 * (self.depth + 1))

    def Enable(self, feature):
        self.features.add(feature)

    # -- keys ------------------------------------------------------------------------------------

    def KeyGen(self):
        return _Pair()

    def EvalMultKeyGen(self, secret):
        self.has_products = secret == "secret"

    def EvalRotateKeyGen(self, secret, steps):
        assert secret == "secret" and steps
        self.rotations.update(steps)

    def EvalAutomorphismKeyGen(self, secret, elements):
        assert secret == "secret"
        return set(elements)

    def EvalBootstrapSetup(self, budget, _dimensions, slots):
        assert "FHE" in self.features and slots >= 2 ** max(budget)
        self.bootstraps = slots

    def EvalBootstrapKeyGen(self, secret, slots):
        assert secret == "secret" and slots == self.bootstraps

    # -- plaintexts ------------------------------------------------------------------------------

    def MakeCKKSPackedPlaintext(self, values, degree, level, _parameters, slots):
        assert values.shape == (slots,) and slots == self.set["BatchSize"] <= self.GetRingDimension() // 2
        assert 0 <= level <= self.depth and degree == 1, "an encoding at a level that there is not"
        assert np.isrealobj(values) == (self.set["CKKSDataType"] == "REAL")
        return Plain(values, level)

    def MakePackedPlaintext(self, values):
        assert len(values) == self.GetRingDimension() and (self.modulus - 1) % (2 * len(values)) == 0
        assert all(type(v) is int and -self.modulus <= 2 * v <= self.modulus for v in values)
        return Plain(np.array(values, dtype=np.int64))

    def Encrypt(self, key, plain):
        assert key == "public"
        return Cipher(plain.values, plain.level)

    def Decrypt(self, key, x):
        assert key == "secret"
        if not self.modulus and x.level + x.degree - 1 == self.depth:
            room = 2.0 ** (self.set["FirstModSize"] - self.set["ScalingModSize"] - 1)
            assert np.abs(x.values).max() < room, "larger than the last prime"
        return Plain(x.values)

    # -- arithmetic ------------------------------------------------------------------------------

    def _made(self, x):
        assert x.level + x.degree - 1 <= self.depth or self.modulus, "no level is left"
        if not self.modulus:
            return x
        return replace(x, values=(x.values + self.modulus // 2) % self.modulus - self.modulus // 2)

    def _both(self, a, b, values):
        if isinstance(b, Cipher):
            place = max((a.level + a.degree - 1, a.degree), (b.level + b.degree - 1, b.degree))
            return self._made(Cipher(values, place[0] - place[1] + 1, place[1], max(a.polynomials, b.polynomials)))
        return self._made(replace(a, values=values))

    def EvalAdd(self, a, b):
        return self._both(a, b, a.values + getattr(b, "values", b))

    def EvalSub(self, a, b):
        return self._both(a, b, a.values - getattr(b, "values", b))

    def EvalAddMany(self, many):
        total = many[0]
        for each in many[1:]:
            total = self.EvalAdd(total, each)
        return total

    def EvalNegate(self, a):
        return self._made(replace(a, values=-a.values))

    def EvalMultNoRelin(self, a, b):
        secret = isinstance(b, Cipher)
        spent = max(a.level + a.degree - 1, b.level + b.degree - 1 if secret else 0)
        if secret:
            assert a.polynomials == b.polynomials == 2, "a product of three polynomials"
        made = Cipher(a.values * getattr(b, "values", b), spent, 2, 3 if secret else a.polynomials)
        return self._made(made)

    def EvalMult(self, a, b):
        if not isinstance(b, Cipher):
            if not self.modulus:
                assert not isinstance(b, complex) or self.set["CKKSDataType"] == "COMPLEX"
            return self.EvalMultNoRelin(a, b)
        return self.Relinearize(self.EvalMultNoRelin(a, b))

    def Relinearize(self, a):
        assert a.polynomials == 3 and self.has_products
        return replace(a, polynomials=2)

    def EvalRotate(self, a, steps):
        assert steps in self.rotations, f"no key rotates by {steps}"
        assert a.polynomials == 2, "a rotation of three polynomials"
        rows = a.values.reshape(2 if self.modulus else 1, -1)
        return replace(a, values=np.roll(rows, -steps, axis=1).reshape(-1))

    def EvalFastRotationPrecompute(self, a):
        return a.values

    def EvalFastRotation(self, a, steps, order, digits):
        assert digits is a.values and order == 2 * self.GetRingDimension()
        return self.EvalRotate(a, steps)

    def EvalAutomorphism(self, a, element, keys):
        assert element in keys and a.polynomials == 2
        order, slots = 2 * self.GetRingDimension(), len(a.values)
        steps = next(k for k in range(slots) if (order - pow(5, k, order) - element) % (4 * slots) == 0)
        return replace(a, values=np.roll(np.conj(a.values), -steps))

    def EvalBootstrap(self, a, *_again):
        assert len(a.values) == self.bootstraps and np.abs(a.values).max() <= 1.0 and a.polynomials == 2
        assert a.level + a.degree <= self.depth, "a bootstrap adjusts a scale first"
        return Cipher(a.values, max(BOOTSTRAP_DEPTH, 0), 1)


def GenCryptoContext(parameters):
    found = dict(parameters.set)
    assert found["SecurityLevel"] == "HEStd_128_classic" or found["RingDim"]
    return CryptoContext(found)
