"""Meanings of reductions: PyTorch's on arrays, and of secrets."""

import numpy as np
import pytest
import torch
from meaning_cases import check, encrypted, refused, simulated

from latticework.models.semantics import reductions

RNG = np.random.default_rng(4)
X = RNG.normal(size=(2, 3, 5))
T = torch.from_numpy(X)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), (1, -1)])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "amax", "amin", "logsumexp"])
def test_as_pytorch(name, dim, keepdim):
    axes = dim if dim is not None else (0, 1, 2)
    expected = getattr(torch, name)(T, dim=axes, keepdim=keepdim)
    check(getattr(reductions, name), (X,), expected, dim=dim, keepdim=keepdim)


@pytest.mark.parametrize("correction", [0, 1, 2])
def test_corrections(correction):
    """PyTorch divides by n - 1 unless told, NumPy by n."""
    check(reductions.var, (X,), torch.var(T, dim=-1, correction=correction), dim=-1, correction=correction)
    check(reductions.std, (X,), torch.std(T, dim=(0, 1), correction=correction), dim=(0, 1), correction=correction)
    refused("leaves nothing to divide", reductions.var, (X[:1],), dim=0)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 2.5, float("inf"), float("-inf"), "fro"])
@pytest.mark.parametrize("dim", [None, -1, (0, 1)])
def test_norms(p, dim):
    check(reductions.norm, (X,), torch.linalg.vector_norm(T, 2 if p == "fro" else p, dim), p=p, dim=dim)


def test_norms_that_are_none():
    refused("p=0", reductions.norm, (X,), p=0)
    refused("p='nuc'", reductions.norm, (X,), p="nuc")


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_products_and_running_sums(dim):
    check(reductions.prod, (X,), torch.prod(T, dim), dim=dim)
    check(reductions.cumsum, (X,), torch.cumsum(T, dim), dim=dim)


def test_of_one_number():
    one = np.array(1.5)
    for name in ("sum", "mean", "amax", "prod"):
        check(getattr(reductions, name), (one,), torch.tensor(1.5, dtype=torch.float64))
    check(reductions.logsumexp, (one,), torch.tensor(1.5, dtype=torch.float64), dim=0)


def test_logsumexp_of_large_and_missing_numbers():
    x = np.array([[1000.0, 1001.0], [-np.inf, 2.0], [-np.inf, -np.inf]])
    with np.errstate(divide="ignore"):
        check(reductions.logsumexp, (x,), torch.logsumexp(torch.from_numpy(x), -1), secret=(), dim=-1)


@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_places(dim, keepdim):
    x = np.round(10 * X) + np.arange(30).reshape(X.shape) / 100
    for name in ("argmax", "argmin"):
        expected = getattr(torch, name)(torch.from_numpy(x), dim=dim, keepdim=keepdim)
        assert reductions.argmax(np.array([2, 7, 7]), 0) == 1
        check(getattr(reductions, name), (x,), expected, secret=(), dim=dim, keepdim=keepdim)
        if dim is not None:
            check(getattr(reductions, name), (x,), expected, dim=dim, keepdim=keepdim, gap=0.01)
        refused(
            f"{name} of .* secrets: which one is ahead is a comparison.*gap", getattr(reductions, name), (x,), dim=dim
        )


def test_whole_numbers_stay_whole():
    counts = np.array([[1, 2], [3, 4]])
    for name in ("sum", "prod", "amax", "amin"):
        assert getattr(reductions, name)(counts, 0).dtype.kind == "i"


def test_compiled():
    simulated(reductions.amax, (X[0, :, :4],), dim=-1, bits=3)
    encrypted(reductions.logsumexp, (X[0],), dim=-1)
    encrypted(reductions.std, (X[0],), dim=-1, bits=8)
