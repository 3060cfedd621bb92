"""The parts of bootstrapping against NumPy, and the whole circuit on slot vectors with noise."""

from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from vec_cases import counted, primitives_of

from latticework.compiler.codegen.bootstrap_plans import bootstrap_plan, precision, predict_precision
from latticework.compiler.expand.coeff_to_slot import butterfly_maps
from latticework.compiler.expand.eval_mod import expand_eval_mod
from latticework.compiler.expand.expand_bootstrap import bootstrap_module
from latticework.compiler.expand.primitive_builder import Primitives
from latticework.compiler.keys import covering_keys
from latticework.compiler.options.techniques import ALONE
from latticework.errors import FormatError, IrError, LevelError
from latticework.ir import Builder, Module, interpret, verify
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.plan.analysis.simulate import simulate_slots
from latticework.plan.files.check_file import check_butterflies
from latticework.plan.files.codec import from_data, to_data
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain, build_chain
from latticework.plan.parameters.bootstrap_noise import sine_series
from latticework.plan.parameters.select import Need
from latticework.values.packing.butterflies import Butterflies
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import ConstRef, LoopNest

KINDS = ("random", "constant", "signs", "one-hot")


def slots_of(kind, n, rng, real=False):
    i = 0 if real else 1j
    if kind == "random":
        return rng.uniform(-1, 1, n) + i * rng.uniform(-1, 1, n)
    if kind == "constant":
        return np.full(n, 1 + i)
    if kind == "signs":
        return rng.choice([-1.0, 1.0], n) + i * rng.choice([-1.0, 1.0], n)
    return np.eye(n)[n // 3].astype(complex)


# -- linear maps ------------------------------------------------------------------------------


def embedding(n):
    """Slots of the polynomial whose words (lower + i upper) are in bit-reversed order, by the definition."""
    u = np.exp(2j * np.pi * np.outer([pow(5, j, 4 * n) for j in range(n)], np.arange(n)) / (4 * n))
    width = n.bit_length() - 1
    return u[:, [int(format(i, f"0{width}b")[::-1], 2) if width else 0 for i in range(n)]]


def matrix(linear_map):
    """Column k is what the map makes of the k-th unit vector."""
    return np.array([linear_map.apply(column.astype(complex), {}) for column in np.eye(linear_map.slots)]).T


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 8, 32])
def test_butterflies_are_the_embedding_and_its_inverse(n, levels):
    forward, backward = np.eye(n), np.eye(n)
    for piece in butterfly_maps(n, levels, inverse=False):
        forward = matrix(piece) @ forward
    for piece in butterfly_maps(n, levels, inverse=True):
        backward = matrix(piece) @ backward
    np.testing.assert_allclose(forward, embedding(n), atol=1e-13)
    np.testing.assert_allclose(backward @ embedding(n), np.eye(n), atol=1e-13)


def test_numbers_of_diagonals_are_those_of_the_radices():
    forward = [len(m.diagonals) for m in butterfly_maps(1 << 15, 3, inverse=False)]
    backward = [len(m.diagonals) for m in butterfly_maps(1 << 15, 4, inverse=True)]
    assert forward == [63, 63, 32] and backward == [16, 31, 31, 15]


@pytest.mark.parametrize(("n", "levels"), [(8, 2), (64, 3), (128, 5), (1 << 15, 4)])
def test_maps_between_turned_vectors_step_one_way(n, levels):
    """So that giant steps in Horner's form have one key, where steps to both sides have two."""
    for inverse in (False, True):
        maps = butterfly_maps(n, levels, inverse=inverse)
        for piece, plain in zip(maps, butterfly_maps(n, levels, inverse=inverse, rotated=False), strict=True):
            is_around = {d.steps % n for d in plain.diagonals} == {d.steps % n for d in piece.diagonals}
            assert is_around or all(0 <= d.steps < n for d in piece.diagonals)
            assert len(piece.diagonals) == len(plain.diagonals)


def alike(name):
    """A set whose levels all have the special primes and digits of the top."""
    return replace(BOOTSTRAP_SETS[name], by_level=False)


def test_a_bootstrap_has_few_keys():
    """A14: 64 keys of 2.72 GB where every giant step has its own."""
    for chosen, keys, stored in ((alike("A14"), 51, 2.35e9), ("A14", 73, 2.22e9)):  # by level more are smaller
        chain = bootstrap_chain(chosen)
        found = bootstrap_plan(chain, chain.slots, chain.main.top - chain.floor).client.manifest
        assert len(found.uses) <= keys and found.total_stored_bytes <= stored


