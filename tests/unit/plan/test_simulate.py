"""The simulator: it sees wrong levels, scales and magnitudes, and its noise is that of real ciphertexts."""

from dataclasses import replace

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, plan_of, small_chain

from latticework import _core
from latticework.compiler.levels import program_depth
from latticework.errors import LevelError, RangeError, ScaleError
from latticework.plan.analysis.simulate import simulate
from latticework.plan.files.code_file import encode_code
from latticework.plan.instructions.register_kinds import CipherKind, PlainKind
from latticework.plan.parameters import build_chain, step_noise, worst_noise
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.parameters.select import Need
from latticework.values.packing.key_manifest import galois_element
from latticework.values.packing.slot_arrays import apply_galois

RNG = np.random.default_rng(6)
MATRIX = RNG.normal(size=(SLOTS, SLOTS)) / 4


def inputs(count=2):
    return [RNG.uniform(-1, 1, SLOTS) for _ in range(count)]


def fresh(v):
    return v.x[0], v.op("add", v.x[0], v.x[1])


def turned(v):
    return v.op("rotate", v.x[0], steps=3), v.matrix(v.x[1], MATRIX)


def deep(v):
    y = v.op("mul", v.matrix(v.x[0], MATRIX), v.x[1])
    return v.polynomial(v.op("mul", y, v.splat(0.2)), [0.1, 0.2, 0.3, 0.4]), v.op("mul", y, y)


PROGRAMS = {"fresh": fresh, "turned": turned, "deep": deep}


def plan(name, scale_bits=40):
    v = Vectors(2)
    module = v.done(*PROGRAMS[name](v))
    return plan_of(module, small_chain(program_depth(module), scale_bits=scale_bits))


