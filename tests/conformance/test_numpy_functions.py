"""NumPy functions that become several operations: traced, lowered and run, they give what NumPy gives."""

import inspect

import numpy as np
import pytest
from test_lowering import run_lowered

from latticework import compile
from latticework.frontend import Secret, avg_pool2d, conv1d, conv2d, program, sum_pool2d, trace
from latticework.ir.interpret import interpret
from latticework.ir.verify import verify

RNG = np.random.default_rng(1)
W, V = RNG.normal(size=(4, 5)), RNG.normal(size=4)
CUBE = RNG.normal(size=(2, 3, 4))
KERNELS, LINE = RNG.normal(size=(2, 3, 2, 2)), RNG.normal(size=(2, 3, 2))
SHUFFLED = np.random.default_rng(2).permutation(24)

# name: (expression, shapes of the secret inputs)
EXPRESSIONS = {
    "concatenate": (lambda x, y: np.concatenate([x, y]), (3, 4), (2, 4)),
    "concatenate columns": (lambda x, y: np.concatenate((x, y, x), axis=-1), (3, 4), (3, 1)),
    "concatenate flat": (lambda x, y: np.concatenate((x, y), axis=None), (3, 2), (4,)),
    "concatenate with public": (lambda x: np.concatenate([np.ones((1, 4)), x, W.T[:2]]), (3, 4)),
    "stack": (lambda x, y: np.stack([x, y], axis=1), (3, 4), (3, 4)),
    "stack scalars": (lambda x: np.stack([x[0], 1.0, x[2]]), (3,)),
    "slice of a slice": (lambda x: x[1:, ::-2][::2, 1], (4, 7)),
    "slice of new axes": (lambda x: x[None, 1:, None][0, :, :, 1:][..., ::-1, None, :], (4, 5)),
    "slice backwards of backwards": (lambda x: x[::-1, 4:0:-1][1::2, ::-1], (4, 6)),
    "windows": (lambda x: np.stack([x[i : i + 4] for i in range(3)]), (6,)),
    "shift": (lambda x: np.pad(x[1:, 2], (0, 1)) + np.pad(x[:-1, 0], (1, 0)), (4, 3)),
    "padded row": (lambda x: np.pad(x[2][None], ((1, 0), (0, 2))), (3, 4)),
    "dstack": (lambda x, y: np.dstack([x, y]), (2, 3), (2, 3)),
    "dstack rows": (lambda x, y: np.dstack([x, y]), (3,), (3,)),
    "hstack": (lambda x, y: np.hstack([x, y]), (3,), (4,)),
    "hstack matrices": (lambda x, y: np.hstack([x, y]), (2, 3), (2, 2)),
    "vstack": (lambda x, y: np.vstack([x, y]), (3,), (2, 3)),
    "column_stack": (lambda x, y: np.column_stack([x, y]), (3,), (3, 2)),
    "append": (lambda x: np.append(x, [1.0, 2.0]), (2, 3)),
    "append rows": (lambda x, y: np.append(x, y, axis=0), (2, 3), (1, 3)),
    "split": (lambda x: np.concatenate([2 * a for a in np.split(x, 2, axis=1)], axis=0), (3, 4)),
    "split at": (lambda x: np.split(x, [1, 3])[1], (4, 3)),
    "array_split": (lambda x: np.array_split(x, 3)[0] + np.array_split(x, 3)[1], (8,)),
    "hsplit": (lambda x: np.hsplit(x, 2)[1], (3, 4)),
    "vsplit": (lambda x: np.vsplit(x, 2)[1], (4, 3)),
    "pad": (lambda x: np.pad(x, 1), (3, 4)),
    "pad with a number": (lambda x: np.pad(x, ((0, 1), (2, 0)), constant_values=3.0), (3, 4)),
    "pad edge": (lambda x: np.pad(x, (2, 1), mode="edge"), (3, 4)),
    "pad reflect": (lambda x: np.pad(x, 2, mode="reflect"), (5,)),
    "pad symmetric": (lambda x: np.pad(x, 2, mode="symmetric"), (5,)),
    "pad wrap": (lambda x: np.pad(x, ((0, 0), (1, 2)), mode="wrap"), (2, 4)),
    "pad by axis": (lambda x: np.pad(x, {-1: (1, 2)}), (3, 4)),
    "roll": (lambda x: np.roll(x, 2), (3, 4)),
    "roll both": (lambda x: np.roll(x, (1, -1), axis=(0, 1)), (3, 4)),
    "roll twice": (lambda x: np.roll(x, (1, 2), axis=(1, 1)), (3, 5)),
    "flip": (lambda x: np.flip(x), (3, 4)),
    "fliplr": (lambda x: np.fliplr(x), (3, 4)),
    "flipud": (lambda x: np.flipud(x), (3, 4)),
    "rot90": (lambda x: np.rot90(x) @ np.rot90(W[:, :4], 3), (4, 3)),
    "repeat": (lambda x: np.repeat(x, 3, axis=1), (2, 4)),
    "repeat unevenly": (lambda x: np.repeat(x, [1, 0, 2], axis=0), (3, 4)),
    "repeat flat": (lambda x: np.repeat(x, 2), (2, 3)),
    "tile": (lambda x: np.tile(x, 3), (2, 3)),
    "tile both": (lambda x: np.tile(x, (2, 1, 2)), (2, 3)),
    "take": (lambda x: np.take(x, [2, 0, 0], axis=1), (3, 4)),
    "take flat": (lambda x: np.take(x, [[0, 11], [5, 5]]), (3, 4)),
    "take one": (lambda x: np.take(x, -1, axis=0), (3, 4)),
    "take wrapped": (lambda x: np.take(x, [5, -9], axis=1, mode="wrap"), (3, 4)),
    "take clipped": (lambda x: np.take(x, [5, -9], axis=1, mode="clip"), (3, 4)),
    "take a permutation": (lambda x: x.reshape(24)[SHUFFLED], (4, 6)),
    "take a permutation of rows": (lambda x: np.take(x, SHUFFLED, axis=0), (24, 2)),
    "take a permutation of the last axis": (lambda x: np.take(x, SHUFFLED, axis=1), (2, 24)),
    "take a permutation in the middle": (lambda x: x[:, SHUFFLED], (2, 24, 3)),
    "take a permutation in front": (lambda x: x[SHUFFLED], (24, 2, 2)),
    "take scattered pairs": (lambda x: x[SHUFFLED % 4, SHUFFLED // 4], (4, 6)),
    "compress": (lambda x: np.compress([True, False, True], x, axis=0), (3, 4)),
    "delete": (lambda x: np.delete(x, 1, axis=0), (3, 4)),
    "delete flat": (lambda x: np.delete(x, [0, 3]), (2, 3)),
    "list": (lambda x: x[[2, 0]], (3, 4)),
    "list in the middle": (lambda x: x[:, [2, 0, 1], ::2], (2, 3, 4)),
    "list and number": (lambda x: x[0, :, [1, 3]], (2, 3, 4)),
    "two lists": (lambda x: x[[0, 2, 1], [1, 3, 3]], (3, 4)),
    "two lists apart": (lambda x: x[[0, 1], :, [1, 3]], (2, 3, 4)),
    "lists that broadcast": (lambda x: x[[[0], [2]], [1, 2, 0]], (3, 4)),
    "np.ix_": (lambda x: x[np.ix_([2, 0], [3, 1, 1])], (3, 4)),
    "list of rows": (lambda x: x[[[0, 1], [2, 2]]], (3, 4)),
    "list and new axis": (lambda x: x[None, [1, 0], ..., -1:], (3, 4, 2)),
    "mask": (lambda x: x[np.array([True, False, True])], (3, 4)),
    "mask of all": (lambda x: x[W[:3, :4] > 0], (3, 4)),
    "mask and slice": (lambda x: x[1:, V > 0], (3, 4)),
    "array without axes": (lambda x: x[np.array(1), None], (3, 4)),
    "prod": (lambda x: np.prod(x), (5,)),
    "prod of rows": (lambda x: np.prod(x, axis=1), (2, 3)),
    "prod of columns": (lambda x: np.prod(x, axis=0, keepdims=True), (4, 3)),
    "prod over two": (lambda x: np.prod(x, axis=(0, 2)), (2, 3, 3)),
    "multiply.reduce": (lambda x: np.multiply.reduce(x), (4, 3)),
    "method prod": (lambda x: x.prod(axis=0), (2, 3)),
    "cumsum": (lambda x: np.cumsum(x, axis=0), (5, 3)),
    "cumsum flat": (lambda x: np.cumsum(x), (2, 3)),
    "methods": (lambda x: x.cumsum(1) + x.take([0, 0, 1, 1], 1) + x.repeat(2, 1)[:, :4], (4, 4)),
    "method var": (lambda x: x.var(axis=1), (3, 4)),
    "method trace": (lambda x: x.trace(1) + x.diagonal(), (3, 4)),
    "diff": (lambda x: np.diff(x, 2), (3, 5)),
    "diff rows": (lambda x: np.diff(x, axis=0), (3, 5)),
    "outer": (lambda x, y: np.outer(x, y), (2, 2), (3,)),
    "inner": (lambda x, y: np.inner(x, y), (3, 4), (2, 4)),
    "inner public": (lambda x: np.inner(x, V), (3, 4)),
    "inner scalar": (lambda x: np.inner(x, 2.0), (3,)),
    "vdot": (lambda x, y: np.vdot(x, y), (2, 3), (2, 3)),
    "kron": (lambda x, y: np.kron(x, y), (2, 3), (2,)),
    "tensordot": (lambda x: np.tensordot(x, CUBE, axes=2), (5, 2, 3)),
    "tensordot of axes": (lambda x, y: np.tensordot(x, y, axes=((0, 2), (1, 0))), (2, 3, 4), (4, 2)),
    "tensordot of one axis": (lambda x: np.tensordot(x, W, axes=(1, 0)), (2, 4, 3)),
    "tensordot without axes": (lambda x, y: np.tensordot(x, y, axes=0), (2, 2), (3,)),
    "einsum matmul": (lambda x: np.einsum("ij,jk->ik", x, W), (3, 4)),
    "einsum secret": (lambda x, y: np.einsum("ij,kj->ik", x, y), (3, 4), (2, 4)),
    "einsum stack": (lambda x, y: np.einsum("hmd,hdn->hmn", x, y), (2, 3, 4), (2, 4, 3)),
    "einsum stack of rows": (lambda x, y: np.einsum("bk,bk->b", x, y), (3, 4), (3, 4)),
    "einsum stack times vector": (lambda x, y: np.einsum("bmk,bk->bm", x, y), (2, 3, 4), (2, 4)),
    "einsum two sums": (lambda x: np.einsum("abc,abd->cd", x, CUBE), (2, 3, 2)),
    "einsum outer": (lambda x, y: np.einsum("i,j->ji", x, y), (3,), (4,)),
    "einsum hadamard": (lambda x: np.einsum("ij,ij->ij", x, W[:3, :4]), (3, 4)),
    "einsum implicit": (lambda x: np.einsum("ij,jk", x, W), (3, 4)),
    "einsum of one": (lambda x: np.einsum("iij->j", x), (3, 3, 2)),
    "einsum transpose": (lambda x: np.einsum("ijk->kij", x), (2, 3, 4)),
    "einsum dots": (lambda x: np.einsum("...ij,jk->...ik", x, W), (2, 3, 4)),
    "einsum three": (lambda x, y: np.einsum("ij,jk,kl->il", x, W, y), (2, 4), (5, 2)),
    "einsum lone sums": (lambda x: np.einsum("ij,kl->il", x, W), (3, 2)),
    "convolve": (lambda x: np.convolve(x, V), (6,)),
    "convolve public by secret": (lambda x: np.convolve(V, x), (6,)),
    "convolve same": (lambda x: np.convolve(x, V, mode="same"), (6,)),
    "convolve same, odd": (lambda x: np.convolve(x, V[:3], "same"), (5,)),
    "convolve valid": (lambda x: np.convolve(x, V, "valid"), (6,)),
    "convolve by a longer one": (lambda x: np.convolve(x, V), (2,)),
    "correlate": (lambda x: np.correlate(x, V), (6,)),
    "correlate same": (lambda x: np.correlate(x, V, "same"), (7,)),
    "correlate full": (lambda x: np.correlate(x, V[:3], "full"), (4,)),
    "broadcast_arrays": (lambda x, y: np.broadcast_arrays(x, y)[1] * x, (3, 4), (4,)),
    "mT": (lambda x: x.mT, (2, 3, 4)),
    "trace": (lambda x: np.trace(x), (3, 4)),
    "trace of a stack": (lambda x: np.trace(x, 1, 1, 2), (2, 3, 4)),
    "diagonal": (lambda x: np.diagonal(x, -1), (3, 4)),
    "diagonal of a stack": (lambda x: np.diagonal(x, axis1=0, axis2=2), (3, 2, 4)),
    "diag": (lambda x: np.diag(x), (3, 3)),
    "diag of a vector": (lambda x: np.diag(x) + np.diag(x[:2], 1) + np.diag(x[1:], -1), (3,)),
    "tril": (lambda x: np.tril(x) + np.triu(x, 1), (3, 4)),
    "where": (lambda x, y: np.where(W[:3, :4] > 0, x, y), (3, 4), (4,)),
    "where public": (lambda x: np.where(np.arange(4) < 2, x, 7.0), (3, 4)),
    "average": (lambda x: np.average(x, axis=1, weights=V), (3, 4)),
    "average of all": (lambda x: np.average(x), (3, 4)),
    "var": (lambda x: np.var(x, axis=0, ddof=1), (3, 4)),
    "var of all": (lambda x: np.var(x, keepdims=True), (3, 4)),
    "cov of columns": (lambda x, y: np.cov(x, y, rowvar=False, bias=True), (3, 1), (3, 1)),
    "cov of one": (lambda x: np.cov(x, ddof=2), (5,)),
    "multi_dot": (lambda x: np.linalg.multi_dot([V[:3], x, W]), (3, 4)),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, 3), (2, 2)),
    "nanmean": (lambda x: np.nanmean(x, axis=0) + np.nansum(x), (3, 4)),
    "degrees": (lambda x: np.degrees(np.conj(x)) + np.deg2rad(x), (3,)),
    "zeroth power": (lambda x: np.concatenate([x**0, x]) @ W, (3, 4)),
    "conv1d": (lambda x: conv1d(x, LINE, padding=1), (3, 5)),
    "conv1d of a batch": (lambda x: conv1d(x, LINE, V[:2], stride=2, padding=1), (2, 3, 4)),
    "conv2d same": (lambda x: conv2d(x, KERNELS, V[:2], padding="same"), (3, 4, 4)),
    "conv2d then pool": (lambda x: sum_pool2d(conv2d(x, KERNELS, padding="same"), 2), (3, 4, 4)),
    "conv2d of pooled": (lambda x: conv2d(avg_pool2d(x, 2), KERNELS), (3, 6, 6)),
    "conv2d secret bias": (lambda x, b: conv2d(x, KERNELS, b), (3, 3, 3), (2,)),
    "conv2d secret kernels": (lambda w: conv2d(CUBE, w, stride=(1, 2)), (2, 2, 2, 2)),
    "conv2d of two secrets": (lambda x, w: conv2d(x, w, V[:2], (1, 2), (1, 0)), (2, 3, 3), (2, 2, 2, 2)),
    "conv2d of two secrets, a batch": (lambda x, w: conv2d(x, w, dilation=2), (2, 1, 3, 3), (2, 1, 2, 2)),
    "avg_pool2d padded": (lambda x: avg_pool2d(x, 3, 2, 1), (2, 5, 5)),
    "pool of one": (lambda x: avg_pool2d(x, 1), (2, 3, 3)),
    "attention": (
        lambda q, k, v: np.square(np.reshape(q, (3, 2, 2)).transpose(1, 0, 2) @ np.reshape(k, (3, 2, 2)).transpose(1, 2, 0))
        @ np.reshape(v, (3, 2, 2)).transpose(1, 0, 2),
        (3, 4), (3, 4), (3, 4),
    ),
}  # fmt: skip


