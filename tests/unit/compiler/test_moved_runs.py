"""Runs with moved functions on top of a kept run are those that start anew."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.accuracy.effects import distances
from latticework.compiler.accuracy.function_uses import uses_of
from latticework.compiler.accuracy.perturbation import PerturbedRuns, patterns, work_of
from latticework.compiler.trace_arrays import to_tensors
from latticework.frontend import calibrate

RNG = np.random.default_rng(1)
W1, W2 = RNG.normal(size=(6, 5)), RNG.normal(size=(5, 6))
SAMPLES = [{"x": x} for x in RNG.uniform(-1, 1, (2, 6))]


def looping(x):
    y = lw.for_loop(2, lambda i, h: lw.tanh(h + x), x)
    return lw.sigmoid(y @ W1) @ W2 + lw.exp(x)


PROGRAMS = {
    "layers": lambda x: lw.sigmoid(lw.tanh(x @ W1) @ W2),
    "side by side": lambda x: (lw.sigmoid(x @ W1) @ W2 + lw.exp(x), lw.tanh(x)),
    "loop": looping,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_does_not_depend_on_a_moved_function_is_kept(name):
    @lw.program
    def program(x: lw.Secret[6]):
        return PROGRAMS[name](x)

    module = calibrate(to_tensors(program, (), None), SAMPLES)
    uses = uses_of(module)
    runs = PerturbedRuns(module, uses)
    for number in range(len(uses)):
        amplitudes = [1e-3 * (k == number) for k in range(len(uses))]
        found = []
        for keep in (True, False):
            each = [runs.exact(sample, keep=keep) for sample in SAMPLES]
            pairs = [
                (runs.perturb(run, amplitudes, p), run) for p in patterns(np.random.default_rng(0)) for run in each
            ]
            found.append([array for moved, _ in pairs for array in moved])
            changed = [distances(moved, run.results)[: len(module.outputs)].max() for moved, run in pairs]
            assert max(changed) > 1e-5
        for kept, anew in zip(*found, strict=True):
            np.testing.assert_array_equal(kept, anew)
    assert max(runs.following) <= runs.work == work_of(module)
