"""Traced programs compute what NumPy computes, from either side of every operator."""

import numpy as np
import pytest

from latticework import frontend as lw
from latticework.compiler.passes import dce
from latticework.errors import ShapeError
from latticework.ir.interpret import interpret
from latticework.ir.verify import verify

RNG = np.random.default_rng(11)
W = RNG.normal(size=(4, 6))
V = RNG.normal(size=4)
POSITIVE = RNG.uniform(1.0, 2.0, size=(3, 4))

EXPRESSIONS = {
    "w @ x": lambda x, y: W.T @ y,
    "x @ w": lambda x, y: x @ W,
    "vector @ x": lambda x, y: V @ y,
    "x @ vector": lambda x, y: x @ V,
    "x @ y": lambda x, y: x @ y,
    "stack @ x": lambda x, y: np.ones((2, 5, 3)) @ x,
    "np.dot": lambda x, y: np.dot(W.T, y),
    "np.dot scalar": lambda x, y: np.dot(x, 2.0),
    "method dot": lambda x, y: x.dot(y),
    "np.matmul": lambda x, y: np.matmul(x, W),
    "2 * x": lambda x, y: 2 * x,
    "x * array": lambda x, y: x * POSITIVE + POSITIVE * x,
    "list": lambda x, y: [1, 2, 3, 4] - x,
    "numpy scalar": lambda x, y: np.float32(0.5) * x - x * np.int64(3),
    "bool mask": lambda x, y: x * (POSITIVE > 1.5),
    "x - 1": lambda x, y: x - 1,
    "1 - x": lambda x, y: 1 - x,
    "array - x": lambda x, y: POSITIVE - x,
    "x / 4": lambda x, y: x / 4,
    "x / array": lambda x, y: x / POSITIVE,
    "np.true_divide": lambda x, y: np.true_divide(x, 8),
    "-x": lambda x, y: -x + (+x) * 3,
    "x ** 0": lambda x, y: x**0 + x,
    "x ** 1": lambda x, y: x**1,
    "x ** 2": lambda x, y: x**2,
    "x ** 7": lambda x, y: x**7,
    "x ** 2.0": lambda x, y: x**2.0,
    "np.square": lambda x, y: np.square(x) + lw.square(x),
    "np.add": lambda x, y: np.add(POSITIVE, np.subtract(x, np.multiply(x, np.negative(V)))),
    "np.sum": lambda x, y: np.sum(x),
    "np.sum axis": lambda x, y: np.sum(x, axis=1),
    "np.sum positional": lambda x, y: np.sum(x, 0, None, None, True),
    "np.sum negative": lambda x, y: np.sum(x, axis=(-1, 0), keepdims=True),
    "method sum": lambda x, y: x.sum(0) + x.sum(axis=0, keepdims=True),
    "np.add.reduce": lambda x, y: np.add.reduce(x) + np.add.reduce(x, axis=0),
    "sum builtin": lambda x, y: sum(x),
    "np.mean": lambda x, y: np.mean(x, axis=-1, keepdims=True),
    "method mean": lambda x, y: x.mean(),
    "T": lambda x, y: x.T,
    "transpose": lambda x, y: np.transpose(x[None], (2, 0, 1)),
    "method transpose": lambda x, y: x[None].transpose(1, 2, 0) + x[None].transpose((1, 2, 0)),
    "swapaxes": lambda x, y: np.swapaxes(x[None], 0, -1) + x[None].swapaxes(2, 0),
    "moveaxis": lambda x, y: np.moveaxis(x[None], 0, -1),
    "moveaxis several": lambda x, y: np.moveaxis(x[None], (0, 1), (-1, 0)),
    "reshape": lambda x, y: x.reshape(2, 6) + x.reshape((2, 6)) + np.reshape(x, (2, -1)),
    "reshape flat": lambda x, y: x.reshape(-1),
    "ravel": lambda x, y: np.ravel(x) + x.ravel() + x.flatten(),
    "squeeze": lambda x, y: np.squeeze(x[None]) + np.expand_dims(x, 0).squeeze(0),
    "expand_dims": lambda x, y: np.expand_dims(x, (0, -1)),
    "broadcast_to": lambda x, y: np.broadcast_to(x, (2, 3, 4)),
    "broadcast_to twice": lambda x, y: np.broadcast_to(np.broadcast_to(x[:, None, :1], (3, 2, 1)), (4, 3, 2, 5)),
    "transpose of copies": lambda x, y: np.transpose(np.broadcast_to(x[None], (2, 3, 4)), (2, 0, 1)),
    "transpose of more axes": lambda x, y: np.transpose(np.broadcast_to(x, (2, 3, 4)), (2, 0, 1)),
    "transpose twice": lambda x, y: np.transpose(np.transpose(x[None], (2, 0, 1)), (1, 2, 0)),
    "copies joined": lambda x, y: np.concatenate([x[None]] * 3) + np.concatenate([x, x, x]).reshape(3, 3, 4),
    "x[1:3]": lambda x, y: x[1:3],
    "x[i]": lambda x, y: x[1] + x[-1],
    "x[i, j]": lambda x, y: x[np.int64(2), 3],
    "x[::-1]": lambda x, y: x[::-1, ::-2],
    "x[..., None]": lambda x, y: x[..., None, 1:],
    "x[None, :, 2]": lambda x, y: x[None, :, 2],
    "flip": lambda x, y: np.flip(x, 1) + np.flip(x),
    "unpacking": lambda x, y: _rows(x),
    "zeros_like": lambda x, y: x + np.zeros_like(x) + np.ones_like(x, shape=(1, 4)),
    "shape": lambda x, y: x * np.shape(x)[0] * len(x) * np.ndim(x) * np.size(x) * x.size * x.ndim,
    "dtype": lambda x, y: x.astype(x.dtype).copy(),
    "np.maximum": lambda x, y: np.maximum(x, 0) + np.maximum(0.0, x) + lw.relu(x),
    "activations": lambda x, y: lw.tanh(x) + np.tanh(x) + lw.sigmoid(x) + lw.gelu(x, degree=7) + np.exp(x) + lw.exp(x),
    "lw.polynomial": lambda x, y: lw.polynomial(x, [1, 0, -2, 0.5, 0]),
    "lw.polynomial constant": lambda x, y: lw.polynomial(x, [0.0]) + lw.polynomial(x, [2, 0, 0]),
}