# Not in every version of NumPy that is supported.
NEWER = {
    "unstack": (lambda x: np.unstack(x, axis=1)[1], (2, 3, 4)),
    "matrix_transpose": (lambda x: np.matrix_transpose(x), (2, 3, 4)),
    "vecdot": (lambda x, y: np.vecdot(x, y), (2, 3, 4), (3, 4)),
    "matvec": (lambda x, y: np.matvec(x, y), (2, 3, 4), (2, 4)),
    "vecmat": (lambda x: np.vecmat(x, CUBE[0].T), (2, 4)),
}
EXPRESSIONS |= {name: row for name, row in NEWER.items() if hasattr(np, name)}


def program_of(expression, shapes):
    """A program that is an expression on secrets of these shapes."""

    def function(*args):
        return expression(*args)

    function.__signature__ = inspect.Signature(
        [
            inspect.Parameter(f"x{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Secret[shape])
            for i, shape in enumerate(shapes)
        ]
    )
    return program(function)


def traced(expression, shapes):
    """The module of an expression on secrets of these shapes."""
    return trace(program_of(expression, shapes))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_function(name):
    expression, *shapes = EXPRESSIONS[name]
    rng = np.random.default_rng([ord(c) for c in name])
    arrays = [rng.normal(size=shape) for shape in shapes]
    wanted = np.asarray(expression(*arrays))
    module = traced(expression, shapes)
    verify(module)
    assert module.body.terminator.operands[0].type.shape == wanted.shape
    np.testing.assert_allclose(interpret(module, arrays)[0], wanted, rtol=1e-12, atol=1e-12)
    (got,) = run_lowered(module, arrays)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


# Functions that are compiled whole, most of them with a square root: (expression, shape of the secret).
ROOTS = {
    "cov": (lambda x: np.cov(x), (2, 4)),
    "corrcoef": (lambda x: np.corrcoef(x), (2, 8)),
    "norm": (lambda x: np.linalg.norm(x), (3, 4)),
    "norm of rows": (lambda x: np.linalg.norm(x, axis=-1, keepdims=True), (3, 4)),
    "norm of matrices": (lambda x: np.linalg.norm(x, "fro", (0, 2)), (2, 3, 4)),
    "norm of absolutes": (lambda x: np.linalg.norm(x, 1, axis=0), (3, 4)),
    "vector_norm": (lambda x: np.linalg.vector_norm(x, axis=0), (3, 4)),
    "matrix_norm": (lambda x: np.linalg.matrix_norm(x), (2, 3, 4)),
}


@pytest.mark.parametrize("name", [n for n in ROOTS if not n.endswith("_norm") or hasattr(np.linalg, n)])
def test_function_with_a_root(name):
    """Traced it is what NumPy gives; compiled on calibrated ranges nearly so."""
    expression, shape = ROOTS[name]
    samples = np.random.default_rng([ord(c) for c in name]).uniform(0.5, 2.0, size=(40, *shape))
    samples[..., 0] += 1.0  # variances are not near 0
    wanted = np.asarray(expression(samples[0]))
    module = traced(expression, [shape])
    assert module.body.terminator.operands[0].type.shape == wanted.shape
    np.testing.assert_allclose(interpret(module, [samples[0]])[0], wanted, rtol=1e-12, atol=1e-12)
    model = compile(program_of(expression, [shape]), calibrate=samples, ring_degree=1 << 14, insecure=True)
    np.testing.assert_allclose(model.simulate(samples[0])[0], wanted, atol=0.1 * np.max(np.abs(wanted)))
