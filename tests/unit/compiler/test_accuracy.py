"""Degrees follow from the precision asked for: against the exact program in NumPy, and what is said where they cannot."""

import re
import warnings
from math import log2

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.accuracy import SHARE
from latticework.compiler.accuracy.choose_degrees import choose_degrees
from latticework.errors import PrecisionError, RangeError, ShapeError, UserError
from latticework.functions.approximation.chebyshev import max_error
from latticework.functions.approximation.minimax import minimax

RNG = np.random.default_rng(4)
W1, W2 = RNG.normal(size=(6, 5)), RNG.normal(size=(5, 3))
DATA = RNG.uniform(-1, 1, (80, 6))
SMALL = {"ring_degree": 4096, "insecure": True}


def compiled(function, shape=(6,), data=DATA, **options):
    kind = lw.Secret[shape]

    def program(x: kind):
        return function(x)

    return lw.compile(lw.program(program), calibrate=data, **{**SMALL, **options})


PROGRAMS = {
    "sigmoid": lw.sigmoid,
    "output of tanh": lambda x: lw.tanh(3 * x @ W1),
    "hidden tanh": lambda x: lw.tanh(x @ W1) @ W2,
    "two layers": lambda x: lw.sigmoid(lw.tanh(x @ W1) @ W2),
    "relu": lambda x: lw.relu(x @ W1) @ W2,
    "mean of exp": lambda x: np.mean(lw.exp(2 * x)),
    "square of a function": lambda x: lw.gelu(x @ W1) ** 2,
    "functions side by side": lambda x: lw.sigmoid(x @ W1) * lw.exp(0.5 * (x @ W1)),
    "loop": lambda x: lw.for_loop(2, lambda i, h: lw.tanh(h + x), x),
    "small beside large": lambda x: (1e-3 * lw.sigmoid(x), 50.0 * lw.tanh(x)),
}


@pytest.mark.parametrize("bits", [5, 9])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_as_precise_as_was_asked(name, bits):
    """On inputs that were not among the samples, and against NumPy's own functions."""
    function = PROGRAMS[name]
    if name == "relu" and bits == 9:
        bits = 7
    model = compiled(function, precision_bits=bits)
    rng = np.random.default_rng(9)
    fresh = rng.uniform(-1, 1, (20, 6))
    for x in [*fresh, DATA[0], np.ones(6), -np.ones(6)]:
        wanted = function(x)
        found = model.simulate(x, noise=rng)
        for got, want, output in zip(found, wanted if isinstance(wanted, tuple) else (wanted,),
                                     model.plan.client.outputs, strict=True):  # fmt: skip
            error = np.max(np.abs(got - want))
            assert error <= output.usual_error <= 2.0**-bits * output.magnitude * (1 + 1e-6)
            assert output.shift <= output.approximation <= SHARE * 2.0**-bits * output.magnitude * (1 + 1e-6)


def test_one_degree_less_would_not_do():
    model = compiled(lambda x: lw.sigmoid(9 * x), precision_bits=10)
    (fitted,), (output,) = model.plan.approximations, model.plan.client.outputs
    less = minimax(lambda x: 0.5 + 0.5 * np.tanh(x / 2), (fitted.low, fitted.high), fitted.degree - 1)
    assert max_error(less, lambda x: 0.5 + 0.5 * np.tanh(x / 2)) > SHARE * 2.0**-10 * output.magnitude
    assert not fitted.given


def test_few_calibration_rows_do_not_flatter():
    """A single row meets hardly any of a polynomial's error, and yet all of it counts."""
    model = compiled(lambda x: lw.sigmoid(8 * x), data=DATA[:1], precision_bits=8)
    (fitted,), (output,) = model.plan.approximations, model.plan.client.outputs
    assert output.shift < output.approximation == pytest.approx(fitted.max_error, rel=1e-6)
    x = np.linspace(fitted.low, fitted.high, 6) / 8
    inside = np.clip(x, *(getattr(model.plan.client.inputs[0], end) for end in ("low", "high")))
    assert np.max(np.abs(model.simulate(inside)[0] - lw.sigmoid(8 * inside))) <= output.usual_error


