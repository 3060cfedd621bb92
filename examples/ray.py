"""A ray and a triangle under encryption: do they meet, and where? Exact integers (BFV).

Moeller and Trumbore's test (1997) on an encrypted ray and an encrypted triangle with whole coordinates: two cross
products and four scalar products, which leave four integers. The owner divides: the ray meets the triangle at
t / det if det is not 0 and u / det, v / det and their sum lie between 0 and 1. Every coordinate is read several times,
so the client lays copies of it out in the slots of its three ciphertexts (`replicate=True`), which costs it nothing.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

import numpy as np
from rich.console import Console
from rich.table import Table

import latticework as lw

COORDINATE = 20  # largest magnitude; all four results then stay below 2^19
RAYS, SEED = 12, 5
PLAIN_BITS = 20


@lw.circuit
def intersect(
    origin: lw.vector(3, low=-COORDINATE, high=COORDINATE, replicate=True),
    direction: lw.vector(3, low=-COORDINATE, high=COORDINATE, replicate=True),
    triangle: lw.matrix(3, 3, low=-COORDINATE, high=COORDINATE, replicate=True),
):
    """det, u, v and t of a ray and a triangle whose corners are the rows of a matrix."""
    first, second = difference(triangle[1], triangle[0]), difference(triangle[2], triangle[0])
    across, offset = cross(direction, second), difference(origin, triangle[0])
    turned = cross(offset, first)
    return {
        "det": dot(first, across),
        "u": dot(offset, across),
        "v": dot(direction, turned),
        "t": dot(second, turned),
    }


def difference(a, b):
    return [a[i] - b[i] for i in range(3)]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def where(det, u, v, t):
    """How far along the ray it meets the triangle; None if it does not."""
    if det == 0:
        return None
    u, v, t = Fraction(u, det), Fraction(v, det), Fraction(t, det)
    return t if u >= 0 and v >= 0 and u + v <= 1 and t > 0 else None


def in_numpy(origin, direction, triangle):
    """The same by solving the linear equations in floating point."""
    matrix = np.stack([-direction, triangle[1] - triangle[0], triangle[2] - triangle[0]], axis=1)
    if abs(np.linalg.det(matrix)) < 0.5:
        return None
    t, u, v = np.linalg.solve(matrix, origin - triangle[0])
    return t if u >= -1e-9 and v >= -1e-9 and u + v <= 1 + 1e-9 and t > 1e-9 else None


def scenes(number):
    """Random triangles, and rays of which about half are aimed at them."""
    rng = np.random.default_rng(SEED)
    for i in range(number):
        triangle = rng.integers(-COORDINATE // 2, COORDINATE // 2, (3, 3), endpoint=True)
        origin = rng.integers(-COORDINATE // 2, COORDINATE // 2, 3, endpoint=True)
        aim = triangle.sum(axis=0) // 3 if i % 2 else rng.integers(-COORDINATE // 2, COORDINATE // 2, 3, endpoint=True)
        yield origin, aim - origin, triangle


def run(rays=RAYS, **options):
    """Test encrypted rays; (model, distances, those of NumPy, seconds of each)."""
    model = lw.compile(intersect, scheme="bfv", plain_bits=PLAIN_BITS, **options)
    client = model.client()
    server = model.server(client.keygen().public())
    found, expected, seconds = [], [], []
    for origin, direction, triangle in scenes(rays):
        encrypted = client.encrypt(origin=origin, direction=direction, triangle=triangle)
        started = time.perf_counter()
        result = server(encrypted)
        seconds.append(time.perf_counter() - started)
        values = {name: value.reveal() for name, value in client.decrypt(result).items()}
        found.append(where(**{name: int(value) for name, value in values.items()}))
        expected.append(in_numpy(origin, direction, triangle))
    return model, found, expected, seconds


def agree(found, expected):
    """Whether the exact distances are those in floating point."""
    return all(
        (a is None) == (b is None) and (a is None or abs(a - b) < 1e-6) for a, b in zip(found, expected, strict=True)
    )


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
    model, found, expected, seconds = run()
    table = Table(title=f"{RAYS} encrypted rays and triangles")
    for heading in ("meets at, encrypted", "meets at, NumPy", "seconds"):
        table.add_column(heading, justify="right")
    for exact, floating, spent in zip(found, expected, seconds, strict=True):
        table.add_row(
            "no" if exact is None else str(exact), "no" if floating is None else f"{floating:.6f}", f"{spent:.4f}"
        )
    console.print(table)
    console.print(summary(model))
    return 0 if agree(found, expected) else 1


if __name__ == "__main__":
    sys.exit(main())
