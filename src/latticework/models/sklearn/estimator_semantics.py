"""Semantics of the nodes of fitted estimators, on arrays and secrets alike: x is always (rows, features)."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.frontend import exp, tanh
from latticework.frontend.functions.array_functions import abs as absolute
from latticework.frontend.functions.array_functions import reciprocal, rsqrt, softmax
from latticework.frontend.recording.tracing import Traced
from latticework.functions.table import RECORDS
from latticework.models.converters import Converter, Converters
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.unary import MEANINGS
from latticework.models.trees.signs import sum_of_trees

KERNELS = ("linear", "poly", "rbf", "sigmoid")


def scale(x: Any, factor: Any, offset: Any) -> Any:
    """x * factor + offset: a number a column, or one for all."""
    return x * factor + offset


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """x @ weight.T + bias.

    weight  (out, features), or (features,) for one number a row;  bias  (out,), or a number
    """
    return x @ weight.T + bias


def columns(x: Any, indices: Any, width: int) -> Any:
    """Some columns of x, which has `width`; `indices` is one number for one number a row."""
    return x[:, indices]


def combine(parts: Any) -> Any:
    """Values beside each other; of one number a row, (rows,), as a column."""
    return np.concatenate([part if part.ndim == 2 else part[:, None] for part in parts], axis=1)


def weighted_sum(parts: Any, weights: Any) -> Any:
    """The sum of values of the same shape, each times a number."""
    return sum(part * float(weight) for part, weight in zip(parts, weights, strict=True))


def quadratic(x: Any, squares: Any, weight: Any, bias: Any) -> Any:
    """x**2 @ squares.T + x @ weight.T + bias; the shapes of both are those of a linear's."""
    return np.square(x) @ squares.T + x @ weight.T + bias


def kernel(x: Any, vectors: Any, name: str, gamma: float, coef0: float, degree: int) -> Any:
    """Kernels of every row with public vectors (n, features), as scikit-learn defines them: (rows, n)."""
    if name == "linear":
        return x @ vectors.T
    if name == "rbf":
        middle = vectors.mean(axis=0)  # from there, distances are differences of smaller numbers
        near, moved = x - middle, vectors - middle
        own = np.sum(np.square(near), axis=1, keepdims=True)
        return exp(near @ (2 * gamma * moved).T - gamma * own - gamma * np.sum(np.square(moved), axis=1))
    inner = x @ (gamma * vectors).T + coef0
    return inner**degree if name == "poly" else tanh(inner)


def monomials(x: Any, powers: Any) -> Any:
    """Products of powers of columns.

    powers  (out, features), whole numbers; a row of zeros is the constant 1
    """
    factors = [np.repeat(np.arange(len(row)), row) for row in powers]
    longest = max(map(len, factors))
    width = powers.shape[1]
    if longest < 2 and all(map(len, factors)):
        return x[:, [f[0] for f in factors]]
    chosen = np.full((len(factors), max(longest, 1)), width)  # one more column, of ones, fills up
    for row, of_row in enumerate(factors):
        chosen[row, : len(of_row)] = of_row
    ones = np.ones((x.shape[0], 1))
    extended = np.concatenate([x, ones], axis=1)
    terms = [extended[:, chosen[:, k]] for k in range(chosen.shape[1])]
    while len(terms) > 1:
        terms = [terms[k] * terms[k + 1] if k + 1 < len(terms) else terms[k] for k in range(0, len(terms), 2)]
    return terms[0]


def normalize(x: Any, norm: str) -> Any:
    """Rows of length 1: "l2", or "l1". A public row of zeros stays."""
    if _is_secret(x):
        if norm == "l2":
            return x * rsqrt(np.sum(np.square(x), axis=1, keepdims=True))
        return x * reciprocal(np.sum(absolute(x), axis=1, keepdims=True))
    length = np.linalg.norm(x, ord=2 if norm == "l2" else 1, axis=1, keepdims=True)
    return x / np.where(length == 0, 1, length)


def compute_owner(x: Any, steps: Any, width: int, is_numeric: bool) -> Any:
    """Carry out the owner's steps on cells, in the clear."""
    cells = np.asarray(x)
    for step in steps:
        cells = step.apply(cells)
    return cells


def _is_secret(x: Any) -> bool:
    return isinstance(x, Traced)


def _own_normalize(v: Any) -> Any:
    """Rows that add up to 1."""
    total = np.sum(v, axis=1, keepdims=True)
    return v * reciprocal(total) if _is_secret(v) else v / total


CONVERTERS = Converters(
    [
        Converter("scale", scale),
        Converter("linear", linear),
        Converter("columns", columns),
        Converter("combine", combine),
        Converter("weighted_sum", weighted_sum),
        Converter("quadratic", quadratic),
        Converter("kernel", kernel),
        Converter("monomials", monomials),
        Converter("normalize", normalize),
        Converter("owner", compute_owner),
        Converter("trees", group_parameters(sum_of_trees)),
        Converter("square", np.square),
        *(
            Converter(name, MEANINGS[record.name])
            for record in RECORDS
            for name in {record.name, record.sklearn} - {""}
        ),
        # steps of the owner that others go on with
        Converter("softmax", lambda v: softmax(v, axis=1)),
        Converter("share", _own_normalize),
    ]
)
