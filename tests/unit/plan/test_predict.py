"""Static error bounds against real ciphertexts: never exceeded in the worst case, close in the average case."""

from math import log2

import numpy as np
import pytest
from test_simulate import encrypted_runs
from vec_cases import SLOTS, Vectors, plan_of, small_chain

from latticework.compiler.levels import program_depth
from latticework.errors import RangeError
from latticework.plan.analysis.error_bounds import Magnitude, predict
from latticework.plan.analysis.error_model import Bound, ErrorModel
from latticework.plan.analysis.simulate import simulate

MAX_DEPTH = 6
STEPS = ("add", "sub", "mul", "square", "neg", "rotate", "constant", "matrix", "polynomial", "number")


def random_program(rng):
    """A vec program of two inputs, as random steps that stay small; outputs are its last two values."""
    v = Vectors(2)
    values, depths, sizes = [*v.x], [0, 0], [1.0, 1.0]
    for _ in range(rng.integers(2, 10)):
        kind = STEPS[rng.integers(len(STEPS))]
        i, j = rng.integers(len(values), size=2)
        match kind:
            case "add" | "sub" | "mul":
                made = v.op(kind, values[i], values[j])
                size = sizes[i] * sizes[j] if kind == "mul" else sizes[i] + sizes[j]
            case "square":
                made, size = v.op("mul", values[i], values[i]), sizes[i] ** 2
            case "neg":
                made, size = v.op("neg", values[i]), sizes[i]
            case "rotate":
                made, size = v.op("rotate", values[i], steps=int(rng.integers(1, SLOTS))), sizes[i]
            case "constant":
                array = rng.uniform(-1, 1, SLOTS)
                made, size = v.op(str(rng.choice(["mul", "add"])), values[i], v.constant(array)), sizes[i] + 1
            case "matrix":
                matrix = rng.uniform(-1, 1, (SLOTS, SLOTS)) * (rng.random((SLOTS, SLOTS)) < 0.4) / 3
                made, size = v.matrix(values[i], matrix), 2 * sizes[i]
            case "polynomial":
                scaled = v.op("mul", values[i], v.splat(1 / sizes[i]))
                made, size = v.polynomial(scaled, rng.uniform(-1, 1, rng.integers(2, 7)) / 2), 3.0
            case _:
                made, size = v.op("mul", values[i], v.splat(float(rng.uniform(-2, 2)))), 2 * sizes[i]
        depth = max(depths[i], depths[j]) + {"add": 0, "sub": 0, "neg": 0, "rotate": 0, "polynomial": 4}.get(kind, 1)
        if depth <= MAX_DEPTH and size < 200:
            values.append(made)
            depths.append(depth)
            sizes.append(size)
    return v.done(*values[-2:])


def slack_bits(seed):
    """(average, worst) per output: log2 of bound over measured error. Checks that no error exceeds its worst case."""
    rng = np.random.default_rng(seed)
    module = random_program(rng)
    plan = plan_of(module, small_chain(program_depth(module), headroom_bits=14))
    x = [rng.uniform(-1, 1, SLOTS) for _ in range(2)]
    if seed % 3 == 0:  # structured ones too
        x = [np.full(SLOTS, 0.9), np.eye(1, SLOTS)[0]]
    exact = simulate(plan, x)
    bounds = predict(plan, [Magnitude.of(values) for values in x])
    for want, runs, bound in zip(exact, encrypted_runs(plan, x, 2), bounds, strict=True):
        assert np.max(np.abs(want)) <= bound.peak * (1 + 1e-9)
        error = np.abs(runs - want)
        assert np.max(error) <= bound.worst
        if np.max(error) == 0:  # a difference of equals
            continue
        yield log2(bound.average / np.sqrt(np.mean(error**2))), log2(bound.worst / np.max(error))


def check_slack(seeds):
    average, worst = np.array([slack for seed in seeds for slack in slack_bits(seed)]).T
    assert abs(np.median(average)) <= 2.0
    assert np.median(worst) <= 10.0
    assert np.quantile(np.abs(average), 0.9) <= 4.0
    return average, worst


def test_bounds_hold_and_are_close_on_random_programs():
    check_slack(range(200))


@pytest.mark.slow
def test_bounds_hold_and_are_close_on_a_thousand_random_programs():
    average, worst = check_slack(range(1000))
    print(f"average model: median {np.median(average):+.2f} bits; worst case: median {np.median(worst):.2f} bits")


def loop_plan(trips):
    v = Vectors(1)
    (y,) = v.loop(lambda _i, h: [v.op("add", h, h)], [v.x[0]], trips)
    return plan_of(v.done(y), small_chain(0))


def test_loops_are_followed_turn_by_turn():
    (once,), (thrice,) = (predict(loop_plan(n), [Magnitude(1.0, 0.5)]) for n in (1, 3))
    assert thrice.peak == 4 * once.peak
    assert thrice.average == pytest.approx(4 * once.average)  # one error, doubled: not three of them


def test_a_trip_count_out_of_bounds_is_refused():
    v = Vectors(1, trips=True)
    (y,) = v.loop(lambda _i, h: [v.op("add", h, h)], [v.x[0]], v.n)
    plan = plan_of(v.done(y), small_chain(0))
    with pytest.raises(RangeError, match="trip count is -1"):
        predict(plan, [Magnitude(1.0, 0.5), -1])


def test_errors_of_one_source_add_up_and_others_average_out():
    model = ErrorModel(small_chain(1))
    x, y = (model.fresh(1.0, 0.5, SLOTS, 2.0**40) for _ in range(2))
    assert model.add(x, x).average == 2 * x.average
    assert model.add(x, y).average == pytest.approx(2**0.5 * x.average)
    turned = x.turned(1, SLOTS)
    assert model.add(x, turned).average == pytest.approx(2**0.5 * x.average)
    assert model.add(x, turned.turned(SLOTS - 1, SLOTS)).average == 2 * x.average
    assert all(model.add(x, other).worst == 2 * x.worst for other in (x, y, turned))


def test_a_mismatch_of_scales_is_charged():
    model, exact = ErrorModel(small_chain(1)), Bound(2.0, 1.0)
    off = model.relabel(exact, 2.0**40, 2.0**40 * (1 + 2.0**-24))
    assert off.worst == pytest.approx(2 * 2.0**-24)
    assert off.average == pytest.approx(2.0**-24)


def test_bits_say_how_small_an_error_is():
    assert Bound(1.0, 1.0, 2.0**-20, 2.0**-12).precision_bits == 20
    assert Bound(1.0, 1.0, 2.0**-20, 2.0**-12).worst_bits == 12
    assert Bound(1.0, 1.0).precision_bits == float("inf")
