"""BFV parameter sets: stated prime by prime, by sizes, or chosen for a depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2

from latticework import _core
from latticework.bfv.checks import located, whole
from latticework.errors import LevelError, RangeError, SecurityError
from latticework.figures import over
from latticework.params import modulus_limit_bits, security_levels
from latticework.params.bfv_chain import bfv_chain, chain_for_depth, equal_digits, plain_prime, transform_counts
from latticework.params.select import MAX_PRIME_BITS, MAX_RING_LOG2, MIN_RING_LOG2

MAX_LIMBS, MAX_SPECIAL = 30, 6


@dataclass(frozen=True, eq=False)
class Parameters:
    """The public description of a BFV instance; immutable.

    ring_degree    N, a power of two: 2^12 to 2^15 are secure with room for products (2^10 and 2^11 for tests only)
    plain_modulus  t, a prime that is 1 modulo 2N, of at most 49 bits: slots hold integers modulo t
    q              primes of the ciphertext modulus, each 1 modulo 2N and of at most 49 bits; level i keeps q[:i + 1]
    p              special primes of key switching
    num_digits     parts that a key switch cuts the modulus into; as few as stay below the product of p if None
    security_bits  128, 192 or 256, for uniform ternary secrets
    insecure       True accepts any modulus: only for tests
    raises         SecurityError where log2(QP) exceeds the limit of the ring degree; ValueError for primes of no use
    """

    ring_degree: int
    plain_modulus: int
    q: tuple[int, ...]
    p: tuple[int, ...]
    num_digits: int | None = None
    security_bits: int = 128
    insecure: bool = False

    @located
    def __post_init__(self) -> None:
        _check_sizes(self.ring_degree, self.security_bits)
        object.__setattr__(self, "q", tuple(int(prime) for prime in self.q))
        object.__setattr__(self, "p", tuple(int(prime) for prime in self.p))
        self.core  # noqa: B018 - every rule is checked there
        limit = modulus_limit_bits(self.ring_degree, self.security_bits)
        used = self.log2_qp
        if not self.insecure and (limit is None or used > limit):
            allowed = "no modulus" if limit is None else f"at most {limit} bits"
            raise SecurityError(
                f"Parameters: log2(QP) is {over(used, limit or 0)}, but N = {self.ring_degree} allows {allowed} for "
                f"{self.security_bits}-bit security; use a larger ring_degree or fewer primes (insecure=True is for "
                "tests)"
            )

    @classmethod
    @located
    def of_bits(
        cls,
        ring_degree: int,
        *,
        q_bits: Sequence[float],
        p_bits: Sequence[float],
        plain_bits: int | None = None,
        plain_modulus: int | None = None,
        num_digits: int | None = None,
        security_bits: int = 128,
        insecure: bool = False,
    ) -> Parameters:
        """Primes of stated sizes, each the largest unused one below 2^bits."""
        _check_sizes(ring_degree, security_bits)
        for name, sizes in (("q_bits", q_bits), ("p_bits", p_bits)):
            if not sizes or not all(1 <= bits <= MAX_PRIME_BITS for bits in sizes):
                raise RangeError(f"Parameters: {name}={list(sizes)}; give at least one prime, each of at most 49 bits")
        plain = _plain_prime(ring_degree, plain_bits, plain_modulus)
        chain = bfv_chain(ring_degree, plain, q_bits, p_bits)
        return cls(ring_degree, plain, chain.primes, chain.special, num_digits, security_bits, insecure)

    @classmethod
    @located
    def choose(
        cls,
        ring_degree: int | None = None,
        *,
        plain_bits: int | None = None,
        plain_modulus: int | None = None,
        depth: int = 1,
        security_bits: int = 128,
        insecure: bool = False,
    ) -> Parameters:
        """The smallest ring (or the one asked for) and the cheapest primes for `depth` products in a row.

        Each product may be followed by a rotation and a sum of up to 16 independent terms; encryption may be under the
        public key. The modulus is as large as its number of primes and security allow.
        insecure  accept less than security_bits, in a ring degree that is given
        raises    LevelError if there is no such set
        """
        if whole("Parameters.choose: depth", depth) < 0:
            raise LevelError(f"Parameters.choose: depth={depth}; give the number of products in a row, 0 or more")
        _check_sizes(2**12 if ring_degree is None else ring_degree, security_bits)
        degrees = [1 << k for k in range(12, 16)] if ring_degree is None else [ring_degree]
        if plain_modulus is not None and ring_degree is None:
            fitting = [
                degree for degree in degrees if whole("Parameters: plain_modulus", plain_modulus) % (2 * degree) == 1
            ]
            degrees = fitting or degrees[:1]  # of which the first says what is wrong
        for degree in degrees:
            plain = _plain_prime(degree, plain_bits, plain_modulus)
            limit = modulus_limit_bits(degree, security_bits)
            if insecure and ring_degree is not None:
                limit = None
            elif limit is None:
                continue
            chain = chain_for_depth(depth, degree, plain, security_bits=security_bits, insecure=limit is None)
            if chain is not None:
                return cls(degree, plain, chain.primes, chain.special, None, security_bits, chain.insecure)
        size = plain_bits if plain_modulus is None else plain_modulus.bit_length()
        where = "N = 2^15, the largest ring," if ring_degree is None else f"N = {ring_degree}"
        larger = "" if ring_degree is None else "a larger ring_degree, "
        raise LevelError(
            f"Parameters.choose: depth {depth} with a plaintext modulus of {size} bits does not fit {where} at "
            f"{security_bits}-bit security; use {larger}a smaller modulus or fewer products in a row"
        )

    # -- what they are -----------------------------------------------------------------------

    @cached_property
    def core(self) -> _core.Parameters:
        """The core's object of the same parameters."""
        return _core.Parameters(
            ring_degree=self.ring_degree,
            q=list(self.q),
            p=list(self.p),
            digits=[list(digit) for digit in self.digits],
            tracks=[{"groups": [[i] for i in range(len(self.q))], "scales": [1.0] * len(self.q)}],
            security_bits=self.security_bits,
            insecure=self.insecure,
            plain_modulus=self.plain_modulus,
        )

    @property
    def row_slots(self) -> int:
        """Length of a row of slots, N/2. There are two rows."""
        return self.ring_degree // 2

    @property
    def levels(self) -> int:
        """The highest level, that of new ciphertexts. Level i has i + 1 primes."""
        return len(self.q) - 1

    @cached_property
    def digits(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the primes in each digit of a key switch."""
        if self.num_digits is not None:
            size = -(-len(self.q) // self.num_digits) if self.num_digits > 0 else 0
            if not 1 <= self.num_digits <= len(self.q):
                raise RangeError(f"Parameters: num_digits={self.num_digits}; 1 to {len(self.q)} are possible")
            return tuple(tuple(range(i, min(i + size, len(self.q)))) for i in range(0, len(self.q), size))
        return equal_digits(self.q, self.log2_p + 1)

    @cached_property
    def log2_p(self) -> float:
        """Bits of the special primes."""
        return sum(log2(prime) for prime in self.p)

    @property
    def log2_special(self) -> float:
        """Bits of the first special prime, by which encryptions under the public key are divided."""
        return log2(self.p[0])

    @property
    def log2_qp(self) -> float:
        """Bits of all primes: what security is counted on."""
        return self.log2_q(self.levels) + self.log2_p

    def log2_q(self, level: int) -> float:
        """Bits of the ciphertext modulus at a level."""
        return sum(log2(prime) for prime in self.q[: level + 1])

    def log2_extension(self, level: int) -> float:
        """Bits of the basis beside Q that products at a level are computed in."""
        return sum(log2(prime) for prime in self.core.extension_primes((0, level)))

    def digit_bits(self, level: int) -> tuple[float, ...]:
        """Bits of each digit of a key switch at a level."""
        kept = [[self.q[i] for i in digit if i <= level] for digit in self.digits]
        return tuple(sum(log2(prime) for prime in digit) for digit in kept if digit)

    @property
    def fingerprint(self) -> bytes:
        """32 bytes that name the parameters in keys, ciphertexts and files."""
        return bytes(self.core.fingerprint)

    def num_transforms(self, level: int | None = None) -> dict[str, int]:
        """NTTs (forward and inverse, each of one prime) that operations at a level take."""
        level = self.levels if level is None else self.check_level("num_transforms", level)
        limbs, extra = level + 1, len(self.core.extension_primes((0, level)))
        return transform_counts(limbs, extra, len(self.p), len(self.digit_bits(level)))

    def check_level(self, who: str, level: int) -> int:
        """The level; LevelError if there is none."""
        if not 0 <= level <= self.levels:
            raise LevelError(f"{who}: there is no level {level}; these parameters have levels 0 to {self.levels}")
        return int(level)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameters) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        verdict = ", INSECURE" if self.insecure else ""
        return (
            f"bfv.Parameters(N={self.ring_degree}, t={self.plain_modulus}, {len(self.q)}+{len(self.p)} primes, "
            f"log2 QP={self.log2_qp:.1f}, {len(self.digits)} digits{verdict})"
        )


def _check_sizes(ring_degree: int, security_bits: int) -> None:
    """RangeError for a ring degree or a security level that there is not."""
    low, high = 1 << MIN_RING_LOG2, 1 << MAX_RING_LOG2
    degree = whole("Parameters: ring_degree", ring_degree)
    if not low <= degree <= high or degree & (degree - 1):
        raise RangeError(f"Parameters: ring_degree={degree} is not a power of two from {low} to {high}")
    if security_bits not in security_levels():
        known = ", ".join(str(bits) for bits in security_levels())
        raise RangeError(f"Parameters: security_bits={security_bits}; choose one of {known}")


def _plain_prime(ring_degree: int, plain_bits: int | None, plain_modulus: int | None) -> int:
    bits = None if plain_bits is None else whole("Parameters: plain_bits", plain_bits)
    modulus = None if plain_modulus is None else whole("Parameters: plain_modulus", plain_modulus)
    return plain_prime(ring_degree, bits, modulus)
