"""LSTM, GRU and RNN: one layer, whose gates stand in another order than the meanings have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.lazy_dataclass import dataclass
from latticework.models.converters import Converter
from latticework.models.semantics import recurrent
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.operand_checks import public, values, wholes

_ORDER = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}  # of our gates: places of ONNX's
_USUAL = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}

Layer = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class RecurrentWeights:
    """Weights of the input (directions, gates * hidden, features) and the state, and biases of both or None."""

    w: Any
    r: Any
    b: Any = None


@dataclass(frozen=True, kw_only=True)
class RecurrentOptions:
    """The attributes that LSTM, GRU and RNN have in common; those that are not supported stay None."""

    hidden_size: int | None = None
    activations: Sequence[str] = ()
    direction: str = "forward"
    layout: int = 0
    clip: float | None = None
    activation_alpha: Sequence[float] | None = None
    activation_beta: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class LstmOptions(RecurrentOptions):
    """The attributes of LSTM."""

    input_forget: int = 0


@dataclass(frozen=True, kw_only=True)
class GruOptions(RecurrentOptions):
    """The attributes of GRU."""

    linear_before_reset: int = 0


def _run_layer(
    name: str, layer: Layer, x: Any, weights: RecurrentWeights, lengths: Any, states: Sequence[Any],
    options: RecurrentOptions,
) -> tuple[Any, ...]:  # fmt: skip
    """The states of all steps (length, directions, batch, hidden), and the last ones (directions, batch, hidden)."""
    w, direction, layout, hidden_size = weights.w, options.direction, options.layout, options.hidden_size
    directions = {"forward": 1, "reverse": 1, "bidirectional": 2}.get(direction)
    if directions is None or np.ndim(x) != 3 or np.ndim(w) != 3 or np.shape(w)[0] != directions:
        raise ShapeError(
            f"{name}: direction={direction!r}, x of shape {np.shape(x)} and weights {np.shape(w)} do not fit"
        )
    unknown = [each for each in ("clip", "activation_alpha", "activation_beta") if getattr(options, each) is not None]
    if unknown:
        raise UnsupportedError(f"{name}: {', '.join(unknown)} is not supported")
    x = np.swapaxes(values(x), 0, 1) if layout else values(x)
    if lengths is not None and set(wholes(name, "sequence_lens", lengths)) != {np.shape(x)[0]}:
        raise UnsupportedError(f"{name}: sequences that end before step {np.shape(x)[0]}; give each its own program")
    initial = [None if s is None else np.swapaxes(values(s), 0, 1) if layout else values(s) for s in states]
    arrays = [_reorder_gates(name, array) for array in (w, weights.r)]
    if weights.b is not None:
        arrays += [_reorder_gates(name, half) for half in np.split(public(name, "the bias", weights.b), 2, 1)]
    params = [array[i] for i in range(directions) for array in arrays]
    line = np.flip(x, 0) if direction == "reverse" else x
    output, *last = layer(line, initial, params, has_biases=weights.b is not None, bidirectional=directions == 2)
    if direction == "reverse":
        output = np.flip(output, 0)
    length, batch, width = np.shape(output)
    if hidden_size not in (None, width // directions):
        raise ShapeError(f"{name}: hidden_size={hidden_size}, and the weights have {width // directions}")
    steps = np.reshape(output, (length, batch, directions, width // directions))
    if layout:
        return np.transpose(steps, (1, 0, 2, 3)), *(np.swapaxes(state, 0, 1) for state in last)
    return np.transpose(steps, (0, 2, 1, 3)), *last


def _reorder_gates(name: str, array: Any) -> Any:
    """Return the gates along axis 1 in the order of `semantics.recurrent`."""
    order = _ORDER[name]
    weights = public(name, "a weight", array)
    if weights.ndim < 2 or weights.shape[1] % len(order):
        raise ShapeError(f"{name}: weights of shape {weights.shape} are not of {len(order)} gates")
    parts = np.split(weights, len(order), 1)
    return np.concatenate([parts[i] for i in order], 1)


def _read_activations(name: str, options: RecurrentOptions) -> tuple[str, ...]:
    """Return the activations of one direction; UnsupportedError where the other has different ones."""
    usual = _USUAL[name]
    named = tuple(each.lower() for each in options.activations)
    activations = named or usual * (2 if options.direction == "bidirectional" else 1)
    once = activations[: len(usual)]
    if activations not in (once, once * 2) or (once != usual and not (name == "RNN" and once == ("relu",))):
        raise UnsupportedError(
            f"{name}: activations={tuple(options.activations)}; there are {usual}" + (" or relu" * (name == "RNN"))
        )
    return once


@group_parameters
def _lstm(
    x: Any, weights: RecurrentWeights, lengths: Any = None, h: Any = None, c: Any = None, peepholes: Any = None, *,
    options: LstmOptions,
) -> Any:  # fmt: skip
    _read_activations("LSTM", options)
    if options.input_forget or (peepholes is not None and np.any(public("LSTM", "the peepholes", peepholes))):
        raise UnsupportedError("LSTM: input_forget and peepholes are not supported; export it without")

    def layer(line: Any, states: Sequence[Any], params: Sequence[Any], **stack: bool) -> tuple[Any, ...]:
        return recurrent.lstm(line, (states[0], states[1]), params, **stack)

    return _run_layer("LSTM", layer, x, weights, lengths, (h, c), options)


@group_parameters
def _gru(x: Any, weights: RecurrentWeights, lengths: Any = None, h: Any = None, *, options: GruOptions) -> Any:
    _read_activations("GRU", options)
    before_reset = bool(options.linear_before_reset)

    def layer(line: Any, states: Sequence[Any], params: Sequence[Any], **stack: bool) -> tuple[Any, ...]:
        return recurrent.gru(line, states[0], params, linear_before_reset=before_reset, **stack)

    return _run_layer("GRU", layer, x, weights, lengths, (h,), options)


@group_parameters
def _rnn(x: Any, weights: RecurrentWeights, lengths: Any = None, h: Any = None, *, options: RecurrentOptions) -> Any:
    (function,) = _read_activations("RNN", options)

    def layer(line: Any, states: Sequence[Any], params: Sequence[Any], **stack: bool) -> tuple[Any, ...]:
        return recurrent.rnn(line, states[0], params, nonlinearity=function, **stack)

    return _run_layer("RNN", layer, x, weights, lengths, (h,), options)


_NOTE = "the usual activations; sequences of one length, weights public"
CONVERTERS = (
    Converter("LSTM", _lstm, note=f"{_NOTE}, no peepholes"),
    Converter("GRU", _gru, note=_NOTE),
    Converter("RNN", _rnn, note=f"{_NOTE}; tanh or relu"),
)
