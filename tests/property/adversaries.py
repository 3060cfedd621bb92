"""Inputs that a client accepts and that are unlike calibration data, and what a result may be then."""

import numpy as np


def adversaries(spec, rng, worst):
    """Arrays of an input at the ends of its accepted range.

    worst  the calibration sample whose outputs are largest
    """
    low, high, shape = spec.low, spec.high, spec.shape
    flat = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    one = np.full(shape, low)
    one[tuple(rng.integers(0, n) for n in shape)] = high
    return [
        np.full(shape, high),
        np.full(shape, low),
        rng.choice([low, high], shape),
        np.where(flat % 2, low, high),
        np.where(flat < flat.size // 2, low, high),
        one,
        np.clip(worst, low, high),
        rng.uniform(low, high, shape),
    ]


def accepted(client, given, inside):
    """Inputs on the way from ones that are accepted to these: as far as the client takes them, constraints held."""

    def at(part):
        return [np.asarray(i) + part * (np.asarray(x) - np.asarray(i)) for x, i in zip(given, inside, strict=True)]

    if client.check(*given).fits:
        return tuple(given)
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if client.check(*at(middle)).fits else (low, middle)
    return tuple(at(low))


def verdict(value, want):
    """What became of one result: "held", "marked", or "wrong" without a mark."""
    got = value.reveal()
    assert got.shape == np.shape(want)
    if np.isinf(value.error_bound):
        return "marked"
    # The two sides compute in float64 in other orders.
    within = np.max(np.abs(got - want), initial=0.0) <= value.error_bound + 1e-9 * np.max(np.abs(want), initial=0.0)
    if within:
        return "held" if value.is_proved else "held, not proved"
    return "wrong" if value.is_proved else "beyond, not proved"
