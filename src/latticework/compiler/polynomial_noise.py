"""Noise of polynomial evaluation: a bound for any argument, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from latticework.compiler.codegen.bare_plan import bare_plan
from latticework.errors import RangeError
from latticework.ir import Block, Builder, Loc, Module
from latticework.ir.dialects.rlwe_dialect import CipherType
from latticework.plan.analysis.simulation import Simulation
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.schema import Plan
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import Approximant, ChannelPolynomial, PiecewiseLinearComposition

ARGUMENTS = 1024  # at which the noise is drawn, from one end of the interval to the other
DRAWS = 32
NEIGHBOURS = 16  # arguments whose draws are taken together: a deviation is then known to 3 %
LARGEST = 8  # channels at which the noise of polynomials by channel is drawn
MARGIN = 1.1
NEAREST = 2.0**-20  # to a kink, of a range's half


def polynomial_noise(chain: ModulusChain) -> Callable[[Approximant, CipherType, CipherType, float], float]:
    """A function of a polynomial, the types of its argument and of its value, and the largest argument.

    It returns the deviation of a slot of the value at the argument where that is worst, for an argument without noise;
    inf where some step does not fit the modulus.
    """
    known: dict[tuple[Approximant, CipherType, CipherType, float], float] = {}

    def deviation(polynomial: Approximant, argument: CipherType, value: CipherType, largest: float) -> float:
        key = polynomial, argument.replace(count=1), value.replace(count=1), largest
        if key not in known:
            known[key] = _simulate(chain, *key)
        return known[key]

    return deviation


def _simulate(
    chain: ModulusChain, polynomial: Approximant, argument: CipherType, value: CipherType, largest: float
) -> float:
    slots = min(ARGUMENTS, argument.slots)
    if isinstance(polynomial, ChannelPolynomial):
        polynomial = _of_largest(polynomial, slots)
    simulation = Simulation(
        _plan(chain, polynomial, argument.replace(slots=slots), value), np.random.default_rng(0), None
    )
    simulation.dtype = np.float64
    if isinstance(
        polynomial, PiecewiseLinearComposition
    ):  # close to kinks noise is largest, and few slots would not see it
        points = np.sort(_near_kinks(polynomial, largest)).reshape(-1, 1, slots)
    elif isinstance(polynomial, ChannelPolynomial):
        each = slots // len(polynomial.table)
        points = np.tile(largest * np.cos(np.linspace(np.pi, 0.0, each)), len(polynomial.table)).reshape(1, 1, slots)
    else:
        points = np.sort(largest * np.cos(np.linspace(0.0, np.pi, slots))).reshape(1, 1, slots)
    runs = DRAWS * ARGUMENTS // points.size
    try:
        (noisy,) = simulation.run([np.tile(points, (runs, 1, 1))])
    except RangeError:
        return inf
    assert isinstance(noisy, np.ndarray)
    off = (np.real(noisy[:, 0]) - np.tile(polynomial(points[:, 0]), (runs, 1))) ** 2
    squares = np.mean(off.reshape(runs, -1), axis=0)
    width = min(NEIGHBOURS, len(squares))
    worst = float(np.max(np.convolve(squares, np.full(width, 1.0 / width), mode="valid")))
    return MARGIN * sqrt(worst * argument.slots / slots)


def _of_largest(polynomial: ChannelPolynomial, slots: int) -> ChannelPolynomial:
    """Return the channels with the largest coefficients, whose noise is largest, side by side in the slots."""
    count = 1 << min(len(polynomial.table), LARGEST, slots).bit_length() - 1
    sizes = np.sum(np.abs(polynomial.coefficients[1:]), axis=0)
    chosen = np.argsort(-sizes, kind="stable")[:count].tolist()
    pack = PackMap((count, slots // count), slots, (PackDim(0, count), PackDim(1, slots // count)))
    table, parts = (tuple(each[n] for n in chosen) for each in (polynomial.table, polynomial.parts))
    return replace(polynomial, table=table, parts=parts, axis=-2, pack=pack)


def _near_kinks(polynomial: PiecewiseLinearComposition, largest: float) -> npt.NDArray[np.float64]:
    """Arguments up to the largest: half of them over the range, the others ever closer to its kinks, on both sides."""
    low, high = polynomial.covered
    low, high = max(low, -largest), min(high, largest)
    near = np.geomspace(NEAREST, 1.0, ARGUMENTS // (4 * len(polynomial.places)))
    around = np.concatenate([place + side * near for place in polynomial.places for side in (-1.0, 1.0)])
    over = low + (high - low) * (0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, ARGUMENTS - len(around))))
    return np.asarray(np.clip(np.concatenate([around, over]), low, high))


def _plan(chain: ModulusChain, polynomial: Approximant, argument: CipherType, value: CipherType) -> Plan:
    """The polynomial alone, from and to these types."""
    body = Block()
    module = Module(body, ["x"], ["y"])
    builder = Builder(body, Loc.unknown())
    attrs = {"level": value.level, "scale": value.scale, "polynomial": polynomial}
    builder.create("loop.yield", [builder.build("ckks.polynomial", [body.add_arg(argument)], **attrs)])
    return bare_plan("polynomial", module, chain)
