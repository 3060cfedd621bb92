"""Recurrent layers, one loop over time for each layer and direction: what a step adds of its input is computed before.

x        (length, batch, features), or (length, features); `batch_first` (batch, length, features)
hx       initial states (layers * directions, batch, hidden), secret or public; None: zeros
params   in PyTorch's order: for every layer, and both directions of it, the weights of input and state, of shapes
         (gates * hidden, features) and (gates * hidden, hidden), and with `has_biases` their biases
returns  states of all steps (length, batch, directions * hidden), and the last of each layer and direction
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.frontend.programs.scanning import scan
from latticework.lazy_dataclass import dataclass
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.matrix_products import linear
from latticework.models.semantics.operand_checks import values, whole
from latticework.models.semantics.unary import MEANINGS


@dataclass(frozen=True, slots=True)
class CellWeights:
    """Weights of one layer in one direction, by gate: of input and state, with biases (None: there are none)."""

    of_input: Sequence[Any]
    of_state: Sequence[Any]
    bias: Sequence[Any]
    state_bias: Sequence[Any]


@dataclass(frozen=True)
class LayerStack:
    """Layers one on the other, in one direction or in both."""

    has_biases: bool = True
    num_layers: int = 1
    bidirectional: bool = False
    batch_first: bool = False


Step = Callable[[CellWeights, Sequence[Any], tuple[Any, ...]], tuple[Any, ...]]
"""From what the input adds to each gate, and the states (the one that is returned first), to the next states."""


@dataclass(frozen=True, slots=True)
class RecurrentCell:
    """A kind of recurrent cell: what errors call it, its number of gates, and its step."""

    name: str
    gates: int
    step: Step


@group_parameters
def lstm(
    x: Any,
    hx: tuple[Any, Any] | None,
    params: Sequence[Any],
    *,
    stack: LayerStack,
) -> tuple[Any, Any, Any]:
    """Long short-term memory; gates in, forget, cell, out. Also returns the last cell states; hx is (h, c)."""
    states = (None, None) if hx is None else hx
    output, (h, c) = _run_layers(x, states, params, RecurrentCell("lstm", 4, _lstm_step), stack)
    return output, h, c


@group_parameters
def gru(
    x: Any,
    hx: Any,
    params: Sequence[Any],
    *,
    stack: LayerStack,
    linear_before_reset: bool = True,
) -> tuple[Any, Any]:
    """Gated recurrent units; gates reset, update, new.

    linear_before_reset  the reset gate multiplies what the state's weights make of it, as PyTorch has it; False: the
                         state itself, as ONNX has it unless told
    """
    step = _gru_step if linear_before_reset else _gru_step_on_state
    output, (h,) = _run_layers(x, (hx,), params, RecurrentCell("gru", 3, step), stack)
    return output, h


@group_parameters
def rnn(
    x: Any,
    hx: Any,
    params: Sequence[Any],
    *,
    nonlinearity: str = "tanh",
    stack: LayerStack,
) -> tuple[Any, Any]:
    """The plain recurrent layer, by tanh or relu."""
    if nonlinearity not in ("tanh", "relu"):
        raise UnsupportedError(f"rnn: nonlinearity={nonlinearity!r}; there are 'tanh' and 'relu'")
    function = np.tanh if nonlinearity == "tanh" else MEANINGS["relu"]

    def step(w: CellWeights, given: Sequence[Any], states: tuple[Any, ...]) -> tuple[Any, ...]:
        return (function(given[0] + linear(states[0], w.of_state[0])),)

    output, (h,) = _run_layers(x, (hx,), params, RecurrentCell("rnn", 1, step), stack)
    return output, h


def _lstm_step(w: CellWeights, given: Sequence[Any], states: tuple[Any, ...]) -> tuple[Any, ...]:
    h, c = states
    into, forget, cell, out = (g + linear(h, of) for g, of in zip(given, w.of_state, strict=True))
    sigmoid = MEANINGS["sigmoid"]
    c = sigmoid(forget) * c + sigmoid(into) * np.tanh(cell)
    return sigmoid(out) * np.tanh(c), c


def _gru_step(w: CellWeights, given: Sequence[Any], states: tuple[Any, ...]) -> tuple[Any, ...]:
    (h,) = states
    reset, update = (MEANINGS["sigmoid"](given[i] + linear(h, w.of_state[i], w.state_bias[i])) for i in (0, 1))
    new = np.tanh(given[2] + reset * linear(h, w.of_state[2], w.state_bias[2]))
    return (new + update * (h - new),)


def _gru_step_on_state(w: CellWeights, given: Sequence[Any], states: tuple[Any, ...]) -> tuple[Any, ...]:
    (h,) = states
    reset, update = (MEANINGS["sigmoid"](given[i] + linear(h, w.of_state[i], w.state_bias[i])) for i in (0, 1))
    new = np.tanh(given[2] + linear(reset * h, w.of_state[2], w.state_bias[2]))
    return (new + update * (h - new),)


def _run_layers(
    x: Any, states: tuple[Any, ...], params: Sequence[Any], cell: RecurrentCell, stack: LayerStack
) -> tuple[Any, tuple[Any, ...]]:
    """Run all layers: the states of all steps of the last layer, and for every kind of state the last ones."""
    single, directions = np.ndim(x) == 2, 2 if stack.bidirectional else 1
    name, num_layers, batch_first = cell.name, stack.num_layers, stack.batch_first
    cells = _split_weights(cell, params, stack.has_biases, whole(name, "num_layers", num_layers, 1) * directions)
    if np.ndim(x) not in (2, 3):
        raise ShapeError(f"{name}: x has shape {np.shape(x)}; it must be (length, batch, features), or without a batch")
    line = np.expand_dims(values(x), 1) if single else np.swapaxes(values(x), 0, 1) if batch_first else values(x)
    first = [_initial(name, s, len(cells), np.shape(line)[1], np.shape(cells[0].of_state[0])[0]) for s in states]
    last: list[tuple[Any, ...]] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            output, end = _over_time(line, tuple(s[number] for s in first), cells[number], cell.step, direction == 1)
            outputs.append(output)
            last.append(end)
        line = outputs[0] if directions == 1 else np.concatenate(outputs, -1)
    ends = tuple(np.stack(kind) for kind in zip(*last, strict=True))
    if single:
        return np.squeeze(line, 1), tuple(np.squeeze(end, 1) for end in ends)
    return (np.swapaxes(line, 0, 1) if batch_first else line), ends


def _over_time(
    x: Any, states: tuple[Any, ...], w: CellWeights, step: Step, backwards: bool
) -> tuple[Any, tuple[Any, ...]]:
    x = np.flip(x, 0) if backwards else x
    given = [linear(x, of, bias) for of, bias in zip(w.of_input, w.bias, strict=True)]

    def iterate(carry: tuple[Any, ...], part: list[Any]) -> tuple[Any, Any]:
        after = step(w, part, carry)
        return after, after[0]

    if np.shape(x)[0] == 1:  # a cell that a model calls in a loop of its own: straight code is laid out as one
        end = step(w, [part[0] for part in given], states)
        return np.expand_dims(end[0], 0), end
    end, output = scan(iterate, states, given)
    return (np.flip(output, 0) if backwards else output), end


def _split_weights(cell: RecurrentCell, params: Sequence[Any], has_biases: bool, count: int) -> list[CellWeights]:
    each, gates = 4 if has_biases else 2, cell.gates
    if len(params) != each * count:
        raise UnsupportedError(
            f"{cell.name}: {len(params)} arrays of weights for {count} layers and directions; there have to be {each} "
            "for each: projections of the state (proj_size) are not supported"
        )
    weights = []
    for start in range(0, len(params), each):
        of_input, of_state, *biases = (np.split(values(p), gates) for p in params[start : start + each])
        bias: list[Any] = [None] * gates
        state_bias: list[Any] = [None] * gates
        if cell.name == "gru" and biases:
            bias, state_bias = biases
        elif biases:  # nothing multiplies that of the state alone
            bias = [b + s for b, s in zip(*biases, strict=True)]
        weights.append(CellWeights(of_input, of_state, bias, state_bias))
    return weights


def _initial(name: str, state: Any, count: int, batch: int, hidden: int) -> Any:
    wanted = (count, batch, hidden)
    if state is None:
        return np.zeros(wanted)
    given = np.expand_dims(values(state), 1) if np.ndim(state) == 2 else values(state)
    if np.shape(given) != wanted:
        raise ShapeError(f"{name}: an initial state has shape {np.shape(state)}; it must be {wanted}")
    return given
