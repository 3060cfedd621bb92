"""Recurrent layers of ATen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.lazy_dataclass import dataclass
from latticework.models.pytorch.operators.table import each
from latticework.models.semantics import recurrent as meant
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.unary import MEANINGS


@dataclass(frozen=True)
class StackArguments:
    """The arguments of ATen's recurrent layers behind the weights, in their order."""

    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool


def _convert_layers(meaning: Callable[..., Any], **chosen: Any) -> Callable[..., Any]:
    """Return a function that runs all layers at once, with the arguments of ATen."""

    @group_parameters
    def run_layers(x: Any, hx: Any, params: Any, stack: StackArguments) -> Any:
        if stack.train and stack.dropout > 0:
            raise UnsupportedError(f"dropout between layers: {REMEDIES['random'].for_models}")
        states = tuple(hx) if isinstance(hx, list) else hx
        options = {name: value for name, value in vars(stack).items() if name not in ("dropout", "train")}
        return meaning(x, states, params, **options, **chosen)

    return run_layers


def _lstm_cell(x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, Any]:
    _, h, c = _step(meant.lstm, x, tuple(hx), (w_ih, w_hh, b_ih, b_hh))
    return h, c


def _gru_cell(x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    return _step(meant.gru, x, hx, (w_ih, w_hh, b_ih, b_hh))[1]


def _rnn_cell(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def cell(x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = 0.0, b_hh: Any = 0.0) -> Any:
        return function(x @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)

    return cell


def _step(layer: Callable[..., Any], x: Any, states: Any, weights: tuple[Any, ...]) -> Any:
    """A layer of one step: (batch, features), with states (batch, hidden)."""
    params = [w for w in weights if w is not None]
    apart = [np.expand_dims(s, 0) for s in states] if isinstance(states, tuple) else np.expand_dims(states, 0)
    hx = tuple(apart) if isinstance(states, tuple) else apart
    made = layer(np.expand_dims(x, 0), hx, params, has_biases=len(params) == 4)
    return tuple(np.squeeze(part, 0) for part in made)


_LAYER = "without projections of the state (proj_size)"

CONVERTERS = [
    *each("lstm.input", _convert_layers(meant.lstm), _LAYER),
    *each("gru.input", _convert_layers(meant.gru)),
    *each("rnn_tanh.input", _convert_layers(meant.rnn, nonlinearity="tanh")),
    *each("rnn_relu.input", _convert_layers(meant.rnn, nonlinearity="relu")),
    *each("lstm_cell.default", _lstm_cell),
    *each("gru_cell.default", _gru_cell),
    *each("rnn_tanh_cell.default", _rnn_cell(np.tanh)),
    *each("rnn_relu_cell.default", _rnn_cell(MEANINGS["relu"])),
]
