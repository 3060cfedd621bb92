"""Meanings of pools: PyTorch's on arrays, and of secret images."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from meaning_cases import check, encrypted, refused, simulated

from latticework.models.semantics import pooling

RNG = np.random.default_rng(7)
IMAGES, LINES = RNG.normal(size=(2, 3, 7, 6)), RNG.normal(size=(2, 3, 9))
T = torch.from_numpy

PLANE = [
    ((2, 2), {}),
    ((2, 2), {"stride": (1, 1)}),
    ((3, 3), {"stride": (2, 2), "padding": (1, 1)}),
    ((3, 2), {"stride": (2, 3), "padding": (1, 1), "ceil_mode": True}),
    ((2, 3), {"stride": (3, 2), "ceil_mode": True}),
    ((1, 1), {"stride": (2, 2)}),
    ((7, 6), {}),
    ((5, 4), {"stride": (1, 1), "padding": (2, 2), "ceil_mode": True}),
    ((8, 7), {"stride": (3, 2), "ceil_mode": True}),  # longer than all there is
]
ROW = [
    ((2,), {}),
    ((3,), {"stride": (2,), "padding": (1,)}),
    ((4,), {"stride": (3,), "padding": (2,), "ceil_mode": True}),
]


def ours(options):
    return {k: tuple((n, n) for n in v) if k == "padding" else v for k, v in options.items()}


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(("kernel", "options"), [*PLANE, *ROW])
def test_means_as_pytorch(kernel, options, counted):
    x, of = (IMAGES, F.avg_pool2d) if len(kernel) == 2 else (LINES, F.avg_pool1d)
    expected = of(T(x), kernel, **options, count_include_pad=counted)
    check(pooling.average_pool, (x, kernel), expected, count_include_pad=counted, **ours(options))
    check(pooling.average_pool, (x[0], kernel), expected[0], count_include_pad=counted, **ours(options))


def test_divisors():
    expected = F.avg_pool2d(T(IMAGES), (2, 3), padding=1, divisor_override=4)
    check(pooling.average_pool, (IMAGES, (2, 3)), expected, padding=1, divisor_override=4)


@pytest.mark.parametrize(
    ("kernel", "options"), [*PLANE, *ROW, ((2, 3), {"dilation": (2, 2), "padding": (1, 1)}), ((3,), {"dilation": (2,)})]
)
def test_largest_as_pytorch(kernel, options):
    x, of = (IMAGES, F.max_pool2d) if len(kernel) == 2 else (LINES, F.max_pool1d)
    check(pooling.max_pool, (x, kernel), of(T(x), kernel, **options), **ours(options))
    check(pooling.max_pool, (x[1], kernel), of(T(x[1]), kernel, **options), **ours(options))


def test_padding_of_two_sides():
    wide = np.pad(IMAGES, ((0, 0), (0, 0), (1, 0), (0, 2)), constant_values=-np.inf)
    check(pooling.max_pool, (IMAGES, (3, 3)), F.max_pool2d(T(wide), 3, 2), stride=2, padding=((1, 0), (0, 2)))
    wide = np.pad(IMAGES, ((0, 0), (0, 0), (1, 0), (0, 2)))
    check(pooling.average_pool, (IMAGES, (3, 3)), F.avg_pool2d(T(wide), 3, 2), stride=2, padding=((1, 0), (0, 2)))


def test_padding_brings_no_range_along():
    """What stands beyond the border is no number: results below 0 stay so, and no operand holds a large one."""
    x = -1.0 - np.abs(IMAGES)
    check(pooling.max_pool, (x, (3, 3)), F.max_pool2d(T(x), 3, 2, 1), stride=2, padding=1)
    from meaning_cases import model_of

    from latticework.frontend.programs.array_program import trace
    from latticework.ir.interpret import interpret

    seen = []
    module = trace(model_of(pooling.max_pool, (x, (3, 3)), stride=2, padding=1))
    interpret(module, [x], on_value=lambda value, array: seen.append(np.abs(array).max()))
    assert max(seen) <= 2 * np.abs(x).max()


def test_comparisons_are_a_tree():
    """Seven rows are three rounds of comparisons, as eight are."""
    from meaning_cases import model_of

    from latticework.frontend.programs.array_program import trace

    for kernel, rounds in (((2, 2), 2), ((3, 1), 2), ((7, 1), 3), ((7, 6), 6)):
        module = trace(model_of(pooling.max_pool, (IMAGES, kernel)))
        assert [op.name for op in module.walk()].count("tensor.apply") == rounds


@pytest.mark.parametrize("sizes", [(1, 1), (3, 4), (7, 6), (2, 3), (5, None), (1, 6)])
def test_adaptive_pools_as_pytorch(sizes):
    check(pooling.adaptive_average_pool, (IMAGES, sizes), F.adaptive_avg_pool2d(T(IMAGES), sizes))
    check(pooling.adaptive_max_pool, (IMAGES, sizes), F.adaptive_max_pool2d(T(IMAGES), sizes))
    check(pooling.adaptive_average_pool, (LINES, sizes[:1]), F.adaptive_avg_pool1d(T(LINES), sizes[:1]))
    check(pooling.adaptive_max_pool, (LINES, sizes[:1]), F.adaptive_max_pool1d(T(LINES), sizes[:1]))


def test_adaptive_pools_to_more_than_there_are():
    check(pooling.adaptive_average_pool, (LINES, 12), F.adaptive_avg_pool1d(T(LINES), 12))
    check(pooling.adaptive_max_pool, (LINES, 12), F.adaptive_max_pool1d(T(LINES), 12))


def test_global_pools():
    check(pooling.global_average_pool, (IMAGES,), T(IMAGES).mean((2, 3), keepdim=True))
    check(pooling.global_max_pool, (IMAGES,), torch.amax(T(IMAGES), (2, 3), keepdim=True))


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_lp_pools_of_positive_numbers(p):
    x = np.abs(IMAGES)
    check(pooling.lp_pool, (x, p, (2, 3)), F.lp_pool2d(T(x), p, (2, 3), (2, 2)), stride=(2, 2))
    check(pooling.lp_pool, (IMAGES, p, (2, 3)), F.lp_pool2d(T(x), p, (2, 3), (2, 2)), stride=(2, 2))


def test_refused():
    refused("one number for each axis", pooling.max_pool, (IMAGES, 2))
    refused("do not fit", pooling.max_pool, (IMAGES, (8, 2)))
    refused("do not fit", pooling.average_pool, (IMAGES, (2, 2)), padding=2)
    refused("norm_type=0", pooling.lp_pool, (IMAGES, 0, (2, 2)))


def test_compiled():
    simulated(pooling.max_pool, (LINES[0, :, :8], (2,)), bits=3)
    simulated(pooling.average_pool, (IMAGES[0, :1], (3, 3)), stride=2, padding=1, count_include_pad=False)
    encrypted(pooling.adaptive_average_pool, (LINES[0], 4))
