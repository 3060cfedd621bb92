"""Runs with replaced functions that go on from earlier ones are those that start anew."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.accuracy import replaced_runs
from latticework.compiler.accuracy.effects import with_polynomials
from latticework.compiler.accuracy.function_uses import uses_of
from latticework.compiler.accuracy.replaced_runs import ReplaceableProgram
from latticework.compiler.trace_arrays import to_tensors
from latticework.frontend import calibrate
from latticework.ir import interpret

RNG = np.random.default_rng(1)
W1, W2 = RNG.normal(size=(6, 5)), RNG.normal(size=(5, 6))
SAMPLES = [{"x": x} for x in RNG.uniform(-1, 1, (3, 6))]


def skipping(x):
    y = lw.sigmoid(lw.tanh(x @ W1) @ W2) + x
    return lw.tanh(y) + y, lw.exp(x)


def looping(x):
    y = lw.for_loop(2, lambda i, h: lw.tanh(h + x), lw.exp(x))
    return lw.sigmoid(y @ W1) @ W2 + y


def program_of(function):
    @lw.program
    def program(x: lw.Secret[6]):
        return function(x)

    module = calibrate(to_tensors(program, (), None), SAMPLES)
    return module, uses_of(module)


@pytest.mark.parametrize("function", [skipping, looping])
@pytest.mark.parametrize("kept", [0, 2, 3])
def test_outputs_are_those_of_a_program_with_polynomials(function, kept, monkeypatch):
    module, uses = program_of(function)
    monkeypatch.setattr(replaced_runs, "KEPT_ELEMENTS", kept * ReplaceableProgram(module, uses).size)
    program = ReplaceableProgram(module, uses)
    runs = program.runs(SAMPLES)
    polynomials = {(n, degree): use.polynomial(degree) for n, use in enumerate(uses) for degree in (3, 7)}
    for turn in range(12):
        degrees = [[None, 3, 7][int(choice)] for choice in RNG.integers(0, 3, len(uses))]
        functions = [polynomials.get((n, degree)) for n, degree in enumerate(degrees)]
        for run, sample in zip(runs, SAMPLES, strict=True):
            expected = interpret(with_polynomials(module, functions), sample)
            for got, wanted in zip(run.outputs(functions, stay=turn % 3 == 0), expected, strict=True):
                np.testing.assert_array_equal(got, wanted)
    for run, sample in zip(runs, SAMPLES, strict=True):
        for got, wanted in zip(run.exact, interpret(module, sample), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_layers_before_the_first_function_that_changes_are_not_computed_again():
    depth = 8

    def deep(x):
        for _ in range(depth):
            x = lw.tanh(x)
        return x

    module, uses = program_of(deep)
    (run,), computed = ReplaceableProgram(module, uses).runs(SAMPLES[:1]), list[int]()

    def counted(number):
        return lambda x: (computed.append(number), np.tanh(x))[1]

    functions = [counted(number) for number in range(depth)]
    run.outputs(functions)
    assert computed == list(range(depth))
    for first in (5, 2, 7):
        computed.clear()
        functions = [counted(n) if n == first else function for n, function in enumerate(functions)]
        run.outputs(functions)
        assert computed == list(range(first, depth))
