"""Random networks on rows of a batch, with rows side by side and with one number of every row in a ciphertext.

Both are NumPy's within their bounds: on rows like those of calibration, at corners of what is accepted, and on zeros.
"""

from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest

import latticework as lw
from latticework.compiler import batch_ways
from latticework.errors import PrecisionError

ACTIVATIONS = {
    "square": np.square,
    "of both": lambda h: 0.5 * h * h + h,
    "scaled": lambda h: 3.0 * (h - 0.25) ** 2,
    "polynomial": lambda h: lw.polynomial(h, [0.1, -0.7, 0.2]),
    "cube": lambda h: h * h * h,
    "negative": lambda h: -(h * h) + 1.0,
    "none": lambda h: h,
}


def draw_weights(rng, shape):
    """Weights of all sizes, some of them zero, some rows or columns alike."""
    weights = rng.normal(size=shape) / np.sqrt(shape[0])
    kind = rng.integers(0, 5)
    if kind == 1:
        weights *= 10.0 ** rng.uniform(-3, 0.5, shape[1])
    if kind == 2:
        weights[:, rng.integers(0, shape[1])] = 0
    if kind == 3:
        weights = np.where(rng.random(shape) < 0.7, 0.0, weights)
        weights[0, 0] = 0.5
    if kind == 4:
        weights = np.round(2 * weights)
        weights[-1, -1] = 1.0
    return weights


def draw_network(rng):
    """A program, its weights, and rows for calibration."""
    sizes = [int(rng.integers(2, 30)), *(int(n) for n in rng.integers(1, 12, rng.integers(1, 4)))]
    layers = [draw_weights(rng, shape) for shape in pairwise(sizes)]
    biases = [rng.uniform(-0.5, 0.5, size) if rng.random() < 0.7 else None for size in sizes[1:]]
    names = [str(rng.choice(list(ACTIVATIONS))) for _ in layers[1:]]

    def forward(x):
        for number, (weights, bias) in enumerate(zip(layers, biases, strict=True)):
            x = x @ weights
            x = x if bias is None else x + bias
            x = ACTIVATIONS[names[number]](x) if number < len(names) else x
        return x

    def network(x: lw.Secret[sizes[0]]):
        return forward(x)

    low, high = (-1.0, 1.0) if rng.random() < 0.6 else (0.0, 1.0)
    return lw.program(network), forward, rng.uniform(low, high, (64, sizes[0]))


def draw_rows(rng, spec, count):
    """Rows by chance, corners of what is accepted, and rows that are alike, zeros among them where those are."""
    low, high, width = np.min(spec.low), np.max(spec.high), spec.shape[0]
    rows = rng.uniform(low, high, (count, width))
    kinds = rng.integers(0, 5, count)
    rows[kinds == 1] = np.where(rng.random((count, width)) < 0.5, low, high)[kinds == 1]
    rows[kinds == 2] = high
    if low <= 0 <= high:
        rows[kinds == 3] = 0
    return rows


def check_network(seed, monkeypatch):
    """Compile a network in each way, and compare what is decrypted with NumPy."""
    rng = np.random.default_rng([42, seed])
    program, forward, calibrate = draw_network(rng)
    batch = int(rng.choice([2, 5, 64, 300, 1500]))
    count = max(1, batch + int(rng.integers(-2, 3)))
    monkeypatch.setattr(batch_ways, "FAR_BEHIND", np.inf)
    options = {"calibrate": calibrate, "batch": batch, "precision_bits": float(rng.uniform(5, 11))}
    plans = {}
    for single in (False, True):

        def prefer(plan, cost, options, single=single):
            return plan.client.secret_inputs[0].pack.count * (-1 if single else 1)

        monkeypatch.setattr(batch_ways, "price_plan", prefer)
        with suppress(PrecisionError):  # of numbers that are all small
            plans[single] = lw.compile(program, **options)
    checked = 0
    for model in plans.values():
        client = model.client(threads=1)
        server = model.server(client.keygen().public(), threads=1)
        rows = draw_rows(rng, model.plan.client.secret_inputs[0], count)
        found = client.decrypt(server(client.encrypt(rows)))
        error = np.abs(found.reveal() - apply_rows(forward, rows))
        assert np.all((error <= found.error_bound) | ~found.is_certain), (seed, error.max(), found.error_bound)
        checked += int(found.is_certain.all())
        found = client.decrypt(server(client.encrypt(calibrate)))
        error = np.abs(found.reveal() - apply_rows(forward, calibrate))
        assert np.all(error <= found.error_bound), (seed, error.max(), found.error_bound)
    return checked


def apply_rows(forward, rows):
    """The network on each row."""
    return np.stack([forward(row) for row in rows])


@pytest.mark.parametrize("seed", range(10))
def test_both_ways_are_numpys(seed, monkeypatch):
    check_network(seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10, 310, 30))
def test_many_networks(first, monkeypatch):
    """Of most of them, bounds are proved for all that is accepted."""
    assert sum(check_network(seed, monkeypatch) for seed in range(first, first + 30)) > 15
