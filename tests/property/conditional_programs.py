"""Random programs that are right only under conditions: comparisons with gaps, functions of slices, few calibration rows.

Every draw has calibration data, fresh rows of the same distribution, and rows at the ends of what the client accepts or
where a comparison is nearly undecided. The function itself, called on arrays, is the oracle.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import latticework as lw

ROWS = (2, 3, 5, 8, 12, 20, 50, 100, 200)
SMOOTH = {
    "sigmoid": lambda v: lw.sigmoid(v),
    "tanh": lambda v: lw.tanh(v),
    "exp": lambda v: lw.exp(0.5 * v),
    "log": lambda v: lw.log(v * v + 0.3),
    "relu": lambda v: lw.relu(v),
    "sqrt": lambda v: lw.sqrt(v * v + 0.2),
    "reciprocal": lambda v: lw.reciprocal(v * v + 0.5),
}


@dataclass
class Conditional:
    """A program with its data.

    gap     of its comparisons; 0 without
    margin  distance of a row from where a comparison is undecided, or a spike stands; None where there is neither
    """

    name: str
    program: Any
    data: np.ndarray
    fresh: np.ndarray
    gap: float = 0.0
    margin: Any = None


def draw(seed: int, num_fresh: int = 12) -> Conditional:
    """The program of a number: kinds by turns, everything else at random."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    return kind(rng, int(rng.choice(ROWS)), num_fresh)


def samples(rng, rows, width):
    """Rows whose columns have their own centres and spreads: normal, uniform, skewed or with long tails."""
    centre, spread = rng.uniform(-1, 1, width), 10.0 ** rng.uniform(-1, 0.5, width)
    kind = rng.choice(["normal", "uniform", "skewed", "tailed"])
    unit = {
        "normal": lambda: rng.normal(size=(rows, width)),
        "uniform": lambda: rng.uniform(-1.5, 1.5, (rows, width)),
        "skewed": lambda: rng.exponential(size=(rows, width)) - 1.0,
        "tailed": lambda: rng.standard_t(4, size=(rows, width)),
    }[kind]()
    return centre + spread * unit


def of_slices(rng, rows, num_fresh):
    """A function of some columns, times or plus what the others say."""
    width = int(rng.integers(2, 7))
    cut = int(rng.integers(1, width))
    name = str(rng.choice(list(SMOOTH)))
    function, joined = SMOOTH[name], rng.choice(["product", "sum"])

    @lw.program
    def sliced(x: lw.Secret[width]):
        a, b = function(x[:cut]), x[cut:]
        return np.sum(a) * b if joined == "product" else np.concatenate([a, b])

    table = samples(rng, rows + num_fresh, width)
    return Conditional(f"{name} of {cut} of {width} columns, {rows} rows", sliced, table[:rows], table[rows:])


def of_maps(rng, rows, num_fresh):
    """A function of a mean, a difference or weighted sums of columns."""
    width = int(rng.integers(2, 21))
    name = str(rng.choice(list(SMOOTH)))
    function, way = SMOOTH[name], rng.choice(["mean", "difference", "weights", "squares"])
    w = rng.normal(size=(width, 2)) / np.sqrt(width)

    @lw.program
    def mapped(x: lw.Secret[width]):
        if way == "mean":
            return function(np.mean(x))
        if way == "difference":
            return function(x[1:] - x[:-1])
        if way == "weights":
            return function(x @ w)
        return function(np.mean(x * x))

    table = samples(rng, rows + num_fresh, width)
    return Conditional(f"{name} of {way} of {width} columns, {rows} rows", mapped, table[:rows], table[rows:])


