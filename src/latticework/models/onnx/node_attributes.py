"""Read the attributes of a node as Python values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isinf, isnan
from typing import Any

from latticework.errors import FormatError, RangeError
from latticework.models.onnx.tensors import TensorReader

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS = range(1, 9)
# Where NaN may stand: it ends sets, nothing is compared with it, it is what is missing, or a key.
_WITH_NAN = {"membership_values", "nodes_splits", "replaced_value_float", "keys_floats", "keys_tensor"}
_UNBOUNDED = {
    "value",
    "value_float",
    "value_floats",
    "min",
    "max",
    "extrapolation_value",
    "nodes_values",
    "nodes_splits",
    "threshold",
    "imputed_value_floats",
    "replaced_value_float",
    "default_float",
    "keys_floats",
    "values_floats",
}  # that may be infinite: limits, and what is put in somewhere
_NAMES = {
    9: "several tensors", 10: "several graphs", 11: "a sparse tensor", 12: "sparse tensors", 13: "a type", 14: "types",
}  # fmt: skip


def options_of(
    node: Any, tensors: TensorReader, graph: Callable[[Any], Any], outer: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The attributes of a node by name.

    graph  makes something of a nested graph
    outer  attributes of the call of a function, where the node is in the function's body
    """
    found: dict[str, Any] = {}
    for given in node.attribute:
        if given.ref_attr_name:
            if outer is None:
                raise FormatError(f"{given.name} refers to an attribute {given.ref_attr_name} of no function")
            if given.ref_attr_name in outer:
                found[given.name] = outer[given.ref_attr_name]
        elif given.name in found:
            raise FormatError(f"{given.name} is given twice; the file is damaged")
        else:
            found[given.name] = _value(given, tensors, graph)
    return found


def _value(given: Any, tensors: TensorReader, graph: Callable[[Any], Any]) -> Any:
    kind = given.type
    if kind == _TENSOR:
        return tensors.array(given.t, given.name, may_be_nan=given.name in _WITH_NAN)
    if kind == _GRAPH:
        return graph(given.g)
    if kind in (_STRING, _STRINGS):
        texts = tuple(text.decode("utf-8", "replace") for text in (given.strings if kind == _STRINGS else [given.s]))
        return texts if kind == _STRINGS else texts[0]
    if kind in (_INT, _INTS):
        return int(given.i) if kind == _INT else tuple(given.ints)
    if kind in (_FLOAT, _FLOATS):
        numbers = (float(given.f),) if kind == _FLOAT else tuple(given.floats)
        if given.name not in _WITH_NAN and any(map(isnan, numbers)):
            raise RangeError(f"{given.name} is NaN; repair the model")
        if given.name not in _UNBOUNDED and any(map(isinf, numbers)):
            raise RangeError(f"{given.name} is infinite; repair the model")
        return numbers if kind == _FLOATS else numbers[0]
    raise FormatError(f"{given.name} is {_NAMES.get(kind, f'of unknown type {kind}')}, which no operator here takes")
