"""Bootstraps of real ciphertexts, on small INSECURE parameters: precision, levels, targets, iterations."""

import functools

import numpy as np
import pytest

from latticework.commands.benchmarks import suites
from latticework.compiler.codegen.bootstrap_plans import bootstrap_plan, precision, predict_precision
from latticework.plan.parameters import bootstrap_chain
from latticework.plan.parameters.bootstrap_noise import sine_series

suites()  # puts the source tree on the path
from bench.boot import EncryptedBootstrap, kinds  # noqa: E402


@functools.cache
def case(name, target, real=False, slots=None, iterations=1):
    chain = bootstrap_chain(name)
    plan = bootstrap_plan(chain, slots or chain.slots, target, real=real, iterations=iterations)
    return EncryptedBootstrap(chain, plan, slots=slots, threads=1)


def bits(bootstrap, x, real=False):
    result = bootstrap.run(bootstrap.encrypt(x))
    return precision(bootstrap.decrypt(result), x, real=real), result


@pytest.mark.parametrize(("name", "target", "real"), [("T12", 4, False), ("T11", 3, True)])
def test_all_kinds_of_data_keep_their_precision(name, target, real):
    bootstrap = case(name, target, real)
    found, noise = [], []
    for x in map(np.asarray, kinds(bootstrap.slots, np.random.default_rng(1), real).values()):
        y = bootstrap.decrypt(bootstrap.run(bootstrap.encrypt(x)))
        found.append(precision(y, x, real=real))
        bent = [sine_series(bootstrap.chain.bootstrap, part) for part in (x.real, x.imag)]
        noise.append(precision(y, bent[0] + 1j * bent[1], real=real).rms_bits)  # the rest is the sine series' own
    assert min(f.rms_bits for f in found) > 24.5 and max(noise) - min(noise) < 0.6
    assert min(f.worst_bits for f in found) > 22.5
    predicted = predict_precision(bootstrap.chain, target, real=real)
    assert abs(found[0].rms_bits - predicted.rms_bits) < 0.5


def test_the_result_lies_where_it_was_asked_for():
    bootstrap = case("T11", 2)
    chain = bootstrap.chain
    found, result = bits(bootstrap, kinds(bootstrap.slots, np.random.default_rng(2), False)["random"])
    assert found.rms_bits > 24.5
    level = chain.floor + 2
    assert (result.level, result.scale, result.degree) == ((0, level), chain.main.scales[level], 1)


@pytest.mark.parametrize("target", [1, 16])
def test_targets_of_the_set_with_sixteen_levels(target):
    bootstrap = case("T12L16", target)
    chain = bootstrap.chain
    found, result = bits(bootstrap, kinds(bootstrap.slots, np.random.default_rng(6), False)["random"])
    assert (result.level, result.scale) == ((0, chain.floor + target), chain.main.scales[chain.floor + target])
    above = found.rms_bits - predict_precision(chain, target).rms_bits
    assert -0.05 < above < 0.2, "predictions are for values of 1, where the series is off most"


@pytest.mark.parametrize(("slots", "real"), [(1, True), (16, False)])
def test_narrow_vectors(slots, real):
    bootstrap = case("T11", 3, real, slots)
    x = kinds(slots, np.random.default_rng(3), real)["random"]
    found, result = bits(bootstrap, x, real)
    assert found.worst_bits > 22.5 and result.slots == slots


def test_two_iterations():
    bootstrap = case("T11", 3, iterations=2)
    found, _ = bits(bootstrap, kinds(bootstrap.slots, np.random.default_rng(4), False)["random"])
    assert found.rms_bits > 28.5


def test_again_and_again():
    """A value that is bootstrapped three times over drifts by no more than three errors."""
    bootstrap = case("T11", 3)
    x = kinds(bootstrap.slots, np.random.default_rng(5), False)["random"]
    value = bootstrap.encrypt(x)
    for _ in range(3):
        value = bootstrap.drop_to_floor(bootstrap.run(value))
    assert precision(bootstrap.decrypt(value), x).rms_bits > 23.5
