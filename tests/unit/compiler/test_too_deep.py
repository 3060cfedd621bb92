"""Programs that are too deep: which lines spend the levels, what a ring holds, how many iterations fit, what to do."""

import re

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.levels import loop_spending, program_depth, spending
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.trace_arrays import to_polynomials
from latticework.errors import LevelError
from latticework.frontend import trace
from latticework.frontend.calibration.calibration_data import assume_samples
from latticework.plan.parameters import MAX_RING_LOG2, Need, levels_held, ring_that_holds

W = np.random.default_rng(0).normal(size=(4, 4)) / 3
RING = 1 << 13
ODD = [0, 0.5, 0, 0.1, 0, 0.05, 0, 0.01]


def in_python(times):
    """A loop that Python runs."""

    def iterated(x: lw.Secret[4]):
        for _ in range(times):  # the loop
            x = x * x - 0.5  # squares
        return x

    return lw.program(iterated)


def in_a_loop(times):
    """The same as one of ours, after two levels."""

    def looped(x: lw.Secret[4]):
        x = (W @ x) * x  # before
        return lw.for_loop(times, lambda i, y: lw.polynomial(W @ y, ODD), x)  # the loop

    return lw.program(looped)


def guarded(times):
    """A run-time number of iterations."""

    def counted(x: lw.Secret[4], n: lw.Index):
        return lw.for_loop(n, lambda i, y: y * y - 0.5, x, at_most=times)  # the loop

    return lw.program(counted)


def line_of(text):
    """The first line of this file that ends so."""
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith(text))


def refused(program, **options):
    with pytest.raises(LevelError) as caught:
        lw.compile(program, bootstrap="never", **options)
    assert caught.value.at.file == __file__ and len(caught.value.message) < 500
    return caught.value


@pytest.mark.parametrize("precision_bits", [12, 20])
@pytest.mark.parametrize("make", [in_python, in_a_loop, guarded])
def test_as_many_iterations_fit_as_is_said(make, precision_bits):
    """One more does not; the scale may turn out to be a bit larger than expected, which may cost one iteration."""
    options = {"ring_degree": RING << (make is in_a_loop), "precision_bits": precision_bits}
    error = refused(make(9), **options)
    fit = int(re.search(r"about (\d+) of the 9 (iterations|operations)", error.message).group(1))
    assert fit >= 1
    try:
        lw.compile(make(fit), **options)
    except LevelError as known:
        assert f"about {fit - 1} of the {fit} " in known.message
        fit -= 1
        lw.compile(make(fit), **options)
        return
    again = refused(make(fit + 1), **options)
    assert f"about {fit} of the {fit + 1} " in again.message and again.at is error.at


def test_lines_and_remedies():
    error = refused(in_python(9), ring_degree=RING)
    assert error.at.line == line_of("# the loop")
    assert error.message == (
        "program iterated spends at least 9 levels one after another; ring_degree=8192 holds about 6 at precision_bits=12 and "
        f"128-bit security. Spent by line {line_of('# squares')} (x = x * x - 0.5  # sq...) 9; about 6 of the 9 operations "
        f"of line {line_of('# squares')}, in the loop of line {line_of('# the loop')}, fit: leave ring_degree out, or give "
        "16384, or make fewer iterations, or compile two programs, between which the client decrypts and encrypts again"
    )
    error = refused(in_a_loop(50))
    assert error.at.line > line_of("# before") and "lw.for_loop" in error.at.text
    assert "spends at least 202 levels one after another; the largest ring, N=2^17, holds about 119 at" in error.message
    assert ", N=2^16 58, N=2^15 27. Spent by line" in error.message
    assert (
        "(return lw.for_loop(ti...) 200, " in error.message and f"line {line_of('# before')} (x = (W" in error.message
    )
    assert "iterations of the loop in line" in error.message and ": make at most 29, or appro" in error.message
    sharp = refused(in_python(6), ring_degree=RING, precision_bits=19)
    less = int(re.search(r"or ask for precision_bits=(\d+)", sharp.message).group(1))
    lw.compile(in_python(6), ring_degree=RING, precision_bits=less)


def test_a_straight_line_program_names_the_line_that_spends_most():
    @lw.program
    def straight(x: lw.Secret[4]):
        y = W @ x
        z = lw.polynomial(y, [0.01] * 16)  # deepest
        return z * y

    error = refused(straight, ring_degree=4096)
    assert error.at.line == line_of("# deepest")
    assert "Spent by line" in error.message and "fit" not in error.message
    assert "or approximate functions by lower degrees" in error.message


def test_lines_add_up_to_the_depth():
    for program in (in_python(5), in_a_loop(4), guarded(4)):
        module = trace(program)
        traced = to_polynomials(module, assume_samples(module), CompileOptions(), assumed=True)
        vectors = ArrayVectors(traced.module, CompileOptions()).choose()
        lines = spending(vectors.flat)
        assert sum(s.levels for s in lines) == program_depth(vectors.flat) == vectors.depth
        for loop in loop_spending(vectors.module, lines):
            assert loop.levels % loop.iterations == 0 and loop.levels <= vectors.depth


def test_what_a_ring_holds():
    need = Need(10, 16, 30, 2)
    ring = ring_that_holds(need)
    assert levels_held(need, ring) >= 10 > levels_held(need, ring >> 1)
    assert levels_held(need, 1 << 10) == 0 and ring_that_holds(Need(500, 16, 30, 2)) is None
    assert ring_that_holds(Need(0, 1 << (MAX_RING_LOG2 - 1), 30, 2)) == 1 << MAX_RING_LOG2