def _rows(x):
    a, b, c = x
    return a + b * c


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_traced_equals_numpy(name):
    expression = EXPRESSIONS[name]

    @lw.program
    def use(x: lw.Secret[3, 4], y: lw.Secret[4, 2]):
        return expression(x, y)

    module = lw.trace(use)
    verify(module)
    x, y = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2))
    expected = use(x, y)
    (result,) = interpret(module, {"x": x, "y": y})
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


REMEDIES = {
    "absolute": (np.abs, lambda x: lw.relu(x) + lw.relu(-x)),
    "minimum": (lambda x: np.minimum(x, 0.3), lambda x: 0.3 - lw.relu(0.3 - x)),
    "maximum": (lambda x: np.maximum(x, 0.3), lambda x: 0.3 + lw.relu(x - 0.3)),
    "clip": (lambda x: np.clip(x, 0, 1), lambda x: lw.relu(x) - lw.relu(x - 1)),
    "var": (np.var, lambda x: np.mean(np.square(x - np.mean(x)))),
    "stack": (
        lambda x: np.concatenate([x[0, :2], x[1, :2]]),
        lambda x: x[0, :2] @ np.eye(2, 4) + x[1, :2] @ np.eye(2, 4, 2),
    ),
    "roll": (lambda x: np.roll(x, 1, axis=1), lambda x: x @ np.roll(np.eye(4), 1, axis=1)),
    "cumsum": (lambda x: np.cumsum(x, axis=1), lambda x: x @ np.triu(np.ones((4, 4)))),
    "diff": (lambda x: np.diff(x, axis=0), lambda x: x[1:] - x[:-1]),
    "repeat": (lambda x: np.repeat(x, 2, axis=1), lambda x: x @ np.repeat(np.eye(4), 2, axis=1)),
    "take": (lambda x: x[:, [2, 0]], lambda x: x @ np.eye(4)[:, [2, 0]]),
    "trace": (lambda x: np.trace(x[:, :3]), lambda x: np.sum(x[:, :3] * np.eye(3))),
    "inner": (lambda x: np.inner(x, x), lambda x: x @ x.T),
    "vdot": (lambda x: np.vdot(x, POSITIVE), lambda x: np.ravel(x) @ np.ravel(POSITIVE)),
    "outer": (lambda x: np.outer(x[0], V), lambda x: np.reshape(x[0], (-1, 1)) * V),
    "power": (lambda x: 2.0**x, lambda x: lw.exp(x * np.log(2.0))),
}


