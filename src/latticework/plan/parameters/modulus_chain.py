"""The modulus chain: which primes make up each level, and the exact scale of each level.

A level is a place on a track of the chain and removes a group of one or two
primes when it is rescaled; it is never a limb count. Scales are float64
numbers read as exact, one canonical value per level.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from functools import cached_property
from math import log2, prod

from latticework.lazy_dataclass import dataclass
from latticework.values.sums import add_up

# Of a field that files leave out where it has its default, so that they are as they were before there was the field.
UNSTORED_DEFAULT = {"unstored_default": True}
TERNARY, GAUSSIAN = "ternary", "gaussian"
SLOT_ROWS = 2  # of BFV, each of N/2 slots


@dataclass(frozen=True)
class Track:
    """One ladder of levels.

    groups   groups[i]: limb numbers removed when level i is rescaled (groups[0] is what stays)
    scales   scales[i]: canonical scale of level i
    """

    groups: tuple[tuple[int, ...], ...]
    scales: tuple[float, ...]

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.groups) - 1

    def basis(self, level: int) -> tuple[int, ...]:
        """Q limb numbers of a level, ascending."""
        return tuple(sorted(limb for group in self.groups[: level + 1] for limb in group))


@dataclass(frozen=True)
class Gadget:
    """The cut of keys that serve levels within the first `limbs` primes of Q.

    num_special  special primes of such keys, and of values over QP at these levels: the first so many of the chain
    digits       partition of the first `limbs` limbs, each below the product of the special primes
    """

    limbs: int
    num_special: int
    digits: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class BootstrapCircuit:
    """The numbers by which bootstrapping is expanded, where a chain has levels for it.

    degree, doublings  e^(2 pi i x / 2^doublings) is a Chebyshev series of this degree, squared `doublings` times
    bound        |t| / q0 stays below this after raising, but for the failure probability
    ratio        q0 over the scale at which SlotToCoeff ends
    factor       integer that the raised ciphertext is multiplied by before it is switched to the main secret
    cts_babies   baby steps of CoeffToSlot's linear maps; 0: the quickest number
    gain_bits    of the factor by which the error of a first iteration is enlarged for the second
    """

    degree: int
    doublings: int
    bound: int
    ratio: float
    factor: int
    stc_levels: int
    cts_levels: int
    eval_levels: int
    cts_babies: int
    gain_bits: int


@dataclass(frozen=True)
class ModulusChain:
    """All primes of a parameter set and how levels and key-switching digits are cut from them.

    primes    Q limbs; a limb's number is its place here
    special   P limbs of the highest levels, numbered after the Q limbs; none where there are no evaluation keys
    digits    partition of the Q limbs for key switching there; none without special primes
    tracks    tracks[0] is the main ladder
    insecure  True only where the user asked for less than `security_bits` by name
    floor     level of the main track at which a bootstrap starts, 0 where there is none
    bootstrap its circuit; then tracks[t] is what a bootstrap to `t` levels above the floor runs on: the levels of the
              main track up to there, and above them those of EvalMod and CoeffToSlot
    plain_modulus  t of BFV, whose slots hold integers modulo t, whose scales are 1 and whose levels are only dropped to
                   make ciphertexts smaller; 0: CKKS
    secret    distribution of the secret key: TERNARY, uniform on -1, 0 and 1; or GAUSSIAN, that of errors
    secret_weight  of TERNARY: exactly so many are -1 or 1, the others 0; 0: any number
    low_special    P limbs that follow, for gadgets of lower levels alone
    gadgets   of lower levels, by descending limbs: their keys have other numbers of special primes, and so fewer
              digits. A level takes the last one that holds its limbs, and keys serve levels of their own gadget only
    more_plain_moduli  smaller ones than t, modulo which the same code is run on ciphertexts of their own: results are
              integers modulo the product. Noise is that of t, which is the largest
    """

    ring_degree: int
    primes: tuple[int, ...]
    special: tuple[int, ...]
    digits: tuple[tuple[int, ...], ...]
    tracks: tuple[Track, ...]
    security_bits: int = 128
    insecure: bool = False
    floor: int = 0
    bootstrap: BootstrapCircuit | None = None
    plain_modulus: int = field(default=0, metadata=UNSTORED_DEFAULT)
    secret: str = field(default=TERNARY, metadata=UNSTORED_DEFAULT)
    secret_weight: int = field(default=0, metadata=UNSTORED_DEFAULT)
    low_special: tuple[int, ...] = field(default=(), metadata=UNSTORED_DEFAULT)
    gadgets: tuple[Gadget, ...] = field(default=(), metadata=UNSTORED_DEFAULT)
    more_plain_moduli: tuple[int, ...] = field(default=(), metadata=UNSTORED_DEFAULT)

    @property
    def plain_moduli(self) -> tuple[int, ...]:
        """Every plaintext modulus that a program is run for; (0,) under CKKS, which has none."""
        return self.plain_modulus, *self.more_plain_moduli

    @property
    def has_wide_integers(self) -> bool:
        """Whether integers are residues modulo several primes."""
        return bool(self.more_plain_moduli)

    @property
    def scheme(self) -> str:
        """Scheme of its ciphertexts: "ckks" or "bfv"."""
        return "bfv" if self.plain_modulus else "ckks"

    @property
    def slots(self) -> int:
        """Number of complex slots, N/2; for BFV the length of one of its two rows of slots, which hold the same."""
        return self.ring_degree // 2

    @property
    def main(self) -> Track:
        """The ladder that programs run on."""
        return self.tracks[0]

    @cached_property
    def log2_qp(self) -> float:
        """Bits of the product of all primes of the highest levels' keys: what security is counted on."""
        return add_up(log2(p) for p in self.primes + self.special)

    @cached_property
    def most_log2_qp(self) -> float:
        """Bits of the modulus of the largest key of any level."""
        return max(self.log2_qp, *self.log2_qp_of_gadgets, 0.0)

    @cached_property
    def log2_qp_of_gadgets(self) -> tuple[float, ...]:
        """The same of the largest keys of lower levels, gadget by gadget."""
        parts = (self.primes[: g.limbs] + self.every_special[: g.num_special] for g in self.gadgets)
        return tuple(add_up(log2(p) for p in part) for part in parts)

    @property
    def encryption_divisor(self) -> int:
        """The modulus that encryption under the public key has besides Q, and divides by: the first special prime."""
        return prod(self.special[:1])

    @property
    def every_special(self) -> tuple[int, ...]:
        """All special primes, those of lower levels' keys last."""
        return self.special + self.low_special

    @cached_property
    def num_primes(self) -> int:
        """Number of primes of Q and of P."""
        return len(self.primes) + len(self.every_special)

    @cached_property
    def _gadgets(self) -> tuple[Gadget, ...]:
        return (Gadget(len(self.primes), len(self.special), self.digits), *self.gadgets)

    @cached_property
    def _gadget_of_level(self) -> tuple[tuple[Gadget, ...], ...]:
        def of(track: Track, level: int) -> Gadget:
            last = track.groups[level][-1]
            return next(g for g in reversed(self._gadgets) if g.limbs > last)

        return tuple(tuple(of(track, level) for level in range(track.top + 1)) for track in self.tracks)

    def gadget_at(self, level: int, track: int = 0) -> Gadget:
        """The cut of keys that serve a level."""
        return self._gadget_of_level[track][level]

    def num_special_at(self, level: int, track: int = 0) -> int:
        """Number of special primes of values over QP at a level, and of its keys."""
        return self.gadget_at(level, track).num_special

    def special_at(self, level: int, track: int = 0) -> tuple[int, ...]:
        """Those special primes."""
        return self.every_special[: self.num_special_at(level, track)]

    def gadget_tops(self, level: int, track: int = 0) -> tuple[int, ...]:
        """This level, and below it the highest ones of other gadgets: where keys have to reach to serve them all."""
        below = range(level - 1, -1, -1)
        at = self.gadget_at
        return (level, *(k for k in below if at(k, track) is not at(k + 1, track)))

    def limb_primes(self, limbs: tuple[int, ...]) -> tuple[int, ...]:
        """Return the primes with these limb numbers."""
        every = self.primes + self.every_special
        return tuple(every[i] for i in limbs)

    @property
    def special_limbs(self) -> tuple[int, ...]:
        """Numbers of the P limbs of the highest levels."""
        return tuple(range(len(self.primes), len(self.primes) + len(self.special)))

    def special_limbs_at(self, level: int, track: int = 0) -> tuple[int, ...]:
        """Numbers of the P limbs of keys of a level."""
        return tuple(range(len(self.primes), len(self.primes) + self.num_special_at(level, track)))

    def covers(self, held: tuple[int, int], wanted: tuple[int, int]) -> bool:
        """Whether the basis of one (track, level) lies within that of another, cut alike: its keys serve both."""
        (track, level), (other, at) = held, wanted
        is_within = set(self.tracks[other].basis(at)) <= set(self.tracks[track].basis(level))
        return is_within and self.gadget_at(level, track) is self.gadget_at(at, other)

    def same_limbs(self, place: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether two (track, level) have one basis: a value may be read at either."""
        return self.covers(place, other) and self.covers(other, place)

    def dropped(self, track: int, level: int, to: int) -> int:
        """The product of the primes that leave between `level` and `to` of a track."""
        return prod(prod(self.limb_primes(group)) for group in self.tracks[track].groups[to + 1 : level + 1])

    def group_product(self, level: int, track: int = 0) -> int:
        """Return the integer that rescaling away this level divides by."""
        return prod(self.limb_primes(self.tracks[track].groups[level]))

    def modulus(self, level: int, track: int = 0) -> int:
        """Product of the Q limbs of a level."""
        return prod(self.limb_primes(self.tracks[track].basis(level)))


def digits_at(chain: ModulusChain, level: int, track: int = 0) -> tuple[tuple[int, ...], ...]:
    """Return the Q limbs of each key-switching digit that a level has a part in."""
    basis = set(chain.tracks[track].basis(level))
    parts = (tuple(sorted(basis & set(digit))) for digit in chain.gadget_at(level, track).digits)
    return tuple(part for part in parts if part)


def next_scale(scale: float, other: float, dropped: int) -> float:
    """The float64 nearest to scale * other / dropped, computed exactly before the one rounding."""
    return float(Fraction(scale) * Fraction(other) / dropped)
