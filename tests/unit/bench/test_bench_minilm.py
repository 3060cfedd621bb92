"""What is read for MiniLM: files of weights, which the safetensors package writes too, and word pieces of text."""

import json

import numpy as np
import pytest

import latticework as lw
from bench.zoo.safetensors import read_safetensors
from bench.zoo.wordpiece import WordPieces
from latticework.errors import FormatError

RNG = np.random.default_rng(5)
VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "em",
    "##bed",
    "##ding",
    "##s",
    "naive",
    "un",
    "##able",
    "北",
    "!",
    "_",
]


def _file(header, data=b""):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def _whole(array, kind):
    return {"dtype": kind, "shape": array.shape, "data_offsets": [0, array.nbytes]}


@pytest.mark.parametrize(("kind", "type_"), [("F32", "<f4"), ("F16", "<f2"), ("I64", "<i8")])
def test_tensors_are_those_that_were_written(kind, type_):
    array = (RNG.normal(size=(3, 5)) * 100).astype(type_)
    header = {"__metadata__": {"format": "pt"}, "w": _whole(array, kind)}
    found = read_safetensors(_file(header, array.tobytes()))
    assert list(found) == ["w"] and np.array_equal(found["w"], array)


def test_agrees_with_the_package():
    package = pytest.importorskip("safetensors.numpy")
    arrays = {"a": RNG.normal(size=(2, 3)).astype(np.float32), "b": np.arange(4)}
    found = read_safetensors(package.save(arrays))
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


ARRAY = np.ones(4, np.float32)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (b"\xff" * 12, "fewer than a header"),
        (_file({"w": _whole(ARRAY, "F32")}, ARRAY.tobytes()[:-1]), r"w of shape \(4,\) does not fill bytes 0 to 16"),
        (_file({"w": _whole(ARRAY, "F32") | {"shape": [-4]}}, ARRAY.tobytes()), "does not fill"),
        (_file({"w": _whole(ARRAY, "BF16")}, ARRAY.tobytes()), "w is of type BF16; F16, F32"),
        (_file({"w": {"dtype": "F32"}}), "the header is damaged"),
        (_file([1]), "the header is damaged"),
    ],
)
def test_damaged_files_are_refused(file, said):
    with pytest.raises(FormatError, match=said):
        read_safetensors(file)


def test_words_are_cut_into_the_longest_pieces():
    pieces = WordPieces(VOCABULARY)
    assert pieces.encode("Embeddings naïve!", 9) == [2, 4, 5, 6, 7, 8, 12, 3]
    assert pieces.encode("em北em unable", 9) == [2, 4, 11, 4, 9, 10, 3]  # Chinese characters are words
    assert pieces.encode("unfit em_s", 9) == [2, 1, 4, 13, 1, 3]  # no piece is left for a part: the word is unknown
    assert pieces.encode("em " * 9, 4) == [2, 4, 4, 3]
    assert pieces.encode("em" + "s" * 200, 9) == [2, 1, 3]


@pytest.mark.slow
def test_a_layer_is_imported_as_pytorch_computes_it_and_padding_counts_for_nothing():
    torch = pytest.importorskip("torch")
    minilm = pytest.importorskip("bench.zoo.minilm")
    torch.manual_seed(0)
    layer, x = minilm.EncoderLayer().double().eval(), RNG.normal(size=(2, minilm.TOKENS, minilm.WIDTH))
    x[1, : minilm.LENGTH] = x[0, : minilm.LENGTH]
    exact = [layer(torch.from_numpy(row)).detach().numpy() for row in x]
    program = lw.from_torch(layer, torch.from_numpy(x[0]))
    np.testing.assert_allclose(program(x[0]), exact[0], atol=1e-12)
    assert minilm.cosine(exact[0], exact[1]) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(exact[0] - exact[1]).max() > 0.1  # of the padding itself
    assert minilm.cosine(exact[0], -exact[0]) == pytest.approx(-1.0)
