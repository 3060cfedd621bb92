"""Programs of comparisons that are too deep: refused before anything that takes long, by what they are made of."""

import re

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.accuracy import LevelLimits, approximate_functions, uses_of
from latticework.compiler.accuracy.guess import OFF, DepthGuess
from latticework.compiler.accuracy.levels import least_levels
from latticework.errors import LevelError, PrecisionError
from latticework.frontend import calibrate, trace

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(8, 8)) / 3
ROWS = RNG.normal(size=(32, 8))


def largest_of(rounds):
    """A program of so many maxima in a row, each after a linear map."""

    def compared(x: lw.Secret[8]):
        for _ in range(rounds):
            x = WEIGHTS @ np.maximum(x, np.roll(x, 1))
        return x

    return lw.program(compared)


def refused(program, **options):
    """The error of a compilation, which looked at one sample alone."""
    with pytest.raises((PrecisionError, LevelError)) as caught:
        lw.compile(program, calibrate=ROWS, **options)
    return caught.value


@pytest.mark.parametrize("bits", [6, 12])
def test_a_guess_is_close_to_what_is_taken(bits):
    samples = [{"x": row} for row in ROWS]
    module = calibrate(trace(largest_of(3)), samples)
    guess = DepthGuess.of(module, uses_of(module), samples, 0.75)
    levels = guess.levels(guess.degrees(bits))
    taken = least_levels(approximate_functions(module, samples, bits).module, {})
    assert taken - 6 <= levels <= taken + OFF
    fewer = guess.cheaper(bits)
    assert all(n < levels for n in fewer.values()) and list(fewer.values()) == sorted(fewer.values(), reverse=True)
    assert all(n < bits for n in fewer)


def test_deep_comparisons_are_refused_before_functions_are_fitted(monkeypatch):
    """All that is looked at is one sample; what fewer bits would take is told, and is what they take."""
    monkeypatch.setattr("latticework.compiler.accuracy.Effects", None)  # of all samples
    error = refused(largest_of(8), bootstrap="never")
    assert "precision_bits=12 takes relu as x * sign(x) on" in error.message and "times)" in error.message
    assert re.search(
        r"at least \d+ levels one after another, and .* room for at most \d+; ask for fewer bits", error.message
    )
    assert re.search(r"\(\d+ levels at precision_bits=10, .*\d+ levels at precision_bits=4\)", error.message)
    assert error.at is not None and "np.maximum" in error.at.text
    assert "pools=" not in error.message


def test_comparisons_that_no_bootstrap_leaves_levels_for():
    error = refused(largest_of(8), ring_degree=32768)
    assert re.search(r"one alone spends up to \d+, where a bootstrap leaves at most \d;", error.message)
    assert "degree 2" not in error.message  # what stands for a composition is no degree


def test_max_pools_are_named_with_what_they_take():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    body = [layer for n in (1, 6, 6) for layer in (nn.Conv2d(n, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))]
    net = nn.Sequential(*body, nn.Flatten(), nn.Linear(24, 10)).eval()
    data = RNG.normal(size=(8, 1, 1, 16, 16))
    program = lw.from_torch(net, torch.zeros(1, 1, 16, 16))
    with pytest.raises(PrecisionError) as caught:
        lw.compile(program, calibrate=data, bootstrap="never")
    message = caught.value.message
    assert "max_pool2d (2) as x * sign(x) on" in message and "relu (1) as" in message
    assert re.search(r'import the model with pools="average" \(means .* the max-pools spend \d+ levels\)', message)


def test_room_without_limits_is_not_looked_at():
    samples = [{"x": row} for row in ROWS]
    module = calibrate(trace(largest_of(2)), samples)
    plain = approximate_functions(module, samples, 6)
    roomy = approximate_functions(module, samples, 6, LevelLimits(None, 10, 60))
    assert [f.degree for f in plain.fitted] == [f.degree for f in roomy.fitted]
