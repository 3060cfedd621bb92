"""Bootstrapping sets planned for a program: for its levels and its precision, within the security table.

The circuits of stored sets are the templates: what lies above and below the residual levels is theirs, and with it the
precision. What is left of the modulus is shared out between residual levels and special primes. More special primes
make fewer digits, so of those that fit with the levels wanted, the quickest number is taken.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from itertools import pairwise
from math import ceil, log2

from latticework.errors import LevelError, SecurityError
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters.bootstrap_chain import bootstrap_chain
from latticework.plan.parameters.bootstrap_sets import (
    A14,
    A17,
    BOOTSTRAP_SETS,
    C15,
    H17,
    WIDEST,
    B,
    BootstrapSet,
)
from latticework.plan.parameters.modulus_chain import ModulusChain
from latticework.plan.parameters.security import modulus_limit_bits, sparse_modulus_limit_bits
from latticework.plan.parameters.select import DIGIT_GAP_BITS, MAX_PRIME_BITS, key_switch_ntts

SECURITY_BITS = 128  # there are limits for the sparse secret
RESCALE_BITS = (
    14.6  # of the error of a bootstrap's last rescales in a slot, at N = 2^16: twice as much in twice the ring
)
MAX_SPECIAL = 16
COMPARED = 4  # sets whose primes are chosen, of those that promise to be quickest
# Bits of precision, rms of all slots, by ring (log2) and bits of the scale: `predict_precision` of a set of two levels.
PRECISION: tuple[tuple[BootstrapSet, int, dict[float, float]], ...] = (
    (C15, 15, {33: 18.7, 34: 19.1, 35: 19.3}),
    (A14, 16, {38: 23.2, 40: 24.4, 42: 24.7, 44: 24.8}),
    (A17, 16, {40: 24.3, 42: 24.6, 44: 24.7}),
    (B, 16, {45: 29.9, 46: 30.5, 47: 30.7, 48: 30.8}),
    (A14, 17, {40: 23.5, 42: 23.8, 44: 23.9}),
    (B, 17, {47: 29.9}),
    (H17, 17, {45: 28.1, 47: 29.8, WIDEST: 30.5}),
)


@dataclass(frozen=True)
class Template:
    """A circuit in a ring at a scale: a set but for its residual levels and special primes.

    precision_bits  of its bootstraps, rms
    """

    chosen: BootstrapSet
    precision_bits: float

    def make_set(self, residual: int, special: int) -> BootstrapSet:
        """Return the set with `residual` levels and `special` primes."""
        name = f"{self.chosen.name}-{self.chosen.scale:g}x{residual}+{special}"
        return replace(self.chosen, name=name, residual=residual, special=special)

    def transforms(self, residual: int, special: int) -> float:
        """NTTs of a key switch at the top, about: digits are counted as if primes could be split."""
        chosen, special_bits = self.chosen, special * self.chosen.special_bits
        pairs = [2 * high - low for high, low in pairwise(chosen.eval_scales)]
        high = [*pairs, *chosen.eval_rest, *chosen.cts]
        limbs = 1 + len(chosen.stc) + residual + sum(1 + (bits > MAX_PRIME_BITS) for bits in high)
        low, middle = chosen.base + sum(chosen.stc), residual * chosen.scale
        digits = ceil(sum(high) / special_bits) + sum(ceil(b / (special_bits - DIGIT_GAP_BITS)) for b in (low, middle))
        return limbs + digits * (limbs + special) + 2 * special + 2 * limbs

    def most_levels(self, special: int = 1) -> int:
        """Return the residual levels that fit with `special` special primes; 0 if none do."""
        chosen, limit = self.chosen, modulus_limit_bits(1 << self.chosen.log2_degree, SECURITY_BITS)
        assert limit is not None
        return max(0, int((limit - self.least_bits - (special - 1) * chosen.special_bits) / chosen.scale))

    @cached_property
    def least_bits(self) -> float:
        """log2(QP) without residual levels, with one special prime."""
        chosen = replace(self.chosen, residual=1, special=1, insecure=True, by_level=False)
        return bootstrap_chain(chosen).log2_qp - chosen.scale


@cache
def templates(ring_degree: int, precision_bits: float) -> tuple[Template, ...]:
    """Return the circuits that are precise enough in a ring."""
    result = []
    for stored, log2_degree, by_scale in PRECISION:
        for scale, bits in by_scale.items():
            if 1 << log2_degree == ring_degree and bits >= precision_bits:
                moved = scale - stored.scale
                stc = tuple(min(level + moved, WIDEST) for level in stored.stc)
                chosen = replace(
                    stored, name=f"{stored.name}@{log2_degree}", log2_degree=log2_degree, scale=scale,
                    base=min(stored.base + moved, _widest_base(stored, log2_degree)), stc=stc,
                )  # fmt: skip
                result.append(Template(chosen, bits))
    return tuple(result)


def _widest_base(stored: BootstrapSet, log2_degree: int) -> float:
    """Return the bits of the widest q0: what the key to the sparse secret leaves beside a special prime."""
    limit = sparse_modulus_limit_bits(1 << log2_degree, SECURITY_BITS)
    assert limit is not None
    return min(WIDEST, limit - stored.special_bits)


def set_precision_bits(chosen: BootstrapSet, iterations: int = 1) -> float | None:
    """Precision of the bootstraps of a set, rms of slots in [-1, 1]; None if its circuit is none of the templates.

    iterations  with two it is the noise of a rescale that is left, 2^(14.6 - scale) in a ring of 2^16
    """
    if iterations > 1:
        return chosen.scale - RESCALE_BITS - (chosen.log2_degree - 16)
    for stored, log2_degree, by_scale in PRECISION:
        alike = (stored.degree, stored.eval_scales, stored.ratio) == (chosen.degree, chosen.eval_scales, chosen.ratio)
        if alike and log2_degree == chosen.log2_degree and chosen.scale in by_scale:
            return by_scale[chosen.scale]
    return None


def bootstrapping_rings() -> tuple[int, ...]:
    """Ring degrees in which something can be bootstrapped securely, the smallest first."""
    return tuple(sorted({1 << log2_degree for _, log2_degree, _ in PRECISION}))


@cache
def plan_bootstrap_set(
    residual: int,
    precision_bits: float,
    ring_degree: int,
    *,
    scale: float | None = None,
    security_bits: int = SECURITY_BITS,
) -> BootstrapSet:
    """Return the quickest secure set of a ring that leaves enough levels and is precise enough.

    residual        levels left after a bootstrap
    precision_bits  rms of all slots in [-1, 1], of one bootstrap
    scale           bits of it, if it has to be one of those in `PRECISION`
    returns         quickest by transforms of a key switch at the top; of equally quick ones the more precise
    raises          LevelError with what fits
    """
    if security_bits != SECURITY_BITS:
        raise LevelError(
            f"no bootstrapping set has {security_bits}-bit security: for the sparse secret only limits of "
            f"{SECURITY_BITS} bits are known; use security_bits={SECURITY_BITS}"
        )
    fitting = [
        (template.transforms(residual, special), -template.precision_bits, special, template)
        for template in templates(ring_degree, precision_bits)
        if scale in (None, template.chosen.scale)
        for special in range(1, MAX_SPECIAL + 1)
        if template.most_levels(special) >= residual
    ]
    if not fitting:
        raise LevelError(_what_fits(residual, precision_bits, ring_degree, scale))
    sets = [
        template.make_set(residual, special)
        for _, _, special, template in sorted(fitting, key=lambda each: each[:3])[:COMPARED]
    ]
    tops = {chosen: bootstrap_chain(replace(chosen, by_level=False)) for chosen in sets}
    return min(sets, key=lambda chosen: key_switch_ntts(tops[chosen]))  # the first of equally quick ones


def find_set(chain: ModulusChain) -> BootstrapSet | None:
    """The set that a chain is of, stored or planned for a program; None: a set of somebody's own, or no bootstraps."""
    sizes = chain.main.top - chain.floor, len(chain.special), chain.ring_degree
    planned = [template.make_set(*sizes[:2]) for template in templates(chain.ring_degree, 0.0)]
    top = replace(chain, gadgets=(), low_special=())
    for each in [*BOOTSTRAP_SETS.values(), *planned]:
        if (each.residual, each.special, 1 << each.log2_degree) == sizes:
            with suppress(SecurityError, LevelError):
                alike = replace(each, by_level=False)
                if bootstrap_chain(alike) == top:
                    return alike if chain == top else each if bootstrap_chain(each) == chain else None
    return None


def most_levels_left(precision_bits: float, ring_degree: int) -> int:
    """The most levels that a bootstrap of this precision leaves in a ring; 0 if there is none."""
    return max((template.most_levels() for template in templates(ring_degree, precision_bits)), default=0)


def _what_fits(residual: int, precision_bits: float, ring_degree: int, scale: float | None) -> str:
    ring = f"N=2^{ring_degree.bit_length() - 1}"
    rows = sorted({(t.precision_bits, t.most_levels()) for t in templates(ring_degree, 0.0)})
    most_by_bits = {bits: max(most for b, most in rows if b >= bits) for bits, _ in rows}
    best = {most: bits for bits, most in sorted(most_by_bits.items())}
    at = "" if scale is None else f" at a scale of 2^{scale:g}"
    asked = f"no set of {ring} leaves {residual} levels after bootstraps of {precision_bits:g} bits{at}"
    if not best:
        rings = ", ".join(f"2^{int(log2(n))}" for n in bootstrapping_rings())
        return f"{asked}: it is too small to bootstrap at all; rings of {rings} can"
    shown = ", ".join(f"{most} of {bits:g} bits" for most, bits in best.items())
    return f"{asked}; at most {shown} fit: ask for fewer levels or bits, or for a larger ring"
