"""Modulus chains with levels for bootstrapping, planned from the top down with exact scales.

Bottom to top: q0, SlotToCoeff, the residual levels, EvalMod, CoeffToSlot. A
bootstrap to level t runs on a track that leaves out the residual levels above
t, so it costs what its target needs; digits never straddle sections, so that
the left-out levels take whole digits with them, and one set of keys at the
longest track serves all others.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, factorial, inf, log2, pi, prod, sqrt

from latticework.errors import LevelError, SecurityError
from latticework.errors.rounded_numbers import over
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters.bootstrap_sets import BOOTSTRAP_SETS, BootstrapSet
from latticework.plan.parameters.check_set import check_set
from latticework.plan.parameters.gadgets import evenest_limit, quickest_special, with_gadgets
from latticework.plan.parameters.modulus_chain import BootstrapCircuit, ModulusChain, Track, next_scale
from latticework.plan.parameters.secrets import sparse_key_bits
from latticework.plan.parameters.security import modulus_limit_bits, sparse_modulus_limit_bits
from latticework.plan.parameters.select import DIGIT_GAP_BITS, PrimeSupply, cut_digits
from latticework.values.sums import add_up

LEAST_GAP_BITS = 0.1  # of P over a digit of EvalMod and CoeffToSlot: at their scales key switching noise is far below
MOST_EXCESS_BITS = 16  # of the scale at which results are made over that of their level
MATCHED_BITS = 40  # to which two scales agree before values are subtracted
RELIN_BAND, PROGRAM_BAND = 0.1, 0.4  # prices of bands, see `quickest_special`
SPARSE_WEIGHT = 32  # nonzero coefficients of the ephemeral secret
_SERIES_DIVISOR = 6  # sin x is replaced by (8 sin x - sin 2x) / 6
Group = tuple[int, ...]


@dataclass(frozen=True)
class Sections:
    """The primes of a chain by section, each from its first used (highest) level to its last."""

    cts: tuple[Group, ...]
    eval_mod: tuple[Group, ...]
    residual: tuple[Group, ...]
    stc: tuple[Group, ...]
    base: Group
    special: tuple[int, ...]

    @property
    def ascending(self) -> tuple[Group, ...]:
        """All groups of Q from q0 up."""
        return (self.base, *reversed(self.cts + self.eval_mod + self.residual + self.stc))


def bootstrap_chain(which: BootstrapSet | str) -> ModulusChain:
    """The modulus chain of a bootstrapping set, by name or of one's own.

    raises  SecurityError if a set that is not marked insecure breaks a limit; LevelError if primes run out; RangeError
            for a number that no set can have
    """
    if isinstance(which, BootstrapSet):
        check_set(which)
        return _plan(which)
    if which not in BOOTSTRAP_SETS:
        raise LevelError(f"there is no bootstrapping set {which!r}; there are {', '.join(BOOTSTRAP_SETS)}")
    return _plan(BOOTSTRAP_SETS[which])


@lru_cache(maxsize=32)
def _plan(chosen: BootstrapSet) -> ModulusChain:
    degree = 1 << chosen.log2_degree
    sections, residual_scales = _choose_primes(chosen)
    base, ratio = sections.base[0], 2.0**chosen.ratio
    factor = max(1, round(2.0 ** chosen.eval_scales[0] / (base * 2 * chosen.bound)))
    circuit = BootstrapCircuit(
        chosen.degree, chosen.doublings, chosen.bound, ratio, factor, len(chosen.stc), len(chosen.cts),
        len(sections.eval_mod), chosen.cts_babies or 0, _gain_bits(chosen),
    )  # fmt: skip
    numbered = _number(sections.ascending)
    low = 1 + len(chosen.stc)  # q0 and the levels of SlotToCoeff
    middle = low + chosen.residual
    floor_scale = residual_scales[-1]
    scales = (base / ratio, *([floor_scale] * (low - 2)), *reversed(residual_scales))
    primes = tuple(p for group in sections.ascending for p in group)
    tracks = [Track(numbered[:middle], scales)]
    for target in range(1, chosen.residual + 1):
        groups = numbered[: low + target] + numbered[middle:]
        above = _raised_scales(chosen, circuit, sections, scales[low + target - 1])
        tracks.append(Track(groups, scales[: low + target] + above))
    chain = ModulusChain(
        degree, primes, sections.special, _digits(sections), tuple(tracks), 128, chosen.insecure, low - 1, circuit
    )
    if not chosen.insecure:
        _check_security(chosen, chain)
    return with_gadgets(chain, _special_by_level(chain)) if chosen.by_level else chain


def _special_by_level(chain: ModulusChain) -> dict[int, int]:
    """Numbers of special primes of lower levels by their limbs; EvalMod has one key, programs have many."""
    residual = len(chain.main.basis(chain.main.top))
    return quickest_special(chain, lambda limbs: RELIN_BAND if limbs > residual else PROGRAM_BAND)


def _gain_bits(chosen: BootstrapSet) -> int:
    """Six bits less than the sine series' precision, (R / 2 pi)^4 * 30: noise and the worst slot need some."""
    return int(4 * (chosen.ratio - log2(2 * pi)) + log2(30)) - 6