@pytest.mark.parametrize("name", REMEDIES)
def test_advice_in_errors_works(name):
    refused, advised = REMEDIES[name]

    @lw.program
    def use(x: lw.Secret[3, 4]):
        return advised(x)

    x = RNG.normal(size=(3, 4))
    np.testing.assert_allclose(interpret(lw.trace(use), [x])[0], refused(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("exponent", range(2, 33))
def test_powers_have_optimal_depth(exponent):
    @lw.program
    def power(x: lw.Secret[()]):
        return x**exponent

    module = lw.trace(power)
    depth = {module.inputs[0]: 0}
    products = [op for op in module.walk() if op.name == "tensor.mul"]
    for op in products:
        depth[op.result] = 1 + max(depth[v] for v in op.operands)
    assert max(depth.values()) == (exponent - 1).bit_length()
    assert len(products) <= 2 * exponent.bit_length()
    assert interpret(module, [1.1])[0] == pytest.approx(1.1**exponent, rel=1e-12)


def test_no_operation_where_nothing_changes():
    @lw.program
    def same(x: lw.Secret[2, 3]):
        return x.reshape(2, 3)[:, ...].transpose(0, 1).copy() + 0

    assert [op.name for op in lw.trace(same).walk()] == ["tensor.constant", "tensor.add", "loop.yield"]


def test_copies_and_orders_of_axes_are_of_what_is_behind_them():
    """A row of features as the channels of an image, as it is exported, and as one would write it."""

    @lw.program
    def exported(x: lw.Secret[1, 1, 1, 6]):
        row = np.transpose(np.transpose(x).reshape(6, 1, 1, 1))
        wide = np.concatenate([np.concatenate([row] * 4, 1)] * 4, 2)
        return np.transpose(wide, (0, 3, 1, 2))

    @lw.program
    def written(x: lw.Secret[1, 1, 1, 6]):
        return np.broadcast_to(np.transpose(x, (0, 3, 1, 2)), (1, 6, 4, 4))

    @lw.program
    def grown(x: lw.Secret[1, 4]):
        return np.broadcast_to(np.broadcast_to(x, (3, 4)), (4, 4))

    modules = [dce.run(lw.trace(program)) for program in (exported, written)]
    found = [[(op.name, op.attrs) for op in module.walk()] for module in modules]
    assert found[0] == found[1] and len(found[0]) == 3
    with pytest.raises(ShapeError, match=r"\(3, 4\) and \(4, 4\) do not broadcast"):
        lw.trace(grown)


def test_operations_carry_the_users_line():
    @lw.program
    def layers(x: lw.Secret[2], w):
        h = x * w
        return np.sum(
            h + 1,
        )

    module = lw.trace(layers, [np.ones(2)])
    start = layers.loc.line
    lines = {op.name: op.loc.line - start for op in module.walk()}
    assert lines["tensor.mul"] == 1 and lines["tensor.add"] == 3
    assert all(op.loc.file == __file__ for op in module.walk())
    assert next(op for op in module.walk() if op.name == "tensor.mul").loc.text == "h = x * w"
    assert module.inputs[0].origin.name == "x" and module.inputs[0].origin.loc.line == start


def test_tracing_is_deterministic():
    @lw.program
    def layers(x: lw.Secret[3, 4]):
        return lw.relu(x @ W) @ W.T

    first, second = lw.trace(layers), lw.trace(layers)
    assert [op.attrs for op in first.walk()] == [op.attrs for op in second.walk()]
    assert list(first.sources) == list(second.sources)


def test_later_changes_of_a_weight_do_not_matter():
    weight = np.ones(2)

    @lw.program
    def scaled(x: lw.Secret[2], w):
        return x * w

    module = lw.trace(scaled, [weight])
    weight[:] = 7
    np.testing.assert_array_equal(interpret(module, [np.ones(2)])[0], [1, 1])


def test_repr_names_the_input():
    seen = []

    @lw.program
    def show(image: lw.Secret[2, 3], n: lw.Index):
        seen.extend([repr(image), repr(n)])
        return image * 2

    lw.trace(show)
    assert seen == ["<secret array image (2, 3)>", "index n"]
