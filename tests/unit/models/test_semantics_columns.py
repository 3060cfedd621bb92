"""Meanings of unfold and fold: PyTorch's, on random shapes and windows."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from meaning_cases import check, encrypted, refused

from latticework.models.semantics import columns

T = torch.from_numpy


def draw(seed):
    """An image and windows that fit it: kernel, dilation, padding, stride, as one number or two."""
    rng = np.random.default_rng(seed)
    kernel, dilation, padding, stride = (rng.integers(low, 4, 2) for low in (1, 1, 0, 1))
    lengths = dilation * (kernel - 1) + 1 + rng.integers(0, 5, 2)
    x = rng.normal(size=(*rng.integers(1, 4, rng.integers(1, 3)), *lengths))
    given = [
        int(pair[0]) if rng.random() < 0.3 and pair[0] == pair[1] else pair.tolist()
        for pair in (kernel, dilation, padding, stride)
    ]
    return x, given


@pytest.mark.parametrize("seed", range(12))
def test_as_pytorch(seed):
    x, given = draw(seed)
    unfolded = F.unfold(T(x), *given)
    check(columns.unfold, (x, *given), unfolded)
    kept = np.random.default_rng(seed).normal(size=unfolded.shape)
    size = list(x.shape[-2:])
    check(columns.fold, (kept, size, *given), F.fold(T(kept), size, *given))


def test_refused():
    x = np.zeros((1, 2, 3, 4))
    refused("a window of 5 does not fit 3 elements", columns.unfold, (x, 5))
    refused("must have 3 axes", columns.unfold, (x[0, 0], 2))
    refused("a multiple of 4, 6", columns.fold, (np.zeros((1, 4, 5)), (3, 4), 2))
    refused("a multiple of 4, 6", columns.fold, (np.zeros((1, 6, 6)), (3, 4), 2))
    refused("must have 2 axes", columns.fold, (x, (3, 4), 2))


def test_encrypted():
    x = np.random.default_rng(0).normal(size=(2, 4, 4))
    encrypted(lambda x: columns.fold(columns.unfold(x, 3, 1, 1), (4, 4), 3, 1, 1), (x,))