def test_a_diagonal_is_rotated_and_scaled_like_others():
    piece = Butterflies(16, 2, 2, False)
    plain = ConstRef(piece, 4).evaluate({})
    turned = ConstRef(piece, 4, rotate=3, factor=0.5).evaluate({})
    np.testing.assert_allclose(turned, np.roll(plain, -3) / 2)


def test_butterflies_are_stored_and_checked():
    piece = Butterflies(64, 4, 3, True)
    assert from_data(LoopNest | Butterflies, to_data(piece), "x") == piece
    check_butterflies(piece, 64, "x")
    for bad in (replace(piece, half=3), replace(piece, stages=5), replace(piece, slots=128), replace(piece, stages=-1)):
        with pytest.raises(FormatError):
            check_butterflies(bad, 64, "x")


# -- EvalMod ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["T11", "B"])
def test_eval_mod_is_the_two_term_sine(name):
    chain = bootstrap_chain(name)
    circuit, track = chain.bootstrap, len(chain.tracks) - 1
    top = chain.tracks[track].top - circuit.cts_levels
    out = chain.main.scales[-1]
    module = Module(input_names=["x"], outputs=["y"])
    x = module.body.add_arg(CipherType("ckks", 1, 256, Level(track, top), chain.tracks[track].scales[top]))
    p = Primitives(Builder(module.body), chain)
    y = expand_eval_mod(p, x, circuit, chain.main.top, out)
    p.builder.create("loop.yield", [y])
    verify(module)
    rng = np.random.default_rng(3)
    integers = rng.integers(-circuit.bound + 1, circuit.bound, 256)
    t = integers + rng.uniform(-1, 1, 256) / circuit.ratio
    (found,) = interpret(module, [t / circuit.bound])
    angle = 2 * np.pi * t
    bits = 20 if name == "T11" else 28  # of the series; relative to R
    error = np.imag(found) - (8 * np.sin(angle) - np.sin(2 * angle)) / 6
    assert np.max(np.abs(error)) * circuit.ratio / (2 * np.pi) < 2.0**-bits
    assert y.type.scale == pytest.approx(out * circuit.ratio / (4 * np.pi), rel=1e-12)
    assert counted(module)["ckks.mul"] + counted(module)["ckks.square"] == (15 if name == "T11" else 17)


# -- the whole circuit ------------------------------------------------------------------------


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("slots", [1, 2, 16, 1024])
def test_without_noise_only_the_series_is_off(slots, real):
    chain = bootstrap_chain("T11")
    module = bootstrap_module(chain, slots, 2, real=real)
    verify(module)
    primitives = primitives_of(module, chain)
    verify(primitives)
    x = slots_of("random", slots, np.random.default_rng(4), real)
    (symbolic,), (found,) = interpret(module, [x]), interpret(primitives, [x])
    np.testing.assert_array_equal(symbolic, x)
    assert precision(found, x).worst_bits > 24
    assert primitives.body.terminator.operands[0].type == module.body.terminator.operands[0].type


def test_a_real_bootstrap_drops_imaginary_parts_and_takes_one_eval_mod():
    chain = bootstrap_chain("T11")
    x = slots_of("random", 1024, np.random.default_rng(5))
    modules = {real: primitives_of(bootstrap_module(chain, 1024, 3, real=real), chain, ALONE) for real in (False, True)}
    (found,) = interpret(modules[True], [x])
    assert precision(found, x.real).worst_bits > 24
    products = {r: counted(m)["ckks.mul"] + counted(m)["ckks.square"] for r, m in modules.items()}
    assert products == {False: 30, True: 15}


def test_a_second_iteration_bootstraps_the_error_of_the_first():
    chain = bootstrap_chain("T11")
    x = slots_of("random", 1024, np.random.default_rng(6))
    (once,), (twice,) = (
        interpret(primitives_of(bootstrap_module(chain, 1024, 3, iterations=i), chain), [x]) for i in (1, 2)
    )
    assert precision(twice, x).rms_bits > precision(once, x).rms_bits + 10


