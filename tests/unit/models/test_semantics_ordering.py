"""Meanings of orders: PyTorch's of public numbers, and refused of secrets."""

import numpy as np
import pytest
import torch
from meaning_cases import check, refused

from latticework.models.semantics import ordering

RNG = np.random.default_rng(13)
X = RNG.integers(0, 4, (3, 6)).astype(np.float64)  # many are equal
T = torch.from_numpy(X)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_as_pytorch(dim, descending):
    check(
        ordering.sort,
        (X,),
        torch.sort(T, dim=dim, descending=descending, stable=True),
        (),
        dim=dim,
        descending=descending,
    )
    expected = torch.argsort(T, dim=dim, descending=descending, stable=True)
    check(ordering.argsort, (X,), expected, (), dim=dim, descending=descending)
    apart = X + RNG.uniform(0, 0.5, X.shape)
    expected = torch.topk(torch.from_numpy(apart), 2, dim, descending)
    check(ordering.topk, (apart, 2), expected, (), dim=dim, largest=descending)


def test_refused():
    for name, args in (("sort", (X,)), ("argsort", (X,)), ("topk", (X, 2))):
        refused(
            f"{name} of .3, 6. secrets: the order of secrets.*after decryption.*amax", getattr(ordering, name), args
        )
    refused("k=7 of the 6 elements", lambda x: ordering.topk(np.zeros(6), 7), (X,))
