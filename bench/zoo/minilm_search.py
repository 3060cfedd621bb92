"""Search by meaning: an encrypted query's embedding by all six layers of MiniLM, and its products with a public corpus.

The corpus is a thousand sentences of the reference of Python that comes with it. Texts of up to 32 tokens fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

import latticework as lw
from bench.zoo import minilm
from bench.zoo.minilm import TOKENS
from bench.zoo.models.minilm import OPTIONS

FloatArray = npt.NDArray[np.float64]

CORPUS, CALIBRATED = 1000, 160  # sentences; and texts like queries, of which no query is one
BITS = 4  # what noise leaves of the largest number after six layers
QUERIES = (
    "how do I open a file and close it again",
    "difference between is and ==",
    "catch an exception",
    "what is a closure",
    "make a class iterable",
    "stop a loop early",
    "default values of function arguments",
    "format a number in a string",
    "why is my variable not defined",
    "import a module from another folder",
    "compare two objects",
    "delete an attribute",
    "run code when an object is destroyed",
    "asynchronous functions",
    "unpack a list into variables",
    "integer division",
    "which values are false",
    "step through a program with the debugger",
    "call the method of a parent class",
    "order in which an expression is evaluated",
)
NAMES = ("tokens", "log_weights", "weights")


class Search(nn.Module):
    """A text's embedding, and its products with those of a public corpus."""

    def __init__(self, network: nn.Module, corpus: FloatArray) -> None:
        """corpus: (sentences, width), each of length 1."""
        super().__init__()
        self.network = network
        self.register_buffer("corpus", torch.from_numpy(corpus.T.copy()))

    def forward(self, tokens: Any, log_weights: Any, weights: Any) -> Any:
        """Tokens (32, width) and their weights (32,), in two forms -> (width,), (sentences,)."""
        for layer in self.network.children():
            tokens = layer(tokens, log_weights)
        embedding = weights @ tokens
        return embedding, embedding @ self.corpus


def corpus_sentences(count: int = CORPUS) -> list[str]:
    """The sentences that are searched: of the longer ones, from everywhere."""
    found = [each for each in minilm.all_sentences(True) if len(each) >= 40]
    return [found[i * len(found) // count] for i in range(count)]


def texts_like_queries(count: int = CALIBRATED) -> list[str]:
    """Beginnings of sentences, and questions for words of the reference, that fit."""
    rng = np.random.default_rng(0)
    begun = [" ".join(each.split()[: int(rng.integers(2, 24))]) for each in minilm.all_sentences(True)[::3]]
    asked = [f"{form} {name.lower()}" for name in topics for form in ("what is", "how do I write", "why does my")]
    texts = [text for pair in zip(begun, asked[::2], strict=False) for text in pair]
    return [text for text in texts if len(minilm.token_embeddings(text)) <= TOKENS][:count]


def embedding(network: nn.Module, text: str) -> FloatArray:
    """PyTorch's, of a text of any length, without padding: (384,)."""
    tokens = torch.from_numpy(minilm.token_embeddings(text))
    with torch.no_grad():
        for layer in network.children():
            tokens = layer(tokens, torch.zeros(len(tokens), dtype=tokens.dtype))
    return np.asarray(tokens.mean(dim=0).numpy())


def corpus_embeddings(network: nn.Module, texts: list[str]) -> FloatArray:
    """(sentences, 384), each of length 1."""
    found = np.stack([embedding(network, text) for text in texts])
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def program_and_data(network: nn.Module, corpus: FloatArray) -> tuple[Any, dict[str, FloatArray]]:
    """The program that a server runs, and what it is calibrated on; inputs are what `minilm.padded` gives."""
    data = stacked(texts_like_queries())
    program = lw.from_torch(Search(network, corpus).eval(), tuple(torch.from_numpy(each[0]) for each in data))
    return program, dict(zip(NAMES, data, strict=True))


def stacked(texts: Iterable[str]) -> tuple[FloatArray, ...]:
    """Inputs of several texts, each as one array."""
    padded = [minilm.padded(text) for text in texts]
    return tuple(np.stack(column) for column in zip(*padded, strict=True))


def compiled(network: nn.Module, corpus: FloatArray, **options: Any) -> lw.Model:
    """The model that a server runs."""
    program, data = program_and_data(network, corpus)
    return lw.compile(program, calibrate=data, **{**OPTIONS, "precision_bits": BITS, **options})
