"""Meanings of normalisation: PyTorch's on arrays, and of secrets."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from meaning_cases import check, encrypted, model_of, refused, simulated, tensors

from latticework.frontend.programs.array_program import trace
from latticework.models.semantics import normalisation

RNG = np.random.default_rng(8)
X = 2 * RNG.normal(size=(2, 6, 3, 4)) + 1
T = torch.from_numpy


def normal(*shape):
    return RNG.normal(size=shape)


@pytest.mark.parametrize("shape", [(5, 6), (2, 6, 3), (2, 6, 3, 4)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm(shape, affine):
    x, mean, var = normal(*shape), normal(6), np.abs(normal(6))
    weight, bias = (normal(6), normal(6)) if affine else (None, None)
    expected = F.batch_norm(*tensors((x, mean, var, weight, bias)), eps=1e-3)
    check(normalisation.batch_norm, (x, mean, var, weight, bias), expected, eps=1e-3)
    ops = [op.name for op in trace(model_of(normalisation.batch_norm, (x, mean, var, weight, bias))).walk()]
    assert ops.count("tensor.mul") == 1 and ops.count("tensor.add") == 1 and "tensor.sub" not in ops


def test_batch_norm_needs_statistics():
    refused("no running statistics; .*eval", normalisation.batch_norm, (X, None, None))
    refused("mean is secret", normalisation.batch_norm, (X, normal(6), np.ones(6)), secret=(0, 1))
    refused("for each of 6 channels", normalisation.batch_norm, (X, normal(5), np.ones(6)))
    refused("must be above 0", normalisation.batch_norm, (X, normal(6), -np.ones(6)))


@pytest.mark.parametrize("ending", [(4,), (3, 4), (6, 3, 4)])
@pytest.mark.parametrize("affine", [True, False])
def test_layer_and_rms_norm(ending, affine):
    weight, bias = (normal(*ending), normal(*ending)) if affine else (None, None)
    args = X, ending, weight, bias
    check(normalisation.layer_norm, args, F.layer_norm(*tensors(args), 1e-3), eps=1e-3)
    check(normalisation.rms_norm, args[:3], F.rms_norm(*tensors(args[:3]), 1e-3), eps=1e-3)
    check(normalisation.rms_norm, args[:3], F.rms_norm(*tensors(args[:3])))
    refused("is not the end of shape", normalisation.layer_norm, (X, (3,)))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(2, 6, 3, 4), (2, 6, 5)])
def test_group_and_instance_norm(shape, affine):
    x = normal(*shape)
    weight, bias = (normal(6), normal(6)) if affine else (None, None)
    expected = F.instance_norm(T(x), None, None, *tensors((weight, bias)), eps=1e-3)
    check(normalisation.instance_norm, (x, weight, bias), expected, eps=1e-3)
    for groups in (1, 2, 6):
        expected = F.group_norm(T(x), groups, *tensors((weight, bias)), eps=1e-3)
        check(normalisation.group_norm, (x, groups, weight, bias), expected, eps=1e-3)
    refused("4 groups do not divide", normalisation.group_norm, (x, 4))


@pytest.mark.parametrize("p", [1, 2, 3, float("inf")])
@pytest.mark.parametrize("dim", [1, -1])
def test_unit_vectors(p, dim):
    check(normalisation.lp_normalize, (X,), F.normalize(T(X), p, dim), p=p, dim=dim)
    small = 1e-3 * X
    check(
        normalisation.lp_normalize, (small,), F.normalize(T(small), p, dim, eps=0.1), secret=(), p=p, dim=dim, eps=0.1
    )


def test_unit_vectors_of_zeros_are_zeros():
    assert not normalisation.lp_normalize(np.zeros((2, 3))).any()


@pytest.mark.parametrize("size", [1, 3, 4, 5])
@pytest.mark.parametrize("shape", [(2, 6, 3), (2, 6, 3, 4)])
def test_local_response(size, shape):
    x = normal(*shape)
    expected = F.local_response_norm(T(x), size, alpha=0.5, beta=0.7, k=2.0)
    check(normalisation.local_response_norm, (x, size), expected, alpha=0.5, beta=0.7, k=2.0)


def test_local_response_of_an_even_size_in_onnx():
    """One channel before, two after: PyTorch has it the other way round."""
    x = normal(2, 6, 3)
    squares = np.stack([np.square(x[:, max(c - 1, 0) : c + 3]).sum(axis=1) for c in range(6)], axis=1)
    expected = x / (1 + 0.5 / 4 * squares) ** 0.75
    check(normalisation.local_response_norm, (x, 4), expected, alpha=0.5, before=1)


def test_compiled():
    simulated(normalisation.batch_norm, (X, normal(6), np.ones(6), normal(6), normal(6)))
    encrypted(normalisation.layer_norm, (X[0, 0], (4,), normal(4), normal(4)))
    simulated(normalisation.local_response_norm, (X[:1, :4, 0], 3), alpha=0.5)
