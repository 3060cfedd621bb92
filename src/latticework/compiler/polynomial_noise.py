"""How far the evaluation of a polynomial is off by its own noise, wherever its argument lies, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt

import numpy as np

from latticework.analysis.simulation import Simulation
from latticework.codegen.bare_plan import bare_plan
from latticework.dialects.rlwe import CipherType
from latticework.errors import RangeError
from latticework.ir import Block, Builder, Loc, Module
from latticework.packing.constants import IntervalPolynomial
from latticework.params import ModulusChain
from latticework.plan.schema import Plan

ARGUMENTS = 1024  # at which the noise is drawn, from one end of the interval to the other
DRAWS = 32
NEIGHBOURS = 16  # arguments whose draws are taken together: a deviation is then known to 3 %
MARGIN = 1.1


def polynomial_noise(chain: ModulusChain) -> Callable[[IntervalPolynomial, CipherType, CipherType, float], float]:
    """A function of a polynomial, the types of its argument and of its value, and the largest argument.

    It returns the deviation of a slot of the value at the argument where that is worst, for an argument without noise;
    inf where some step does not fit the modulus.
    """
    known: dict[tuple[IntervalPolynomial, CipherType, CipherType, float], float] = {}

    def deviation(polynomial: IntervalPolynomial, argument: CipherType, value: CipherType, largest: float) -> float:
        key = polynomial, argument.replace(count=1), value.replace(count=1), largest
        if key not in known:
            known[key] = _simulate(chain, *key)
        return known[key]

    return deviation


def _simulate(
    chain: ModulusChain, polynomial: IntervalPolynomial, argument: CipherType, value: CipherType, largest: float
) -> float:
    slots = min(ARGUMENTS, argument.slots)
    simulation = Simulation(
        _plan(chain, polynomial, argument.replace(slots=slots), value), np.random.default_rng(0), None
    )
    simulation.dtype = np.float64
    points = np.sort(largest * np.cos(np.linspace(0.0, np.pi, slots)))
    runs = DRAWS * ARGUMENTS // slots
    try:
        (found,) = simulation.run([np.tile(points, (runs, 1, 1))])
    except RangeError:
        return inf
    assert isinstance(found, np.ndarray)
    squares = np.mean((np.real(found[:, 0]) - polynomial(points)) ** 2, axis=0)
    width = min(NEIGHBOURS, slots)
    worst = float(np.max(np.convolve(squares, np.full(width, 1.0 / width), mode="valid")))
    return MARGIN * sqrt(worst * argument.slots / slots)


def _plan(chain: ModulusChain, polynomial: IntervalPolynomial, argument: CipherType, value: CipherType) -> Plan:
    """The polynomial alone, from and to these types."""
    body = Block()
    module = Module(body, ["x"], ["y"])
    builder = Builder(body, Loc.unknown())
    attrs = {"level": value.level, "scale": value.scale, "polynomial": polynomial}
    builder.create("loop.yield", [builder.build("ckks.polynomial", [body.add_arg(argument)], **attrs)])
    return bare_plan("polynomial", module, chain)
