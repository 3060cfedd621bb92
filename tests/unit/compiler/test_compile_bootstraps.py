"""Programs that spend more levels than their chain has: compiled with bootstraps, run encrypted, or refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from array_programs import encrypted
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.compiler.array_programs import lower_arrays
from latticework.compiler.bootstrap_prices import bootstrap_seconds
from latticework.compiler.bootstrapping import LEAST_LIMBS, LEAST_TRANSFORMS, TRANSFORMS_A_LEVEL, BootstrapSearch
from latticework.compiler.options.compile_options import CompileOptions
from latticework.errors import LevelError, PrecisionError, RangeError, SecurityError, UserError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain, plan_bootstrap_set
from latticework.report import build_report

DATA = np.random.default_rng(5).uniform(-1, 1, (12, 3, 5))
SMALL = {"bootstrap_set": "T11", "insecure": True, "calibrate": DATA}


def steps(times, scale=0.5):
    """Two levels an iteration."""

    def stepped(x: lw.Secret[3, 5]):
        for _ in range(times):
            x = x * x * scale + 0.4 * x - 0.3
        return x

    return lw.program(stepped)


@lw.program
def steep_steps(x: lw.Secret[3, 5]):
    """A level an iteration."""
    return lw.for_loop(130, lambda _, y: y * y - 0.5, x)


@lw.program
def wide(x: lw.Secret[3, 5]):
    """Complex bootstraps: two vectors are refreshed at a time; values up to 8."""
    y = 3 * x + 4
    for _ in range(2):
        x, y = x * y * 0.25, y * y * 0.125 + 1
    return x + y


def run(model, x):
    """The program encrypted."""
    client = model.client()
    server = model.server(client.keygen().public())
    return client.decrypt(server(client.encrypt(x)))


def check(model, program, x):
    """Within the stated bound, which is no larger than what was asked for."""
    result, expected = run(model, x), program(x)
    error = np.max(np.abs(result.reveal() - expected))
    output = model.plan.client.outputs[0]
    assert error <= output.error_bound <= 2.0**-model.plan.client.precision_bits * output.magnitude


def test_twenty_levels_run_on_four():
    @lw.program
    def nested(x: lw.Secret[3, 5]):
        for _ in range(7):
            x = lw.polynomial(x, [0.1, 0.9, -0.1, -0.3, 0.05, 0.1, 0.02, -0.05])
        return x

    model = lw.compile(nested, bootstrap_set="T12", insecure=True, calibrate=DATA)
    chain = model.plan.chain
    assert (chain.main.top - chain.floor, chain.insecure) == (4, True)
    assert "INSECURE" in str(model) and "INSECURE" in str(model.report())
    assert all(output.level >= chain.floor for output in model.plan.client.outputs)
    check(model, nested, DATA[0])


@pytest.mark.slow
def test_forty_levels_run_on_sixteen():
    program = steps(20)
    check(lw.compile(program, bootstrap_set="T12L16", insecure=True, calibrate=DATA), program, DATA[1])


def test_vectors_that_share_bootstraps_and_values_beyond_one():
    check(lw.compile(wide, **SMALL), wide, DATA[2])


@pytest.mark.parametrize(("held", "leak"), [(4.0, 0.0), (8.0, 2.0**-35)])
def test_what_lies_in_slots_without_elements_disturbs_no_other(held, leak):
    """Three rows of five in slots of 4 x 8: what the rest holds may leave the interval of EvalMod, there alone.

    It reaches others by the rounding of matrices, which is a share of its size.
    """
    program = steps(2)
    model = lw.compile(program, **SMALL)
    spec, output = model.plan.client.secret_inputs[0], model.plan.client.outputs[0]
    is_held = spec.pack.element_of_slot().reshape(-1) >= 0
    assert not is_held.all() and is_held.any()
    clean = spec.pack.pack(DATA[0]).reshape(-1)
    (found,) = encrypted(model.plan, [np.where(is_held, clean, held)[None]])
    elsewhere = held
    for _ in range(2):
        elsewhere = 0.5 * elsewhere**2 + 0.4 * elsewhere - 0.3
    is_wrong = np.min(np.abs(found[0, ~is_held] - elsewhere)) > 100.0
    assert is_wrong == (elsewhere > 128.0), "half of the interval"
    error = np.max(np.abs(output.pack.unpack(found) - program(DATA[0])))
    assert error <= output.error_bound + leak * elsewhere


def test_programs_that_fit_without_bootstraps_compile_as_they_did():
    program = steps(3)
    plans = [write_plan(lw.compile(program, calibrate=DATA, **said).plan) for said in ({}, {"bootstrap": "never"})]
    assert plans[0] == plans[1]


def test_the_command_line_takes_a_set(tmp_path):
    (tmp_path / "deep.py").write_text(
        "import latticework as lw\n\n\n@lw.program\ndef deep(x: lw.Secret[4]):\n"
        "    for _ in range(5):\n        x = x * x - 0.5\n    return x\n"
    )
    words = ["compile", str(tmp_path / "deep.py"), "-o", str(tmp_path / "deep.lwplan"), "--bootstrap-set", "T11"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 1 and "--bootstrap-set T11 is for tests" in " ".join(refused.output.split())
    done = CliRunner().invoke(app, [*words, "--insecure"])
    assert done.exit_code == 0 and "INSECURE" in done.output
    assert lw.Model.load(tmp_path / "deep.lwplan").plan.chain.main.top == bootstrap_chain("T11").main.top


def test_small_outputs_are_computed_larger():
    """Their precision is relative to themselves: at a scale of 2^40 a product of 1e-7 would keep none."""

    @lw.program
    def small(x: lw.Secret[3, 5]):
        for _ in range(3):
            x = x * x * 0.5
        return 1e-5 * x

    model = lw.compile(small, **SMALL)
    assert model.plan.client.outputs[0].magnitude < 1e-5
    check(model, small, DATA[4])


def test_real_bootstraps_in_loops_beside_what_is_complex():
    """Loops carry real values through real bootstraps, and plans with complex ones are simulated on complex slots."""

    @lw.program
    def looped(x: lw.Secret[8]):
        return lw.for_loop(6, lambda i, y: y * y * 0.5 - 0.3 * y + 0.1, x)

    data = np.random.default_rng(0).uniform(-1, 1, (8, 8))
    model = lw.compile(looped, calibrate=data, precision_bits=9, bootstrap_set="T12", insecure=True)
    (found,) = model.simulate(data[0])
    assert np.max(np.abs(found - looped(data[0]))) < 1e-7


# -- precision --------------------------------------------------------------------------------------


def test_two_iterations_where_one_is_not_precise_enough():
    program = steps(2)
    model = lw.compile(program, precision_bits=27, **SMALL)
    check(model, program, DATA[3])
    calls = {b.iterations for b in model.plan.bootstraps}
    assert calls == {2}
    assert {b.iterations for b in lw.compile(program, precision_bits=12, **SMALL).plan.bootstraps} == {1}


def test_plans_and_reports_keep_the_chains_that_were_weighed():
    plan = lw.compile(steps(2), precision_bits=27, **SMALL).plan
    one, two = plan.weighed
    assert (one.iterations, two.iterations) == (1, 2) and one.seconds < two.seconds and one.reached < 27
    assert two.chosen and not one.chosen and two.reached is None and one.is_placed and two.is_placed
    assert {each.levels for each in plan.weighed} == {BOOTSTRAP_SETS["T11"].residual}
    assert read_plan(write_plan(plan)).weighed == plan.weighed
    report = build_report(plan)
    assert [each["reached"] for each in json.loads(report.json())["bootstraps"]["weighed"]] == [one.reached, None]
    for said in (report.text(), report.html()):
        assert "chain weighed" in said and f"reaches {one.reached:g} bits" in said and "taken" in said
    assert lw.compile(steps(2), precision_bits=12, **SMALL).plan.weighed == ()  # the set was named: no choice


def test_options_that_were_only_estimated_are_weighed_too():
    found = search(steps(12), ring_degree=1 << 16)
    best = found.quickest_candidate(found.options())
    weighed = found._considered_chains(best.option, {})
    assert len(weighed) == len(found.options()) and [w.name for w in weighed if w.chosen] == [best.option.chosen.name]
    assert {w.is_placed for w in weighed} == {True, False}
    assert [w.seconds for w in weighed] == sorted(w.seconds for w in weighed)


def test_precision_that_no_number_of_iterations_gives():
    with pytest.raises(PrecisionError, match=r"precision_bits=36 is not reached with bootstraps: \d+ by T11 with one"):
        lw.compile(steps(2), precision_bits=36, **SMALL)


# -- which chain ------------------------------------------------------------------------------------


def search(program, **said):
    return BootstrapSearch(lower_arrays(program, CompileOptions.of(calibrate=DATA, **said)))


def test_sets_are_ranked_by_what_they_are_predicted_to_take():
    found = search(steps(12), ring_degree=1 << 16)
    options = found.options()
    assert {option.chosen.name for option in options} > {"A14", "A17", "A11", "B"}
    assert not any(option.chosen.insecure for option in options)
    ranked = found.rank_options(found.usual, options)
    assert [seconds for seconds, _ in ranked] == sorted(seconds for seconds, _ in ranked)
    least = found.candidate(ranked[0][1])
    assert 0.5 < least.seconds / ranked[0][0] < 2.0


def test_more_bits_take_a_more_precise_set_or_two_iterations():
    found = search(steps(12), ring_degree=1 << 16)
    for bits in (20.0, 26.0, 30.0):
        assert all(option.bits >= bits for option in found.options(bits))
    assert {option.iterations for option in found.options(18.0)} == {1}
    assert found.options(60.0) == []


def test_no_bootstrap_takes_less_than_the_bound():
    costs = CostModel.load()
    for chosen in (BOOTSTRAP_SETS["A14"], plan_bootstrap_set(1, 15.0, 1 << 15), plan_bootstrap_set(5, 15.0, 1 << 15)):
        chain = bootstrap_chain(chosen)
        row = costs.unit_seconds("ntt", chain.ring_degree) * costs.bootstrap_ratio(chain.ring_degree, real=True)
        for target in {1, chosen.residual}:
            least = (LEAST_TRANSFORMS + target * TRANSFORMS_A_LEVEL) * row
            assert least < bootstrap_seconds(costs, chain, 1, target, real=True)
        assert chain.floor >= LEAST_LIMBS - 1


def test_bootstraps_between_targets_are_priced_between_them():
    costs, chain = CostModel.load(), bootstrap_chain("T12L16")
    seconds = [bootstrap_seconds(costs, chain, 64, target, real=True) for target in range(1, 17)]
    assert seconds == sorted(seconds) and seconds[0] > 0.02


# -- bad input --------------------------------------------------------------------------------------

BAD = {
    "neither": (dict(bootstrap="often"), UserError, r"bootstrap='often'; give 'auto' or 'never'"),
    "no text": (dict(bootstrap=True), UserError, r"bootstrap=True; give 'auto' or 'never'"),
    "unknown": (dict(bootstrap_set="A15"), UserError, r"bootstrap_set='A15'; there are A14, A17"),
    "no set": (dict(bootstrap_set=14), UserError, r"bootstrap_set=14; give the name of a set, such as 'A14'"),
    "both": (dict(bootstrap="never", bootstrap_set="A14"), UserError, "leave one of them out"),
    "insecure": (dict(bootstrap_set="T12"), SecurityError, r"log2\(QP\) = 984 at N=2\^12 is not secure.*insecure=True"),
    "192 bits": (dict(bootstrap_set="A14", security_bits=192), SecurityError, "has 128-bit security, not security_bits"),
    "other ring": (dict(bootstrap_set="A14", ring_degree=1 << 15), UserError, "ring_degree=65536, not ring_degree=32768"),
    "primes": (
        dict(bootstrap_set=replace(BOOTSTRAP_SETS["T12"], base=55), insecure=True), LevelError, "must be single primes",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("said", "kind", "message"), BAD.values(), ids=BAD)
def test_bad_input(said, kind, message):
    with pytest.raises(kind, match=message):
        lw.compile(steps(2), calibrate=DATA, **said)


def test_circuits_on_integers_have_no_bootstraps():
    @lw.circuit
    def product(a, b):
        return a * b

    for name, value in (("bootstrap_set", "A14"), ("bootstrap", "never")):
        told = rf"{name}= is for programs on arrays and .*CKKS .*under BFV: it has no bootstraps"
        with pytest.raises(UserError, match=told):
            lw.compile(product, scheme="bfv", **{name: value})


def test_a_straight_line_that_no_ring_holds_without_bootstraps():
    with pytest.raises(LevelError, match=r"at least 130 levels.*N=2\^17, holds about 119.*bootstrap='auto' refreshes"):
        lw.compile(steep_steps, bootstrap="never", calibrate=DATA)


def test_a_ring_that_is_too_small_to_bootstrap():
    with pytest.raises(LevelError, match=r"ring_degree=16384 is too small to bootstrap: .* can is 32768 \(C15\)"):
        lw.compile(steep_steps, ring_degree=1 << 14, calibrate=DATA)
    with pytest.raises(LevelError, match=r"bootstraps have 128-bit security: to have them, use security_bits=128"):
        lw.compile(steep_steps, security_bits=256, calibrate=DATA)


def test_values_that_grow_beyond_what_can_be_bootstrapped():
    @lw.program
    def growing(x: lw.Secret[3, 5]):
        x = x * 2.0**24
        for _ in range(3):
            x = x * x * 2.0**-20  # grows
        return x

    with pytest.raises(RangeError, match=r"bootstrapped, which takes values up to 2\^24") as caught:
        lw.compile(growing, **SMALL)
    assert caught.value.at.line > 0


def test_an_operation_that_no_level_left_holds():
    @lw.program
    def steep(x: lw.Secret[3, 5]):
        return lw.polynomial(x, [0.01] * 40)

    with pytest.raises(LevelError, match=r"polynomial of degree 39 spends 6 levels at once, and a bootstrap leaves 3"):
        lw.compile(steep, **SMALL)


@pytest.mark.slow
def test_bootstraps_where_they_are_predicted_to_be_quicker_than_a_longer_chain():
    w = np.random.default_rng(1).normal(size=(64, 64)) / 8

    @lw.program
    def layers(x: lw.Secret[64]):
        for _ in range(27):
            x = w @ x
            x = x * x * 0.5 - 0.2
        return x

    data = np.random.default_rng(0).uniform(-1, 1, (8, 64))
    costs = CostModel.load()
    plain, auto = (lw.compile(layers, calibrate=data, bootstrap=b).plan for b in ("never", "auto"))
    assert plain.chain.bootstrap is None and auto.chain.bootstrap is not None
    assert estimate(auto, costs).warm_seconds < estimate(plain, costs).warm_seconds


@pytest.mark.parametrize("trips", [(24, 60), pytest.param((40, 1000), marks=pytest.mark.slow)])
def test_plans_take_as_many_bytes_for_many_iterations(trips):
    """With their bootstraps, each kind of which is there once."""
    x = np.random.default_rng(0).uniform(-1, 1, (1, 16))

    def plan(trips):
        @lw.program
        def fit(x: lw.Secret[16], y: lw.Secret[16]):
            def step(i, w, b):
                error = w * x + b - y
                return w - 0.5 * np.mean(error * x), b - 0.5 * np.mean(error)

            return lw.for_loop(trips, step, (0.0, 0.0))

        data = {"x": x, "y": 0.7 * x + 0.2}
        return lw.compile(fit, calibrate=data, precision_bits=8, bootstrap_set="T11", insecure=True).plan

    few, many = map(plan, trips)
    assert bootstraps_of(many) > 2 * bootstraps_of(few) > 0
    sizes = [len(write_plan(made)) for made in (few, many)]
    assert max(sizes) <= 1.1 * min(sizes) and max(sizes) < 32 * 1024


def bootstraps_of(plan):
    return estimate(plan, CostModel.load()).counts.bootstraps


def test_a_peak_between_the_quarters_of_the_iterations_is_calibrated():
    """It is out of the range that a bootstrap would have if loops were stopped at even parts alone."""
    rates = np.where(np.arange(64) == 37, 3000.0, 1.0)

    @lw.program
    def spike(x: lw.Secret[4], n: lw.Index):
        table = lw.public(rates)
        s = lw.for_loop(n, lambda i, s: 0.1 * s * x * table[i] + x * table[i], x)
        return lw.for_loop(9, lambda i, s: 0.5 * s * x, s)

    data = np.random.default_rng(0).uniform(-1, 1, (20, 4))
    options = {"precision_bits": 8, "bootstrap_set": "T11", "insecure": True}
    model = lw.compile(spike, calibrate={"x": data, "n": 64}, **options)
    assert list(model.plan.bootstraps)
    client = model.client()
    server = model.server(client.keygen().public())
    for number, turns in ((7, 38), (0, 38), (0, 37), (7, 64)):
        found = client.decrypt(server(client.encrypt(x=data[number], n=turns)))
        assert np.max(np.abs(found.reveal() - spike(data[number], turns))) <= found.error_bound < 0.01
