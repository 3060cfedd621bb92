"""Products with public numbers beside a product with weights: meanings stay, and no level is spent on them."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.passes import cse, dce, fold_affine
from latticework.frontend import trace
from latticework.ir import interpret, run_passes, verify

RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.normal(size=shape)


def folded(function, shape):
    """The module of a function of one secret, folded, with the same meaning; and how many products are left."""

    @lw.program
    def program(x: lw.Secret[shape]):
        return function(x)

    before = trace(program)
    after = run_passes(before, (fold_affine.PASS, cse.PASS, dce.PASS))
    verify(after)
    x = numbers(*shape)
    wanted = function(x)
    for each in (before, after):
        np.testing.assert_allclose(interpret(each, [x])[0], wanted, rtol=1e-9, atol=1e-9)
    return sum(op.name == "tensor.mul" for op in after.walk())


def moderate(count):
    """Of either sign, and of about one size."""
    return RNG.uniform(0.5, 2.0, count) * RNG.choice([-1.0, 1.0], count)


W, V, K, G = numbers(6, 5), numbers(6), numbers(4, 3, 3, 3), numbers(4, 2, 3, 3)
ROW, COLUMN, C3, C4 = moderate(6), moderate(5), moderate((3, 1, 1)), moderate((4, 1, 1))
PLACES = numbers(3, 8, 8)


def conv(x, weight=K, **options):
    return lw.conv2d(x, weight, padding=1, **options)


def square(x):
    return x * x


GONE = {
    "after a product": (lambda x: COLUMN * (x @ W), (3, 6)),
    "after a sum": (lambda x: (x @ W + COLUMN) * COLUMN - 1, (3, 6)),
    "twice after": (lambda x: ((x @ W) * COLUMN + 1) * 3 * COLUMN, (3, 6)),
    "from the other side": (lambda x: (COLUMN - x @ W) * COLUMN, (3, 6)),
    "negated": (lambda x: -(-(x @ W) * COLUMN + 2) * COLUMN, (3, 6)),
    "before a product": (lambda x: (x * ROW + ROW) @ W, (3, 6)),
    "before, from the other side": (lambda x: (2 - ROW * (ROW - x)) @ W, (3, 6)),
    "of a vector": (lambda x: (x * ROW) @ W, (6,)),
    "with a vector": (lambda x: (x * ROW + 1) @ V, (2, 6)),
    "weights on the left": (lambda x: COLUMN[:, None] * (W.T @ (x * ROW[:, None] + 1)), (6, 2)),
    "weights on the left of a vector": (lambda x: COLUMN * (W.T @ (x * ROW + 1)), (6,)),
    "stacked": (lambda x: COLUMN * ((x * ROW) @ W), (2, 3, 6)),
    "transposed before": (lambda x: (x * ROW[:, None]).T @ W, (6, 3)),
    "transposed after": (lambda x: (x @ W).T * COLUMN[:, None], (3, 6)),
    "reshaped": (lambda x: (x * ROW.reshape(2, 3)).reshape(2, 6) @ W, (2, 2, 3)),
    "channels after": (lambda x: conv(x) * C4 + C4, (3, 8, 8)),
    "channels before, at the edges": (lambda x: conv(x * C3 + C3), (3, 8, 8)),
    "channels of groups": (lambda x: conv(x * C4 + C4, G, groups=2, stride=2) * C4, (4, 8, 8)),
    "channels, and numbers that differ by place": (lambda x: conv(x * C3 + PLACES), (3, 8, 8)),
    "windows summed before": (lambda x: conv(lw.avg_pool2d(x * C3 - PLACES, 2)), (3, 8, 8)),
    "windows summed after": (lambda x: lw.avg_pool2d(conv(x), 2) * C4, (3, 8, 8)),
    "pool, flatten and normalise": (
        lambda x: (lw.avg_pool2d(x * C3, 2).reshape(-1) * (1 + numbers_once(48) / 9) + 1) @ numbers_once(48, 4), (3, 8, 8)
    ),
    "both readers of a factor": (lambda x: square((x * ROW) @ W) + (x * ROW) @ W, (3, 6)),
}  # fmt: skip

KEPT = {
    "a result that is read twice": (lambda x: squared_and_scaled(x @ W), (3, 6), 2),
    "rows": (lambda x: (x * numbers_once(3, 1)) @ W, (3, 6), 1),
    "places of an image": (lambda x: conv(x * PLACES), (3, 8, 8), 1),
    "places after windows": (lambda x: lw.avg_pool2d(conv(x), 8) * C4 * conv(x), (3, 8, 8), 1),
    "a factor across windows of an image": (lambda x: conv(lw.avg_pool2d(x * PLACES, 1)), (3, 8, 8), 2),
    "one number for all": (lambda x: conv(x * 3 + PLACES) * 2, (3, 8, 8), 2),
    "one number after a vector": (lambda x: (x @ V) * 3, (2, 6), 1),
    "columns in units of their own": (lambda x: (x * [1e-3, 1.0, 1e3, 1.0, 2.0, 3.0] + ROW) @ W, (3, 6), 1),
    "columns in units of their own, centred": (lambda x: (-(x - ROW) * [1e-3, 1.0, 1e3, 1.0, 2.0, 3.0]) @ W, (3, 6), 1),
    "two secrets": (lambda x: (x * x) @ W, (3, 6), 1),
    "a factor beside a square": (lambda x: square(x * ROW) @ W, (3, 6), 2),
    "a move that is read twice": (lambda x: transposed_twice((x * ROW[:, None]).T), (6, 3), 2),
}


def squared_and_scaled(x):
    return square(x) + x * COLUMN


def transposed_twice(x):
    return x @ W + square(x) @ W


def numbers_once(*shape):
    return np.random.default_rng(1).normal(size=shape)


@pytest.mark.parametrize("name", GONE)
def test_factors_go_into_weights(name):
    assert folded(*GONE[name]) == (1 if "readers" in name else 0)


@pytest.mark.parametrize("name", KEPT)
def test_factors_that_weights_do_not_take_stay(name):
    function, shape, left = KEPT[name]
    assert folded(function, shape) == left


@pytest.mark.parametrize("seed", range(30))
def test_random_chains_keep_their_meaning(seed):
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 9, 12)
    constants = rng.normal(size=(12, 4, 1, 1))
    weights = rng.normal(size=(12, 4, 4, 3, 3)) / 6
    turns = rng.integers(0, 2, 12)

    def chain(x):
        held = x
        for step, c, w, turn in zip(steps, constants, weights, turns, strict=True):
            if step < 2:
                x = x * c if turn else c * x
            elif step < 4:
                x = x + c if turn else c - x
            elif step < 6:
                x = lw.conv2d(x, w, padding=1)
            elif step == 6:
                x = -x
            elif step == 7:
                x = x + held
            else:
                held = x
        return x

    folded(chain, (4, 5, 5))


def test_factors_of_any_size_and_none_are_folded():
    assert folded(lambda x: (square(x) * [3.0, 0.0, 1e-9, -2.0, 1e-3, 2.0] + ROW) @ W, (3, 6)) == 1  # the square


def test_centred_columns_stay_small():
    """c x alone is ten thousand times what c x + d is, and so would be what weights make of it."""
    centres, widths = 1e4 * (1 + np.arange(6)), np.ones(6) * [1.0, 2, 3, 4, 5, 6]

    @lw.program
    def program(x: lw.Secret[6]):
        return ((x - centres) / widths) @ W

    after = run_passes(trace(program), (fold_affine.PASS, cse.PASS, dce.PASS))
    seen = []
    x = centres + widths * numbers(6)
    made = interpret(after, [x], on_value=lambda value, array: seen.append(np.max(np.abs(array))))[0]
    np.testing.assert_allclose(made, program(x), rtol=1e-9)
    assert not any(op.name == "tensor.mul" for op in after.walk())
    assert max(each for each in seen if each < 9e3) < 100 and sum(each > 9e3 for each in seen) == 2  # x and centres


def test_factors_that_others_read_too_stay_whole_where_that_is_asked():
    @lw.program
    def program(x: lw.Secret[3, 6]):
        scaled, twice = x * ROW + 1, x * (ROW + 1) + 2
        return scaled @ W + square(scaled) @ W + (twice @ W) * (-twice @ W)

    before = trace(program)
    x = numbers(3, 6)
    left = {}
    for each in (fold_affine.PASS, fold_affine.PASS_WHOLE):
        after = run_passes(before, (each, cse.PASS, dce.PASS))
        verify(after)
        np.testing.assert_allclose(interpret(after, [x])[0], program(x), rtol=1e-9)
        products = [op for op in after.walk() if op.name == "tensor.matmul"]
        left[each] = sum(op.operands[0].owner.operands[0] in after.inputs for op in products)  # but for a sum
    assert left == {fold_affine.PASS: 3, fold_affine.PASS_WHOLE: 2}


def test_factors_in_a_loop_are_folded_in_it():
    square_weights = numbers(6, 6) / 6

    @lw.program
    def program(x: lw.Secret[6], n: lw.Index):
        return lw.for_loop(n, lambda _i, w: (w * ROW + 1) @ square_weights * ROW, x)

    before = trace(program)
    after = run_passes(before, (fold_affine.PASS, cse.PASS, dce.PASS))
    verify(after)
    x = numbers(6)
    for trips in (0, 1, 3):
        np.testing.assert_allclose(interpret(after, [x, trips])[0], program(x, trips), rtol=1e-9)
    assert not any(op.name == "tensor.mul" for op in after.walk())


def test_normalisations_of_large_images_spend_no_level():
    weights = [numbers(8, 4, 3, 3) / 6, numbers(4, 8, 3, 3) / 8]
    scale, shift = 1 + numbers(8, 1, 1) / 8, numbers(8, 1, 1) / 8

    def network(normal_before, normal_after):
        @lw.program
        def program(x: lw.Secret[4, 32, 32]):
            x = lw.conv2d(x, weights[0], padding=1)
            x = square(x * scale + shift if normal_before else x)
            return lw.conv2d(x * scale + shift if normal_after else x, weights[1], padding=1)

        return lw.compile(program, precision_bits=8).plan.chain.main.top

    plain = network(False, False)
    assert network(True, False) == network(False, True) == network(True, True) == plain
