"""How many new inputs leave the ranges that few rows of calibration give: stated, warned of, and made rarer."""

import re
import warnings
from math import log

import numpy as np
import pytest

import latticework as lw
from latticework.functions.approximation.exceedance import (
    LIKELY,
    SURE,
    ExtremesSeen,
    find_slack,
    share_leaving,
    upper_share,
)
from latticework.functions.approximation.real_functions import function_of
from latticework.plan.client_steps import Extreme, Finished, Labels, OwnerStages

SMALL = {"ring_degree": 4096, "insecure": True, "precision_bits": 8}


@lw.program
def level(x: lw.Secret[20]):
    return np.log(np.mean(x * x) + 0.05)


def extremes_of(values):
    seen = ExtremesSeen()
    for run, value in enumerate(values):
        seen.add(run, value, value)
    return seen.of(len(values))


def stated(data, **options):
    """The share that compiling warns of; 0 if it does not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = lw.compile(level, calibrate=data, **SMALL, **options)
    told = [str(w.message) for w in caught if w.category is lw.ApproximationWarning]
    found = [re.search(r"about 1 in ([\d.]+) inputs", text) for text in told]
    return 1 / float(found[0][1]) if found else 0.0, model


@pytest.mark.parametrize(("runs", "holders"), [(2, 2), (20, 2), (100, 7)])
def test_limits_are_those_of_order_statistics(runs, holders):
    """The share beyond two ends of n uniform numbers, or above k - 1 others, is distributed as the k-th of n is."""
    rng = np.random.default_rng(runs)
    shares = np.sort(rng.uniform(size=(20_000, runs)), axis=1)[:, holders - 1]
    assert upper_share(runs, holders, 0.9) == pytest.approx(np.quantile(shares, 0.9), rel=0.03)


@pytest.mark.parametrize("draw", ["normal", "uniform", "lognormal", "heavy"])
@pytest.mark.parametrize("runs", [2, 5, 10, 20, 40, 100])
def test_seldom_more_leave_than_is_stated(draw, runs):
    rng = np.random.default_rng(runs)
    kinds = {"normal": rng.normal, "uniform": rng.uniform, "lognormal": rng.lognormal,
             "heavy": lambda size: rng.standard_t(3, size=size)}  # fmt: skip
    fresh, more = kinds[draw](size=2000), []
    for _ in range(60):
        values = kinds[draw](size=runs)
        low, high = min(values), max(values)
        wide = low - 0.1 * (high - low), high + 0.1 * (high - low)
        left = np.mean((fresh < wide[0]) | (fresh > wide[1]))
        more.append(left > share_leaving([find_slack(extremes_of(values), wide, float)], SURE))
    assert np.mean(more) <= 0.1


def test_arguments_that_belong_together_count_once():
    values = np.random.default_rng(0).normal(size=12)
    one, same, other = (find_slack(extremes_of(v), (-4.0, 4.0), float) for v in (values, 0.9 * values, values[::-1]))
    assert share_leaving([one, one]) == share_leaving([one])
    assert share_leaving([one, same]) == pytest.approx(share_leaving([one]), rel=0.2)
    assert share_leaving([one, other]) > 1.5 * share_leaving([one])
    assert share_leaving([]) == 0.0


def test_many_runs_count_those_that_the_others_would_not_have_held():
    values = [*np.linspace(-1.0, 1.0, 199), 9.0]
    near, far = (find_slack(extremes_of(values), (-1.2, high), float) for high in (9.2, 100.0))
    assert near.lone == {199} and not far.lone
    assert share_leaving([near]) == share_leaving([far]) == upper_share(200, 1, LIKELY)


def test_room_is_measured_as_ranges_are_widened():
    """By logarithms where the function is defined for positive numbers alone, and without end where it ends."""
    seen, function = extremes_of([0.5, 1.0, 2.0]), function_of("log")
    wide = function.widen(0.5, 2.0, 0.25)
    scale = function.scale(0.5, 2.0)
    assert [room for _, room in find_slack(seen, wide, scale).ends] == pytest.approx([0.25, 0.25])
    assert scale(2.0) == log(2.0)
    assert [run for run, _ in find_slack(seen, (0.0, wide[1]), scale).ends] == [2]


def test_few_rows_warn_and_say_what_they_tell():
    rng = np.random.default_rng(11)
    shares = {}
    for rows in (1, 2, 15, 20, 64):
        shares[rows], _ = stated(rng.normal(size=(rows, 20)))
    assert shares[1] > 0.8 and shares[2] > 2 / 3 and shares[15] > 2 / 16
    assert shares[20] == shares[64] == 0.0
    with pytest.warns(lw.ApproximationWarning, match=r"10 rows: of so few, about 2 in 11 others .* larger margin="):
        lw.compile(level, calibrate=rng.normal(size=(10, 20)), **SMALL)


def test_a_margin_widens_functions_and_not_what_clients_accept():
    data = np.random.default_rng(3).normal(size=(12, 20))
    usual, model = stated(data)
    less, wide = stated(data, margin=0.6)
    assert less < usual and stated(data, margin=0.1)[1].plan.approximations == model.plan.approximations
    (near,), (far,) = model.plan.approximations, wide.plan.approximations
    assert far.low < near.low and far.high > near.high and far.degree > near.degree
    assert model.plan.client.inputs[0].low == wide.plan.client.inputs[0].low


def test_the_share_that_is_stated_is_that_of_results_beyond_their_bounds():
    """Where it was a half, nearly: two rows, of which any number of others are unlike."""
    rng = np.random.default_rng(11)
    share, model = stated(rng.normal(size=(2, 20)))
    spec = model.plan.client.inputs[0]
    fresh = rng.normal(size=(60, 20))
    fresh = fresh[np.all((fresh >= spec.low) & (fresh <= spec.high), axis=1)]
    client = model.client()
    server = model.server(client.keygen().public())
    beyond = []
    for x in fresh:  # one by one, as a result that is too large leaves the others of a stack without a bound
        found = client.decrypt(server(client.encrypt(x)))
        beyond.append(np.isfinite(found.error_bound) and abs(found.reveal() - level(x)) > found.error_bound)
    assert 0.1 <= np.mean(beyond) <= share


def test_rows_of_a_batch_are_rows_of_calibration():
    """However they are cut into runs, and repeated where they are too few."""
    rng = np.random.default_rng(4)

    @lw.program
    def levels(x: lw.Secret[8, 20]):
        return np.log(np.mean(x * x, axis=1) + 0.05)

    lw.compile(levels, calibrate=rng.normal(size=(80, 20)), **SMALL)  # ten runs, and no warning
    with pytest.warns(lw.ApproximationWarning, match="Calibration has 5 rows"):
        lw.compile(levels, calibrate=rng.normal(size=(5, 20)), **SMALL)
    with pytest.warns(lw.ApproximationWarning, match="Calibration has 12 rows"):
        lw.compile(levels, calibrate=rng.normal(size=(12, 20)), **SMALL)


def test_loops_count_rows_and_not_turns():
    rng = np.random.default_rng(5)

    @lw.program
    def settled(x: lw.Secret[4], n: lw.Index):
        return lw.for_loop(n, lambda _, v: lw.tanh(v @ np.full((4, 4), 0.4)), x, at_most=4)

    with pytest.warns(lw.ApproximationWarning, match="Calibration has 6 rows"):
        lw.compile(settled, calibrate={"x": rng.normal(size=(6, 4)), "n": 4}, **SMALL)


@pytest.mark.parametrize("margin", [-0.1, np.inf, np.nan, "a tenth", True, 101])
def test_a_margin_is_a_number(margin):
    with pytest.raises(lw.UserError, match=r"compile: margin=.*from 0 to 100"):
        lw.compile(level, calibrate=np.ones((2, 20)), margin=margin)


def test_circuits_take_no_margin():
    @lw.circuit
    def doubled(a: lw.Secret):
        return a + a

    with pytest.raises(lw.UserError, match="margin= is for programs on arrays; doubled is a circuit"):
        lw.compile(doubled, margin=0.2)


def test_decisions_of_programs_that_many_inputs_leave_are_not_certain(tmp_path):
    """What compiling warns of is in the client's file, so that it is said of every result."""

    @lw.program
    def two(x: lw.Secret[20]):
        far = np.log(np.mean(x * x) + 0.05)
        return {"far": np.stack([far, -far, far - 1]), "sum": np.sum(x)}

    data = np.random.default_rng(11).normal(size=(2, 20))
    stages = OwnerStages(
        after=(Finished("kind", "far", (Extreme(Labels.of(["a", "b", "c"])),)), Finished("sum", "sum"))
    )
    with pytest.warns(lw.ApproximationWarning, match="out of the interval"):
        model = lw.compile(two, calibrate=data, owner=stages, ring_degree=4096, insecure=True)
    model.client().save(tmp_path / "model.lwclient")
    client = lw.Client.load(tmp_path / "model.lwclient", allow_insecure=True)
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(data[0])))
    assert not found["kind"].is_certain and "stay within ranges which many leave: log at" in found["kind"].doubt()
    assert "log at" not in found["sum"].doubt()  # it is computed of no such function
