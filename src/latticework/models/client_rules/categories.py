"""Keys and values of LabelEncoder and CategoryMapper of ONNX files: lists that a file states, checked."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step_arrays import MAX_LABELS

Array = npt.NDArray[Any]
_KINDS = ("strings", "int64s", "floats", "tensor")
_DEFAULTS = {
    "strings": ("default_string", "_Unused"),
    "int64s": ("default_int64", -1),
    "floats": ("default_float", 0.0),
}


@dataclass(frozen=True)
class CategoryMap:
    """A table of keys and their values, of one length, and what all other keys become.

    keys, values  texts as objects, int64 or float64; no key stands twice
    """

    keys: Array
    values: Array
    default: Any

    def of(self, x: Array) -> Array:
        """The values of keys; NaN is a key like any other."""
        known = {_key(key): value for key, value in zip(self.keys.tolist(), self.values.tolist(), strict=True)}
        found = [known.get(_key(key), self.default) for key in np.asarray(x).reshape(-1).tolist()]
        made = np.array(found, dtype=self.values.dtype if self.values.dtype.kind != "O" else object)
        return made.reshape(np.shape(x))


def label_map(options: Mapping[str, Any], *, of_texts: bool | None = None) -> CategoryMap:
    """The table of a LabelEncoder, of any version.

    of_texts  whether what it is given is texts, which version 1 maps to numbers, and numbers to texts
    raises    ValueError for lists that are missing, of different lengths or too long, and for a key that stands twice
    """
    texts = options.get("classes_strings")
    if texts:
        names, numbers = _array(texts, "strings"), np.arange(len(texts))
        is_coded = of_texts is not False
        default = options.get("default_int64", -1) if is_coded else options.get("default_string", "_Unused")
        return _map_of(names if is_coded else numbers, numbers if is_coded else names, default)
    keys, values = (_one_of(options, side) for side in ("keys", "values"))
    if keys is None or values is None:
        raise ValueError("it has no keys, or no values")
    kind, found = values
    name, usual = _DEFAULTS.get(kind, ("default_tensor", None))
    default = options.get(name, usual)
    if kind == "tensor":
        usual = "_Unused" if found.dtype.kind == "O" else -1 if found.dtype.kind in "iu" else 0.0
        default = usual if default is None else np.asarray(default).reshape(-1).tolist()[0]
    return _map_of(keys[1], found, default)


def category_map(options: Mapping[str, Any], *, of_texts: bool) -> CategoryMap:
    """The table of a CategoryMapper, which maps both ways; raises as `label_map`."""
    names, numbers = _array(options["cats_strings"], "strings"), _array(options["cats_int64s"], "int64s")
    if of_texts:
        return _map_of(names, numbers, options.get("default_int64", -1))
    return _map_of(numbers, names, options.get("default_string", "_Unused"))


def _one_of(options: Mapping[str, Any], side: str) -> tuple[str, Array] | None:
    """The kind and the array of the keys, or of the values."""
    given = [(kind, options[f"{side}_{kind}"]) for kind in _KINDS if options.get(f"{side}_{kind}") is not None]
    found = [(kind, _array(values, kind)) for kind, values in given if np.size(values)]
    if len(found) > 1:
        raise ValueError(f"it has {side} of several kinds")
    return found[0] if found else None


def _array(values: Any, kind: str) -> Array:
    if kind == "strings":
        return np.array([str(value) for value in values], dtype=object)
    array = np.asarray(values).reshape(-1)
    if array.dtype.kind in "USO":
        return array.astype(object)
    return array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)


def _map_of(keys: Array, values: Array, default: Any) -> CategoryMap:
    if len(keys) != len(values) or not 1 <= len(keys) <= MAX_LABELS:
        raise ValueError(
            f"it has {len(keys)} keys and {len(values)} values; there are to be as many, up to {MAX_LABELS}"
        )
    if len({_key(key) for key in keys.tolist()}) < len(keys):
        raise ValueError("a key of it stands twice")
    return CategoryMap(keys, values, default)


def _key(value: Any) -> Any:
    """A value that is equal to itself."""
    return "NaN" if isinstance(value, float) and isnan(value) else (isinstance(value, str), value)
