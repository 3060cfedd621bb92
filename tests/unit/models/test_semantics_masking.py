"""Scores filled with -inf before a softmax, as models write it: left out of secrets, the same as PyTorch's."""

import numpy as np
import pytest
import torch
from meaning_cases import check, encrypted, model_of, refused, tensors

from latticework.frontend.programs.array_program import trace
from latticework.ir.interpret import interpret
from latticework.models.semantics import activations, elementwise_arithmetic, shaping
from latticework.models.semantics.unary import MEANINGS

RNG = np.random.default_rng(12)
X = RNG.normal(size=(2, 2, 3, 4))
GONE = ~np.tri(3, 4, 1, dtype=bool)
FILLS = [-np.inf, float(np.finfo(np.float32).min), -1e9, -1e4]


def expected(x=X, gone=GONE):
    return torch.softmax(torch.from_numpy(x).masked_fill(torch.from_numpy(gone), -torch.inf), -1)


WAYS = {
    "masked_fill": lambda x, fill: elementwise_arithmetic.masked_fill(x, GONE, fill),
    "where": lambda x, fill: elementwise_arithmetic.where(~GONE, x, fill),
    "where, the other way": lambda x, fill: elementwise_arithmetic.where(GONE, np.full((3, 4), fill), x),
    "add": lambda x, fill: elementwise_arithmetic.add(x, np.where(GONE, fill, 0.0)),
    "add, the other way": lambda x, fill: elementwise_arithmetic.add(np.where(GONE, fill, 0.0)[None], x),
    "moved": lambda x, fill: shaping.reshape(
        elementwise_arithmetic.masked_fill(shaping.reshape(x, (4, 3, 4)), GONE, fill), (2, 2, 3, 4)
    ),
    "scaled": lambda x, fill: elementwise_arithmetic.div(elementwise_arithmetic.masked_fill(x * 2.0, GONE, fill), 2.0),
    "twice": lambda x, fill: elementwise_arithmetic.masked_fill(
        elementwise_arithmetic.masked_fill(x, GONE & (np.arange(4) > 2), fill), GONE & (np.arange(4) < 3), fill
    ),
    "shifted": lambda x, fill: elementwise_arithmetic.add(
        elementwise_arithmetic.add(x - 1.0, np.where(GONE, fill, 0.0)), np.ones(4)
    ),
    "an addend that fills and shifts": lambda x, fill: elementwise_arithmetic.add(x - 1.0, np.where(GONE, fill, 1.0)),
}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("way", WAYS)
def test_as_pytorch_and_never_in_range(way, fill):
    def meaning(x):
        return activations.softmax(WAYS[way](x, fill), -1)

    check(meaning, (X,), expected())
    seen = []
    interpret(trace(model_of(meaning, (X,))), [X], on_value=lambda value, array: seen.append(np.abs(array).max()))
    assert max(seen) < 50


def test_along_other_axes():
    def meaning(x):
        return activations.softmax(np.swapaxes(elementwise_arithmetic.masked_fill(x, GONE, -np.inf), 1, 3), 1)

    check(meaning, (X,), np.swapaxes(expected().numpy(), 1, 3))


def test_a_score_of_a_filled_row_that_is_public():
    """Fills that are low in some places and numbers in others."""
    fill = np.where(np.arange(4) == 3, -np.inf, 0.5)
    gone = np.broadcast_to(np.arange(4) >= 2, (3, 4))
    x = torch.where(*tensors((gone, np.broadcast_to(fill, (3, 4)), X)))
    check(lambda x: activations.softmax(elementwise_arithmetic.where(gone, fill, x), -1), (X,), torch.softmax(x, -1))


@pytest.mark.parametrize(
    "use",
    [
        lambda s: MEANINGS["relu"](s),
        lambda s: s @ np.ones((4, 2)),
        lambda s: s * -1.0,
        lambda s: s * s,
        lambda s: np.exp(s),
        lambda s: np.sum(s),
        lambda s: activations.log_softmax(s, -1),
        lambda s: np.concatenate([s, s]),
        lambda s: elementwise_arithmetic.div(1.0, s),
    ],
)
def test_only_a_softmax_takes_them(use):
    refused("only a softmax takes", lambda x: use(elementwise_arithmetic.masked_fill(x, GONE, -np.inf)), (X,))


def test_rows_with_nothing_left_are_refused():
    refused(
        "leaves no element",
        lambda x: activations.softmax(elementwise_arithmetic.masked_fill(x, True, -np.inf), -1),
        (X,),
    )


def test_other_numbers_are_filled_in():
    check(
        lambda x: elementwise_arithmetic.masked_fill(x, GONE, -9.0), (X,), tensors(X).masked_fill(tensors(GONE), -9.0)
    )
    check(
        lambda x: activations.softmax(elementwise_arithmetic.masked_fill(x, False, -np.inf), -1),
        (X,),
        torch.softmax(tensors(X), -1),
    )


def test_encrypted():
    encrypted(
        lambda x: activations.softmax(elementwise_arithmetic.masked_fill(x, GONE, -np.inf), -1), (X[0, 0],), bits=8
    )