def test_rows_that_tell_of_a_function_are_found():
    """One row in a thousand, on which an error is a hundred times as large as on the others."""
    rng = np.random.default_rng(5)
    rows = np.column_stack([rng.uniform(-1, 1, 1000), np.full(1000, 0.01)])
    rows[501, 1] = 1.0

    @lw.program
    def scaled(x: lw.Secret[2]):
        return lw.exp(x[0]) * x[1]

    model = lw.compile(scaled, calibrate=rows, ring_degree=4096, insecure=True)
    (output,) = model.plan.client.outputs
    errors = [abs(model.simulate([x, 1.0])[0] - scaled(np.array([x, 1.0]))) for x in np.linspace(-1, 1, 41)]
    assert max(errors) <= output.approximation <= 2.0**-12 * output.magnitude


def test_noise_gets_what_functions_leave():
    for bits in (9, 17):
        (output,) = compiled(lambda x: lw.tanh(x @ W1) @ W2, precision_bits=bits).plan.client.outputs
        budget = 2.0**-bits * output.magnitude
        noise = output.usual_error - output.approximation
        assert 0.0 < noise <= (budget - output.approximation) * (1 + 1e-9)
    assert noise > 0.05 * budget  # at 17 bits the scale follows from it


def test_a_degree_that_is_given_is_taken_and_its_loss_is_said():
    with pytest.warns(lw.ApproximationWarning) as caught:
        model = compiled(lambda x: lw.sigmoid(20 * x, degree=7)[0], precision_bits=12, labels=DATA[:, 0] > 0)
    (warning,) = caught
    assert warning.filename == __file__
    (fitted,), (output,) = model.plan.approximations, model.plan.client.outputs
    assert fitted.degree == 7 and fitted.given
    said = str(warning.message)
    for part in (
        f"sigmoid of degree 7 is off by up to {fitted.max_error:.3g} on [{fitted.low:.4g}, {fitted.high:.4g}]",
        f"moves results by up to {output.approximation:.3g} on inputs like those of calibration",
        f"({output.shift:.3g} on the calibration data)",
        "precision_bits=12 was asked; about degree",
        "test_accuracy.py:",
        "Leave degree= out",
        f"accuracy on {len(DATA)} labelled calibration rows",
    ):
        assert part in said
    bits = float(re.search(r"leaves ([0-9.]+) bits of the largest", said)[1])
    assert bits == pytest.approx(log2(1.0 / output.approximation), abs=0.06)  # the sigmoid's own values reach 1
    needed = int(said.split("asked; about degree ")[1].split(maxsplit=1)[0])
    assert compiled(lambda x: lw.sigmoid(20 * x)[0], precision_bits=12).plan.approximations[0].degree == needed
    text, page = model.report().text(), model.report().html()
    assert said in " ".join(text.split()) and "7, given" in text
    assert "sigmoid of degree 7 is off by up to" in page and str(model.scores) in page
    assert lw.sigmoid(np.array(3.0), degree=7) == pytest.approx(1 / (1 + np.exp(-3.0)), rel=1e-15)


def test_a_degree_that_is_enough_needs_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = compiled(lambda x: lw.sigmoid(x, degree=15), precision_bits=8)
    assert model.plan.loss == "" and model.plan.approximations[0].given


