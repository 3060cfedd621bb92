"""How often new inputs leave the intervals of functions: estimated from those of calibration, and counted."""

import numpy as np
import pytest

import latticework as lw
from latticework.functions.approximation.extreme_value import LEAST_RUNS, TailsSeen

lossy = pytest.mark.filterwarnings("ignore::latticework.ApproximationWarning")  # degrees are given
SMALL = {"ring_degree": 4096, "insecure": True}


def tails_of(draws, axis=None):
    seen = TailsSeen(64)
    for row in draws:
        seen.add(row)
    return seen.along(axis)


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
@pytest.mark.parametrize("runs", [64, 256, 2000])
def test_estimates_are_of_the_order_of_what_new_runs_do(draw, runs):
    """Of the range seen and a tenth of it on each side, over many calibrations: seldom less than half, and of normal
    numbers at most some times as much."""
    rng = np.random.default_rng(runs)
    kind = getattr(rng, draw)
    true, estimated = [], []
    for _ in range(40):
        rows = kind(size=(runs, 4))
        low, high = rows.min(), rows.max()
        interval = low - 0.1 * (high - low), high + 0.1 * (high - low)
        estimated.append(tails_of(rows).leaving([interval]))
        new = kind(size=(20_000, 4))
        true.append(np.mean((new.min(axis=1) < interval[0]) | (new.max(axis=1) > interval[1])))
    assert np.mean(estimated) >= 0.5 * np.mean(true)
    if draw != "uniform":  # which none can leave, but whose ends tell no more than others'
        assert np.mean(estimated) <= 8.0 * np.mean(true)


def test_channels_have_tails_of_their_own():
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(500, 3, 8)) * np.array([1.0, 10.0, 0.1])[:, None]
    ranges = [(-5.0 * size, 5.0 * size) for size in (1.0, 10.0, 0.1)]
    by_channel, whole = tails_of(draws, -2), tails_of(draws)
    rare = by_channel.leaving(ranges)
    assert rare < 1e-2 and whole.leaving([(-50.0, 50.0)]) < 1e-2
    for channel, size in enumerate((1.0, 10.0, 0.1)):
        narrow = list(ranges)
        narrow[channel] = (-1.5 * size, 5.0 * size)
        assert by_channel.leaving(narrow) > 0.05
    assert tails_of(draws[: LEAST_RUNS - 1]).leaving([(-50.0, 50.0)]) is None


def test_runs_are_kept_in_whatever_order_they_come():
    """Only the farthest are, of any number of runs."""
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(700, 5))
    tails = tails_of(draws, -1)
    for ends, seen in ((tails.highest, draws), (-np.array(tails.lowest), -draws)):
        np.testing.assert_array_equal(ends, np.sort(seen, axis=0)[-32:])
    again = tails_of(draws[rng.permutation(700)], -1)
    assert (again.lowest, again.highest, again.runs) == (tails.lowest, tails.highest, tails.runs)


def test_ends_leave_as_much_as_they_are_asked_to():
    rng = np.random.default_rng(5)
    tails = tails_of(rng.normal(size=(300, 6, 4)), -2)
    for share in (1e-2, 1e-4):
        ranges = np.transpose(tails.ends(share))
        assert 0.9 * share <= tails.leaving(ranges) <= 1.1 * share
        new = rng.normal(size=(50_000, 6, 4))
        left = np.any((new < ranges[:, :1]) | (new > ranges[:, 1:]), axis=(1, 2))
        assert left.mean() <= 2 * share
    assert tails_of(np.ones((LEAST_RUNS - 1, 2))).ends(0.1) is None


def test_constants_leave_only_where_they_lie_outside():
    tails = tails_of(np.ones((40, 3)))
    assert tails.leaving([(0.0, 2.0)]) == 0.0
    assert tails.leaving([(0.0, 0.5)]) > 0.05


@pytest.mark.parametrize("largest", [0.1, 0.3, 0.0634294637, 0.07824214])
def test_runs_that_end_alike_have_no_tail_however_their_mean_is_rounded(largest):
    tails = tails_of(np.full((768, 1), largest))
    assert tails.leaving([(-1.0, 1.0)]) == 0.0
    assert tails.leaving([(-1.0, largest / 2)]) > 0.0


@lossy
def test_programs_tell_it_by_line_and_new_inputs_do_it_about_as_often():
    """In plan and file, report and accuracy, of channels too; where inputs cannot, none does."""
    rng = np.random.default_rng(3)
    weights = rng.normal(size=(4, 8)) * np.array([1.0, 0.05, 4.0, 1.0])[:, None]

    @lw.program
    def network(x: lw.Secret[8]):
        return lw.relu(weights @ x, degree=7)

    model = lw.compile(network, calibrate=rng.normal(size=(256, 8)), **SMALL)
    (made,) = model.plan.approximations
    assert made.may_leave and made.form and 1e-5 < made.leaving < 0.2
    new = rng.normal(size=(4000, 8))
    within = np.all(np.abs(new) <= model.plan.client.inputs[0].high, axis=1)
    ranges = np.array(made_ranges(model))
    arguments = new[within] @ weights.T
    left = np.mean(np.any((arguments < ranges[:, 0]) | (arguments > ranges[:, 1]), axis=1))
    assert left / 4 <= made.leaving <= 12 * left + 1e-3
    text = " ".join(model.report().text().split())
    assert (
        "left by" in text and "Of inputs like those of calibration, 1 in " in text and "is estimated to do so" in text
    )
    told = model.accuracy(rng.normal(size=(8, 8)), None, 0, progress=False)
    (function,) = [line.function for line in told.lines if line.function]
    assert (function.may_leave, function.leaving) == (True, made.leaving) and "left by" in told.text()

    @lw.program
    def direct(x: lw.Secret[8]):
        return lw.sigmoid(0.9 * x, range=(-2, 2))

    safe = lw.compile(direct, calibrate=rng.uniform(-1, 1, (100, 8)), **SMALL)
    assert [(a.may_leave, a.leaving) for a in safe.plan.approximations] == [(False, None)]
    assert "none" in safe.report().text().split("Approximations")[1].split("\n\n")[0]


def made_ranges(model):
    """By channel, where the polynomials of the first function are close to it."""
    return model._reference.assessment.mirror.functions[0].stand_in.use.given_curve.ranges


@lossy
def test_functions_of_what_is_not_known_may_leave_their_ranges():
    """The argument of a second function, where the first may leave its own."""
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=(6, 6)), rng.normal(size=(6, 6))

    @lw.program
    def deep(x: lw.Secret[6]):
        return lw.relu(second @ lw.relu(first @ x, degree=3), degree=3)

    model = lw.compile(deep, calibrate=rng.normal(size=(40, 6)), **SMALL)
    assert [a.may_leave for a in model.plan.approximations] == [True, True]
    assert all(a.leaving > 0 for a in model.plan.approximations)
