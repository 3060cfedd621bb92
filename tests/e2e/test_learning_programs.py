"""Programs as people who know their model write them: encrypted they are NumPy's, within bounds that say something."""

import numpy as np
import pytest

import latticework as lw

RNG = np.random.default_rng(17)


@lw.program
def filtered(z: lw.Secret[6], n: lw.Index):
    """A Kalman filter of one number, whose uncertainty is public."""

    def step(i, state):
        p = state["p"] + 0.05
        gain = p / (p + 0.5)
        return {"x": state["x"] + gain * (z[i] - state["x"]), "p": (1 - gain) * p}

    return lw.for_loop(n, step, {"x": 0.0, "p": 1.0})["x"]


@lw.program
def adam(x: lw.Secret[8, 4], y: lw.Secret[8], n: lw.Index):
    def step(i, state):
        gradient = x.T @ (x @ state["w"] - y) / 8
        first, second = 0.9 * state["m"] + 0.1 * gradient, 0.9 * state["v"] + 0.1 * gradient * gradient
        return {"w": state["w"] - 0.1 * first / np.sqrt(second + 0.01), "m": first, "v": second}

    return lw.for_loop(n, step, {"w": np.zeros(4), "m": np.zeros(4), "v": np.zeros(4)})["w"]


@lw.program
def recurrent(x: lw.Secret[4, 4], u, v):
    """Hidden states of a recurrent cell, and how large they are."""

    def step(h, x):
        h = lw.tanh(u @ x + v @ h)
        return h, np.mean(h * h)

    return lw.scan(step, np.zeros(4), x)


SERIES = np.cumsum(RNG.normal(0, 0.1, (20, 6)), axis=1) + RNG.normal(0, 0.3, (20, 6))
ROWS, LABELS = RNG.uniform(-1, 1, (10, 8, 4)), RNG.uniform(-1, 1, (10, 8))
FEW = pytest.mark.filterwarnings("ignore:.*out of the interval")  # ten rows are few, and say so
PROGRAMS = {
    "kalman": pytest.param(filtered, (), {"z": SERIES, "n": 6}, (2, 6)),
    "adam": pytest.param(adam, (), {"x": ROWS, "y": LABELS, "n": 4}, (1, 4), marks=[pytest.mark.slow, FEW]),
    "rnn": pytest.param(
        recurrent,
        tuple(RNG.normal(0, 0.4, (2, 4, 4))),
        {"x": RNG.uniform(-1, 1, (10, 4, 4))},
        (None,),
        marks=FEW,
    ),
}


@pytest.mark.parametrize("program, weights, data, trips", PROGRAMS.values(), ids=PROGRAMS)
def test_what_people_write_runs_encrypted_within_its_bounds(program, weights, data, trips):
    model = lw.compile(program, weights=weights, calibrate=data, precision_bits=8, bootstrap_set="T11", insecure=True)
    assert model.plan.bootstraps
    client = model.client()
    server = model.server(client.keygen().public())
    for row, n in enumerate(trips):
        inputs = [array[row] for name, array in data.items() if name != "n"] + ([] if n is None else [n])
        found, wanted = client.decrypt(server(client.encrypt(*inputs))), program(*inputs, *weights)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        for (result, expected), output in zip(pairs, model.plan.client.outputs, strict=True):
            assert np.max(np.abs(result.reveal() - expected)) <= result.error_bound <= 2.0**-8 * output.magnitude