def test_what_no_degree_reaches_is_refused_with_what_each_gives():
    @lw.program
    def network(x: lw.Secret[6]):
        return lw.relu(x @ W1) @ W2  # here

    with pytest.raises(PrecisionError) as caught:
        lw.compile(network, calibrate=DATA, precision_bits=26, **SMALL)
    assert caught.value.at.text.endswith("# here")
    said = caught.value.message
    assert said.startswith("compile: precision_bits=26 asks for relu on [")
    assert (
        "no polynomial of a degree up to 1023 and no x * sign(x) on up to 24 levels" in said
        and "range of the argument narrower" in said
    )
    rows = {int(degree): row for degree, row in re.findall(r"degree (\d+): ([^;]*products)", said)}
    assert list(rows) == [15, 31, 63, 127, 255, 511, 1023]
    assert "6 levels, 18 products" in rows[63]
    # What a row says is so: as many bits as that are reached with at most that degree, and with no lower class.
    bits = float(rows[63].split(", ")[1].split()[0])
    model = lw.compile(network, calibrate=DATA, precision_bits=np.floor(10 * bits) / 10 - 0.1, **SMALL)
    assert 32 <= model.plan.approximations[0].degree <= 63
    composed = {
        int(n): float(bits) for n, bits in re.findall(r"x \* sign\(x\) on (\d+) levels: [^ ]+, ([\d.]+) bits", said)
    }
    assert list(composed) == [15, 18, 21, 24] and 10 < composed[15] < composed[18] < composed[21] < composed[24] < 26
    model = lw.compile(network, calibrate=DATA, precision_bits=composed[15] - 0.1, **SMALL)
    assert re.search(
        "x \\* sign.* degrees .*: 1[0-5] levels and .* degree 1023 would", model.plan.approximations[0].form
    )
    assert "composed" in model.report().text() and "x * sign(x)" in model.report().html()
    advised = int(said.split("precision_bits=")[2].split()[0])
    assert lw.compile(network, calibrate=DATA, precision_bits=advised, **SMALL).plan.approximations[0].degree <= 63


def test_more_levels_than_any_ring_has_are_refused_before_layouts_are_searched():
    @lw.program
    def deep(x: lw.Secret[6]):
        return lw.for_loop(30, lambda i, h: lw.sigmoid(30.0 * h - 15.0), x)

    with pytest.raises(
        PrecisionError, match=r"at least 1[0-9]+ levels .* has room for at most .*bootstrap='auto' refr"
    ):
        lw.compile(deep, bootstrap="never", calibrate=np.linspace(0, 1, 60).reshape(10, 6), precision_bits=3)


def test_degrees_are_chosen_together():
    """What one function does not take the others may."""
    model = compiled(lambda x: (lw.sigmoid(12 * x), lw.tanh(0.3 * x)), precision_bits=10)
    steep, flat = model.plan.approximations
    assert steep.degree > 15 and flat.degree <= 5
    summed = compiled(lambda x: lw.sigmoid(12 * x) + 1e-3 * lw.exp(x), precision_bits=10)
    assert summed.plan.approximations[1].degree <= 3


def test_functions_that_no_output_depends_on_are_as_low_as_can_be():
    model = compiled(lambda x: 0.0 * lw.sigmoid(9 * x) + x, precision_bits=10)
    assert model.plan.approximations[0].degree == 1


CLASSES = np.argmax(np.tanh(DATA @ W1) @ W2, axis=1)


def test_scores_before_and_after():
    model = compiled(lambda x: lw.tanh(x @ W1) @ W2, precision_bits=8, labels=CLASSES)
    assert model.scores.measure == "accuracy" and model.scores.rows == 80 and model.scores.exact == 1.0
    assert model.scores.approximated >= 0.95
    batch = compiled(lambda x: lw.tanh(x @ W1) @ W2, shape=(32, 6), precision_bits=8, labels=CLASSES)
    assert batch.scores.rows == 80 and batch.scores.exact == 1.0  # two batches, and one that ends with the rest
    few = compiled(lambda x: lw.tanh(x @ W1) @ W2, shape=(32, 6), data=DATA[:20], precision_bits=8, labels=CLASSES[:20])
    assert few.scores.rows == 20 and few.scores.exact == 1.0
    signs = compiled(lambda x: np.tanh(x @ W1)[:, 0], shape=(40, 6), precision_bits=8, labels=DATA @ W1[:, 0] > 0)
    assert (signs.scores.rows, signs.scores.exact) == (80, 1.0)
    halves = compiled(lambda x: lw.sigmoid(x @ W1[:, 0]), precision_bits=8, labels=np.where(DATA @ W1[:, 0] > 0, 1, -1))
    assert halves.scores.exact == 1.0
    goal = np.tanh(DATA @ W1) @ W2
    fit = compiled(lambda x: lw.tanh(x @ W1) @ W2, precision_bits=8, labels=goal)
    assert fit.scores.measure == "R^2" and fit.scores.exact == 1.0 and 0.99 < fit.scores.approximated < 1.0
    assert str(fit.scores) in " ".join(fit.report().text().split())


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        (CLASSES[:-1], ShapeError, r"labels have shape \(79,\); the calibration data give 80 results of shape \(3,\)"),
        (CLASSES + 1, RangeError, "labels reach from 1 to 3; results have 3 numbers a row, so give classes 0 to 2"),
        (np.ones((80, 3)), RangeError, "all are the same number"),
        (np.zeros((80, 2)), ShapeError, r"labels have shape \(80, 2\)"),
        (CLASSES.reshape(40, 2), ShapeError, "one integer a row"),
        (np.array(["a"] * 80), UserError, "dtype"),
    ],
)
def test_labels_that_do_not_fit(labels, kind, message):
    with pytest.raises(kind, match=message):
        compiled(lambda x: lw.tanh(x @ W1) @ W2, precision_bits=8, labels=labels)


