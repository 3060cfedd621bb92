"""Meanings of activations: PyTorch's on arrays, wide ranges and kinks included, and of secrets."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from meaning_cases import check, encrypted, refused, simulated, tensors

from latticework.models.semantics import activations
from latticework.models.semantics.unary import MEANINGS

RNG = np.random.default_rng(5)
X = 2 * RNG.normal(size=(2, 4, 3))
WIDE = np.array([-1e4, -800.0, -30.0, -20.0, -6.0, -3.0, -1.0, -0.0, 0.0, 1.0, 3.0, 6.0, 20.0, 30.0, 800.0, 1e4])
T = torch.from_numpy

CASES = [
    ("relu", {}, F.relu),
    ("leaky_relu", {}, F.leaky_relu),
    ("leaky_relu", {"negative_slope": -0.5}, lambda x: F.leaky_relu(x, -0.5)),
    ("elu", {}, F.elu),
    ("elu", {"alpha": 2.0}, lambda x: F.elu(x, 2.0)),
    ("selu", {}, F.selu),
    ("celu", {"alpha": 0.5}, lambda x: F.celu(x, 0.5)),
    ("silu", {}, F.silu),
    ("mish", {}, F.mish),
    ("softplus", {}, F.softplus),
    ("softplus", {"beta": 2.0, "threshold": 3.0}, lambda x: F.softplus(x, 2.0, 3.0)),
    ("gelu", {}, F.gelu),
    ("gelu", {"approximate": "tanh"}, lambda x: F.gelu(x, approximate="tanh")),
    ("hardtanh", {}, F.hardtanh),
    ("hardtanh", {"min_val": -2.0, "max_val": 0.5}, lambda x: F.hardtanh(x, -2.0, 0.5)),
    ("relu6", {}, F.relu6),
    ("hardswish", {}, F.hardswish),
    ("hardsigmoid", {}, F.hardsigmoid),
    ("hardsigmoid", {"alpha": 0.2, "beta": 0.5}, lambda x: torch.clamp(0.2 * x + 0.5, 0, 1)),
    ("sigmoid", {}, F.sigmoid),
    ("tanh", {}, F.tanh),
    ("softsign", {}, F.softsign),
    ("log_sigmoid", {}, F.logsigmoid),
    ("tanhshrink", {}, F.tanhshrink),
    ("softshrink", {"lambd": 0.7}, lambda x: F.softshrink(x, 0.7)),
    ("thresholded_relu", {"alpha": 0}, F.relu),
]


def meaning(name):
    return getattr(activations, name, None) or MEANINGS[name]


@pytest.mark.parametrize(("name", "options", "expected"), CASES)
def test_as_pytorch(name, options, expected):
    check(meaning(name), (X,), expected(T(X)), **options)


@pytest.mark.parametrize(("name", "options", "expected"), CASES)
def test_far_from_0(name, options, expected):
    with np.errstate(over="raise", invalid="raise"):
        check(meaning(name), (WIDE,), expected(T(WIDE)), secret=(), **options)


@pytest.mark.parametrize("weight", [np.array([0.25]), np.array([0.1, 0.2, 0.3, -1.0])])
def test_prelu_as_pytorch(weight):
    check(activations.prelu, (X, weight), F.prelu(*tensors((X, weight))), secret=(0,))
    check(activations.prelu, (X, weight), F.prelu(*tensors((X, weight))), secret=(0,) if weight.size > 1 else ())


def test_prelu_with_slopes_that_are_broadcast():
    slopes = RNG.uniform(0, 1, (4, 1))
    check(activations.prelu, (X, slopes), np.where(X > 0, X, slopes * X))
    refused("4 slopes.*other channels", activations.prelu, (X[:, :3], np.ones(4)))


def test_prelu_with_secret_slopes():
    slopes = RNG.uniform(0, 1, (4, 1))
    check(activations.prelu, (X, slopes), np.where(X > 0, X, slopes * X), secret=(0, 1))


def test_leaky_relu_of_secrets_is_one_polynomial():
    from meaning_cases import model_of

    from latticework.frontend.programs.array_program import trace

    for name in ("leaky_relu", "elu", "hardswish", "relu6", "mish"):
        ops = [op.name for op in trace(model_of(meaning(name), (X,))).walk()]
        assert ops.count("tensor.apply") == 1 and "tensor.mul" not in ops


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(dim):
    for name in ("softmax", "softmin", "log_softmax"):
        check(getattr(activations, name), (X,), getattr(F, name)(T(X), dim=dim), dim=dim)
    check(activations.log_softmax, (100 * X,), F.log_softmax(T(100 * X), dim=dim), secret=(), dim=dim, atol=1e-10)


@pytest.mark.parametrize("dim", [1, -2])
def test_glu(dim):
    check(activations.glu, (X,), F.glu(T(X), dim), dim=dim)
    refused("3 long, which has no halves", activations.glu, (X,), dim=-1)


def test_steps_take_a_gap():
    x = np.sign(X) * (np.abs(X) + 0.1) + 1.0
    check(activations.thresholded_relu, (x,), F.threshold(T(x), 1.0, 0.0), secret=())
    check(activations.thresholded_relu, (x,), F.threshold(T(x), 1.0, 0.0), gap=0.05)
    refused("jumps from 0 to 1 at 1.*gap", activations.thresholded_relu, (X,))
    refused("approximate='erf'", activations.gelu, (X,), approximate="erf")


@pytest.mark.parametrize("name", ["mish", "softplus", "silu"])
def test_smooth_ones_simulated(name):
    simulated(meaning(name), (X[0],))


@pytest.mark.parametrize("name", ["leaky_relu", "elu", "hardswish"])
def test_others_simulated(name):
    simulated(meaning(name), (X[0],), bits=5)


def test_encrypted():
    encrypted(activations.gelu, (X[0],), approximate="tanh")
    encrypted(activations.log_softmax, (X[0] / 2,), dim=-1)
