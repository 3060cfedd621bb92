"""Meanings of convolutions: PyTorch's on arrays, and of secret images."""

import numpy as np
import pytest
import torch.nn.functional as F
from meaning_cases import check, encrypted, refused, simulated, tensors

from latticework.models.semantics import convolution

RNG = np.random.default_rng(6)


def normal(*shape):
    return RNG.normal(size=shape)


def both(padding):
    """PyTorch's padding as pairs."""
    return tuple((n, n) for n in padding)


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize(
    ("x", "weight", "options"),
    [
        ((3, 7), (4, 3, 3), {}),
        ((4, 8), (6, 2, 3), {"stride": (2,), "padding": (2,), "dilation": (2,), "groups": 2}),
        ((3, 6, 5), (2, 3, 3, 2), {}),
        ((3, 6, 5), (2, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0)}),
        ((3, 6, 5), (2, 3, 2, 2), {"dilation": (2, 3), "padding": (0, 2)}),
        ((4, 6, 5), (4, 1, 3, 3), {"groups": 4, "stride": (1, 2)}),
        ((2, 3, 3), (1, 2, 3, 3), {}),
        ((2, 1, 1), (3, 2, 1, 1), {"stride": (2, 2)}),
    ],
)
def test_as_pytorch(batch, x, weight, options):
    args = normal(*batch, *x), normal(*weight), normal(weight[0])
    of = {3: F.conv1d, 4: F.conv2d}[len(weight)]
    ours = options | {"padding": both(options.get("padding", (0,) * (len(weight) - 2)))}
    check(convolution.convolution, args, of(*tensors(args), **options), **ours)
    check(convolution.convolution, args[:2], of(*tensors(args[:2]), **options), **ours)


@pytest.mark.parametrize("padding", [((1, 0), (2, 1)), ((0, 2), (0, 0)), ((0, 0), (3, 1))])
def test_padding_of_two_sides(padding):
    x, weight = normal(2, 3, 4, 5), normal(2, 3, 2, 3)
    wide = np.pad(x, ((0, 0), (0, 0), *padding))
    check(convolution.convolution, (x, weight), F.conv2d(*tensors((wide, weight)), stride=2), padding=padding, stride=2)
    check(
        convolution.convolution, (x[:, :, 0], weight[:, :, 0]),
        F.conv1d(*tensors((np.pad(x[:, :, 0], ((0, 0), (0, 0), padding[1])), weight[:, :, 0]))), padding=padding[1:],
    )  # fmt: skip


def test_secret_kernels():
    x, weight = normal(2, 5, 4), normal(3, 2, 2, 2)
    expected = F.conv2d(*tensors((x, weight)), stride=2, padding=1)
    check(convolution.convolution, (x, weight), expected, secret=(0, 1), stride=2, padding=1)
    check(convolution.convolution, (x, weight), expected, secret=(1,), stride=2, padding=1)


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize(
    ("x", "weight", "options"),
    [
        ((3, 4), (3, 2, 3), {}),
        ((4, 4), (4, 2, 3), {"stride": (3,), "padding": (1,), "output_padding": (2,), "groups": 2}),
        ((3, 4, 3), (3, 2, 2, 3), {}),
        ((3, 4, 3), (3, 2, 2, 3), {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2)}),
        ((3, 4, 3), (3, 2, 2, 3), {"stride": (2, 1), "dilation": (1, 2), "padding": (0, 3)}),
        ((4, 3, 3), (4, 1, 2, 2), {"groups": 4, "stride": (2, 2)}),
        ((2, 4, 4), (2, 3, 1, 1), {"padding": (1, 1), "stride": (2, 2)}),  # cut off more than the kernel reaches
    ],
)
def test_transposes_as_pytorch(batch, x, weight, options):
    args = normal(*batch, *x), normal(*weight), normal(weight[1] * options.get("groups", 1))
    of = {3: F.conv_transpose1d, 4: F.conv_transpose2d}[len(weight)]
    ours = options | {"padding": both(options.get("padding", (0,) * (len(weight) - 2)))}
    check(convolution.conv_transpose, args, of(*tensors(args), **options), **ours)


def test_transposes_with_padding_of_two_sides():
    x, weight = normal(2, 3, 3), normal(2, 3, 3, 3)
    whole = F.conv_transpose2d(*tensors((x, weight)), stride=2).numpy()
    check(convolution.conv_transpose, (x, weight), whole[:, 1:, :-2], stride=2, padding=((1, 0), (0, 2)))


def test_refused():
    x, weight = normal(2, 4, 4), normal(3, 2, 2, 2)
    refused("slides along 3 axes", convolution.convolution, (normal(2, 4, 4, 4), normal(1, 2, 2, 2, 2)))
    refused("2 whole numbers of at least 1", convolution.convolution, (x, weight), stride=(1, 1, 1))
    refused("padding=-1", convolution.convolution, (x, weight), padding=-1)
    refused("x must be", convolution.convolution, (x[0], weight))
    refused("must be less than stride", convolution.conv_transpose, (x, normal(2, 1, 2, 2)), output_padding=1)
    both = x, normal(2, 1, 2, 2)
    refused("both secret; put zeros between", convolution.conv_transpose, both, secret=(0, 1))
    check(convolution.conv_transpose, both, F.conv_transpose2d(*tensors(both), stride=2), secret=(1,), stride=2)
    refused("both must be the same number", convolution.conv_transpose, (x, weight))


def test_compiled():
    simulated(convolution.conv_transpose, (normal(2, 3, 3), normal(2, 1, 2, 2)), stride=2, padding=((1, 0), (0, 1)))
    encrypted(convolution.convolution, (normal(1, 5, 5), normal(2, 1, 2, 3)), padding=((1, 0), (0, 2)))