def test_labels_need_calibration_data():
    @lw.program
    def program(x: lw.Secret[3]):
        return x

    with pytest.raises(UserError, match="labels= is given without calibrate="):
        lw.compile(program, labels=[1, 2, 3])


def test_degrees_of_a_budget():
    """By trying all: the fewest levels, and no class that could be lower."""

    class Stub:
        most_levels = 10

        def __init__(self, scale, given_degree=None):
            self.scale, self.given_degree, self.curve = scale, given_degree, self
            self.function = self
            self.smooth = True

        def error(self, degree):
            return self.scale * 0.7**degree

        estimate = error

        def least_degree(self, most, lowest, highest):
            return next(d for d in range(lowest, highest + 1) if self.error(d) <= most)

    rng = np.random.default_rng(1)
    for _ in range(50):
        uses = [Stub(10 ** rng.uniform(-2, 2)) for _ in range(rng.integers(1, 4))]
        parts = 10 ** rng.uniform(-2, 2, (2, len(uses)))
        degrees = choose_degrees(uses, parts)
        taken = parts @ [use.error(d) for use, d in zip(uses, degrees, strict=True)]
        assert np.all(taken <= 1.0)
        for number, degree in enumerate(degrees):
            lower = list(degrees)
            top = (1 << (degree.bit_length() - 1)) - 1  # of the class below
            tops = [(1 << d.bit_length()) - 1 for d in degrees]
            lower = [top if k == number else d for k, d in enumerate(tops)]
            if top:
                assert np.any(parts @ [use.error(d) for use, d in zip(uses, lower, strict=True)] > 1.0)
    assert choose_degrees([Stub(1.0, given_degree=3), Stub(1.0)], np.array([[0.01, 1.0]]))[0] == 3
    assert choose_degrees([Stub(1e200)], np.array([[1.0]])) is None


def test_degrees_that_are_not_settled_on_are_no_claim_that_none_would_do(monkeypatch):
    monkeypatch.setattr("latticework.compiler.accuracy.ATTEMPTS", 0)
    with pytest.raises(
        PrecisionError, match=r"to within 0\.0\d+, and errors grow so fast .* no degrees were settled on"
    ) as caught:
        compiled(lambda x: lw.exp(lw.tanh(2 * x)), precision_bits=12)
    assert "Give degree=15 or a higher one, ask for fewer bits" in str(caught.value)


def test_degrees_that_leave_no_numbers_are_refused_before_layouts_are_searched(monkeypatch) -> None:
    """A function off by half of its range hands numbers to others that are far outside of their intervals."""
    monkeypatch.setattr("latticework.compiler.array_programs.ArrayVectors", None)

    def function(x):
        return lw.relu(lw.relu(lw.relu(lw.relu(0.001 * (x * lw.tanh(x, degree=3)) ** 3, degree=31), degree=31) - 1.0,
                               degree=31), degree=31)  # fmt: skip

    wide = RNG.normal(size=(80, 6)) * np.array([1.0] * 5 + [1000.0])
    with np.errstate(all="ignore"), pytest.raises(PrecisionError, match=r"tanh on .* at degree 3\. .*higher degree"):
        compiled(function, data=wide)
