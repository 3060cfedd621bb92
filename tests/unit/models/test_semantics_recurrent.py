"""Meanings of recurrent layers: PyTorch's on arrays, and of secrets by loops."""

import numpy as np
import pytest
import torch
from meaning_cases import check, model_of, refused, simulated, tensors

from latticework.frontend.programs.array_program import trace
from latticework.models.semantics import recurrent

RNG = np.random.default_rng(11)
LENGTH, BATCH, FEATURES, HIDDEN = 4, 2, 3, 2
KINDS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}


def normal(*shape):
    return RNG.normal(size=shape)


def layer(kind, **options):
    """A layer of PyTorch, and its weights in order."""
    torch.manual_seed(1)
    named = {{"has_biases": "bias"}.get(k, k): v for k, v in options.items()}
    made = KINDS[kind](FEATURES, HIDDEN, dtype=torch.float64, **named)
    return made, [p.detach().numpy() for p in made.parameters()]


def ours(expected):
    """PyTorch's results in one row."""
    output, states = expected
    return [output, *(states if isinstance(states, tuple) else [states])]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"has_biases": False},
        {"batch_first": True},
        {"bidirectional": True},
        {"num_layers": 2},
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
    ],
)
@pytest.mark.parametrize("states", [None, "public", "secret"])
def test_as_pytorch(kind, options, states):
    made, weights = layer(kind, **options)
    x = normal(BATCH, LENGTH, FEATURES) if options.get("batch_first") else normal(LENGTH, BATCH, FEATURES)
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    first = [normal(count, BATCH, HIDDEN) for _ in range(2 if kind == "lstm" else 1)]
    meaning = getattr(recurrent, kind)

    def of(x, *given):
        return meaning(x, None if not given else given if kind == "lstm" else given[0], weights, **options)

    args = (x,) if states is None else (x, *first)
    hx = None if states is None else tensors(tuple(first)) if kind == "lstm" else torch.from_numpy(first[0])
    secret = range(len(args)) if states == "secret" else (0,)
    check(of, args, ours(made(torch.from_numpy(x), hx)), secret)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_batch(kind):
    made, weights = layer(kind)
    x = normal(LENGTH, FEATURES)
    check(getattr(recurrent, kind), (x, None, weights), ours(made(torch.from_numpy(x))))


def test_rnn_by_relu():
    made, weights = layer("rnn", nonlinearity="relu")
    x = normal(LENGTH, BATCH, FEATURES)
    check(recurrent.rnn, (x, None, weights), ours(made(torch.from_numpy(x))), nonlinearity="relu")
    refused("nonlinearity='sigmoid'", recurrent.rnn, (x, None, weights), nonlinearity="sigmoid")


def test_gru_that_resets_the_state_itself():
    """As ONNX has it unless told: the formula, step by step."""
    _, (w, r, b, rb) = layer("gru")
    x, h = normal(LENGTH, BATCH, FEATURES), np.zeros((BATCH, HIDDEN))
    w, r, b, rb = (np.split(p, 3) for p in (w, r, b, rb))
    steps = []
    for one in x:
        reset, update = (1 / (1 + np.exp(-(one @ w[i].T + b[i] + h @ r[i].T + rb[i]))) for i in (0, 1))
        new = np.tanh(one @ w[2].T + b[2] + (reset * h) @ r[2].T + rb[2])
        h = (1 - update) * new + update * h
        steps.append(h)
    params = [np.concatenate(p) for p in (w, r, b, rb)]
    check(recurrent.gru, (x, None, params), [np.stack(steps), h[None]], linear_before_reset=False)


def test_a_layer_is_one_loop_whatever_the_length():
    _, weights = layer("lstm")
    counts = []
    for length in (3, 9):
        module = trace(model_of(recurrent.lstm, (normal(length, BATCH, FEATURES), None, weights)))
        names = [op.name for op in module.walk()]
        assert names.count("loop.for") == 1 and names.count("tensor.apply") == 5
        counts.append(len(names))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("kind", KINDS)
def test_one_step_is_no_loop(kind):
    made, weights = layer(kind, num_layers=2, bidirectional=True)
    x, meaning = normal(1, BATCH, FEATURES), getattr(recurrent, kind)
    options = {"num_layers": 2, "bidirectional": True}
    check(lambda x: meaning(x, None, weights, **options), (x,), ours(made(torch.from_numpy(x))), (0,))
    module = trace(model_of(meaning, (x, None, weights), **options))
    assert "loop.for" not in [op.name for op in module.walk()]


def test_refused():
    _, weights = layer("lstm")
    x = normal(LENGTH, BATCH, FEATURES)
    refused("3 arrays of weights.*4 for each", recurrent.lstm, (x, None, weights[:3]))
    refused("an initial state has shape", recurrent.gru, (x, normal(2, BATCH, HIDDEN), layer("gru")[1]))
    refused("it must be .length, batch, features", recurrent.rnn, (normal(3), None, layer("rnn")[1]))


def test_rnn_simulated():
    _, weights = layer("rnn")
    simulated(lambda x: recurrent.rnn(x, None, weights)[1], (normal(2, 1, FEATURES),), bits=6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_simulated(kind):
    _, weights = layer(kind)
    simulated(lambda x: getattr(recurrent, kind)(x, None, weights)[0], (normal(2, 1, FEATURES),), bits=6)
