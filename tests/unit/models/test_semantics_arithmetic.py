"""Meanings of arithmetic: PyTorch's on arrays, and of secrets."""

import numpy as np
import pytest
import torch
from meaning_cases import check, encrypted, numbers, refused, simulated, tensors

from latticework.models.semantics import elementwise_arithmetic
from latticework.models.semantics.unary import MEANINGS

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(3, 1))
APART = np.sign(Y) * (0.5 + np.abs(Y))
POSITIVE = np.abs(X) + 0.2
INFINITY = 3.4028234663852886e38  # as models for float32 write it


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("add", (X, Y), {"alpha": 2.5}),
        ("sub", (X, Y), {"alpha": -1}),
        ("div", (X, APART), {}),
        ("absolute", (X,), {}),
        ("sqrt", (POSITIVE,), {}),
        ("rsqrt", (POSITIVE,), {}),
        ("reciprocal", (POSITIVE,), {}),
        ("exp", (X,), {}),
        ("log", (POSITIVE,), {}),
        ("erf", (3 * X,), {}),
        ("maximum", (X, Y), {}),
        ("minimum", (X, Y), {}),
    ],
)
def test_as_pytorch(name, args, options):
    expected = getattr(torch, name)(*tensors(args), **options)
    meaning = getattr(elementwise_arithmetic, name, None) or MEANINGS[name]
    check(meaning, args, expected, **options)
    if len(args) == 2:
        check(meaning, args, expected, secret=(1,), **options)
        check(meaning, args, expected, secret=(0, 1), **options)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -2])
def test_powers_of_any_number(exponent):
    check(elementwise_arithmetic.power, (APART, exponent), torch.pow(torch.from_numpy(APART), exponent))


@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, -0.75, np.full((4, 1, 1), 2.0)])
def test_powers_of_positive_numbers(exponent):
    check(
        elementwise_arithmetic.power,
        (POSITIVE[0], exponent),
        torch.pow(torch.from_numpy(POSITIVE[0]), *tensors([exponent])),
    )


def test_powers_with_a_secret_exponent():
    check(elementwise_arithmetic.power, (2.5, X), torch.pow(2.5, torch.from_numpy(X)), secret=(1,))
    refused("exponent is an array", elementwise_arithmetic.power, (POSITIVE[0, 0], np.arange(4.0)))


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
def test_quotients_of_whole_numbers_are_pytorchs(mode):
    a, b = np.arange(-7, 8)[:, None], np.array([-3, -2, 1, 2, 5])
    expected = torch.div(*tensors((a, b)), rounding_mode=mode).numpy()
    found = elementwise_arithmetic.div(a, b, rounding_mode=mode)
    assert (found.dtype.kind == expected.dtype.kind and (found == expected.astype(found.dtype)).all()) or mode is None
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_array_equal(
        elementwise_arithmetic.div(a / 2, b, rounding_mode=mode),
        torch.div(*tensors((a / 2, b)), rounding_mode=mode).numpy(),
    )
    if mode:
        refused("rounding is a step", elementwise_arithmetic.div, (X, 2.0), rounding_mode=mode)


@pytest.mark.parametrize(
    "bounds",
    [
        {"min": -0.5, "max": 0.5},
        {"min": 0},
        {"max": 0.25},
        {"min": 1.0, "max": -1.0},  # PyTorch: the upper one holds
        {"min": -INFINITY, "max": 0.5},
        {"min": 0.1, "max": float("inf")},
        {"min": -INFINITY, "max": INFINITY},
        {"min": -Y, "max": np.abs(Y)},
    ],
)
def test_bounds(bounds):
    check(
        elementwise_arithmetic.clamp,
        (X,),
        torch.clamp(torch.from_numpy(X), **{k: tensors(b) for k, b in bounds.items()}),
        **bounds,
    )


def test_bounds_keep_whole_numbers():
    found = elementwise_arithmetic.clamp(np.arange(-3, 4), min=-1, max=2)
    assert found.dtype.kind == "i" and found.tolist() == [-1, -1, -1, 0, 1, 2, 2]


def test_bounds_that_are_secret():
    low, high = np.minimum(X, 0.2), np.maximum(X, 0.1)
    expected = torch.clamp(torch.from_numpy(Y), *tensors((low, high)))
    check(elementwise_arithmetic.clamp, (Y, low, high), expected, secret=(0, 1, 2))


def test_choices_by_a_public_mask():
    mask = RNG.random((3, 4)) < 0.5
    check(elementwise_arithmetic.where, (mask, X, Y), torch.where(*tensors((mask, X, Y))), secret=(1, 2))
    check(elementwise_arithmetic.where, (mask, X, -2.0), torch.where(*tensors((mask, X)), -2.0), secret=(1,))
    check(
        elementwise_arithmetic.masked_fill, (X, mask, 7.0), torch.from_numpy(X).masked_fill(torch.from_numpy(mask), 7.0)
    )
    refused("condition is secret.*lw.greater", elementwise_arithmetic.where, (X, X, 0.0))
    refused("mask is secret", elementwise_arithmetic.masked_fill, (X, X, 0.0), secret=(0, 1))


def test_signs_take_a_gap():
    check(elementwise_arithmetic.sign, (APART,), numbers(torch.sign(torch.from_numpy(APART))), gap=0.4)
    check(elementwise_arithmetic.sign, (X,), torch.sign(torch.from_numpy(X)), secret=())
    refused(
        "sign: secrets cannot be compared without a gap.*no polynomial follows a step.*gap=",
        elementwise_arithmetic.sign,
        (X,),
    )


def test_simulated():
    simulated(elementwise_arithmetic.clamp, (X[0],), min=-1.0, max=1.0, bits=4)
    simulated(elementwise_arithmetic.power, (POSITIVE[0], 1.5))
    encrypted(MEANINGS["erf"], (X[0],))
