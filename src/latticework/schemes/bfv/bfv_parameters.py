"""BFV parameter sets: stated by sizes of primes, or chosen for a depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2

from latticework.errors import DtypeError, LevelError, RangeError
from latticework.plan.parameters import ModulusChain, modulus_limit_bits, security_levels
from latticework.plan.parameters.bfv_chain import (
    ChainShape,
    any_modulus,
    chain_for_depth,
    explicit_bfv_chain,
    extension_primes,
    plain_prime,
    transform_counts,
)
from latticework.plan.parameters.bfv_noise import MIN_BUDGET_BITS, ShapeNoiseModel
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.parameters.gadgets import gadgets_by_level
from latticework.plan.parameters.secrets import check_secret
from latticework.plan.parameters.select import MAX_RING_LOG2, MIN_RING_LOG2
from latticework.plan.parameters.stated_primes import PrimeRequest
from latticework.schemes.rlwe.checks import fail, locate, whole
from latticework.schemes.rlwe.parameters import ChainParameters
from latticework.values.sums import add_up


class Parameters(ChainParameters):
    """A BFV parameter set; immutable.

    ring_degree    N, a power of two: 2^12 to 2^15 are secure with room for products (2^10 and 2^11 for tests only)
    q_bits         sizes of the primes of the modulus, of at most 49 bits each; level i keeps the first i + 1
    primes         in place of q_bits: the primes themselves, each 1 modulo 2N
    plain_modulus  t, a prime that is 1 modulo 2N, of at most 49 bits: slots hold integers modulo t; or plain_bits, for
                   the largest such prime of so many bits
    batching       False: any plain_modulus up to 2^60 without a factor in common with the primes, as 2**32, for values
                   encoded as coefficients
    p_bits         sizes of the special primes of key switching; or special, these themselves; or num_special of 49
                   bits; or none of these, to have the number chosen with which key switching is cheapest.
                   num_special=0: no evaluation key can be made, and Q alone counts for security
    num_digits     digits of key switching; as few as stay below the product of the special primes if not given
    special_below  levels: numbers of special primes of keys for that level and those below, which leave more of the
                   secure modulus to them; such keys serve no other levels, and there is one for each number
    secret         distribution of secret keys: "ternary", uniform on -1, 0 and 1; or "gaussian", that of errors
    secret_weight  of ternary secrets: how many coefficients are -1 or 1; any number if not given
    security_bits  128, 192 or 256, by the table for such secrets
    insecure       accept sets that are not secure: only for tests
    raises         SecurityError where log2(QP) is over the limit for the ring degree; RangeError where fresh
                   ciphertexts would have less noise budget than the 2 bits that `decrypt` asks for
    """

    scheme = "bfv"

    @locate
    def __init__(
        self,
        ring_degree: int,
        q_bits: Sequence[float] | None = None,
        *,
        primes: Sequence[int] | None = None,
        special: Sequence[int] | None = None,
        plain_bits: int | None = None,
        plain_modulus: int | None = None,
        batching: bool = True,
        p_bits: Sequence[float] | None = None,
        num_special: int | None = None,
        num_digits: int | None = None,
        special_below: Mapping[int, int] | None = None,
        secret: str = "ternary",
        secret_weight: int | None = None,
        security_bits: int = 128,
        insecure: bool = False,
    ) -> None:
        _check_sizes(ring_degree, security_bits)
        asked = PrimeRequest(q_bits, primes, p_bits, num_special, special)
        plain = _plain_prime(ring_degree, plain_bits, plain_modulus, batching)
        law = check_secret(secret, secret_weight, ring_degree)
        chain = explicit_bfv_chain(
            ring_degree, plain, asked, secret=law, num_digits=num_digits, security_bits=security_bits,
            insecure=insecure,
        )  # fmt: skip
        _check_fresh_budget(chain)
        self._use(gadgets_by_level(chain, special_below) if special_below else chain)

    @classmethod
    @locate
    def choose(
        cls,
        *,
        depth: int,
        plain_bits: int | None = None,
        plain_modulus: int | None = None,
        batching: bool = True,
        slots: int = 1,
        ring_degree: int | None = None,
        security_bits: int = 128,
        insecure: bool = False,
    ) -> Parameters:
        """The smallest ring (or the one asked for) and the cheapest primes for `depth` products in a row.

        Each product may be followed by a rotation and a sum of up to 16 independent terms; encryption may be under the
        public key. The modulus is as large as its number of primes and security allow.
        slots     length of a row of slots: N is at least twice that
        insecure  accept less than security_bits, in a ring degree that is given
        raises    LevelError if there is no such set
        """
        if whole("Parameters.choose: depth", depth) < 0:
            fail(LevelError, f"Parameters.choose: depth={depth}; give the number of products in a row, 0 or more")
        if not 1 <= whole("Parameters.choose: slots", slots) <= 1 << (MAX_RING_LOG2 - 1):
            fail(RangeError, f"Parameters.choose: slots={slots}; 1 to {1 << (MAX_RING_LOG2 - 1)} in a row are possible")
        _check_sizes(2**12 if ring_degree is None else ring_degree, security_bits)
        least = max(2**12, 2 << (slots - 1).bit_length()) if ring_degree is None else ring_degree
        if 2 * slots > least:
            fail(RangeError, f"Parameters.choose: slots={slots}, but ring_degree={least} has rows of {least // 2}")
        degrees = [1 << k for k in range(least.bit_length() - 1, 16)] if ring_degree is None else [ring_degree]
        if plain_modulus is not None and ring_degree is None and batching is True:
            modulus = whole("Parameters: plain_modulus", plain_modulus)
            # where no ring fits, the first says what is wrong
            degrees = [degree for degree in degrees if modulus % (2 * degree) == 1] or degrees[:1]
        for degree in degrees:
            plain = _plain_prime(degree, plain_bits, plain_modulus, batching)
            limit = modulus_limit_bits(degree, security_bits)
            if insecure and ring_degree is not None:
                limit = None
            elif limit is None:
                continue
            chain = chain_for_depth(depth, degree, plain, security_bits=security_bits, insecure=limit is None)
            if chain is not None:
                return cls.of_chain(chain)
        size = plain_bits if plain_modulus is None else plain_modulus.bit_length()
        where = "N = 2^15, the largest ring," if ring_degree is None else f"N = {ring_degree}"
        larger = "" if ring_degree is None else "a larger ring_degree, "
        fail(
            LevelError,
            f"Parameters.choose: depth {depth} with a plaintext modulus of {size} bits does not fit {where} at "
            f"{security_bits}-bit security; use {larger}a smaller modulus or fewer products in a row",
        )

    # -- what they are -----------------------------------------------------------------------

    @property
    def plain_modulus(self) -> int:
        """t: slots, or coefficients, hold integers modulo t."""
        return self.chain.plain_modulus

    @property
    def batching(self) -> bool:
        """Whether t has slots: where it is a prime of at most 49 bits that is 1 modulo 2N. Else it has coefficients."""
        return core_parameters(self.chain).has_batching

    @property
    def slots(self) -> int:
        """Integers that one ciphertext holds, N, in two rows."""
        return self.ring_degree

    @property
    def row_slots(self) -> int:
        """Length of a row of slots, N/2. There are two rows."""
        return self.ring_degree // 2

    def num_transforms(self, level: int | None = None) -> dict[str, int]:
        """NTTs (forward and inverse, each of one prime) that operations at a level take."""
        level = self.levels if level is None else self.check_level("num_transforms", level)
        digits = len(ChainShape(self.chain).digit_bits(level))
        return transform_counts(
            level + 1, len(extension_primes(self.chain, level)), self.chain.num_special_at(level), digits
        )

    def _scheme_rows(self) -> list[tuple[str, str, str]]:
        t = self.plain_modulus
        held = f"2 x {self.row_slots} integer slots" if self.batching else "integer coefficients, no slots"
        return [
            ("ring degree N", f"{self.ring_degree}", held),
            ("t", f"{t}", f"plaintext modulus, {t.bit_length()} bits"),
        ]

    def _level_lines(self) -> list[str]:
        primes, lines = self.chain.primes, ["  level  log2 of its prime  log2 modulus"]
        for level in range(self.levels, -1, -1):
            modulus = add_up(log2(p) for p in primes[: level + 1])
            lines.append(f"  {level:>5}  {log2(primes[level]):>17.2f}  {modulus:>12.1f}")
        return lines

    def _repr_facts(self) -> tuple[str, str]:
        return f"t={self.plain_modulus}", ""


def _check_fresh_budget(chain: ModulusChain) -> None:
    """RangeError where `decrypt` would refuse fresh ciphertexts, which after some of them ends the key."""
    model = ShapeNoiseModel(ChainShape(chain))
    fresh = model.fresh()
    missing = -model.spare_bits(fresh)
    if missing <= 0:
        return
    modulus, plain = add_up(log2(p) for p in chain.primes), log2(chain.plain_modulus)
    fail(
        RangeError,
        f"Parameters: the modulus has {modulus:.1f} bits, t has {plain:.1f}: fresh ciphertexts would have a noise "
        f"budget of {model.budget(fresh):.1f} bits, and decrypt refuses less than {MIN_BUDGET_BITS:g}; use "
        f"{ceil(missing)} bits more in q_bits, or a smaller t",
    )


def _check_sizes(ring_degree: int, security_bits: int) -> None:
    """RangeError for a ring degree or a security level that there is not."""
    low, high = 1 << MIN_RING_LOG2, 1 << MAX_RING_LOG2
    degree = whole("Parameters: ring_degree", ring_degree)
    if not low <= degree <= high or degree & (degree - 1):
        raise RangeError(f"Parameters: ring_degree={degree} is not a power of two from {low} to {high}")
    if whole("Parameters: security_bits", security_bits) not in security_levels():
        known = ", ".join(str(bits) for bits in security_levels())
        raise RangeError(f"Parameters: security_bits={security_bits}; choose one of {known}")


def _plain_prime(ring_degree: int, plain_bits: int | None, plain_modulus: int | None, batching: bool) -> int:
    """The plaintext modulus asked for."""
    if not isinstance(batching, bool):
        fail(DtypeError, f"Parameters: batching is {batching!r:.60}; give True, or False for a t without slots")
    bits = None if plain_bits is None else whole("Parameters: plain_bits", plain_bits)
    modulus = None if plain_modulus is None else whole("Parameters: plain_modulus", plain_modulus)
    if not batching:
        return any_modulus(bits, modulus)
    return plain_prime(ring_degree, bits, modulus)
