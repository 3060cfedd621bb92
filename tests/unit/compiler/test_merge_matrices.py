"""Matrices that a loop does not change are multiplied before it: meanings stay, an iteration multiplies less."""

import numpy as np
import pytest

import latticework as lw
from bench.halo.data import inputs_of
from bench.halo.depths import loop_depths, vectors_of
from latticework.compiler.options.techniques import Techniques
from latticework.compiler.passes import cse, dce, merge_matrices
from latticework.frontend import trace
from latticework.ir import interpret, run_passes, verify

ROWS, COLUMNS = 6, 3
RNG = np.random.default_rng(0)
PUBLIC = RNG.uniform(-0.5, 0.5, (ROWS, COLUMNS))


def in_loops(module):
    return sum(op.name == "tensor.matmul" and op.block is not module.body for op in module.walk())


def looped(step, start):
    """step(x, y, w), over and over."""

    @lw.program
    def found(x: lw.Secret[ROWS, COLUMNS], y: lw.Secret[start.shape], n: lw.Index):
        w = np.zeros((COLUMNS, *start.shape[1:]))
        return lw.for_loop(n, lambda _i, w: w - 0.1 * step(x, y, w), w)

    return found


def checked(program, shape, before):
    """The module with matrices merged, of the same meaning."""
    after = run_passes(before, (merge_matrices.PASS, cse.PASS, dce.PASS))
    verify(after)
    x, y = RNG.uniform(-1, 1, (ROWS, COLUMNS)), RNG.uniform(-1, 1, shape)
    for trips in (0, 1, 4):
        for module in (before, after):
            np.testing.assert_allclose(
                interpret(module, [x, y, trips])[0], program(x, y, trips), rtol=1e-10, atol=1e-12
            )
    return after


MERGED = {
    "least squares": lambda x, y, w: x.T @ (x @ w - y),
    "other terms": lambda x, y, w: x.T @ (y + x @ w - (-y)),
    "negated": lambda x, y, w: x.T @ -(x @ w),
    "public inside": lambda x, y, w: x.T @ (PUBLIC @ w - y),
    "sums of products": lambda x, y, w: x.T @ (x @ w + PUBLIC @ (2.0 * w)),
}
OF_VECTORS = {
    "right": lambda x, y, w: (x @ w - y) @ x,
    "both right": lambda x, y, w: (w @ x.T - y) @ x,
    "right inside": lambda x, y, w: x.T @ (w @ x.T - y),
}


@pytest.mark.parametrize(
    ("step", "shape"),
    [(step, shape) for step in MERGED.values() for shape in ((ROWS, 2), (ROWS,))]
    + [(step, (ROWS,)) for step in OF_VECTORS.values()],
)
def test_products_before_the_loop(step, shape):
    program = looped(step, np.zeros(shape))
    before = trace(program)
    after = checked(program, shape, before)
    assert in_loops(after) == in_loops(before) - 1
    assert merge_matrices.run(after) is after


KEPT = {
    "curved": lambda x, y, w: x.T @ ((x @ w) ** 2 - y),
    "larger than both": lambda x, y, w: x[:1].T @ (x[:1] @ w),
    "public": lambda x, y, w: PUBLIC.T @ (PUBLIC @ w),
    "changing": lambda x, y, w: w * (w @ (x.T @ y)),
}


@pytest.mark.parametrize("step", KEPT.values(), ids=KEPT)
def test_what_stays(step):
    before = trace(looped(step, np.zeros(ROWS)))
    assert merge_matrices.run(before) is before


def test_what_is_read_elsewhere_stays():
    @lw.program
    def both(x: lw.Secret[ROWS, COLUMNS], n: lw.Index):
        def step(_i, w, kept):
            e = x @ w
            return w - 0.1 * (x.T @ e), kept + e

        return lw.for_loop(n, step, (np.ones(COLUMNS), np.zeros(ROWS)))

    before = trace(both)
    assert merge_matrices.run(before) is before


@pytest.mark.parametrize(("columns", "merged"), [(2, 1), (64, 0)])
def test_what_would_take_more_vectors_stays(columns, merged):
    @lw.program
    def wide(x: lw.Secret[64, columns], y: lw.Secret[64], n: lw.Index):
        return lw.for_loop(n, lambda _i, w: w - x.T @ (x @ w - y), np.zeros(columns))

    before = trace(wide)
    after = run_passes(before, (merge_matrices.PASS, dce.PASS))
    assert in_loops(before) - in_loops(after) == merged


def test_in_nests_as_far_as_operands_allow():
    @lw.program
    def nested(x: lw.Secret[ROWS, COLUMNS], y: lw.Secret[ROWS], n: lw.Index):
        def inner(_i, w):
            return w - 0.1 * (x.T @ (x @ w - y))

        return lw.for_loop(n, lambda _i, w: lw.for_loop(2, inner, w), np.zeros(COLUMNS))

    after = checked(nested, (ROWS,), trace(nested))
    assert in_loops(after) == 1


def test_multivariate_regression_spends_fewer_levels():
    inputs = inputs_of("multivariate", 64)
    spent = [
        loop_depths(vectors_of("multivariate", inputs, techniques=t))
        for t in (Techniques(), Techniques(reassociated=False))
    ]
    (ours,), (without,) = spent
    assert ours.spent <= 3 < without.spent
