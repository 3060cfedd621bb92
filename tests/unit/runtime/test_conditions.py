"""What bounds hold under: comparisons that accepted inputs may take into their gap, and functions that were sampled."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.compiler.bound_conditions import lines_read
from latticework.errors import ApproximationWarning, RangeError, RangeWarning
from latticework.functions.approximation.between_points import bounded_distance, distance_of, first_points, largest_seen
from latticework.functions.approximation.chebyshev import interpolate, max_slope
from latticework.functions.approximation.real_functions import FUNCTIONS
from latticework.functions.approximation.sign import composite_sign
from latticework.plan.client_steps import Finished, OwnerStages, Threshold
from latticework.plan.files.serialise import read_client, write_client
from latticework.plan.schema.conditions import UNLIKE, Condition, condition_words
from latticework.report.build import build_client_report
from latticework.runtime.client.feedback import after_rounds
from latticework.runtime.exchange.decrypted import OwnerValue, of_one_run, of_several

RNG = np.random.default_rng(0)
APART = RNG.uniform(0.2, 1.0, (60, 3)) * RNG.choice([-1, 1], (60, 3))
QUICK = {"precision_bits": 6, "ring_degree": 4096, "insecure": True, "progress": False}


@lw.program
def several(x: lw.Secret[3]):
    reached = lw.greater(x, 0, gap=0.1)
    kept = lw.greater(x, -4, gap=0.1)
    return reached, kept, 2 * x, lw.where(kept, x, reached), np.sum(kept)


@pytest.fixture(scope="module")
def model():
    with pytest.warns(ApproximationWarning, match="closer to 0 than its gap") as caught:
        made = lw.compile(several, calibrate=APART, **QUICK)
    (said,) = caught
    line = several.loc.line + 1
    assert f"sign at test_conditions.py:{line} (gap=0.1). Results" in str(said.message) and said.filename == __file__
    return made


@pytest.fixture(scope="module")
def decrypted(model):
    """Of an input at which the comparison is in its gap."""
    client = model.client(threads=1)
    return client.decrypt(
        model.server(client.keygen().public(), threads=1)(client.encrypt(np.array([0.02, 0.5, -0.5])))
    )


def test_only_outputs_that_a_comparison_moves_are_conditional(model, decrypted):
    exact = several(np.array([0.02, 0.5, -0.5]))
    outputs = model.plan.client.outputs
    assert [bool(o.conditions) for o in outputs] == [True, False, False, True, False]
    assert all(o.reach is not None for o in outputs)  # the intervals follow all of them
    for value, want, is_open in zip(decrypted, exact, (True, False, False, True, False), strict=True):
        assert value.is_proved == bool(value.is_certain) == (not is_open)
        if not is_open:
            assert np.abs(value.reveal() - want).max() <= value.error_bound and value.doubt() == ""
    assert np.abs(decrypted[0].reveal() - exact[0]).max() > decrypted[0].error_bound
    said = (
        "NOT CERTAIN: error bound holds only for inputs whose comparisons keep their gap and range: sign at test_cond"
    )
    assert said in repr(decrypted[0])
    assert "NOT CERTAIN" in decrypted[0]._repr_html_()


def test_client_files_and_reports_say_so(model):
    spec = model.plan.client
    file = write_client(spec)
    assert read_client(file) == spec and read_client(file).outputs[0].conditions[0].gap == 0.1
    free = replace(spec, outputs=tuple(replace(o, conditions=()) for o in spec.outputs))
    assert b"sign" in file and b"sign" not in write_client(free)  # nothing is stored where there is no condition
    for report in (model.report(), build_client_report(spec)):
        said = " ".join(report.text().split())
        assert (
            "The error bound of result0, result3 holds only for inputs whose comparisons keep their gap and range: sign"
            in said
        )
        held = json.loads(report.json())["outputs"]
        assert [bool(each["conditions"]) for each in held] == [True, False, False, True, False]


def test_decrypt_of_files(model, tmp_path):
    """A client that was loaded says the same, in words and to programs."""
    client = model.client(threads=1)
    keys = client.keygen()
    keys.save(tmp_path / "keys")
    client.save(tmp_path / "m.lwclient")
    outputs = model.server(keys.public(), threads=1)(client.encrypt(np.array([0.02, 0.5, -0.5])))
    outputs.save(tmp_path / "y.lwct")
    line = ["decrypt", *(str(tmp_path / name) for name in ("m.lwclient", "y.lwct")), "-k", str(tmp_path / "keys")]
    said = CliRunner().invoke(app, [*line, "--insecure"]).output
    assert "result0: NOT CERTAIN: error bound holds only for inputs" in " ".join(said.split())
    assert "result1 (each within" in said and "result1: NOT" not in said
    told = json.loads(CliRunner().invoke(app, [*line, "--insecure", "--json"]).stdout)
    first, second, *_ = told["outputs"].values()
    assert first["certain"] is False and not first["is_proved"] and "(gap=0.1)" in first["conditions"][0]
    assert second["is_proved"] and "conditions" not in second and len(told["warnings"]) == 2


def test_decisions_of_conditional_numbers_are_not_certain():
    @lw.program
    def score(x: lw.Secret[3]):
        return 3 * lw.sign(x[0], gap=0.1) + x[1]

    stages = OwnerStages(after=(Finished("result", "result", (Threshold(0.0, None),)),))
    with pytest.warns(ApproximationWarning, match="sign at test_conditions.py"):
        made = lw.compile(score, calibrate=APART, owner=stages, **QUICK)
    client = made.client(threads=1)
    found = client.decrypt(made.server(client.keygen().public(), threads=1)(client.encrypt(APART[0])))
    assert not found.is_certain.any() and found.error_bound == np.inf and not found.is_proved
    assert found.doubt().startswith("NOT CERTAIN: error bound holds only")


def test_wrong_results_of_accepted_combinations_name_their_condition(tmp_path):
    """Each element is as calibrated and their sum of squares is not: nothing refuses that, so results have to say it.

    The same in the check of inputs, in reports, and by the command that writes a file, which loads its client.
    """

    @lw.program
    def nearness(x: lw.Secret[8]):
        return 1 / (1 + np.sum(x * x))

    model = lw.compile(nearness, calibrate=np.random.default_rng(7).normal(size=(100, 8)), **QUICK)
    client, x = model.client(threads=1), np.full(8, 1.8)
    keys = client.keygen()
    outputs = model.server(keys.public(), threads=1)(client.encrypt(x))
    wrong = client.decrypt(outputs)
    assert abs(wrong.reveal() - nearness(x)) > wrong.error_bound and np.isfinite(wrong.error_bound)
    assert wrong.conditions == (UNLIKE,) and not wrong.is_followed and not wrong.is_proved
    said = "inputs like those of calibration: combinations of elements are not checked"
    assert (
        said.replace(":", " only:") in repr(wrong) and said in repr(wrong.conditions) and said in repr(client.check(x))
    )
    for report in (model.report(), build_client_report(model.plan.client)):
        (first,) = json.loads(report.json())["outputs"]
        assert said.replace(":", " only:") in first["conditions"]
    keys.save(tmp_path / "keys")
    client.save(tmp_path / "m.lwclient")
    outputs.save(tmp_path / "y.lwct")
    names = ("m.lwclient", "y.lwct", "y.npy")
    line = ["decrypt", *(str(tmp_path / name) for name in names), "-k", str(tmp_path / "keys"), "--insecure"]
    line.insert(3, "-o")
    assert said.replace(":", " only:") in " ".join(CliRunner().invoke(app, line).output.split())
    told = json.loads(CliRunner().invoke(app, [*line, "--json", "--force"]).stdout)["outputs"]
    assert told["result"]["conditions"] == [str(UNLIKE)]


CONDITION = Condition("sign", "a.py:3", 0.1)
SAMPLED = Condition("softplus", "a.py:4")


def test_values_made_of_others_keep_their_conditions(model):
    one, other = (OwnerValue(np.ones(2), 0.1, conditions=c) for c in ((CONDITION,), (CONDITION, SAMPLED)))
    both = of_several(np.ones(4), [one, other])
    assert both.conditions == (CONDITION, SAMPLED) and not both.is_proved and not both.is_certain
    beside, _ = of_one_run([one, OwnerValue(np.ones(1), np.inf)])
    assert beside.conditions == (CONDITION,) and beside.error_bound == np.inf
    sampled = OwnerValue(np.ones(2), 0.1, conditions=(SAMPLED,))
    assert not sampled.is_proved and not sampled.is_certain
    assert "not proved, as functions were sampled: softplus at a.py:4" in sampled.doubt()
    spec = model.plan.client
    values = {o.name: OwnerValue(np.zeros(o.shape), o.error_bound, conditions=o.conditions) for o in spec.outputs}
    assert after_rounds(spec, values, 2)["result0"].conditions == (*spec.outputs[0].conditions, UNLIKE)


def test_many_conditions_are_counted():
    said = condition_words([replace(CONDITION, place=f"a.py:{line}") for line in range(9)])
    assert said.endswith("sign at a.py:2 (gap=0.1) and 6 more") and "a.py:3" not in said


@lw.program
def carried(x: lw.Secret[3], n: lw.Index):
    def turn(_, a, b):
        return 0.5 * a + 0.2 * lw.sign(b, gap=0.05, range=(-2, 2)), 0.5 * b

    return lw.for_loop(n, turn, (x, x), at_most=2)


def test_loops_carry_conditions_to_what_they_reach():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        made = lw.compile(carried, calibrate={"x": list(APART), "n": 2}, **QUICK)
    first, second = made.plan.client.outputs
    assert first.conditions and not second.conditions and second.reach is not None


def test_outputs_are_computed_of_lines(model):
    """By the program itself, where intervals say nothing."""
    module = model._reference.module
    lines = {op.loc for op in module.walk() if "polynomial" in op.attrs}
    assert len(lines) == 2 and [len(each) for each in lines_read(module, lines)] == [1, 1, 0, 2, 1]


def test_no_slot_beside_elements_counts():
    """Three elements lie in four slots, and the fourth holds 0, which is in the gap."""

    @lw.program
    def shifted(x: lw.Secret[3]):
        return lw.sign(x + 3, gap=0.5), np.sum(lw.sign(x @ np.ones((3, 2)) - 9, gap=0.5, range=(-16, 1)))

    made = lw.compile(shifted, calibrate=APART, **QUICK)
    assert all(o.is_proved for o in made.plan.client.outputs)


# -- functions that only their user knows ---------------------------------------------------------


def spiked(x):
    """tanh, but for one spike narrower than any sampling sees."""
    return np.tanh(x) + (np.abs(x - 0.3123456) < 5e-7)


@pytest.mark.parametrize(("lipschitz", "is_proved"), [(None, False), (1.0, True)])
def test_a_sampled_function_is_not_proved(lipschitz, is_proved):
    applied = lw.approximate(lambda x: np.tanh(x), lipschitz=lipschitz)

    @lw.program
    def program(x: lw.Secret[3]):
        return applied(x), 2 * x

    made = lw.compile(program, calibrate=APART, **QUICK)
    client = made.client(threads=1)
    bent, free = client.decrypt(made.server(client.keygen().public(), threads=1)(client.encrypt(APART[0])))
    assert bent.is_proved is is_proved and free.is_proved
    assert np.abs(bent.reveal() - np.tanh(APART[0])).max() <= bent.error_bound
    assert bool(bent.conditions) != is_proved and ("functions were sampled" in bent.doubt()) != is_proved


def test_a_spike_is_not_proved_away():
    @lw.program
    def program(x: lw.Secret[3]):
        return lw.approximate(spiked)(x)

    made = lw.compile(program, calibrate=APART, **QUICK)
    client = made.client(threads=1)
    x = np.full(3, 0.3123456)
    found = client.decrypt(made.server(client.keygen().public(), threads=1)(client.encrypt(x)))
    assert np.abs(found.reveal() - spiked(x)).max() > found.error_bound and not found.is_proved


def test_a_slope_that_values_exceed_is_refused():
    @lw.program
    def program(x: lw.Secret[3]):
        return lw.approximate(np.vectorize(lambda v: 2.0 * abs(v)), lipschitz=1.5)(x)

    with pytest.raises(
        RangeError, match=r"lipschitz=1.5, but between -\S+ and -\S+ its value changes 2 times"
    ) as caught:
        lw.compile(program, calibrate=APART, **QUICK)
    assert "lw.approximate" in caught.value.at.text
    for wrong in (0, -1.0, np.inf, "2", True):
        with pytest.raises(RangeError, match="approximate: lipschitz="):
            lw.approximate(np.floor, lipschitz=wrong)
    assert repr(lw.approximate(spiked, degree=3, lipschitz=2)) == "lw.approximate(spiked, degree=3, lipschitz=2)"
    assert lw.approximate(np.sin, lipschitz=1.0).function is FUNCTIONS["sin"]


@pytest.mark.parametrize("seed", range(6))
def test_bounds_between_points_hold(seed):
    """Of a piecewise linear function of known slope, against its exact distance at and around its kinks."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.uniform(-1, 2, 40))
    heights = np.cumsum(rng.uniform(-1, 1, 40) * np.diff(places, prepend=places[0] - 0.1)) * 3.0

    def bent(x):
        return np.interp(x, places, heights)

    made = interpolate(bent, (-1.0, 2.0), int(rng.integers(2, 30)))
    x = np.unique(np.concatenate([np.linspace(-1, 2, 400_001), places]))
    exact = float(np.max(np.abs(made(x) - bent(x))))
    points = first_points((-1.0, 2.0), rng.uniform(-2, 3, 20))
    bound = bounded_distance(made, bent, 3.0, points, 0.0)
    assert exact <= bound <= 1.1 * exact
    slopes = np.abs(np.diff(made(x)) / np.diff(x))
    assert slopes.max() <= max_slope(made) * (1 + 1e-6) and max_slope(made) <= 1.2 * slopes.max() + 1e-9
    assert largest_seen(distance_of(made, bent), points) <= exact * (1 + 1e-9)


