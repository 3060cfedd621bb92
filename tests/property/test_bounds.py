"""Error bounds hold for every input that a client accepts and for every trip count, or the result is marked."""

import functools
import warnings
from collections import Counter

import numpy as np
import pytest
from adversaries import accepted, adversaries, verdict
from hypothesis import HealthCheck, given, settings
from random_loops import RandomLoop
from test_programs import programs

import latticework as lw

QUIET = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


def adversarial(program, seen):
    """Encrypt the worst inputs that are accepted; count what became of the results."""
    model = program.compiled(4096)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    rng = np.random.default_rng(1)
    specs = model.plan.client.secret_inputs
    for inputs in zip(*(adversaries(s, rng, x) for s, x in zip(specs, program.samples, strict=True)), strict=True):
        inputs = accepted(client, inputs, program.samples)
        wanted = model.plaintext(*inputs)
        for value, want in zip(client.decrypt(server(client.encrypt(*inputs))), wanted, strict=True):
            became = verdict(value, want)
            seen[became] += 1
            assert became != "wrong", (value, want, value.reveal())
    return model


def looped(seed, seen):
    """Run one random loop with trip counts over its whole range."""
    loop = RandomLoop(seed)
    model = loop.compiled()
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    (spec,) = model.plan.client.secret_inputs
    rng = np.random.default_rng(seed)
    for number, x in enumerate(adversaries(spec, rng, loop.data[0])):
        n = number if number <= loop.limit else int(rng.integers(0, loop.limit + 1))
        if n > loop.limit:
            continue
        results = client.decrypt(server(client.encrypt(x, n)))
        results = results if isinstance(results, tuple) else (results,)
        wanted = loop(x, n)
        for value, want in zip(results, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            became = verdict(value, want)
            seen[became] += 1
            assert became != "wrong", (loop, n, x, value.reveal(), want, value.error_bound)


@pytest.mark.parametrize("seed", range(12))
def test_loops_hold_their_bounds_for_every_trip_count(seed):
    looped(seed, Counter())


@settings(max_examples=15, **QUIET)
@given(program=programs())
def test_programs_hold_their_bounds_on_adversarial_inputs(program):
    adversarial(program, Counter())


@pytest.mark.slow
def test_1000_loops_hold_their_bounds(capsys):
    seen = Counter()
    for seed in range(1000):
        looped(seed, seen)
    told(capsys, "loops", seen)
    assert seen["held"] > 0.9 * seen.total()


@pytest.mark.slow
def test_1000_programs_hold_their_bounds(capsys):
    seen = Counter()

    @settings(max_examples=1000, **QUIET)
    @given(program=programs())
    def check(program):
        adversarial(program, seen)

    check()
    told(capsys, "programs", seen)
    assert seen["held"] > 0.9 * seen.total()


def told(capsys, what, seen):
    """Figures for the documentation."""
    with capsys.disabled():
        print(f"\n{what}: {seen.total()} results: {dict(seen)}")


def test_a_sum_that_cancels_is_bounded_where_it_does_not():
    """Large factors whose product is small in calibration."""

    @lw.program
    def cancelling(x: lw.Secret[64]):
        return np.sum(x) * np.sum(x[::2] - x[1::2])

    data = np.random.default_rng(0).uniform(-1, 1, (50, 64))
    model = lw.compile(cancelling, calibrate=data, ring_degree=4096, insecure=True)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    (spec,) = model.plan.client.secret_inputs
    for x in adversaries(spec, np.random.default_rng(0), data[0]):
        assert verdict(client.decrypt(server(client.encrypt(x))), cancelling(x)) == "held"


INNER = np.random.default_rng(4).normal(size=(6, 5))
OUTER = np.random.default_rng(5).normal(size=(5, 3))
FUNCTIONS = {
    "output": lambda x: lw.sigmoid(0.9 * x),
    "scaled": lambda x: 3.0 - 2.0 * lw.tanh(x),
    "one after another": lambda x: lw.sigmoid(lw.tanh(2.0 * x) - 0.3),
    "squared": lambda x: lw.exp(x) ** 2,
    "positive": lambda x: lw.log(x + 3.0) * lw.sigmoid(x),
    "kink": lambda x: lw.relu(x),
    "network": lambda x: lw.tanh(x @ INNER) @ OUTER,
    "loop": lambda x: lw.for_loop(3, lambda i, h: lw.tanh(h + 0.5 * x), x),
    "beside": lambda x: (lw.sigmoid(np.sum(x)), lw.sigmoid(x)),
}


@pytest.mark.parametrize("degree", [None, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bounds_of_functions_are_about_the_functions_themselves(name, degree):
    """Against NumPy's own, at the ends of the accepted ranges; also where a degree is given that is far too low."""
    function = FUNCTIONS[name]
    taken = {name: getattr(lw, name) for name in ("sigmoid", "tanh", "exp", "log", "relu")}
    data = np.random.default_rng(6).uniform(-1, 1, (40, 6))

    @lw.program
    def program(x: lw.Secret[6]):
        return function(x)

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ApproximationWarning)
        for each, applied in taken.items():
            patch.setattr(lw, each, functools.partial(applied, degree=degree))
        model = lw.compile(program, calibrate=data, precision_bits=6, ring_degree=4096, insecure=True)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    (spec,) = model.plan.client.secret_inputs
    for x in adversaries(spec, np.random.default_rng(0), data[0]):
        (x,) = accepted(client, (x,), (data[0],))
        wanted = function(x)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        results = client.decrypt(server(client.encrypt(x)))
        for value, want in zip(results if isinstance(results, tuple) else (results,), wanted, strict=True):
            assert verdict(value, want) != "wrong", (name, x, value.reveal(), want, value.error_bound)
    proved = [output.reach is not None for output in model.plan.client.outputs]
    if name in ("output", "scaled", "squared", "kink"):
        assert proved == [True], "an argument that is an element of the input cannot leave its range"
    if name in ("positive", "beside"):
        assert all(proved), "clients hold elements, and their sums, where functions are approximated"
    if name == "network":  # together elements may take it out
        assert proved == [False]
