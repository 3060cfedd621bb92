"""Parameter sets: stated prime by prime, or chosen for a depth and a precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil, log2, sqrt

from latticework.errors import (
    LayoutError,
    LevelError,
    PrecisionError,
    RangeError,
    RangeWarning,
    SecurityError,
    UserError,
)
from latticework.ir.lines import warn
from latticework.plan.parameters import (
    MAX_SLOTS,
    GroupBits,
    ModulusChain,
    Need,
    PrimeRequest,
    explicit_chain,
    security_levels,
    select_chain,
)
from latticework.plan.parameters.gadgets import gadgets_by_level
from latticework.plan.parameters.secrets import check_secret
from latticework.plan.parameters.step_noise import mod_down, public_encryption
from latticework.schemes.ckks.ckks_checks import scale_text, short_scale_text
from latticework.schemes.rlwe.checks import fail, locate, real, whole
from latticework.schemes.rlwe.parameters import ChainParameters
from latticework.values.extension import _core
from latticework.values.sums import add_up

MAX_SCALE_BITS = 55
SMALL_BITS = 1.001  # of a modulus over the scale: values of 1 do not fit
DEVIATIONS = 6.0  # a precision is meant for errors of so many standard deviations


class Parameters(ChainParameters):
    """A CKKS parameter set; immutable.

    ring_degree   N, a power of two from 2^10 to 2^17; N/2 slots
    q_bits        sizes of the modulus chain, lowest level first: a number of bits (two primes where it exceeds 49), or
                  a tuple of two sizes. Level i is rescaled away by entry i; entry 0 stays
    primes        in place of q_bits: the primes themselves, or tuples of two; each 1 modulo 2N, of at most 49 bits
    scale_bits    log2 of the scale of every level, or one number a level
    p_bits        sizes of the special primes of key switching; or special, these themselves; or num_special of 49
                  bits; or none of these, to have the number chosen with which key switching is cheapest. num_special=0:
                  no evaluation key can be made, and Q alone counts for security
    num_digits    digits of key switching (OpenFHE's dnum); chosen so that each is smaller than P if not given
    special_below levels: numbers of special primes of keys for that level and those below, which leave more of the
                  secure modulus to them; keys for low levels then have fewer digits and are quicker. Such keys serve no
                  others: key generation makes one for each number
    secret        distribution of secret keys: "ternary", uniform on -1, 0 and 1; or "gaussian", that of errors
    secret_weight of ternary secrets: how many coefficients are -1 or 1; any number if not given
    security_bits 128, 192 or 256, by the table for such secrets
    insecure      accept sets that are not secure: only for tests
    raises        SecurityError where log2(QP) is over the limit for the ring degree; warns where values of 1 do not fit
                  the modulus of some level
    """

    scheme = "ckks"

    @locate
    def __init__(
        self,
        ring_degree: int,
        q_bits: Sequence[GroupBits] | None = None,
        *,
        scale_bits: float | Sequence[float],
        primes: Sequence[int | tuple[int, int]] | None = None,
        special: Sequence[int] | None = None,
        p_bits: Sequence[float] | None = None,
        num_special: int | None = None,
        num_digits: int | None = None,
        special_below: Mapping[int, int] | None = None,
        secret: str = "ternary",
        secret_weight: int | None = None,
        security_bits: int = 128,
        insecure: bool = False,
    ) -> None:
        asked = PrimeRequest(q_bits, primes, p_bits, num_special, special)
        law = check_secret(secret, secret_weight, ring_degree)
        chain = explicit_chain(
            ring_degree, asked, scale_bits, secret=law, num_digits=num_digits, security_bits=security_bits,
            insecure=insecure,
        )  # fmt: skip
        self._use(gadgets_by_level(chain, special_below) if special_below else chain)
        _warn_of_small_modulus(chain)

    @classmethod
    @locate
    def choose(
        cls,
        *,
        depth: int,
        scale_bits: int | None = None,
        precision_bits: float | None = None,
        max_value: float = 1024.0,
        slots: int = 1,
        ring_degree: int | None = None,
        security_bits: int = 128,
        insecure: bool = False,
    ) -> Parameters:
        """The smallest ring and the cheapest chain with `depth` levels.

        scale_bits      log2 of the scale; 40 if neither this nor a precision is given
        precision_bits  bits after the binary point that a product of 2^depth independent values near 1 keeps, by the
                        noise model; repeated squaring keeps depth / 2 bits less
        max_value       largest magnitude at the last level
        slots           width of the vectors: N is at least twice that
        raises          RangeError for scales that there are no primes for; LevelError if no ring (or not the one asked
                        for) is large enough
        """
        depth = whole("Parameters.choose: depth", depth)
        if depth < 0:
            fail(LevelError, f"Parameters.choose: depth={depth}; give the number of successive products, 0 or more")
        if scale_bits is not None and precision_bits is not None:
            fail(
                RangeError,
                "Parameters.choose: give scale_bits or precision_bits, not both: one follows from the other",
            )
        if not 1 <= whole("Parameters.choose: slots", slots) <= MAX_SLOTS:
            fail(
                LayoutError,
                f"Parameters.choose: slots={slots}; 1 to {MAX_SLOTS}, half of the largest ring, are possible",
            )
        if not real("Parameters.choose: max_value", max_value) > 0:
            fail(RangeError, f"Parameters.choose: max_value={max_value}; give the largest magnitude, above 0")
        if precision_bits is not None:
            precision_bits = real("Parameters.choose: precision_bits", precision_bits)
        if ring_degree is not None:
            ring_degree = whole("Parameters.choose: ring_degree", ring_degree)
        if whole("Parameters.choose: security_bits", security_bits) not in security_levels():
            known = ", ".join(str(bits) for bits in security_levels())
            fail(SecurityError, f"Parameters.choose: security_bits={security_bits}; choose one of {known}")
        headroom = ceil(log2(max(max_value, 1.0))) + 2

        def select(bits: int) -> ModulusChain:
            need = Need(depth, slots, bits, headroom)
            try:
                return select_chain(need, ring_degree=ring_degree, security_bits=security_bits, insecure=insecure)
            except UserError as error:
                fail(type(error), f"Parameters.choose: {error.message}")

        if precision_bits is None:
            asked = 40 if scale_bits is None else whole("Parameters.choose: scale_bits", scale_bits)
            chain = select(asked)
            least = round(log2(chain.main.scales[-1]))
            if least > asked:
                fail(
                    RangeError,
                    f"Parameters.choose: scale_bits={asked}, but N={chain.ring_degree} has too few primes for scales "
                    f"below 2^{least}; use scale_bits={least} or more, or precision_bits",
                )
            return cls.of_chain(chain)
        bits, missing = 20, 1
        while missing > 0:
            chain = select(bits)
            bits = round(log2(chain.main.scales[-1]))  # small scales are raised to where there are primes
            missing = ceil(precision_bits + _noise_bits(chain, depth)) - bits
            bits += max(missing, 0)
            if bits > MAX_SCALE_BITS:
                fail(
                    PrecisionError,
                    f"Parameters.choose: precision_bits={precision_bits:g} needs a scale of 2^{bits} at "
                    f"N={chain.ring_degree}; at most 2^{MAX_SCALE_BITS} is possible: ask for {bits - MAX_SCALE_BITS} "
                    "bits less",
                )
        return cls.of_chain(chain)

    @cached_property
    def _device_encoder(self) -> _core.DeviceEncoder:
        """The encoder on the device of these parameters."""
        return _core.DeviceEncoder(self.context)

    @property
    def slots(self) -> int:
        """Complex numbers that one ciphertext holds, N/2."""
        return self.chain.slots

    @property
    def scales(self) -> tuple[float, ...]:
        """The canonical scale of each level, lowest level first."""
        return self.chain.main.scales

    def dropped(self, level: int) -> int:
        """Return the divisor of a rescale from a level: the product of its one or two primes."""
        return int(self.chain.group_product(self.check_level("dropped", level)))

    def _scheme_rows(self) -> list[tuple[str, str, str]]:
        rows = [("ring degree N", f"{self.ring_degree}", f"{self.slots} complex slots")]
        circuit, floor = self.chain.bootstrap, self.chain.floor
        if circuit is not None:
            above = circuit.eval_levels + circuit.cts_levels
            note = f"the last {floor} levels and {above} above the highest are its own"
            rows.append(("bootstrap", f"at {floor}", note))
        return rows

    def _level_lines(self) -> list[str]:
        chain = self.chain
        lines = ["  level  log2 of its primes  log2 scale  log2 modulus"]
        for level in range(self.levels, -1, -1):
            primes = " + ".join(f"{log2(p):.2f}" for p in chain.limb_primes(chain.main.groups[level]))
            modulus = add_up(log2(p) for p in chain.limb_primes(chain.main.basis(level)))
            lines.append(f"  {level:>5}  {primes:>18}  {log2(self.scales[level]):>10.4f}  {modulus:>12.1f}")
        return lines

    def _repr_facts(self) -> tuple[str, str]:
        return "", short_scale_text(self.scales[-1])


def _warn_of_small_modulus(chain: ModulusChain) -> None:
    """RangeWarning where a value of 1 wraps around the modulus of a level."""
    small = [k for k, scale in enumerate(chain.main.scales) if log2(chain.modulus(k)) - log2(scale) <= SMALL_BITS]
    if small:
        modulus, scale = log2(chain.modulus(small[0])), chain.main.scales[small[0]]
        warn(
            f"Parameters: at level {small[0]} the modulus is 2^{modulus:.1f} and the scale {scale_text(scale)}: "
            f"values of {2.0 ** (modulus - 1) / scale:.2g} or more wrap around there, without an error; give "
            "q_bits[0] more bits than the scale has: two for values up to 2, three for values up to 4, ...",
            RangeWarning,
        )


def _noise_bits(chain: ModulusChain, depth: int) -> float:
    """log2 of the error, in units of 1/scale, of a product of 2^depth fresh encryptions of values near 1."""
    fresh, each = public_encryption(chain), mod_down(chain.ring_degree)
    variance = 2.0**depth * (fresh**2 + 2 * each**2)  # errors of factors add up, independent of each other
    return log2(DEVIATIONS * sqrt(variance * chain.ring_degree / 2))