def test_neighbours_that_disagree_are_looked_at():
    """A spike that a few points of many touch is followed to its top."""

    def narrow(x):
        return np.maximum(0.0, 1.0 - np.abs(x - 0.31234567) / 3e-4)

    zero = interpolate(np.zeros_like, (-1.0, 1.0), 1)
    points = first_points((-1.0, 1.0), np.empty(0))
    assert distance_of(zero, narrow)(points).max() < 0.97 < largest_seen(distance_of(zero, narrow), points)


def test_error_of_composed_signs_holds_outside_the_gap():
    """At a million points, many of them at both ends."""
    made = composite_sign(0.01, 3.0, 2.0**-9)
    x = np.concatenate([np.geomspace(0.01, 3.0, 300_000), np.linspace(0.01, 0.02, 100_000)])
    assert np.abs(made(x) - 1.0).max() <= made.error and made.stages[0].gap == pytest.approx(0.01 / 3, rel=1e-3)
    assert [stage.gap for stage in made.stages[1:]] == [1.0] * (len(made.stages) - 1)


# -- integers that may wrap around ----------------------------------------------------------------


@lw.circuit
def products(a: lw.scalar(low=0, high=1000), b: lw.scalar(low=0, high=1000)):
    return a * b * b, a + b


def multiplied(wraps):
    options = {"scheme": "bfv", "plain_bits": 17, "ring_degree": 4096, "insecure": True, "progress": False}
    made = lw.compile(products, wraps=wraps, **options)
    client = made.client(threads=1)
    return client.decrypt(made.server(client.keygen().public(), threads=1)(client.encrypt(1000, 1000)))


def test_integers_that_may_wrap_are_not_certain():
    with pytest.warns(RangeWarning, match="may lie between 0 and 1000000000"):
        product, total = multiplied(wraps=False)
    assert int(product.reveal()) != 10**9 and not product.is_certain and not product.is_proved
    assert product.error_bound == np.inf and total.error_bound == 0
    assert "NOT CERTAIN: error bound holds only where integers modulo" in product.doubt()
    assert int(total.reveal()) == 2000
    modular, _ = multiplied(wraps=True)  # results modulo t are meant
    assert modular.is_certain and modular.is_proved and not modular.conditions
