"""E = e^(2 pi i x), the first part of EvalMod, by itself: near integers and between them, and its two series."""

from dataclasses import replace
from math import log2, sqrt

import numpy as np
import pytest

from latticework.commands.machine.bootstrap_timing import EncryptedBootstrap
from latticework.compiler.codegen.bare_plan import plan_of_code
from latticework.compiler.codegen.emit_code import emit_code
from latticework.compiler.expand.exponential import expand_exponential, exponential_coefficients
from latticework.compiler.expand.near_integers import near_coefficients
from latticework.compiler.expand.primitive_builder import Primitives
from latticework.compiler.keys import plan_keys
from latticework.compiler.passes import cse, dce
from latticework.ir import Builder, Module
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.ir.passes import run_passes
from latticework.plan.analysis.simulate import simulate_slots
from latticework.plan.parameters import bootstrap_chain
from latticework.plan.parameters.bootstrap_chain import exponential_scales


class Exponential:
    """The plan of E of x / K on the longest track of a set: from where CoeffToSlot ends to a level above the top."""

    def __init__(self, name):
        self.chain = chain = bootstrap_chain(name)
        circuit, track = chain.bootstrap, len(chain.tracks) - 1
        self.place = Level(track, chain.tracks[track].top - circuit.cts_levels)
        self.scale = chain.tracks[track].scales[self.place.index]
        level = chain.main.top + 1
        moduli = [chain.group_product(i, track) for i in range(level + 1, self.place.index + 1)]
        wanted = sqrt(chain.main.scales[-1] * chain.group_product(level, track))  # a product of it fits the level below
        module = Module(input_names=["x"], outputs=["y"])
        x = module.body.add_arg(CipherType("ckks", 1, chain.slots, self.place, self.scale))
        p = Primitives(Builder(module.body), chain)
        coefficients = exponential_coefficients(circuit)
        e = expand_exponential(p, x, coefficients, level, exponential_scales(circuit, wanted, moduli))
        assert (e.type.level, e.type.scale) == (Level(track, level), pytest.approx(wanted))
        p.builder.create("loop.yield", [e])
        module = run_passes(module, (cse.PASS, dce.PASS))
        self.plan = plan_of_code("e", emit_code(module, chain, plan_keys(module, chain)), {}, chain)

    def draw(self, rng):
        """x anywhere between integers, which are those that raising adds: a sum of 33 uniform terms, rounded."""
        integers = np.rint(rng.uniform(-0.5, 0.5, (33, self.chain.slots)).sum(axis=0))
        return integers + rng.uniform(-0.5, 0.5, self.chain.slots)

    def simulate(self, x, rng):
        (e,) = simulate_slots(self.plan, [x / self.chain.bootstrap.bound + 0j], noise=rng)
        return e

    def run(self, x):
        case = EncryptedBootstrap(self.chain, self.plan, threads=1)
        place = (self.place.track, self.place.index)
        slots = case.encoder.encode(x / self.chain.bootstrap.bound + 0j, place, self.scale)
        return case.decrypt(case.run(case.encryptor.encrypt(slots)))


def bits(e, x):
    """-log2 of the errors |e - E|: root of the mean square, and the largest."""
    error = np.abs(e - np.exp(2j * np.pi * x))
    return -log2(float(np.sqrt(np.mean(error**2)))), -log2(float(np.max(error)))


@pytest.mark.parametrize("x", ["integers", "anywhere"])
def test_the_exponential_itself_is_precise_encrypted_as_simulated(x):
    exponential, rng = Exponential("T12"), np.random.default_rng(1)
    drawn = exponential.draw(rng)
    points = np.rint(drawn) if x == "integers" else drawn
    rms, worst = bits(exponential.simulate(points, rng), points)
    assert rms > 30.4 and worst > 29.5
    assert bits(exponential.run(points), points) == (pytest.approx(rms, abs=0.5), pytest.approx(worst, abs=0.8))


def test_the_exponential_of_the_default_set_is_good_for_tables():
    exponential, rng = Exponential("A14"), np.random.default_rng(2)
    x = exponential.draw(rng)
    rms, worst = bits(exponential.simulate(x, rng), x)
    assert rms > 29.4 and worst > 26.5


# -- the two series ---------------------------------------------------------------------------


def evaluate(circuit, coefficients, x):
    return np.polynomial.chebyshev.chebval(x / circuit.bound, coefficients)


@pytest.mark.parametrize(("degree", "doublings", "bits"), [(31, 3, 31), (35, 3, 39), (63, 2, 48)])
def test_the_series_is_the_exponential(degree, doublings, bits):
    circuit = replace(bootstrap_chain("T11").bootstrap, degree=degree, doublings=doublings)
    x = np.linspace(-16, 16, 4001)
    coefficients = exponential_coefficients(circuit)
    error = np.max(np.abs(evaluate(circuit, coefficients, x) - np.exp(2j * np.pi * x / 2**doublings)))
    assert -np.log2(error) > bits - 5
    assert all(c.imag == 0 if k % 2 == 0 else c.real == 0 for k, c in enumerate(coefficients))


def sine_errors(circuit, coefficients, value):
    """Largest error of the sine series' value for inputs of a magnitude, beside every integer below the bound."""
    t = np.concatenate([value, -value]) / circuit.ratio

    def sine(e):
        return np.imag(e * (8 - e)) / 6 * circuit.ratio / (2 * np.pi)

    x = np.arange(circuit.bound)[:, None] + t
    e = evaluate(circuit, coefficients, x) ** (2**circuit.doublings)
    return np.max(np.abs(sine(e) - sine(np.exp(2j * np.pi * t))), axis=1)


@pytest.mark.parametrize(
    ("name", "degree", "rounding"), [("A14", 28, 0.0), ("A11", 28, 0.0), ("C15", 28, 0.0), ("B", 46, 2**-37.8)]
)
def test_near_integers_the_short_series_is_no_worse_than_the_one_for_all(name, degree, rounding):
    """Also where no bootstrap in a lifetime comes: beside 15. That of B is as good as numbers here are."""
    circuit = bootstrap_chain(name).bootstrap
    near, everywhere = near_coefficients(circuit), exponential_coefficients(circuit)
    assert len(near) == degree + 1 and len(everywhere) > len(near)
    values = np.linspace(0, 1, 9)
    assert np.max(sine_errors(circuit, near, values)) < max(
        np.max(sine_errors(circuit, everywhere, values)) / 2, rounding
    )
    # Inputs that overshoot: below the next term of the sine series, which its stated error leaves room for; and 2^-21.
    angle = 2 * np.pi / circuit.ratio
    for overshoot in (2.0, 4.0, 8.0, 0.9 / angle):
        room = angle**6 * overshoot**7 / 252
        assert np.max(sine_errors(circuit, near, np.array([overshoot]))) < room + 2.0**-21


def test_circuits_that_nobody_fitted_keep_the_series_for_all():
    circuit = bootstrap_chain("T11").bootstrap
    assert near_coefficients(circuit) is not None
    for change in ({"degree": 30}, {"bound": 12}, {"doublings": 4}, {"ratio": 32.0}):
        assert near_coefficients(replace(circuit, **change)) is None
