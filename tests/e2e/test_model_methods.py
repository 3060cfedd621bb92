"""What a model does without a server: simulation, plaintext, debugging; and what it says to wrong inputs."""

import copy
import pickle

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL, uniform

import latticework as lw
from latticework.errors import DtypeError, RangeError, ShapeError, TraceError

X, Y = uniform((4,), 1), uniform((4,), 2)


@lw.program
def decayed(x: lw.Secret[4], y: lw.Secret[4], n: lw.Index):
    return lw.for_loop(n, lambda i, h: h + y, x, at_most=3)


@pytest.fixture(scope="module")
def model():
    data = {"x": uniform((20, 4)), "y": uniform((20, 4)), "n": 3}
    return lw.compile(decayed, calibrate=data, **INSECURE_SMALL)


def want(x, y, n):
    return x + n * y


def test_inputs_by_position_and_by_name(model):
    for method in (model.simulate, model.plaintext):
        for given, named in [((X, Y, 2), {}), ((X,), {"n": 2, "y": Y}), ((), {"n": np.int64(2), "x": list(X), "y": Y})]:
            np.testing.assert_allclose(method(*given, **named)[0], want(X, Y, 2), atol=1e-6)


def test_stacks_are_run_side_by_side(model):
    xs, ys = uniform((5, 4), 3), uniform((5, 4), 4)
    np.testing.assert_allclose(model.simulate(xs, ys, 3)[0], want(xs, ys, 3), atol=1e-6)
    np.testing.assert_allclose(model.simulate(xs, Y, 3)[0], want(xs, Y, 3), atol=1e-6)
    with pytest.raises(
        ShapeError, match=r"x of shape \(5, 4\) is a stack of 5, y of shape \(2, 4\) is a stack of 2; give as many"
    ):
        model.simulate(xs, ys[:2], 3)
    np.testing.assert_allclose(model.plaintext(xs, ys, 3)[0], want(xs, ys, 3), atol=1e-6)


def test_noise_is_drawn_if_asked_for(model):
    exact = model.simulate(X, Y, 2)[0]
    for nothing in (None, False):
        np.testing.assert_array_equal(model.simulate(X, Y, 2, noise=nothing)[0], exact)
    seeded = [model.simulate(X, Y, 2, noise=np.random.default_rng(7))[0] for _ in range(2)]
    np.testing.assert_array_equal(*seeded)
    for noisy in (seeded[0], model.simulate(X, Y, 2, noise=True)[0]):
        assert 0 < np.abs(noisy - exact).max() <= model.plan.client.outputs[0].error_bound
    for wrong in (3, "yes", np.random):
        with pytest.raises(DtypeError, match=r"noise is a .*default_rng\(seed\)"):
            model.simulate(X, Y, 2, noise=wrong)


WRONG = {
    "too few": ((X, Y), {}, TraceError, "decayed has the inputs x, y, n; missing: n;"),
    "too many": ((X, Y, 2, 3), {}, TraceError, "has the inputs x, y, n; got 4"),
    "unknown": ((X, Y), {"m": 2}, TraceError, "has the inputs x, y, n"),
    "twice": ((X, Y, 2), {"x": X}, TraceError, "has the inputs x, y, n; missing: none; unknown or given twice: x"),
    "shape": (
        (X[:3], Y, 2),
        {},
        ShapeError,
        r"x of shape \(3,\) is 3 rows, y of shape \(4,\) is 4 rows; give as many rows",
    ),
    "two leading axes": ((X.reshape(1, 1, 4), Y, 2), {}, ShapeError, r"shape \(1, 1, 4\)"),
    "NaN": ((X, Y * np.nan, 2), {}, RangeError, "input y: 4 of 4.*NaN"),
    "text": (("abc", Y, 2), {}, DtypeError, "input x"),
    "ragged": (([[1], [1, 2]], Y, 2), {}, DtypeError, "input x"),
    "float count": ((X, Y, 2.0), {}, DtypeError, "input n is a float"),
    "true count": ((X, Y, True), {}, DtypeError, "input n is a bool"),
    "array count": ((X, Y, X), {}, DtypeError, "input n is a ndarray"),
    "count outside": ((X, Y, 4), {}, RangeError, "input n is 4; the program was compiled for 0 to 3"),
}


@pytest.mark.parametrize(("given", "named", "kind", "pattern"), WRONG.values(), ids=WRONG)
def test_wrong_inputs_are_named(model, given, named, kind, pattern):
    for method in (model.simulate, model.plaintext):
        with pytest.raises(kind, match=pattern):
            method(*given, **named)


def test_debugging_checks_its_inputs_and_client(model):
    with pytest.raises(DtypeError, match="client is a int; give a Client"):
        model.debug(X, Y, 2, client=3)
    with pytest.raises(TraceError, match="x, y, n"):
        model.debug(X, Y)
    with pytest.raises(ShapeError, match=r"\(3,\)"):
        model.debug(X[:3], Y, 2)


def test_debugging_compares_what_is_returned():
    """Also where no line's value lies in a register of its own, as after a loop."""

    def looped(factor):
        @lw.program
        def program(x: lw.Secret[4], n: lw.Index):
            return lw.for_loop(n, lambda i, a: 0.02 * a + 0.5, x, at_most=2), factor * x

        return lw.compile(program, calibrate={"x": uniform((20, 4), 3), "n": 2}, **INSECURE_SMALL)

    model = looped(3.0)
    for n in range(3):
        rows = model.debug(uniform((4,), 4), n).rows
        assert [r.name for r in rows[-2:]] == ["result result0", "result result1"]
        assert not any(r.is_off for r in rows) and all(r.magnitude > 0 and r.bound > 0 for r in rows[-2:])
    model._reference = looped(3.1)._reference
    compared_with_another = model.debug(uniform((4,), 4), 2)
    assert compared_with_another.rows[-1].is_off and not compared_with_another.rows[-2].is_off


def test_large_intermediate_values_debug_as_right():
    """A value far above what the lowest level holds is decrypted where it is computed."""

    @lw.program
    def shrunk(x: lw.Secret[8]):
        y = x * 3000.0
        z = y * x
        return z * 0.0001

    model = lw.compile(shrunk, calibrate=uniform((50, 8)), **INSECURE_SMALL)
    report = model.debug(uniform((8,), 6))
    assert max(row.magnitude for row in report.rows) > 1000
    assert report.first_off is None, str(report)


def test_short_forms(model):
    report, debugged = model.report(), model.debug(X, Y, 2)
    assert repr(report).startswith("Report(ckks, N=2^11, program decayed, ") and "INSECURE" in repr(report)
    assert repr(debugged) == f"DebugReport({len(debugged.rows)} values, 0 off)"
    assert len(repr(report)) < 100 < len(str(report)) and "within its bound" in str(debugged)


def test_a_model_is_saved_not_pickled(model):
    for use in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"save\(path\)"):
            use(model)