def encrypted_runs(case, x, count):
    """Decrypted outputs of real runs: fresh encryptions under one key, slots as complex numbers."""
    context = _core.Context(core_parameters(case.chain), "ref", 1)
    generator = _core.KeyGenerator(context)
    secret = generator.secret_key()
    specs = [
        {"kind": k.kind, "galois_element": k.galois_element, "track": k.track, "level": k.level} for k in case.keys
    ]
    keys = generator.evaluation_keys(secret, specs)
    encoder, encryptor = _core.Encoder(context), _core.Encryptor(context, secret)
    decryptor = _core.Decryptor(context, secret)

    def constant(number):
        return case.constants[number].evaluate(case.sources).astype(np.complex128)

    code = _core.Plan(core_parameters(case.chain), encode_code(case))
    executor = _core.Executor(context, code, keys, constant, constant_budget_bytes=1 << 28)
    runs = []
    for _ in range(count):
        arguments = [
            encryptor.encrypt(encoder.encode(v, (0, i.level), i.scale))
            for v, i in zip(x, case.client.inputs, strict=True)
        ]
        runs.append([np.real(decryptor.decrypt(c)) for c in executor.run(arguments)])
    return [np.array(outputs) for outputs in zip(*runs, strict=True)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_modelled_noise_is_that_of_real_ciphertexts(name):
    case = plan(name)
    x = inputs()
    exact = simulate(case, x)
    drawn = zip(*(simulate(case, x, noise=np.random.default_rng(s)) for s in range(60)), strict=True)
    measured = encrypted_runs(case, x, 40)
    for want, model, real in zip(exact, drawn, measured, strict=True):
        modelled = float(np.sqrt(np.mean((np.array(model) - want) ** 2)))
        found = float(np.sqrt(np.mean((real - want) ** 2)))
        assert modelled / 1.5 < found < modelled * 1.5


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_noise_the_plan_is_exact(name):
    x = inputs()
    results = simulate(plan(name, scale_bits=49), x)
    y = (MATRIX @ x[0]) * x[1]
    expected = {
        "fresh": (x[0], x[0] + x[1]),
        "turned": (np.roll(x[0], -3), MATRIX @ x[1]),
        "deep": (np.polynomial.chebyshev.chebval(0.2 * y, [0.1, 0.2, 0.3, 0.4]), y * y),
    }[name]
    for got, want in zip(results, expected, strict=True):
        assert np.max(np.abs(got - want)) < 1e-12


def test_noise_is_drawn_from_the_generator_given():
    case, x = plan("deep"), inputs()
    a, b, c = (simulate(case, x, noise=np.random.default_rng(s))[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any() and (a != simulate(case, x)[0]).any()


def test_ciphertexts_are_reported_as_they_are_made():
    case, x, seen = plan("deep"), inputs(), []
    (y, _) = simulate(case, x, on_value=lambda register, value: seen.append((register, value)))
    assert all(case.kind(r).basis == 0 for r, _ in seen)
    last = case.blocks[0].code[-1].operands[0].register
    np.testing.assert_array_equal(np.real(dict(seen)[last]), y)
    np.testing.assert_array_equal(seen[0][1], x[0])


def cipher_registers(case):
    """Registers that an instruction makes, with their kinds."""
    return [(r, case.kind(r)) for b in case.blocks for i in b.code for r in i.results
            if isinstance(case.kind(r), CipherKind)]  # fmt: skip


def with_kind(case, register, kind):
    registers = tuple(len(case.kinds) if r == register else k for r, k in enumerate(case.registers))
    return replace(case, kinds=(*case.kinds, kind), registers=registers)


FREE = {"mul_int", "relabel"}  # state their scale


def maker(case, register):
    return next(i for _, _, i in case.walk() if register in i.results)


@pytest.mark.parametrize("name", ["turned", "deep"])
def test_every_wrong_scale_is_noticed(name):
    case, x = plan(name), inputs()
    tampered = 0
    for register, kind in cipher_registers(case):
        if maker(case, register).op in FREE:
            continue
        with pytest.raises(ScaleError, match="scale"):
            simulate(with_kind(case, register, replace(kind, scale=kind.scale * (1 + 1e-4))), x)
        tampered += 1
    assert tampered > 5


@pytest.mark.parametrize("name", ["turned", "deep"])
def test_every_wrong_level_is_noticed(name):
    case, x = plan(name), inputs()
    for register, kind in cipher_registers(case):
        for level in {kind.level - 1, kind.level + 1} & set(range(case.chain.main.top + 1)):
            with pytest.raises((LevelError, ScaleError)):
                simulate(with_kind(case, register, replace(kind, level=level)), x)


def test_a_wrong_scale_of_a_constant_is_noticed():
    case, x = plan("turned"), inputs()
    for register in range(len(case.registers)):
        kind = case.kind(register)
        if isinstance(kind, PlainKind):
            with pytest.raises(ScaleError):
                simulate(with_kind(case, register, replace(kind, scale=kind.scale * 2)), x)


def test_values_beyond_the_modulus_are_noticed():
    v = Vectors(1)
    case = plan_of(v.done(v.op("mul", v.x[0], v.splat(60000.0))), small_chain(0, headroom_bits=8))
    assert np.max(np.abs(simulate(case, [np.full(SLOTS, 1e-3)])[0] - 60)) < 1e-9
    with pytest.raises(RangeError, match=r"reaches 6e\+04, and there is room for 128: scale"):
        simulate(case, [np.ones(SLOTS)])


def test_constants_beyond_the_encoder_are_noticed():
    v = Vectors(1)
    chain = build_chain(1024, Need(1, SLOTS, 45, 50), 2, insecure=True)
    case = plan_of(v.done(v.op("mul", v.x[0], v.constant(np.full(SLOTS, 1e6)))), chain)
    with pytest.raises(RangeError, match=r"public number of magnitude 1e\+06.*2\^62"):
        simulate(case, [np.ones(SLOTS)])


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_loops_run_as_often_as_they_are_told(trips):
    v = Vectors(1, trips=True)
    (y,) = v.loop(lambda i, h: [v.op("add", h, v.x[0])], [v.x[0]], v.n)
    case = plan_of(v.done(y), small_chain(0))
    (x,) = inputs(1)
    np.testing.assert_allclose(simulate(case, [x, trips])[0], (trips + 1) * x, rtol=1e-12)


@pytest.mark.parametrize("trips", [-1, 5])
def test_trip_counts_beyond_the_limit_are_refused(trips):
    v = Vectors(1, trips=True)
    (y,) = v.loop(lambda i, h: [v.op("add", h, v.x[0])], [v.x[0]], v.n, at_most=4)
    case = plan_of(v.done(y), small_chain(0))
    with pytest.raises(RangeError, match=f"trip count is {trips}.*0 to 4"):
        simulate(case, [inputs(1)[0], trips])


@pytest.mark.parametrize("slots", [1, 2, 8, 512])
def test_galois_elements_act_as_on_the_embedding(slots):
    n = 1024
    x = RNG.normal(size=slots) + 1j * RNG.normal(size=slots)
    for steps in (0, 1, -1, 3, 511):
        np.testing.assert_array_equal(apply_galois(x, galois_element(steps, n)), np.roll(x, -(steps % slots)))
        conjugated = (2 * n - galois_element(steps, n)) % (2 * n)
        np.testing.assert_array_equal(apply_galois(x, conjugated), np.conj(np.roll(x, -(steps % slots))))


def test_public_key_noise_is_that_of_a_rounding_and_of_the_encoding():
    chain = small_chain(2)
    n = chain.ring_degree
    expected = np.hypot(step_noise.mod_down(n), step_noise.encoding())
    assert step_noise.public_encryption(chain) == pytest.approx(expected, rel=1e-6)
    assert worst_noise.public_encryption(chain) > 6 * step_noise.public_encryption(chain)