def of_comparisons(rng, rows, num_fresh):
    """Signs, choices and largest elements; calibration and fresh rows keep out of the gaps."""
    width, gap = int(rng.integers(2, 5)), float(rng.choice([0.05, 0.1, 0.2]))
    way = str(rng.choice(["sign", "where", "argmax", "weights", "nested", "loop", "beside", "pick"]))
    w, at = rng.normal(size=width) / np.sqrt(width), float(rng.uniform(-0.3, 0.3))
    arguments = {
        "sign": lambda x: x - at,
        "where": lambda x: x - at,
        "argmax": lambda x: np.stack([x[..., i] - x[..., j] for i in range(width) for j in range(i)], axis=-1),
        "weights": lambda x: x @ w - at,
        "nested": lambda x: np.stack([x[..., 0] - at, x[..., 1] - x[..., 0]], axis=-1),
        "loop": lambda x: x - at,
        "beside": lambda x: x[..., :1] - at,
        "pick": lambda x: x[..., :1] - x[..., 1:],
    }[way]

    @lw.program
    def compared(x: lw.Secret[width]):
        if way == "sign":
            return lw.sign(x - at, gap=gap)
        if way == "where":
            return lw.where(lw.greater(x, at, gap=gap), x + 3, -x)
        if way == "argmax":
            return lw.argmax(x, gap=gap)
        if way == "weights":
            return lw.sign(x @ w - at, gap=gap) * x
        if way == "nested":
            first = lw.greater(x[0], at, gap=gap)
            return lw.where(first, lw.greater(x[1], x[0], gap=gap), 2.0)
        if way == "loop":
            return lw.for_loop(2, lambda i, h: 0.5 * h + lw.sign(x - at, gap=gap), x)
        if way == "beside":
            return lw.sign(x[:1] - at, gap=gap), 2 * x
        return lw.where(lw.greater(x[0], x[1:], gap=gap), x[0], x[1:])

    def apart(count):
        kept = np.empty((0, width))
        while len(kept) < count:
            tried = rng.uniform(-1, 1, (64 * count, width))
            distance = np.abs(arguments(tried)).reshape(len(tried), -1).min(axis=1)
            kept = np.concatenate([kept, tried[distance > 1.3 * gap]])
        return kept[:count]

    return Conditional(
        f"{way} of {width}, gap {gap}, {rows} rows", compared, apart(rows), apart(num_fresh), gap,
        lambda x: np.abs(arguments(x)).reshape(len(x), -1).min(axis=1),
    )  # fmt: skip


def of_users(rng, rows, num_fresh):
    """A function of the user's own with a spike that is narrower than any grid of samples, and rows that hit it."""
    width, place = int(rng.integers(1, 4)), float(rng.uniform(-0.8, 0.8))
    height, breadth = float(rng.uniform(0.5, 2)), 10.0 ** float(rng.uniform(-7, -3))

    def spiked(v):
        return np.sin(v) + height * np.exp(-(((v - place) / breadth) ** 2))

    @lw.program
    def user(x: lw.Secret[width]):
        return lw.approximate(spiked)(x)

    table = rng.uniform(-1, 1, (rows + num_fresh, width))
    return Conditional(
        f"spike of {breadth:.0e}, {rows} rows", user, table[:rows], table[rows:], 0.0,
        lambda x: np.abs(x - place).min(axis=1),
    )  # fmt: skip


KINDS = (of_comparisons, of_slices, of_comparisons, of_maps, of_comparisons, of_slices, of_maps, of_users)


def near_rows(case: Conditional, low, high, rng):
    """Accepted rows where a comparison is undecided, or a spike stands: the nearest of many, moved onto it by bisection."""
    if case.margin is None:
        return []
    tried = rng.uniform(low, high, (4000, case.data.shape[1]))
    nearest = tried[np.argsort(case.margin(tried))[:3]]
    found = list(nearest)
    for row in nearest[:2]:  # coordinate by coordinate, to the least margin
        best, width = row, (high - low) / 50
        for _ in range(60):
            around = np.clip(best + rng.uniform(-width, width, (200, len(best))), low, high)
            best, width = (
                min([best, around[np.argmin(case.margin(around))]], key=lambda r: case.margin(r[None])[0]),
                width / 1.5,
            )
        found.append(best)
    return found
