"""The lower bound on levels, by which programs are refused before anything is laid out: no layout spends fewer."""

import re
from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.accuracy.levels import least_levels
from latticework.compiler.array_programs import ArrayLowering, lower_arrays
from latticework.compiler.bootstrapping import BootstrapSearch, most_levels_of
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.precision import PrecisionSearch
from latticework.errors import LevelError, PrecisionError
from latticework.functions.approximation.chebyshev import IntervalPolynomial
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrapping_rings, most_levels_left
from latticework.tensor.ops.polynomial import POLYNOMIAL

RNG = np.random.default_rng(0)
W, V = RNG.normal(size=(8, 8)) / 3, RNG.normal(size=(8, 8)) / 3
WHOLE = RNG.integers(-3, 4, (8, 8)) * 0.37
TURNED = np.roll(np.eye(8), 1, axis=0)
DATA = RNG.uniform(0.2, 0.8, (12, 1, 8))


def running_product(x):
    return lw.for_loop(4, lambda i, total: total * x, np.ones((1, 8)))


def inverse(x):
    y = 1.2 - 0 * x
    for _ in range(3):
        y = y * (2 - x * y)
    return y


def smoothed(x):
    return lw.for_loop(5, lambda i, state: 0.7 * state @ W + 0.3 * x, x)


def whitened(x):
    for _ in range(3):
        x = x @ W @ np.linalg.inv(W)
    return x * x


# Programs, and how many levels below their depth the bound may lie: 0 where all that they spend is counted.
PROGRAMS = {
    "matrices and squares": (lambda x: ((x @ W) ** 2 @ V) ** 2 @ W, 0),
    "matrices that become one": (lambda x: (x @ W @ V @ W) ** 2, 0),
    "a matrix and its inverse": (whitened, 1),
    "scaled whole numbers": (lambda x: ((x @ WHOLE) ** 2 @ WHOLE) ** 2, 9),
    "moved elements": (lambda x: (x @ TURNED) ** 2 @ TURNED, 9),
    "a product of two vectors": (lambda x: (x @ np.outer(W[0], V[0])) ** 2, 9),
    "one column": (lambda x: (x @ W[:, :1]) ** 2, 9),
    "masks": (lambda x: (x * (np.arange(8) < 3)) ** 2 * W[0], 9),
    "numbers that wait": (lambda x: 0.3 * (0.2 * (0.1 * x) ** 2) ** 2 - 0.7, 1),
    "a product that begins at 1": (running_product, 9),
    "steps to an inverse": (inverse, 9),
    "a recurrence": (smoothed, 9),
    "functions": (lambda x: lw.tanh(lw.tanh(x @ W) @ V), 0),
    "maxima": (lambda x: np.maximum(x @ W, np.roll(x, 1)), 9),
    "a norm": (lambda x: x / np.sqrt(np.sum(x * x) + 1.0), 9),
    "a softmax": (lambda x: lw.softmax(x @ W) @ V, 9),
}


def lowered(body, **options) -> ArrayLowering:
    def program(x: lw.Secret[1, 8]):
        return body(x)

    return lower_arrays(lw.program(program), CompileOptions.of(calibrate=DATA, precision_bits=8, **options))


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_layout_spends_fewer_levels(name):
    body, below = PROGRAMS[name]
    lowering = lowered(body)
    bound = least_levels(lowering.traced.module, {})
    folded = lowering.fold_recurrences()
    for each in filter(None, (lowering, folded)):
        bound = least_levels(each.traced.module, {})
        for vectors in (each.to_vectors(), each.to_shallow_vectors()):
            assert bound <= vectors.depth <= bound + below


def test_coefficients_of_0_at_the_end_are_not_counted():
    lowering = lowered(lambda x: lw.tanh(x))
    module = lowering.traced.module
    (op,) = [op for op in module.walk() if op.spec is POLYNOMIAL.spec]
    for coefficients, levels in (((1.0, 0.5, 0.0, 0.0, 0.0), 1), ((0.25, 0.0), 0), ((0.0, 1.0, 0.5, 0.25), 2)):
        op.attrs["polynomial"] = IntervalPolynomial(coefficients, (-1.0, 1.0), "power")
        assert least_levels(module, {}) == levels