def _choose_primes(chosen: BootstrapSet) -> tuple[Sections, list[float]]:
    """Primes from the top down, and the scales of the residual levels and of the floor, from the top down."""
    supply = PrimeSupply(2 << chosen.log2_degree)
    special = supply.group(2.0**chosen.special_bits, chosen.special, below=True)
    cts = tuple(supply.near(2.0**bits) for bits in chosen.cts)
    eval_mod: list[Group] = []
    scale = 2.0 ** chosen.eval_scales[0]
    for wanted in chosen.eval_scales[1:]:
        eval_mod.append(supply.near(scale * scale / 2.0**wanted))
        scale = next_scale(scale, scale, prod(eval_mod[-1]))
    eval_mod += [supply.near(2.0**bits) for bits in chosen.eval_rest]
    residual: list[Group] = []
    scales = [2.0**chosen.scale]
    for _ in range(chosen.residual):
        residual.append(supply.near(scales[-1] * scales[-1] / 2.0**chosen.scale))
        scales.append(next_scale(scales[-1], scales[-1], prod(residual[-1])))
    stc = tuple(supply.near(2.0**bits) for bits in chosen.stc)
    base = supply.near(2.0**chosen.base)
    if len(base) != 1 or any(len(group) != 1 for group in stc):
        raise LevelError(f"bootstrapping set {chosen.name}: q0 and the levels of SlotToCoeff must be single primes")
    return Sections(cts, tuple(eval_mod), tuple(residual), stc, base, special), scales


def _number(ascending: tuple[Group, ...]) -> tuple[Group, ...]:
    starts = [0]
    for group in ascending:
        starts.append(starts[-1] + len(group))
    return tuple(tuple(range(a, a + len(g))) for a, g in zip(starts, ascending, strict=False))


def _raised_scales(
    chosen: BootstrapSet, circuit: BootstrapCircuit, sections: Sections, out: float
) -> tuple[float, ...]:
    """Scales of the levels of EvalMod (ascending) and CoeffToSlot above a target level with scale `out`."""
    moduli = [prod(group) for group in sections.eval_mod]
    descending = [2.0 ** chosen.eval_scales[0]]
    for modulus in moduli[: len(chosen.eval_scales) - 1]:
        descending.append(next_scale(descending[-1], descending[-1], modulus))
    last, *rest = moduli[::-1]
    later = exponential_scales(circuit, sine_scales(circuit, out, last)[1], rest)
    raised = raised_scale(circuit, sections.base[0])
    return (*later, *reversed(descending), *([raised] * circuit.cts_levels))


def raised_scale(circuit: BootstrapCircuit, base: int) -> float:
    """Scale at which a raised ciphertext holds t / (2 K q0): its integers are t times the factor."""
    return float(base * circuit.factor * 2 * circuit.bound)


def made_scale(chain: ModulusChain, level: int, scale: float) -> float:
    """The scale at which a bootstrap makes what is wanted at this one: a power of two less, where that is very large.

    For coefficients of series are integers at scales that grow with it, and those have 62 bits.
    """
    return scale / 2.0 ** max(0, round(log2(scale / chain.main.scales[level])) - MOST_EXCESS_BITS)


