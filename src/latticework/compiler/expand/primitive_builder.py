"""Builder of primitive operations for expansions: one function per primitive step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log2, prod

from latticework.ir import Builder, Value
from latticework.ir.dialects.rlwe_dialect import CipherType, DigitsType, Level
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.key_manifest import KeySpec, conjugation_element, galois_element, signed_steps
from latticework.values.packing.packed_constants import ConstRef

MAX_FACTOR = 1 << 62  # of the core's 64-bit scalars


class Primitives:
    """Builds primitive operations on ciphertexts of one chain at a builder's insertion point."""

    def __init__(self, builder: Builder, chain: ModulusChain) -> None:
        self.builder = builder
        self.chain = chain

    def key(self, kind: str, element: int, level: Level) -> Value:
        """Demand the key of a Galois element (0 for relinearisation), good for a level."""
        spec = KeySpec(kind, element, level.track, level.index)
        return self.builder.build("key.demand", [], spec=spec)

    def galois_key(self, steps: int, slots: int, level: Level) -> Value:
        """The key of a left rotation of vectors of `slots` slots; steps that are equal modulo `slots` share one."""
        return self.key("galois", galois_element(signed_steps(steps, slots), self.chain.ring_degree), level)

    def relinearize(self, x: Value) -> Value:
        """Degree 2 to degree 1; degree 1 unchanged."""
        kind = cipher(x)
        if kind.degree == 1:
            return x
        return self.builder.build("rlwe.relinearize", [x, self.key("relin", 0, kind.level)])

    def mul_relinearize(self, a: Value, b: Value) -> Value:
        """The product of BFV ciphertexts, of degree 1."""
        return self.builder.build("bfv.mul_relinearize", [a, b, self.key("relin", 0, cipher(a).level)])

    def settle(self, x: Value, level: int, scale: float) -> Value:
        """Degree 1 at a lower level: one division takes P and the primes in between away."""
        kind = cipher(x)
        if kind.degree == 1:
            return self.mod_down(x, level, scale)
        key = self.key("relin", 0, kind.level)
        return self.builder.build("rlwe.relinearize", [x, key], level=Level(kind.level.track, level), scale=scale)

    def hoist(self, x: Value) -> Value:
        """Decompose and raise once, for many key products."""
        return self.builder.build("rlwe.hoist", [x])

    def key_product(self, digits: Value, steps: int, level: Level) -> Value:
        """The rotation by `steps` of a hoisted value, still over QP."""
        kind = digits.type
        assert isinstance(kind, DigitsType), kind
        return self.builder.build("rlwe.key_product", [digits, self.galois_key(steps, kind.of.slots, level)])

    def mod_down(self, x: Value, level: int, scale: float) -> Value:
        """Divide by P (if over QP) and by the primes between x's level and `level`, in one step."""
        kind = cipher(x)
        if kind.basis == "Q" and kind.level.index == level:
            return x
        track = kind.level.track
        return self.builder.build("rlwe.mod_down", [x], level=Level(track, level), scale=scale)

    def extend(self, x: Value) -> Value:
        """The same value over QP."""
        return self.builder.build("rlwe.extend", [x])

    def rotate_over_p(self, x: Value, steps: int) -> Value:
        """The rotation over QP of a value over Q or QP."""
        kind = cipher(x)
        if kind.basis == "Q":
            return self.key_product(self.hoist(x), steps, kind.level)
        return self.builder.build("rlwe.rotate_over_p", [x, self.galois_key(steps, kind.slots, kind.level)])

    def encode(self, value: ConstRef, slots: int, level: Level, scale: float, basis: str) -> Value:
        """A constant as a plaintext at the level, scale and basis of use."""
        return self.builder.build("rlwe.encode", [], value=value, slots=slots, level=level, scale=scale, basis=basis)

    def mul_int(self, x: Value, factor: int, scale: float) -> Value:
        """Multiply by an integer; `scale` is the stated scale of the product."""
        return self.builder.build("rlwe.mul_int", [x], factor=factor, scale=scale)

    def mul_i(self, x: Value, power: int = 1) -> Value:
        """Multiply by i^power: by a power of X."""
        degree = self.chain.ring_degree
        exponent = power % 4 * (degree // 2)
        return self.builder.build("rlwe.mul_monomial", [x], exponent=exponent, ring_degree=degree)

    def raise_scale(self, x: Value, scale: float) -> Value:
        """The same value at a larger scale, by an integer factor, in two steps where it is too long for one."""
        ratio = scale / cipher(x).scale
        if ratio >= MAX_FACTOR:  # a power of two first: all that is rounded is in the second
            power = 2 ** ceil(log2(ratio / MAX_FACTOR) + 1)
            x = self.mul_int(x, power, cipher(x).scale * power)
            ratio /= power
        return self.mul_int(x, round(ratio), scale)

    def relabel(self, x: Value, scale: float, *, slots: int | None = None, level: Level | None = None) -> Value:
        """Read the same integers at another scale, as vectors of another width, or on another track."""
        return self.builder.build("rlwe.relabel", [x], scale=scale, slots=slots, level=level)

    def drop(self, x: Value, level: int) -> Value:
        """Fewer limbs, same scale."""
        kind = cipher(x)
        if kind.level.index == level:
            return x
        return self.builder.build("rlwe.drop_level", [x], level=Level(kind.level.track, level))

    def take(self, x: Value, vectors: Iterable[int]) -> Value:
        """These vectors of an array."""
        numbers = tuple(vectors)
        return x if numbers == tuple(range(cipher(x).count)) else self.builder.build("rlwe.take", [x], vectors=numbers)

    def concat(self, arrays: Sequence[Value]) -> Value:
        """One array of all vectors."""
        return arrays[0] if len(arrays) == 1 else self.builder.build("rlwe.concat", list(arrays))

    def rotate(self, x: Value, steps: int) -> Value:
        """Left rotation."""
        kind = cipher(x)
        return self.builder.build("rlwe.rotate", [x, self.galois_key(steps, kind.slots, kind.level)], steps=steps)

    def conjugate(self, x: Value) -> Value:
        """The complex conjugate of every slot."""
        kind = cipher(x)
        key = self.key("galois", conjugation_element(self.chain.ring_degree), kind.level)
        product = self.builder.build("rlwe.key_product", [self.hoist(x), key])
        return self.mod_down(product, kind.level.index, kind.scale)

    def sub(self, a: Value, b: Value) -> Value:
        """a - b."""
        return self.builder.build("rlwe.sub", [a, b])

    def add(self, a: Value | None, b: Value) -> Value:
        """a + b, where None is an empty sum."""
        return b if a is None else self.builder.build("rlwe.add", [a, b])

    def group(self, level: int, track: int = 0) -> int:
        """The product of primes that rescaling `level` away divides by."""
        return self.chain.group_product(level, track)

    def product_between(self, start: Level, level: int) -> int:
        """The product of primes that a division from `start` down to `level` divides by."""
        return prod(self.group(i, start.track) for i in range(level + 1, start.index + 1))


def cipher(value: Value) -> CipherType:
    """The ciphertext type of a value."""
    assert isinstance(value.type, CipherType), value.type
    return value.type
