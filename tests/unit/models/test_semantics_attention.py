"""Meanings of attention: PyTorch's on arrays, with masks of all kinds, and of secrets."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from meaning_cases import check, encrypted, model_of, refused, simulated, tensors

from latticework.errors import RangeError
from latticework.frontend.programs.array_program import trace
from latticework.ir.interpret import interpret
from latticework.models.semantics import attention

RNG = np.random.default_rng(10)
L, S, E = 3, 5, 4
ALLOWED = np.tri(L, S, 2).astype(bool)
INFINITY = -3.4028234663852886e38


def normal(*shape):
    return RNG.normal(size=shape)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
@pytest.mark.parametrize("secret", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("options", [{}, {"scale": 0.3}, {"is_causal": True}])
def test_as_pytorch(lead, secret, options):
    args = normal(*lead, L, E), normal(*lead, S, E), normal(*lead, S, 2)
    expected = F.scaled_dot_product_attention(*tensors(args), **options)
    check(attention.scaled_dot_product_attention, args, expected, secret, **options)


@pytest.mark.parametrize(
    "mask",
    [
        ALLOWED,
        np.where(ALLOWED, 0.0, -np.inf),
        np.where(ALLOWED, normal(L, S), -np.inf),
        normal(L, S),
        RNG.random((2, 1, L, S)) + ALLOWED > 0.5,
        np.array([[True, False, True, True, False]]),
    ],
)
def test_masks_as_pytorch(mask):
    args = normal(2, 3, L, E), normal(2, 3, S, E), normal(2, 3, S, E)
    expected = F.scaled_dot_product_attention(*tensors((*args, mask)))
    check(attention.scaled_dot_product_attention, (*args, mask), expected, (0, 1, 2))


@pytest.mark.parametrize("low", [-np.inf, INFINITY, -1e9, -1e4])
def test_what_stands_for_minus_infinity_is_never_added(low):
    args = normal(2, L, E), normal(2, S, E), normal(2, S, E), np.where(ALLOWED, 0.0, low)
    check(attention.scaled_dot_product_attention, args, F.scaled_dot_product_attention(*tensors(args)), (0, 1, 2))
    seen = []
    module = trace(model_of(attention.scaled_dot_product_attention, args, (0, 1, 2)))
    interpret(module, list(args[:3]), on_value=lambda value, array: seen.append(np.abs(array).max()))
    assert max(seen) < 50


def test_keys_without_a_query_of_theirs_are_refused():
    args = normal(L, E), normal(S, E), normal(S, E)
    for mask in (np.tri(L, S, -1).astype(bool), np.where(np.tri(L, S, -1), 0.0, INFINITY)):
        refused("leaves no element in 1 of 3 rows", attention.scaled_dot_product_attention, (*args, mask), (0, 1, 2))
        with pytest.raises(RangeError, match="leaves no element"):
            attention.scaled_dot_product_attention(*args, mask)


def test_other_refusals():
    args = normal(L, E), normal(S, E), normal(S, E)
    meaning = attention.scaled_dot_product_attention
    refused("of training", meaning, args, dropout_p=0.1)
    refused("give one of the two", meaning, (*args, ALLOWED), is_causal=True)
    refused("does not broadcast to scores", meaning, (*args, np.ones((2, L, S), bool)))
    refused("do not divide them", meaning, (normal(3, L, E), normal(2, S, E), normal(2, S, E)), enable_gqa=True)


def test_grouped_heads():
    args = normal(2, 4, L, E), normal(2, 2, S, E), normal(2, 2, S, E)
    expected = F.scaled_dot_product_attention(*tensors(args), enable_gqa=True)
    check(attention.scaled_dot_product_attention, args, expected, (0, 1, 2), enable_gqa=True)


def layer(batch_first=True, **options):
    """A layer of PyTorch with random weights, and what the meaning takes of them."""
    torch.manual_seed(0)
    made = torch.nn.MultiheadAttention(8, 2, batch_first=batch_first, dtype=torch.float64, **options)
    with torch.no_grad():
        for p in made.parameters():
            p.copy_(torch.from_numpy(normal(*p.shape)) / 2)
    found = [made.in_proj_weight, made.in_proj_bias, made.out_proj.weight, made.out_proj.bias]
    return made.eval(), [None if p is None else p.detach().numpy() for p in found]


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"batch_first": False}])
@pytest.mark.parametrize("averaged", [True, False])
def test_multi_head_as_pytorch(options, averaged):
    made, weights = layer(**options)
    first = options.get("batch_first", True)
    query, key = normal(2, L, 8), normal(2, S, 8)
    if not first:
        query, key = query.swapaxes(0, 1), key.swapaxes(0, 1)
    args = query, key, key, 2, *weights
    expected = made(*tensors((query, key, key)), average_attn_weights=averaged)
    named = {"batch_first": first, "need_weights": True, "average_attn_weights": averaged}
    check(attention.multi_head_attention, args, expected, (0, 1, 2), **named)


def test_multi_head_without_a_batch_and_with_weights_apart():
    made, weights = layer()
    x = normal(L, 8)
    expected = made(*tensors((x, x, x)), need_weights=False)[0]
    check(attention.multi_head_attention, (x, x, x, 2, *weights), expected)
    parts = tuple(np.split(weights[0], 3))
    check(attention.multi_head_attention, (x, x, x, 2, parts, *weights[1:]), expected)


@pytest.mark.parametrize("kind", [bool, float])
def test_multi_head_masks_are_true_where_keys_do_not_count(kind):
    made, weights = layer()
    x = normal(2, L, 8)
    causal, padding = ~np.tri(L, dtype=bool), np.array([[False, False, True], [False, False, False]])
    each = np.repeat(causal[None], 4, axis=0)
    for mask in (causal, each):
        if kind is float:
            masks = [np.where(m, -np.inf, 0.0) for m in (mask, padding)]
        else:
            masks = [mask, padding]
        expected = made(
            *tensors((x, x, x)), attn_mask=tensors(masks[0]), key_padding_mask=tensors(masks[1]), need_weights=False
        )
        named = {"attn_mask": masks[0], "key_padding_mask": masks[1]}
        check(attention.multi_head_attention, (x, x, x, 2, *weights), expected[0], **named)


def test_encrypted():
    args = normal(L, E), normal(L, E), normal(L, E)
    encrypted(attention.scaled_dot_product_attention, args, (0,), bits=8, is_causal=True)


@pytest.mark.slow
def test_self_attention_simulated():
    _, weights = layer()
    x = normal(L, 8) / 2
    simulated(lambda x: attention.multi_head_attention(x, x, x, 2, *weights, is_causal=True), (x,), bits=6)