def matching_integers(x: float, y: float, about: int) -> tuple[int, int]:
    """Integers that make two scales the same, to `MATCHED_BITS`; the first about as large as this, if it can be.

    Of all such pairs the shortest, a convergent of the quotient: half as long as integers that are rounded.
    """
    quotient = Fraction(y) / Fraction(x)
    bits = MATCHED_BITS // 2
    while abs((fraction := quotient.limit_denominator(1 << bits)) / quotient - 1) > Fraction(1, 1 << MATCHED_BITS):
        bits += 1
    times = max(1, about // fraction.numerator)
    return fraction.numerator * times, fraction.denominator * times


def sine_scales(circuit: BootstrapCircuit, out: float, modulus: int) -> tuple[float, float]:
    """Scales of the sine series' value F, and of the E = e^(2 pi i t) that it is made of.

    out      wanted scale of the bootstrapped value
    modulus  product of the group above the target level

    The result is (R / 4 pi i) (F - conj F), F = E (8 - E) / 6: both factors are read into the scales.
    """
    value = out * circuit.ratio / (4 * pi)
    return value, sqrt(value * modulus / _SERIES_DIVISOR)


def exponential_scales(circuit: BootstrapCircuit, wanted: float, moduli: list[int]) -> list[float]:
    """Scales of the exponential after each squaring, last to first.

    wanted  scale of E = e^(2 pi i t)
    moduli  products of the groups above the level of E, ascending
    returns [of E, ..., of e^(2 pi i t / 2^doublings)]
    """
    scales = [wanted]
    for modulus in moduli[: circuit.doublings]:
        scales.append(sqrt(scales[-1] * modulus))
    return scales


def _digits(sections: Sections) -> tuple[tuple[int, ...], ...]:
    """Digits by section: the residual ones filled from below, so that low targets need few; those above even."""
    special_bits = add_up(log2(p) for p in sections.special)
    low = [p for group in (sections.base, *reversed(sections.stc)) for p in group]
    middle = [p for group in reversed(sections.residual) for p in group]
    high = [p for group in reversed(sections.cts + sections.eval_mod) for p in group]
    digits: list[tuple[int, ...]] = []
    parts = (
        (low, special_bits - DIGIT_GAP_BITS),
        (middle, special_bits - DIGIT_GAP_BITS),
        (high, evenest_limit(tuple(high), special_bits - LEAST_GAP_BITS)),
    )
    for primes, limit in parts:
        start = digits[-1][-1] + 1 if digits else 0
        digits += [tuple(start + limb for limb in digit) for digit in cut_digits(tuple(primes), limit)]
    return tuple(digits)


def _check_security(chosen: BootstrapSet, chain: ModulusChain) -> None:
    limit = modulus_limit_bits(chain.ring_degree, chain.security_bits)
    if limit is None or chain.log2_qp > limit:
        raise SecurityError(
            f"bootstrapping set {chosen.name}: log2(QP) = {over(chain.log2_qp, limit or 0)} at "
            f"N=2^{chosen.log2_degree}; {chain.security_bits}-bit security allows {limit}; use fewer residual "
            "levels or special primes"
        )
    bits, sparse = sparse_key_bits(chain), sparse_modulus_limit_bits(chain.ring_degree, chain.security_bits)
    if sparse is None or bits > sparse:
        raise SecurityError(
            f"bootstrapping set {chosen.name}: the key to the sparse secret would have "
            f"{over(bits, sparse or 0)} bits of modulus at N=2^{chosen.log2_degree}, where {sparse} are "
            "allowed; use a smaller q0"
        )


def failure_log2(chain: ModulusChain, coefficients: int) -> float:
    """Return log2 of the probability that one of the coefficients leaves the interval of EvalMod in a bootstrap.

    A raised coefficient over q0 is a sum of h + 1 terms, uniform in [-1/2, 1/2], for a sparse secret of weight h.
    The chance that it reaches K is that of an Irwin-Hall sum above h + 1 - y with y = (h + 1) / 2 - K, twice:
    2 / (h + 1)! * sum_k (-1)^k C(h + 1, k) (y - k)^(h + 1) over 0 <= k < y, here in exact fractions.
    """
    assert chain.bootstrap is not None
    terms = SPARSE_WEIGHT + 1
    reach = Fraction(terms, 2) - chain.bootstrap.bound
    if reach <= 0:
        return -inf
    total = sum((-1) ** k * comb(terms, k) * (reach - k) ** terms for k in range(ceil(reach)))
    tail = 2 * coefficients * total / factorial(terms)
    return log2(tail.numerator) - log2(tail.denominator)
