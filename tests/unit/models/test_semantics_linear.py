"""Meanings of products: PyTorch's on arrays, and of secrets on either side."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from meaning_cases import check, encrypted, refused, simulated, tensors

from latticework.models.semantics import matrix_products

RNG = np.random.default_rng(1)


def normal(*shape):
    return RNG.normal(size=shape)


@pytest.mark.parametrize("secret", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (2, 4, 3))],
)
def test_matrix_products(a, b, secret):
    a, b = normal(*a), normal(*b)
    check(matrix_products.matmul, (a, b), torch.matmul(*tensors((a, b))), secret=secret)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape, bias):
    args = normal(*shape), normal(5, 4), normal(5) if bias else None
    check(matrix_products.linear, args, F.linear(*tensors(args)))


def test_linear_of_one_output():
    args = normal(3, 4), normal(4)
    check(matrix_products.linear, args, F.linear(*tensors(args)))


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (2.0, 0.5), (0.5, 0)])
@pytest.mark.parametrize("secret", [(0,), (1,), (2,), (1, 2)])
def test_sums_of_products(alpha, beta, secret):
    args = normal(3, 1), normal(3, 4), normal(4, 2)
    if not (beta == 0 and secret == (0,)):
        check(
            matrix_products.addmm,
            args,
            torch.addmm(*tensors(args), alpha=alpha, beta=beta),
            secret,
            alpha=alpha,
            beta=beta,
        )
    args = normal(2, 3, 2), normal(2, 3, 4), normal(2, 4, 2)
    if not (beta == 0 and secret == (0,)):
        check(
            matrix_products.baddbmm,
            args,
            torch.baddbmm(*tensors(args), alpha=alpha, beta=beta),
            secret,
            alpha=alpha,
            beta=beta,
        )


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_gemm(turned):
    a, b, c = normal(3, 4), normal(4, 2), normal(2)
    given = a.T if turned[0] else a, b.T if turned[1] else b, c
    check(matrix_products.gemm, given, 0.5 * a @ b + 2 * c, alpha=0.5, beta=2, trans_a=turned[0], trans_b=turned[1])
    check(matrix_products.gemm, given[:2], a @ b, (0, 1), trans_a=turned[0], trans_b=turned[1])


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("bhid,bhjd->bhij", ((2, 2, 3, 4), (2, 2, 5, 4))),
        ("ij,kj,kl", ((2, 3), (4, 3), (4, 2))),
        ("...ij,...jk->...ik", ((2, 2, 3), (3, 4))),
        ("ii->i", ((3, 3),)),
        ("iij->j", ((3, 3, 2),)),
        ("ij->", ((2, 3),)),
        ("i,j->ij", ((2,), (3,))),
        ("ij->ji", ((2, 3),)),
        ("aB,Bc->ac", ((2, 3), (3, 4))),
    ],
)
def test_einsum(equation, shapes):
    operands = tuple(normal(*shape) for shape in shapes)
    expected = torch.einsum(equation, *tensors(operands))
    for secret in {(1,), tuple(range(1, len(operands) + 1))}:
        check(matrix_products.einsum, (equation, *operands), expected, secret)


def test_bilinear_and_outer():
    args = normal(2, 3), normal(2, 4), normal(5, 3, 4), normal(5)
    check(matrix_products.bilinear, args, F.bilinear(*tensors(args)), secret=(0, 1))
    a, b = normal(3), normal(4)
    check(matrix_products.outer, (a, b), torch.outer(*tensors((a, b))), secret=(0, 1))
    refused("both have to be vectors", matrix_products.outer, (normal(2, 2), b))


def test_matrices_along_an_axis():
    x, matrix = normal(2, 3, 4, 5), {1: normal(6, 3), 2: normal(2, 4), 3: normal(3, 5)}
    for axis, m in matrix.items():
        check(matrix_products.along_axis, (x, m, axis), np.moveaxis(np.tensordot(m, x, (1, axis)), 0, axis))


def test_whole_numbers_stay_whole():
    assert matrix_products.matmul(np.arange(4), np.arange(4)).dtype.kind == "i"


def test_compiled():
    simulated(matrix_products.einsum, ("bij,jk->bik", normal(2, 3, 4), normal(4, 2)), secret=(1,))
    encrypted(matrix_products.addmm, (normal(3), normal(2, 4), normal(4, 3)), secret=(0, 1), alpha=0.5)
