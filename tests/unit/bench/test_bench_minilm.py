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


def _small_search(torch, minilm):
    """Two narrow layers and a small corpus, with PyTorch's embedding of any number of tokens."""
    search = pytest.importorskip("bench.zoo.minilm_search")
    torch.manual_seed(0)
    network = torch.nn.Sequential(*(minilm.EncoderLayer(16, 2, 32) for _ in range(2))).double().eval()
    corpus = RNG.normal(size=(20, 16))
    module = search.Search(network, corpus / np.linalg.norm(corpus, axis=1, keepdims=True)).eval()

    def exact(x):
        tokens = torch.from_numpy(x)
        for layer in network:
            tokens = layer(tokens, torch.zeros(len(x), dtype=tokens.dtype))
        return tokens.mean(dim=0).detach().numpy()

    return module, exact


@pytest.mark.parametrize("count", range(1, 9))
def test_copies_with_weights_are_as_good_as_no_padding(count):
    """For every number of tokens, divisors of the length and others; equal weights of all places are not."""
    torch, minilm = pytest.importorskip("torch"), pytest.importorskip("bench.zoo.minilm")
    module, exact = _small_search(torch, minilm)
    x = RNG.normal(size=(count, 16))
    rows, weights = minilm.padding(count, 8)
    assert sorted(set(rows)) == list(range(count)) and weights.sum() == pytest.approx(1)
    given = [torch.from_numpy(each) for each in (x[rows], np.log(8 * weights), weights)]
    embedding, products = (each.detach().numpy() for each in module(*given))
    np.testing.assert_allclose(embedding, exact(x), atol=1e-12)
    np.testing.assert_allclose(products, module.corpus.numpy().T @ embedding, atol=1e-12)
    plain = module(given[0], torch.zeros(8, dtype=torch.float64), torch.full((8,), 1 / 8, dtype=torch.float64))
    assert (np.abs(plain[0].detach().numpy() - exact(x)).max() < 1e-9) == (8 % count == 0)


def test_a_query_that_is_too_long_is_refused(monkeypatch):
    minilm = pytest.importorskip("bench.zoo.minilm")
    monkeypatch.setattr(minilm, "token_embeddings", lambda text: np.zeros((len(text), 4)))
    assert minilm.padded("x" * 32)[0].shape == (32, 4)
    with pytest.raises(ValueError, match="has 33 tokens with its two marks, and 32 fit: shorten it"):
        minilm.padded("x" * 33)


@pytest.mark.slow
def test_a_small_search_runs_encrypted():
    torch, minilm = pytest.importorskip("torch"), pytest.importorskip("bench.zoo.minilm")
    search = pytest.importorskip("bench.zoo.minilm_search")
    module, exact = _small_search(torch, minilm)

    def drawn():
        x = RNG.normal(size=(int(RNG.integers(2, 9)), 16))
        rows, weights = minilm.padding(len(x), 8)
        return x, (x[rows], np.log(8 * weights), weights)

    padded = [drawn()[1] for _ in range(100)]
    model = lw.compile(
        lw.from_torch(module, tuple(map(torch.from_numpy, padded[0]))),
        calibrate={name: np.stack(column) for name, column in zip(search.NAMES, zip(*padded, strict=True), strict=True)},
        precision_bits=6, scale_columns=False, bootstrap_set="T12L16", insecure=True,
    )  # fmt: skip
    client = model.client()
    x, given = drawn()
    found = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(*given)))
    embedding, products = (each.reveal() for each in found)
    assert minilm.cosine(embedding[None], exact(x)[None]) > 0.999
    np.testing.assert_allclose(products, module.corpus.numpy().T @ exact(x), atol=0.05)
