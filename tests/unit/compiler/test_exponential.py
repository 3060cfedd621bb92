"""E = e^(2 pi i x), the first part of EvalMod, by itself: near integers and between them."""

from math import log2, sqrt

import numpy as np
import pytest

from latticework.commands.machine.bootstrap_timing import EncryptedBootstrap
from latticework.compiler.codegen.bare_plan import plan_of_code
from latticework.compiler.codegen.emit_code import emit_code
from latticework.compiler.expand.exponential import expand_exponential, exponential_coefficients
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
        coefficients = exponential_coefficients(circuit.bound, circuit.doublings, circuit.degree)
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
