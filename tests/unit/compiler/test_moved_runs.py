"""Runs with moved functions, side by side and on top of kept ones, are those that start anew one by one."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.accuracy import perturbation
from latticework.compiler.accuracy.effects import distances
from latticework.compiler.accuracy.function_uses import uses_of
from latticework.compiler.accuracy.perturbation import PATTERNS, PerturbedRuns, work_of
from latticework.compiler.trace_arrays import to_tensors
from latticework.frontend import calibrate
from latticework.functions.approximation.chebyshev import to_unit
from latticework.ir import interpret

RNG = np.random.default_rng(1)
W1, W2 = RNG.normal(size=(6, 5)), RNG.normal(size=(5, 6))
SAMPLES = [{"x": x} for x in RNG.uniform(-1, 1, (3, 6))]


def looping(x):
    y = lw.for_loop(2, lambda i, h: lw.tanh(h + lw.sigmoid(x)), x)
    return lw.sigmoid(y @ W1) @ W2 + lw.exp(x)


def of_loops(x):
    for _ in range(3):
        x = lw.for_loop(1, lambda i, h: lw.tanh(lw.sigmoid(h) - 0.5) @ W1 @ W2, x)
    return x, x[1:3]


PROGRAMS = {
    "layers": lambda x: lw.sigmoid(lw.tanh(x @ W1) @ W2),
    "side by side": lambda x: (lw.sigmoid(x @ W1) @ W2 + lw.exp(x), lw.tanh(x)),
    "loop": looping,
    "loops": of_loops,
}


def one_by_one(module, uses, amplitudes):
    """How far results move: (patterns, samples, outputs and arguments), each run by itself, chance going on."""
    rng = np.random.default_rng(0)

    def run(sample, amplitudes, sign):
        arguments = [[np.zeros(0)] for _ in uses]

        def moved(number, x):
            arguments[number].append(np.ravel(x))
            unit = np.clip(to_unit(x, uses[number].interval), -1.0, 1.0)
            return [uses[number].function.reference(x) + amplitudes[number] * sign(unit)]

        instead = {use.op: lambda operands, n=n: moved(n, operands[0]) for n, use in enumerate(uses)}
        outputs = interpret(module, sample, instead=instead)
        return [*outputs, *map(np.concatenate, arguments)]

    def sign_of(pattern):
        if pattern.draw is not None:
            return lambda unit: rng.choice([-1.0, 1.0], unit.shape)
        if pattern.wave is not None:
            return lambda unit: np.sign(np.cos(pattern.wave[0] * np.arccos(unit) + pattern.wave[1]))
        return lambda unit: np.full(unit.shape, pattern.sign)

    exact = [run(sample, [0.0] * len(uses), np.ones_like) for sample in SAMPLES]
    signs = [sign_of(pattern) for pattern in PATTERNS]
    return np.array(
        [[distances(e, run(s, amplitudes, sign)) for e, s in zip(exact, SAMPLES, strict=True)] for sign in signs]
    )


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("kept", "stacked"), [(1 << 26, 1 << 25), (1 << 26, 1), (0, 400)])
def test_runs_side_by_side_are_those_one_by_one(name, kept, stacked, monkeypatch):
    monkeypatch.setattr(perturbation, "KEPT_ELEMENTS", kept)
    monkeypatch.setattr(perturbation, "STACKED_ELEMENTS", stacked)

    @lw.program
    def program(x: lw.Secret[6]):
        return PROGRAMS[name](x)

    module = calibrate(to_tensors(program, (), None), SAMPLES)
    uses = uses_of(module)
    runs = PerturbedRuns(module, uses)
    exact = runs.exact(SAMPLES)
    assert sum(len(each.samples) for each in exact) == len(SAMPLES) and bool(exact[0].arrays) == bool(kept)
    runs.draw(exact, np.random.default_rng(0))
    for amplitudes in (*(1e-3 * np.eye(len(uses))), np.full(len(uses), 1e-3)):
        found = np.concatenate([runs.perturb(each, amplitudes.tolist()) for each in exact], axis=1)
        np.testing.assert_array_equal(found, one_by_one(module, uses, amplitudes))
        assert found[..., : len(module.outputs)].max() > 1e-5
    assert max(runs.following) <= runs.work == work_of(module)


def test_what_comes_before_a_moved_function_is_not_computed_again():
    computed = []

    def counted(x):
        computed.append(np.shape(x))
        return np.tanh(x)

    @lw.program
    def program(x: lw.Secret[6]):
        for _ in range(6):
            x = lw.approximate(counted, degree=3)(x)
        return x

    module = calibrate(to_tensors(program, (), None), SAMPLES)
    runs = PerturbedRuns(module, uses_of(module))
    (exact,) = runs.exact(SAMPLES)
    runs.draw([exact], np.random.default_rng(0))
    for number in range(6):
        computed.clear()
        runs.perturb(exact, [1e-3 * (n == number) for n in range(6)])
        assert computed == [(1, 3, 6)] + [(len(PATTERNS), 3, 6)] * (5 - number)  # all patterns and samples at once


def test_samples_of_other_trip_counts_run_by_themselves():
    @lw.program
    def program(x: lw.Secret[6], turns: lw.Index):
        return lw.for_loop(turns, lambda i, h: lw.tanh(h), x)

    samples = [{**SAMPLES[0], "turns": turns} for turns in (2, 2, 3, 2)]
    module = calibrate(to_tensors(program, (), None), samples)
    exact = PerturbedRuns(module, uses_of(module)).exact(samples)
    assert [len(runs.samples) for runs in exact] == [2, 1, 1]
    assert [runs.arguments[0].shape for runs in exact] == [(2, 12), (1, 18), (1, 12)]