def test_higher_levels_than_the_floor_are_dropped():
    chain = bootstrap_chain("T11")
    x = slots_of("random", 64, np.random.default_rng(7))
    (found,) = interpret(primitives_of(bootstrap_module(chain, 64, 2, start=chain.main.top), chain), [x])
    assert precision(found, x).worst_bits > 24


@pytest.mark.parametrize(
    ("name", "real", "iterations", "bits"),
    [("T11", False, 1, 25.5), ("T12", False, 1, 25.5), ("T12", True, 1, 25.5), ("T12", False, 2, 29)],
)
def test_precision_with_noise_is_alike_for_all_kinds_of_data(name, real, iterations, bits):
    chain = bootstrap_chain(name)
    plan = bootstrap_plan(chain, chain.slots, chain.main.top - chain.floor, real=real, iterations=iterations)
    rng = np.random.default_rng(8)
    found = []
    for kind in KINDS:
        x = slots_of(kind, chain.slots, rng, real)
        (y,) = simulate_slots(plan, [x], noise=rng)
        bent = (
            [x.real, x.imag] if iterations == 2 else [sine_series(chain.bootstrap, part) for part in (x.real, x.imag)]
        )
        found.append(precision(y, bent[0] + 1j * bent[1], real=real))
    assert min(f.rms_bits for f in found) > bits
    assert max(f.rms_bits for f in found) - min(f.rms_bits for f in found) < 0.6
    assert min(f.worst_bits for f in found) > bits - 3.2  # of a normal error 2.1, of one that is all rounding 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rms", "worst"),
    [("A14", 24.6, 21.5), ("A17", 24.2, 21.2), ("A11", 24.2, 21.2), ("B", 30.5, 27.4), ("C15", 19.0, 16.0)],
)
def test_precision_of_the_secure_sets(name, rms, worst):
    chain = bootstrap_chain(name)
    found = [predict_precision(chain, chain.main.top - chain.floor, seed=seed) for seed in range(3)]
    assert min(f.rms_bits for f in found) > rms
    assert median(f.worst_bits for f in found) > worst  # the largest of 2^17 errors moves by half a bit


@pytest.mark.slow
@pytest.mark.parametrize("target", [1, 4, 10])
def test_every_target_of_the_default_set_is_as_precise(target):
    assert predict_precision(bootstrap_chain("A14"), target, real=True).rms_bits > 24.5


# -- keys and errors --------------------------------------------------------------------------


def test_a_key_serves_other_tracks():
    chain = bootstrap_chain(alike("T12"))
    high, low = KeySpec("galois", 5, 4, chain.tracks[4].top), KeySpec("galois", 5, 0, 2)
    apart = KeySpec("galois", 5, 0, chain.main.top)  # not within the first on track 1
    assert covering_keys([low, high, apart], chain) == (high,)
    short = KeySpec("galois", 5, 1, chain.tracks[1].top)
    assert covering_keys([short, apart, low], chain) == (apart, short)
    by_level = bootstrap_chain("T12")
    assert [by_level.num_special_at(k.level, k.track) for k in (high, apart, low)] == [3, 5, 1]
    assert covering_keys([low, high, apart], by_level) == (apart, low, high)
    assert covering_keys([replace(low, level=1), low], by_level) == (low,)


@pytest.mark.parametrize(("name", "rotations"), [("T11", 60), ("A14", 90)])
def test_number_of_keys(name, rotations):
    chain = bootstrap_chain(name)
    plan = bootstrap_plan(chain, chain.slots, chain.main.top - chain.floor)
    kinds = [k.kind for k in plan.keys]
    assert kinds.count("to_sparse") == kinds.count("to_dense") == 1
    assert kinds.count("galois") <= rotations
    once = {(k.kind, k.galois_element, chain.gadget_at(k.level, k.track)) for k in plan.keys}
    assert len(once) == len(plan.keys)


def test_what_cannot_be_bootstrapped_is_an_error():
    chain = bootstrap_chain("T11")
    with pytest.raises(LevelError, match="targets 1 to 3"):
        bootstrap_module(chain, 16, 4)
    with pytest.raises(LevelError, match="targets"):
        bootstrap_module(build_chain(1024, Need(3, 16, 40, 8), 2, insecure=True), 16, 1)
    with pytest.raises(LevelError, match="starts at level 2"):
        primitives_of(bootstrap_module(chain, 16, 2, start=1), chain)
    with pytest.raises(IrError, match="iterations"):
        bootstrap_module(chain, 16, 2, iterations=3)
