"""Convolutions and pooling: PyTorch's meaning and shape rule, against SciPy and plain loops."""

import numpy as np
import pytest
import scipy.signal

from latticework import avg_pool2d, conv1d, conv2d, sum_pool2d
from latticework.errors import DtypeError, ShapeError

RNG = np.random.default_rng(7)


def by_loops(x, weight, stride, padding, dilation, groups):
    """The definition, one output element at a time."""
    x = np.pad(x, [(0, 0), (padding[0],) * 2, (padding[1],) * 2])
    out, per_group, kh, kw = weight.shape
    rows = (x.shape[1] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    columns = (x.shape[2] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    result = np.zeros((out, rows, columns))
    for o, r, c in np.ndindex(result.shape):
        first = o // (out // groups) * per_group
        for k, i, j in np.ndindex(per_group, kh, kw):
            row, column = r * stride[0] + i * dilation[0], c * stride[1] + j * dilation[1]
            result[o, r, c] += weight[o, k, i, j] * x[first + k, row, column]
    return result


@pytest.mark.parametrize("mode", ["valid", "same"])
@pytest.mark.parametrize("size", [1, 3, 5])
def test_one_channel_is_scipys_correlation(mode, size):
    x, kernel = RNG.normal(size=(9, 8)), RNG.normal(size=(size, size))
    wanted = scipy.signal.correlate2d(x, kernel, mode=mode)
    np.testing.assert_allclose(conv2d(x[None], kernel[None, None], padding=mode)[0], wanted, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), ((2, 3), (0, 2), (2, 1)), (3, 4, 2)])
def test_equals_the_definition(stride, padding, dilation, groups):
    x, weight, bias = RNG.normal(size=(4, 9, 8)), RNG.normal(size=(8, 4 // groups, 3, 2)), RNG.normal(size=8)
    pairs = [v if isinstance(v, tuple) else (v, v) for v in (stride, padding, dilation)]
    wanted = by_loops(x, weight, *pairs, groups) + bias[:, None, None]
    got = conv2d(x, weight, bias, stride, padding, dilation, groups)
    np.testing.assert_allclose(got, wanted, atol=1e-12)
    batch = np.stack([x, -x, 2 * x])
    np.testing.assert_allclose(
        conv2d(batch, weight, None, stride, padding, dilation, groups)[2], 2 * (got - bias[:, None, None])
    )


def test_equals_torch():
    torch = pytest.importorskip("torch")
    x, weight = RNG.normal(size=(2, 4, 9, 8)), RNG.normal(size=(6, 2, 3, 3))
    for options in (
        {"stride": 2, "padding": 1},
        {"dilation": 2},
        {"padding": "same"},
        {"padding": (1, 2), "stride": (1, 3)},
    ):
        wanted = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(weight), groups=2, **options).numpy()
        np.testing.assert_allclose(conv2d(x, weight, groups=2, **options), wanted, atol=1e-12)


def test_even_kernels_pad_more_behind():
    # PyTorch pads (k - 1) // 2 in front and the rest behind.
    x, weight = RNG.normal(size=(1, 6)), RNG.normal(size=(1, 1, 4))
    np.testing.assert_allclose(
        conv1d(x, weight, padding="same")[0], np.correlate(np.pad(x[0], (1, 2)), weight[0, 0], "valid")
    )


def test_conv1d_is_numpys_correlation():
    x, weight = RNG.normal(size=(3, 10)), RNG.normal(size=(2, 3, 4))
    wanted = [sum(np.correlate(x[c], weight[o, c], "valid") for c in range(3)) for o in range(2)]
    np.testing.assert_allclose(conv1d(x, weight), wanted)
    np.testing.assert_allclose(conv1d(np.stack([x, x]), weight, stride=2)[1], np.array(wanted)[:, ::2])


def test_pools_side_by_side_are_sums_of_blocks():
    x = RNG.normal(size=(2, 6, 9))
    blocks = x.reshape(2, 3, 2, 3, 3)
    np.testing.assert_allclose(sum_pool2d(x, (2, 3)), blocks.sum(axis=(2, 4)))
    np.testing.assert_allclose(avg_pool2d(x, (2, 3)), blocks.mean(axis=(2, 4)))


def test_padding_counts_in_means():
    x = np.ones((1, 4, 4))
    np.testing.assert_allclose(avg_pool2d(x, 3, stride=2, padding=1)[0], [[4 / 9, 6 / 9], [6 / 9, 1.0]])


def test_overlapping_pools_are_convolutions_with_ones():
    x = RNG.normal(size=(1, 7, 7))
    np.testing.assert_allclose(sum_pool2d(x, 3, 2, 1), conv2d(x, np.ones((1, 1, 3, 3)), stride=2, padding=1))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: conv2d(np.ones((4, 4)), np.ones((1, 1, 2, 2))), ShapeError, r"conv2d: x has shape \(4, 4\)"),
        (lambda: conv2d(np.ones((2, 4, 4)), np.ones((1, 1, 2, 2))), ShapeError, "has 2 channels.*takes 1 and gives 1"),
        (
            lambda: conv2d(np.ones((2, 4, 4)), np.ones((3, 1, 2, 2)), groups=2),
            ShapeError,
            "groups=2 takes 2 and gives 3",
        ),
        (lambda: conv2d(np.ones((1, 4, 4)), np.ones((1, 1, 2, 2)), padding="full"), ShapeError, "'full' is neither"),
        (lambda: conv2d(np.ones((1, 4, 4)), np.ones((1, 1, 2, 2)), dilation=(1, 2, 3)), ShapeError, "dilation"),
        (lambda: conv2d(np.ones((1, 4, 4)), np.ones((1, 1, 2, 2)), np.ones(2)), ShapeError, "bias"),
        (lambda: conv2d(np.ones((1, 4, 4)), [["a"]]), DtypeError, "dtype"),
        (lambda: conv1d(np.ones(4), np.ones((1, 1, 2))), ShapeError, r"conv1d: x has shape \(4,\)"),
        (lambda: avg_pool2d(np.ones(4), 2), ShapeError, "no two axes"),
        (lambda: avg_pool2d(np.ones((4, 4)), 2.5), ShapeError, "kernel=2.5"),
    ],
)
def test_mistakes(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert caught.value.at.file == __file__
