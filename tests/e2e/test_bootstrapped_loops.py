"""Loops that spend levels and stay loops: compiled, simulated and encrypted on a small set, for several trip counts."""

import numpy as np
import pytest

import latticework as lw
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel

SMALL = {"bootstrap_set": "T12", "insecure": True, "precision_bits": 10}
RNG = np.random.default_rng(11)
X = RNG.uniform(-0.9, 0.9, (20, 8))
TRIPS = 7


@lw.program
def descend(x: lw.Secret[8], y: lw.Secret[8], n: lw.Index):
    def step(_, w, b):
        error = w * x + b - y
        return w - 0.5 * np.mean(error * x), b - 0.5 * np.mean(error)

    return lw.for_loop(n, step, (0.0, 0.1))


@lw.program
def logistic_map(x: lw.Secret[8], n: lw.Index):
    return lw.for_loop(n, lambda _, v: 3.2 * v * (1 - v), 0.5 + 0.4 * x)


@lw.program
def nested(x: lw.Secret[8], n: lw.Index):
    def outer(_, a, b):
        inner = lw.for_loop(2, lambda _, v: 0.5 * v * (x + v), a + 0.1)
        return inner, b - 0.5 * inner * b

    return lw.for_loop(n, outer, (x, x * x))


@lw.program
def deep(x: lw.Secret[8], n: lw.Index):
    """An iteration spends more than a bootstrap leaves."""

    def step(_, v):
        for _ in range(6):
            v = 0.75 * v * v + 0.125
        return v

    return lw.for_loop(n, step, x)


def model_of(program, **options):
    secrets = [p.name for p in program.parameters if p.name != "n"]
    return lw.compile(program, calibrate=dict.fromkeys(secrets, X) | {"n": TRIPS}, **SMALL, **options)


def agrees(model, program, found, *args):
    """Within the bounds that the results state."""
    found, wanted = (r if isinstance(r, tuple | list) else (r,) for r in (found, program(*args)))
    for result, expected, output in zip(found, wanted, model.plan.client.outputs, strict=True):
        assert output.usual_error <= 2.0**-10 * output.magnitude
        assert np.max(np.abs(np.asarray(result) - expected)) <= output.error_bound


@pytest.mark.parametrize("program", [descend, logistic_map, nested, deep], ids=lambda p: p.name)
def test_one_plan_serves_all_trip_counts(program):
    model = model_of(program)
    names = [p.name for p in program.parameters if p.name != "n"]
    client = model.client()
    server = model.server(client.keygen().public())
    assert model.plan.bootstraps
    for trips in (0, 1, 2, 3, 5, TRIPS):
        args = [X[3 + i] for i in range(len(names))] + [trips]
        agrees(model, program, model.simulate(*args), *args)
        if trips in (0, 3, TRIPS):
            found = client.decrypt(server(client.encrypt(*args)))
            found = tuple(r.reveal() for r in found) if isinstance(found, tuple) else found.reveal()
            agrees(model, program, found, *args)


def test_less_memory_for_keys_than_a_bootstrap_needs(tmp_path):
    """The code of a bootstrap is no line of the program: the error names the line that calls it."""
    model = model_of(logistic_map)
    model.save(tmp_path / "model.lwplan")
    model.client().keygen().public().save(tmp_path / "keys")
    with pytest.raises(lw.UserError, match=r"key_memory is 1 bytes; .* for \w+ of .*test_bootstrapped_loops\.py:\d+: "):
        lw.Server.load(tmp_path / "model.lwplan", tmp_path / "keys", key_memory=1)


def test_inputs_that_diverge_are_marked_in_every_result():
    """Each element is accepted, but never were two so far apart: v grows a hundredfold, what it is added to does not."""

    @lw.program
    def diverging(x: lw.Secret[8], w: lw.Secret[8], n: lw.Index):
        return lw.for_loop(n, lambda _, v, s: (0.9 * v * (w - x), s + 0.001 * v), (x, x))

    w = X + RNG.uniform(-1, 1, X.shape)
    model = lw.compile(diverging, calibrate={"x": X, "w": w, "n": 12}, **SMALL)
    client = model.client()
    server = model.server(client.keygen().public())
    usual = client.decrypt(server(client.encrypt(X[0], w[0], 12)))
    assert all(np.isfinite(found.error_bound) for found in usual)
    wild = client.decrypt(server(client.encrypt(np.full(8, -0.9), np.full(8, 1.2), 12)))
    assert wild[1].reveal().max() < 2 * model.plan.client.outputs[1].magnitude  # it does not show by itself
    assert all(np.isinf(found.error_bound) for found in wild)
    for beyond in ((3 * X[0], w[0], 12), (X[0], w[0], 13)):
        with pytest.raises(lw.UserError, match="calibrat"):
            client.encrypt(*beyond)


def test_known_trip_counts_take_no_more_bootstraps():
    @lw.program
    def known(x: lw.Secret[8], y: lw.Secret[8]):
        return descend.function(x, y, TRIPS)

    static = lw.compile(known, calibrate={"x": X, "y": X}, **SMALL)
    agrees(static, known, static.simulate(X[0], X[1]), X[0], X[1])
    counts = [estimate(m.plan, CostModel.load()).counts.bootstraps for m in (static, model_of(descend))]
    assert 0 < counts[0] <= counts[1]