def deep(turns):
    def squares(x: lw.Secret[1, 8]):
        for _ in range(turns):
            x = (x @ W) * (x @ V)
        return x

    return lw.program(squares)


def refused(program, **options):
    with pytest.raises((LevelError, PrecisionError)) as caught:
        lw.compile(program, calibrate=DATA, **options)
    return caught.value


def test_what_is_too_deep_is_refused_before_it_is_laid_out(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(ArrayLowering, "find_too_deep", lambda self: None)
        late = refused(deep(20), ring_degree=32768, bootstrap="never")
    monkeypatch.setattr(ArrayLowering, "to_vectors", None)
    for options, said in (
        ({"bootstrap": "never"}, "bootstrap='auto' refreshes values on the way"),
        ({"batch": "fill", "bootstrap": "never"}, "bootstrap='auto' refreshes values on the way"),
    ):
        error = refused(deep(20), ring_degree=32768, **options)
        assert "program squares spends at least 40 levels one after another; ring_degree=32768 " in error.message
        assert "about 30 at precision_bits=12" in error.message and said in error.message
        assert "leave ring_degree out, or give 65536, " in error.message and "compile two programs" in error.message
        assert error.at == late.at and error.at.text.startswith(("x = (x @ W)", "for _ in range"))
        if "bootstrap" in options:
            assert error.message.replace("at least ", "") == late.message


def test_a_loop_is_told_how_many_turns_fit():
    def squares(x: lw.Secret[1, 8]):
        return lw.for_loop(400, lambda i, y: (y @ W) * y, x)

    error = refused(lw.program(squares), bootstrap="never")
    assert "at least 800 levels" in error.message and "make at most" in error.message


def test_what_bootstraps_helps_is_not_refused(monkeypatch):
    monkeypatch.setattr(ArrayLowering, "to_vectors", None)  # which would be for nothing
    lowering = lowered(lambda x: deep(20).function(x), ring_degree=32768)
    assert lowering.find_too_deep() is not None
    assert BootstrapSearch(lowering).is_allowed


def test_one_function_that_no_bootstrap_leaves_levels_for(monkeypatch):
    monkeypatch.setattr(ArrayLowering, "to_vectors_of", None)

    def layers(x: lw.Secret[1, 8]):
        for _ in range(6):
            x = lw.tanh(x @ W)
        return x

    error = refused(lw.program(layers), ring_degree=32768, degree=63)
    assert re.search(r"one alone spends up to \d+, where a bootstrap leaves at most 5;", error.message)


def test_no_set_leaves_more_levels_than_the_limit():
    for ring in bootstrapping_rings():
        for bits in (8.0, 18.0, 22.0, 30.0):
            limit = most_levels_of(bits, ring)
            assert limit >= most_levels_left(bits, ring)
    assert most_levels_of(20.0, 1 << 15) == BOOTSTRAP_SETS["C15"].residual  # by two iterations


def test_an_imprecise_plan_is_kept_where_more_precise_bootstraps_leave_too_few_levels(monkeypatch):
    """What no set proves beside kinks, and one does in simulation, is planned, whatever the others lack."""
    tried, short = [], {"missing_bits": 3, "noisy_bits": -1}
    quickest, tried_on = BootstrapSearch.quickest_candidate, PrecisionSearch.tried_on

    def once(self, options):
        tried.append(options)
        if len(tried) > 1:
            raise LevelError("place bootstraps: too few levels")
        return quickest(self, options)

    monkeypatch.setattr(BootstrapSearch, "quickest_candidate", once)
    monkeypatch.setattr(PrecisionSearch, "tried_on", lambda self, chain: replace(tried_on(self, chain), **short))
    options = {"calibrate": DATA, "bootstrap_set": "T11", "insecure": True, "precision_bits": 4}
    assert lw.compile(deep(1), **options).plan.chain.bootstrap is not None
    assert len(tried) == 2
    tried.clear()
    short["noisy_bits"] = 3
    with pytest.raises(PrecisionError, match=r"is not reached with bootstraps: .*levels are too few: place bootstraps"):
        lw.compile(deep(1), **options)
