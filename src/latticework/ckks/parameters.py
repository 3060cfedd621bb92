"""Parameter sets: stated prime by prime, or chosen for a depth and a precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import ceil, log2, sqrt
from typing import Any

from latticework import _core
from latticework.ckks.checks import fail, whole
from latticework.errors import LayoutError, LevelError, ParameterMismatchError, PrecisionError, RangeError, UserError
from latticework.keys import resident_bytes, stored_bytes
from latticework.params import (
    MAX_SLOTS,
    GroupBits,
    ModulusChain,
    Need,
    explicit_chain,
    modulus_limit_bits,
    select_chain,
)
from latticework.params.fingerprint import core_parameters
from latticework.plan.keys import KeySpec
from latticework.plan.noise import mod_down, public_encryption

MAX_SCALE_BITS = 55
MAX_THREADS = 1024
DEVIATIONS = 6.0  # a precision is meant for errors of so many standard deviations


class Parameters:
    """A CKKS parameter set; immutable.

    ring_degree   N, a power of two from 2^10 to 2^17; N/2 slots
    q_bits        sizes of the modulus chain, lowest level first: a number of bits (two primes where it exceeds 49), or
                  a tuple of two sizes. Level i is rescaled away by entry i; entry 0 stays
    scale_bits    log2 of the scale of every level, or one number a level
    p_bits        sizes of the special primes of key switching; or num_special of 49 bits; or neither, to have the
                  number chosen with which key switching is cheapest
    num_digits    digits of key switching (OpenFHE's dnum); chosen so that each is smaller than P if not given
    security_bits 128, 192 or 256, for uniform ternary secrets
    insecure      accept sets that are not secure: only for tests
    raises        SecurityError where log2(QP) is over the limit for the ring degree
    """

    def __init__(
        self,
        ring_degree: int,
        q_bits: Sequence[GroupBits],
        *,
        scale_bits: float | Sequence[float],
        p_bits: Sequence[float] | None = None,
        num_special: int | None = None,
        num_digits: int | None = None,
        security_bits: int = 128,
        insecure: bool = False,
    ) -> None:
        chain = _located(
            lambda: explicit_chain(
                ring_degree,
                q_bits,
                scale_bits,
                p_bits=p_bits,
                num_special=num_special,
                num_digits=num_digits,
                security_bits=security_bits,
                insecure=insecure,
            )
        )
        self._use(chain, None, 0)

    def _use(self, chain: ModulusChain, backend: str | None, threads: int) -> None:
        self.chain = chain
        self._backend = backend
        self._threads = threads

    @classmethod
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
        raises          LevelError if no ring (or not the one asked for) is large enough
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
        if not max_value > 0:
            fail(RangeError, f"Parameters.choose: max_value={max_value}; give the largest magnitude, above 0")
        headroom = ceil(log2(max(max_value, 1.0))) + 2

        def chosen(bits: int) -> ModulusChain:
            need = Need(depth, slots, bits, headroom)
            return _located(
                lambda: select_chain(need, ring_degree=ring_degree, security_bits=security_bits, insecure=insecure)
            )

        if precision_bits is None:
            return cls.of_chain(
                chosen(40 if scale_bits is None else whole("Parameters.choose: scale_bits", scale_bits))
            )
        bits, missing = 20, 1
        while missing > 0:
            chain = chosen(bits)
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

    @classmethod
    def of_chain(cls, chain: ModulusChain) -> Parameters:
        """The parameters of a modulus chain, such as that of a compiled model: `model.plan.chain`."""
        new = object.__new__(cls)
        new._use(chain, None, 0)
        return new

    def on(self, *, backend: str | None = None, threads: int = 0) -> Parameters:
        """The same parameters, computed with another backend or number of threads (0: one per core).

        backend  "auto" (the default: AVX-512 or AVX2 where this machine has them), "cpu", "ref", or one of the variants
                 of "cpu" with one instruction set ("cpu-avx512", "cpu-avx2")
        raises   UserError for a backend that there is not, RangeError for a number of threads that is none
        """
        variants = [name for name, is_here in _core.backend_variants() if is_here]
        known = ["auto", *_core.backend_names(), *variants]
        if backend is not None and backend not in known:
            fail(UserError, f"Parameters.on: there is no backend {backend!r}; choose one of {', '.join(known)}")
        if not 0 <= whole("Parameters.on: threads", threads) <= MAX_THREADS:
            fail(RangeError, f"Parameters.on: threads={threads}; give 1 to {MAX_THREADS}, or 0 for one per core")
        new = object.__new__(type(self))
        new._use(self.chain, backend, threads)
        return new

    # -- what they are -----------------------------------------------------------------------

    @property
    def ring_degree(self) -> int:
        """N."""
        return self.chain.ring_degree

    @property
    def slots(self) -> int:
        """Complex numbers that one ciphertext holds, N/2."""
        return self.chain.slots

    @property
    def levels(self) -> int:
        """The highest level: rescales that a fresh ciphertext has before it."""
        return self.chain.main.top

    @property
    def scales(self) -> tuple[float, ...]:
        """The canonical scale of each level, lowest level first."""
        return self.chain.main.scales

    @property
    def log2_q(self) -> float:
        """Bits of the ciphertext modulus at the highest level."""
        return sum(log2(p) for p in self.chain.primes)

    @property
    def log2_p(self) -> float:
        """Bits of the special primes."""
        return sum(log2(p) for p in self.chain.special)

    @property
    def log2_qp(self) -> float:
        """Bits of QP, on which security is counted."""
        return self.chain.log2_qp

    @property
    def limit_bits(self) -> int | None:
        """Bits of QP that are secure at this ring degree; None where nothing is."""
        return modulus_limit_bits(self.chain.ring_degree, self.chain.security_bits)

    @property
    def is_insecure(self) -> bool:
        """Whether the set is below its security level: for tests only."""
        return self.chain.insecure

    @property
    def num_digits(self) -> int:
        """Digits of a key switch at the highest level."""
        return len(self.chain.digits)

    @property
    def fingerprint(self) -> bytes:
        """32 bytes that name the parameters in keys, ciphertexts and files."""
        return bytes(core_parameters(self.chain).fingerprint)

    @cached_property
    def context(self) -> _core.Context:
        """The core's tables for these parameters, made when first used."""
        if self._backend is None:
            return _core.Context(core_parameters(self.chain), threads=self._threads)
        return _core.Context(core_parameters(self.chain), self._backend, self._threads)

    def dropped(self, level: int) -> int:
        """What rescaling a level away divides by: the product of its one or two primes."""
        return int(self.chain.group_product(level))

    def check_level(self, who: str, level: Any) -> int:
        """The level as an int; LevelError if there is none."""
        index = whole(f"{who}: level", level)
        if not 0 <= index <= self.levels:
            fail(LevelError, f"{who}: there is no level {index}; these parameters have levels 0 to {self.levels}")
        return index

    def key_bytes(self, level: int | None = None, *, stored: bool = False) -> int:
        """Bytes of one evaluation key for ciphertexts up to a level, in memory or in a file."""
        spec = KeySpec("relin", 0, 0, self.check_level("key_bytes", self.levels if level is None else level))
        return stored_bytes(spec, self.chain) if stored else resident_bytes(spec, self.chain)

    def summary(self) -> str:
        """A table of everything about the parameters."""
        chain = self.chain
        limit = "nothing is secure" if self.limit_bits is None else f"at most {self.limit_bits}"
        verdict = ", INSECURE: for tests only" if chain.insecure else ""
        digits = [sum(log2(chain.primes[limb]) for limb in digit) for digit in chain.digits]
        rows = [
            ("ring degree N", f"{chain.ring_degree}", f"{self.slots} complex slots"),
            ("log2 Q", f"{self.log2_q:.1f}", f"{len(chain.primes)} primes, {self.levels} levels above the last"),
            ("log2 P", f"{self.log2_p:.1f}", f"{len(chain.special)} special primes"),
            ("log2 QP", f"{self.log2_qp:.1f}", f"{limit} for {chain.security_bits}-bit security{verdict}"),
            *self._bootstrap_rows(),
            ("digits", f"{len(digits)}", f"of up to {max(digits):.1f} bits"),
            ("evaluation key", _megabytes(self.key_bytes()), f"{_megabytes(self.key_bytes(stored=True))} in a file"),
            ("ciphertext", _megabytes(16 * chain.ring_degree * len(chain.primes)), "in memory, at the top level"),
        ]
        lines = ["CKKS parameters", *(f"  {name:<15}{value:>10}  {note}" for name, value, note in rows)]
        lines.append("  level  log2 of its primes  log2 scale  log2 modulus")
        for level in range(self.levels, -1, -1):
            primes = " + ".join(f"{log2(p):.2f}" for p in chain.limb_primes(chain.main.groups[level]))
            modulus = sum(log2(p) for p in chain.limb_primes(chain.main.basis(level)))
            lines.append(f"  {level:>5}  {primes:>18}  {log2(self.scales[level]):>10.4f}  {modulus:>12.1f}")
        return "\n".join(lines)

    def _bootstrap_rows(self) -> list[tuple[str, str, str]]:
        circuit, floor = self.chain.bootstrap, self.chain.floor
        if circuit is None:
            return []
        above = circuit.eval_levels + circuit.cts_levels
        return [("bootstrap", f"at {floor}", f"the last {floor} levels and {above} above the highest are its own")]

    __str__ = summary

    def __repr__(self) -> str:
        insecure = ", INSECURE" if self.chain.insecure else ""
        return (
            f"Parameters(N={self.ring_degree}, {self.levels} levels, log2 Q={self.log2_q:.1f}, "
            f"log2 P={self.log2_p:.1f}, scale 2^{log2(self.scales[-1]):.1f}{insecure})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameters) and self.chain == other.chain

    def __hash__(self) -> int:
        return hash(self.chain)


def need_parameters(who: str, found: Any) -> None:
    """UserError unless something is a parameter set."""
    if not isinstance(found, Parameters):
        fail(UserError, f"{who}: takes ckks.Parameters first, got {type(found).__name__}")


def check_parameters(who: str, found: Parameters, expected: Parameters) -> None:
    """ParameterMismatchError unless both are the same parameters."""
    if found is not expected and found != expected:
        fail(
            ParameterMismatchError,
            f"{who} is of {found!r}, not of {expected!r}: use things of one parameter set",
        )


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.2f} MB"


def _noise_bits(chain: ModulusChain, depth: int) -> float:
    """log2 of the error, in units of 1/scale, of a product of 2^depth fresh encryptions of values near 1."""
    fresh, each = public_encryption(chain), mod_down(chain.ring_degree)
    variance = 2.0**depth * (fresh**2 + 2 * each**2)  # errors of factors add up, independent of each other
    return log2(DEVIATIONS * sqrt(variance * chain.ring_degree / 2))


def _located(build: Callable[[], ModulusChain]) -> ModulusChain:
    """What `build` returns; its errors name the caller's line."""
    try:
        return build()
    except UserError as error:
        if error.at is not None:
            raise
        fail(type(error), error.message)
