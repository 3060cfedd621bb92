"""Meanings of joining: PyTorch's on arrays, and of secrets."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from meaning_cases import check, encrypted, refused, simulated, tensors

from latticework.models.semantics import concatenation

RNG = np.random.default_rng(3)
X = RNG.normal(size=(2, 3, 4, 5))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_and_stack(dim):
    a, b = RNG.normal(size=(2, 2, 3)), RNG.normal(size=(2, 2, 3))
    for secret in ((0,), (0, 1)):
        check(
            lambda *parts, dim: concatenation.cat(parts, dim), (a, b), torch.cat(tensors((a, b)), dim), secret, dim=dim
        )
        check(
            lambda *parts, dim: concatenation.stack(parts, dim),
            (a, b),
            torch.stack(tensors((a, b)), dim),
            secret,
            dim=dim,
        )


def test_cat_leaves_out_what_is_empty():
    a, empty = RNG.normal(size=(2, 3)), np.zeros(0)
    check(lambda x: concatenation.cat([empty, x, x]), (a,), torch.cat(tensors([empty, a, a])))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pads", [(1, 2), (2, 0, 1, 3)])
def test_pads_of_each_mode(mode, pads):
    if mode == "reflect" and max(pads) > 3:
        pads = (2, 0, 1, 2)
    x = X if len(pads) == 4 else X[0]
    check(concatenation.pad, (x, pads), F.pad(torch.from_numpy(x), pads, mode=mode), mode=mode)
    pairs = [pads[i : i + 2] for i in range(len(pads) - 2, -1, -2)]  # the same, axis by axis in order
    check(concatenation.pad, (x, pairs), F.pad(torch.from_numpy(x), pads, mode=mode), mode=mode)


@pytest.mark.parametrize("pads", [(-1, 2), (-1, -2, 1, 0), (0, 0), (1, 1, 0, 0, 0, 0, 2, 0)])
@pytest.mark.parametrize("value", [0, 1.5])
def test_constants_and_cuts(pads, value):
    check(concatenation.pad, (X, pads), F.pad(torch.from_numpy(X), pads, value=value), value=value)


def test_pads_that_are_too_large_are_refused():
    refused("in mode reflect is too much", concatenation.pad, (X, (5, 0)), mode="reflect")
    refused("in mode circular is too much", concatenation.pad, (X, (6, 0)), mode="circular")
    refused("mode='mirror'", concatenation.pad, (X, (1, 1)), mode="mirror")
    refused("for 5 axes, and there are 4", concatenation.pad, (X, (1,) * 10))
    refused("too much", concatenation.pad, (X, (-3, -3)))


def test_channels_as_pixels():
    x = RNG.normal(size=(2, 12, 3, 2))
    check(concatenation.pixel_shuffle, (x, 2), F.pixel_shuffle(torch.from_numpy(x), 2))
    check(concatenation.pixel_shuffle, (x[0], 2), F.pixel_shuffle(torch.from_numpy(x[0]), 2))
    wide = RNG.normal(size=(2, 1, 6, 9))
    check(concatenation.pixel_unshuffle, (wide, 3), F.pixel_unshuffle(torch.from_numpy(wide), 3))
    check(concatenation.channel_shuffle, (x, 3), F.channel_shuffle(torch.from_numpy(x), 3))
    refused("12 channels.*do not divide by 5", concatenation.pixel_shuffle, (x, 5))
    refused("do not divide by 4", concatenation.pixel_unshuffle, (wide, 4))


def test_compiled():
    simulated(concatenation.pad, (X[0], (1, 1)), mode="reflect")
    encrypted(concatenation.pixel_shuffle, (X[0].reshape(4, 3, 5), 2))
