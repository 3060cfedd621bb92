"""center-parabolas: the same meaning, and no product by channel is left where it was said that weights take them in."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.accuracy.effects import with_polynomials
from latticework.compiler.accuracy.function_uses import uses_of
from latticework.compiler.pass_order import AFFINE_PASSES, PARABOLA_PASSES
from latticework.compiler.passes.center_parabolas import find_foldable
from latticework.compiler.trace_arrays import to_tensors
from latticework.frontend import calibrate
from latticework.ir import interpret, run_passes, verify

RNG = np.random.default_rng(2)


def numbers(*shape):
    return RNG.normal(size=shape)


SIZES = np.array([0.1, 1.0, 3.0, 0.4, 6.0, 0.02])
W, V, U = numbers(5, 6) * SIZES, numbers(6, 4), numbers(4, 6) * SIZES
BIAS, GAIN, ROW = numbers(6) * SIZES, RNG.uniform(0.5, 2.0, 6), numbers(6)
K, L = numbers(6, 2, 3, 3) * SIZES[:, None, None, None], numbers(3, 6, 2, 2)
PLANES = (numbers(6) * SIZES)[:, None, None]


def relu(x):
    return lw.relu(x)


def residual(x):
    h = relu(x @ W + BIAS)
    return relu(h + (relu(h @ V @ U) - 1.0) @ numbers_of(6)) @ V


def numbers_of(extent):
    return np.random.default_rng(8).normal(size=(extent, extent)) * SIZES[:extent]


def read_twice(x):
    h = relu(x @ W)
    return h @ V, h @ V[::-1]


def read_as_it_is(x):
    h = relu(x @ W)
    return h @ V @ U + h


def with_argument(x):
    h = x @ W
    return (relu(h) + h) @ V


def multiplied(x):
    h = x @ W
    return (relu(h) * h) @ V


CASES = {
    "between products": (lambda x: relu(x @ W + BIAS) @ V, (5,), [True]),
    "several": (lambda x: relu(relu(x @ W) @ V @ U + BIAS) @ V - 1.0, (5,), [True, True]),
    "read by two products": (read_twice, (5,), [True]),
    "after factors": (lambda x: (1.0 - relu((x @ W + BIAS) * GAIN) * GAIN) @ V, (5,), [True]),
    "convolutions and a pool": (
        lambda x: lw.conv2d(lw.avg_pool2d(relu(lw.conv2d(x, K) + PLANES), 2), L), (2, 9, 9), [True],
    ),
    "padded convolutions": (
        lambda x: lw.conv2d(relu(lw.conv2d(x, K, padding=1) + PLANES), L, padding=1, stride=2), (2, 6, 6), [True],
    ),
    "of the input": (lambda x: relu(x[:, 0] * SIZES[:5]) @ W, (5, 1), [False]),
    "the output": (lambda x: relu(x @ W), (5,), [False]),
    "also read as it is": (read_as_it_is, (5,), [False]),
    "of an argument that is read": (with_argument, (5,), [False]),
    "multiplied": (multiplied, (5,), [False]),
    "of a factor by place": (lambda x: relu(lw.conv2d(x, K) * numbers_of(6)[:, :, None]), (2, 8, 3), [False]),
    "branches that meet": (residual, (5,), [False, True, False]),
}  # fmt: skip


def calibrated(function, shape):
    """The module of a function of one secret, and samples of that."""

    @lw.program
    def program(x: lw.Secret[shape]):
        return function(x)

    samples = [{"x": numbers(*shape)} for _ in range(80)]
    return calibrate(to_tensors(program, (), None), samples), samples


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_where_weights_take_factors_none_are_left(case):
    function, shape, wanted = case
    module, samples = calibrated(function, shape)
    uses = uses_of(module)
    foldable = find_foldable(module)
    assert foldable == wanted and all(use.op.attrs["channels"] is not None for use in uses)
    polynomials = [use.parabolas.polynomial(2) if can else None for use, can in zip(uses, foldable, strict=True)]
    before = with_polynomials(module, polynomials)
    centred = run_passes(before, PARABOLA_PASSES)
    folded = run_passes(centred, AFFINE_PASSES)
    for each in (centred, folded):
        verify(each)
        for sample in samples[:3]:
            for exact, found in zip(interpret(before, sample), interpret(each, sample), strict=True):
                assert np.allclose(found, exact, rtol=0, atol=1e-8 * (1.0 + np.max(np.abs(exact))))

    def by_channel(module):
        products = [op for op in module.walk() if op.name == "tensor.mul"]
        return sum(module.sources[v.owner.attrs["source"]].size > 1 for op in products
                   for v in op.operands if v.owner.attrs.get("source") in module.sources)  # fmt: skip

    exact = run_passes(module, AFFINE_PASSES)
    assert by_channel(folded) <= by_channel(exact)
    assert sum(op.name == "tensor.polynomial" for op in folded.walk()) == sum(foldable)


def test_functions_without_channels_stay():
    module, _ = calibrated(lambda x: relu(x @ W) @ V, (5,))
    for op in module.walk():
        if "channels" in op.attrs:
            op.attrs["channels"] = None
    assert find_foldable(module) == [False]


def test_other_polynomials_stay():
    module, _ = calibrated(lambda x: relu(x @ W) @ V, (5,))
    made = with_polynomials(module, [use.given_curve.polynomial(2) for use in uses_of(module)])
    assert len(list(run_passes(made, PARABOLA_PASSES).walk())) == len(list(made.walk()))
