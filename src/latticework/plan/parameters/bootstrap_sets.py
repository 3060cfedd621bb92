"""Bootstrapping parameter sets as data: bits of every section of the chain, and the numbers of the circuit."""

from __future__ import annotations

from dataclasses import replace

from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True)
class BootstrapSet:
    """Sizes from which a chain with bootstrapping is planned; all in bits, levels in the order in which they are spent.

    scale       canonical scale of the residual levels
    base        q0
    stc         levels of SlotToCoeff; the last is wider than the others by log2 of scale over q0 / ratio
    residual    number of levels left after a bootstrap
    eval_scales scales of x, T_2, T_4, ... in EvalMod: the moduli between them are s_(i-1)^2 / s_i
    eval_rest   its other levels: the sum of the series, the squarings, the sine series
    cts         levels of CoeffToSlot
    special     number of primes of P at the top;  special_bits: what they are just below
    by_level    whether lower levels have special primes and digits of their own; False: as the top, as sets had before
    degree, doublings  of the exponential: e^(2 pi i x / 2^doublings) as a Chebyshev series of this degree
    bound       |t| / q0 stays below this, but for the failure probability
    ratio       log2 of q0 over the scale at which SlotToCoeff ends
    cts_babies  baby steps of CoeffToSlot (fewer than the quickest, for fewer keys), or None for the quickest
    insecure    the ring is too small for the chain: for tests
    """

    name: str
    log2_degree: int
    scale: float
    base: float
    stc: tuple[float, ...]
    residual: int
    eval_scales: tuple[float, ...]
    eval_rest: tuple[float, ...]
    cts: tuple[float, ...]
    special: int
    degree: int = 31
    doublings: int = 3
    bound: int = 16
    ratio: float = 8.0
    cts_babies: int | None = 8
    special_bits: float = 49.0
    insecure: bool = False
    by_level: bool = True


WIDEST = 48.95  # of single primes below 2^49
_SINGLES = (WIDEST,) * 5
_FALLING = (55.0, 53.0, 51.0, WIDEST, WIDEST)  # noise injected at x, T_2 and T_4 is amplified most
_HIGHER = (55.7, 53.7, 51.7, WIDEST, WIDEST)  # for what is saved by smaller primes of P

A14 = BootstrapSet(
    "A14", 16, scale=42, base=45, stc=(37, 37, 42), residual=14, eval_scales=_HIGHER, eval_rest=_SINGLES,
    cts=(WIDEST,) * 4, special=7, special_bits=48.58,
)  # fmt: skip
A17 = replace(A14, name="A17", scale=40, base=44, stc=(36, 36, 40), residual=17, eval_scales=_FALLING, special=5,
              special_bits=49.0, cts_babies=None)  # fmt: skip
A11 = replace(A17, name="A11", residual=11, special=10, cts_babies=8)
B = BootstrapSet(
    "B", 16, scale=47, base=WIDEST, stc=(44, 44, WIDEST), residual=9, eval_scales=(63, 62, 60, 58, 57, 56),
    eval_rest=(56, 57, 56, 57), cts=(56,) * 4, special=7, degree=63, doublings=2, ratio=9.7, cts_babies=None,
)  # fmt: skip
C15 = BootstrapSet(
    "C15", 15, scale=35, base=37, stc=(30, 33), residual=4, eval_scales=(47.5, 46, 45, 44, 44),
    eval_rest=(43, 42, 42, 42, 42), cts=(44,) * 3, special=2, ratio=7.0, cts_babies=None,
)  # fmt: skip
H17 = BootstrapSet(
    "H17", 17, scale=WIDEST, base=WIDEST, stc=(47, 47, WIDEST), residual=16, eval_scales=(64, 63, 61, 59, 58, 57),
    eval_rest=(57, 58, 57, 58), cts=(58,) * 4, special=9, degree=63, doublings=2, ratio=9.7, cts_babies=None,
)  # fmt: skip
T12 = BootstrapSet(
    "T12", 12, scale=40, base=44, stc=(36, 40), residual=4, eval_scales=_FALLING, eval_rest=_SINGLES,
    cts=(WIDEST,) * 2, special=3, insecure=True,
)  # fmt: skip
T12L16 = replace(T12, name="T12L16", residual=16, special=5)  # the levels of H17 in the ring of T12
T11 = replace(T12, name="T11", log2_degree=11, residual=3)

BOOTSTRAP_SETS = {s.name: s for s in (A14, A17, A11, B, C15, H17, T12, T12L16, T11)}
