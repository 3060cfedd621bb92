"""Tracking under encryption: a Kalman filter whose state, uncertainty and measurements stay encrypted (CKKS).

A target moves along a line at nearly constant speed; the server gets noisy positions and sends back better estimates of
position and speed. The gain needs a division by the uncertainty of the innovation, which changes from step to step and
is encrypted too: it is done by Newton's iteration, from a straight line that is close on the range where that
uncertainty can lie. The whole step is one circuit of about 30 scalar operations with hardly two alike.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import latticework as lw

STEPS, SEED = 12, 3
NOISE, DRIFT = 0.25, 0.02  # variances of a measurement, and of the change of speed in a step
START = np.array([0.5, 0.0, 0.1])  # variance of position, covariance, variance of speed
LOWEST, HIGHEST = 0.4, 0.9  # of the innovation's variance: bounds of what the filter goes through
NEWTON = 2


@lw.circuit
def step(
    state: lw.vector(2, low=-4, high=4), covariance: lw.vector(3, low=-1, high=1), measured: lw.scalar(low=-4, high=4)
):
    """The state and its covariance after a measurement one unit of time later."""
    position, speed = state[0] + state[1], state[1]
    p, c, v = covariance[0] + 2 * covariance[1] + covariance[2], covariance[1] + covariance[2], covariance[2] + DRIFT
    inverse = reciprocal(p + NOISE)
    gain_p, gain_v = p * inverse, c * inverse
    surprise = measured - position
    return {
        "state": [position + gain_p * surprise, speed + gain_v * surprise],
        "covariance": [p - gain_p * p, c - gain_p * c, v - gain_v * c],
    }


def reciprocal(s):
    """1 / s for s from LOWEST to HIGHEST, by Newton's iteration from the line that is relatively closest there."""
    total, product = LOWEST + HIGHEST, LOWEST * HIGHEST
    scale = 8 / (total**2 + 4 * product)
    inverse = scale * total - scale * s
    for _ in range(NEWTON):
        inverse = inverse * (2 - s * inverse)
    return inverse


def exact(state, covariance, measured):
    """The same step with a division, on arrays: the textbook's matrices."""
    move = np.array([[1.0, 1.0], [0.0, 1.0]])
    p = np.array([[covariance[0], covariance[1]], [covariance[1], covariance[2]]])
    state, p = move @ state, move @ p @ move.T + np.diag([0.0, DRIFT])
    gain = p[:, 0] / (p[0, 0] + NOISE)
    state, p = state + gain * (measured - state[0]), p - np.outer(gain, p[0])
    return state, np.array([p[0, 0], p[0, 1], p[1, 1]])


def track():
    """(positions, measurements) of a target."""
    rng = np.random.default_rng(SEED)
    speed = 0.2 + np.cumsum(rng.normal(0, DRIFT**0.5 / 2, STEPS))
    positions = np.cumsum(speed)
    return positions, positions + rng.normal(0, NOISE**0.5, STEPS)


def run(steps=STEPS, **options):
    """Follow the target encrypted; (model, positions, measurements, estimates, exact estimates, seconds of a step)."""
    positions, measurements = (x[:steps] for x in track())
    model = lw.compile(step, scheme="ckks", precision_bits=12, **options)
    client = model.client()
    server = model.server(client.keygen().public())
    ours = reference = (np.zeros(2), START)
    found, expected, seconds = [], [], []
    for measured in measurements:
        encrypted = client.encrypt(state=ours[0], covariance=ours[1], measured=measured)
        started = time.perf_counter()
        result = server(encrypted)
        seconds.append(time.perf_counter() - started)
        decrypted = client.decrypt(result)
        ours = tuple(decrypted[name].reveal() for name in ("state", "covariance"))
        reference = exact(*reference, measured)
        found.append(np.concatenate(ours))
        expected.append(np.concatenate(reference))
    return model, positions, measurements, np.array(found), np.array(expected), seconds


def summary(model):
    """What one run takes."""
    circuit = model.plan.circuit
    scalar, vector = circuit.needed, circuit.vector
    return (
        f"{scalar.muls} products and {scalar.adds} sums of single numbers became {vector.muls} products, {vector.adds} "
        f"sums, {vector.rotations} rotations and {vector.masks} masks of vectors; N = {model.plan.chain.ring_degree}"
    )


def main():
    """Run the demonstration; returns the exit status."""
    console = Console(highlight=False, width=100)
    model, positions, measurements, found, expected, seconds = run()
    table = Table(title=f"{STEPS} steps, everything encrypted")
    for heading in ("position", "measured", "filtered, encrypted", "filtered, exact", "speed, encrypted", "seconds"):
        table.add_column(heading, justify="right")
    for row in zip(positions, measurements, found[:, 0], expected[:, 0], found[:, 1], seconds, strict=True):
        table.add_row(*(f"{x:.4f}" for x in row))
    console.print(table)
    error = np.abs(found - expected).max()
    console.print(f"largest error of state and covariance: {error:.2e}")
    console.print(summary(model))
    return 0 if error < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
