"""LSTM, GRU and RNN: one layer, whose gates stand in another order than the meanings have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.models.converters import Converter
from latticework.models.semantics import recurrent
from latticework.models.semantics.operand_checks import public, values, wholes

_ORDER = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}  # of our gates: places of ONNX's
_USUAL = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}

Layer = Callable[..., tuple[Any, ...]]


def _layer(
    name: str, layer: Layer, x: Any, w: Any, r: Any, b: Any, lengths: Any, states: Sequence[Any], *,
    hidden_size: int | None, direction: str, layout: int, clip: float | None, **unknown: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """The states of all steps (length, directions, batch, hidden), and the last ones (directions, batch, hidden)."""
    directions = {"forward": 1, "reverse": 1, "bidirectional": 2}.get(direction)
    if directions is None or np.ndim(x) != 3 or np.ndim(w) != 3 or np.shape(w)[0] != directions:
        raise ShapeError(
            f"{name}: direction={direction!r}, x of shape {np.shape(x)} and weights {np.shape(w)} do not fit"
        )
    if clip is not None or unknown:
        raise UnsupportedError(f"{name}: {', '.join(['clip'] * (clip is not None) + list(unknown))} is not supported")
    x = np.swapaxes(values(x), 0, 1) if layout else values(x)
    if lengths is not None and set(wholes(name, "sequence_lens", lengths)) != {np.shape(x)[0]}:
        raise UnsupportedError(f"{name}: sequences that end before step {np.shape(x)[0]}; give each its own program")
    given = [None if s is None else np.swapaxes(values(s), 0, 1) if layout else values(s) for s in states]
    arrays = [_gates(name, array) for array in (w, r)]
    if b is not None:
        arrays += [_gates(name, half) for half in np.split(public(name, "the bias", b), 2, 1)]
    params = [array[i] for i in range(directions) for array in arrays]
    turned = np.flip(x, 0) if direction == "reverse" else x
    found, *last = layer(turned, given, params, has_biases=b is not None, bidirectional=directions == 2)
    if direction == "reverse":
        found = np.flip(found, 0)
    length, batch, width = np.shape(found)
    if hidden_size not in (None, width // directions):
        raise ShapeError(f"{name}: hidden_size={hidden_size}, and the weights have {width // directions}")
    steps = np.reshape(found, (length, batch, directions, width // directions))
    if layout:
        return np.transpose(steps, (1, 0, 2, 3)), *(np.swapaxes(state, 0, 1) for state in last)
    return np.transpose(steps, (0, 2, 1, 3)), *last


def _gates(name: str, array: Any) -> Any:
    """The gates along axis 1 in our order."""
    order = _ORDER[name]
    weights = public(name, "a weight", array)
    if weights.ndim < 2 or weights.shape[1] % len(order):
        raise ShapeError(f"{name}: weights of shape {weights.shape} are not of {len(order)} gates")
    parts = np.split(weights, len(order), 1)
    return np.concatenate([parts[i] for i in order], 1)


def _functions(name: str, given: Sequence[str], direction: str) -> tuple[str, ...]:
    """The activations, of both directions the same."""
    usual = _USUAL[name]
    found = tuple(each.lower() for each in given) or usual * (2 if direction == "bidirectional" else 1)
    once = found[: len(usual)]
    if found not in (once, once * 2) or (once != usual and not (name == "RNN" and once == ("relu",))):
        raise UnsupportedError(
            f"{name}: activations={tuple(given)}; there are {usual}" + (" or relu" * (name == "RNN"))
        )
    return once


def _lstm(
    x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, c: Any = None, peepholes: Any = None, *,
    hidden_size: int | None = None, activations: Sequence[str] = (), direction: str = "forward", layout: int = 0,
    clip: float | None = None, input_forget: int = 0, **unknown: Any,
) -> Any:  # fmt: skip
    _functions("LSTM", activations, direction)
    if input_forget or (peepholes is not None and np.any(public("LSTM", "the peepholes", peepholes))):
        raise UnsupportedError("LSTM: input_forget and peepholes are not supported; export it without")

    def layer(turned: Any, states: Sequence[Any], params: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        return recurrent.lstm(turned, (states[0], states[1]), params, **options)

    return _layer("LSTM", layer, x, w, r, b, lengths, (h, c), hidden_size=hidden_size,
                  direction=direction, layout=layout, clip=clip, **unknown)  # fmt: skip


def _gru(
    x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, *, hidden_size: int | None = None,
    activations: Sequence[str] = (), direction: str = "forward", layout: int = 0, clip: float | None = None,
    linear_before_reset: int = 0, **unknown: Any,
) -> Any:  # fmt: skip
    _functions("GRU", activations, direction)

    def layer(turned: Any, states: Sequence[Any], params: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        return recurrent.gru(turned, states[0], params, linear_before_reset=bool(linear_before_reset), **options)

    return _layer("GRU", layer, x, w, r, b, lengths, (h,), hidden_size=hidden_size,
                  direction=direction, layout=layout, clip=clip, **unknown)  # fmt: skip


def _rnn(
    x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, *, hidden_size: int | None = None,
    activations: Sequence[str] = (), direction: str = "forward", layout: int = 0, clip: float | None = None,
    **unknown: Any,
) -> Any:  # fmt: skip
    (function,) = _functions("RNN", activations, direction)

    def layer(turned: Any, states: Sequence[Any], params: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        return recurrent.rnn(turned, states[0], params, nonlinearity=function, **options)

    return _layer("RNN", layer, x, w, r, b, lengths, (h,), hidden_size=hidden_size,
                  direction=direction, layout=layout, clip=clip, **unknown)  # fmt: skip


_NOTE = "the usual activations; sequences of one length, weights public"
CONVERTERS = (
    Converter("LSTM", _lstm, note=f"{_NOTE}, no peepholes"),
    Converter("GRU", _gru, note=_NOTE),
    Converter("RNN", _rnn, note=f"{_NOTE}; tanh or relu"),
)
