"""What operations on numbers, and on tensors and memrefs of anything, compute.

Floating point is float64 throughout, whatever width is written: HEIR's f32 is that of its input language, and results
are those of real numbers. Tensors and memrefs are arrays; of ciphertexts and plaintexts, arrays of objects.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from latticework.interop.heir.syntax import HeirOperation, HeirType

MOST_ELEMENTS = 1 << 26  # of one array
Handler = Callable[[HeirOperation, Sequence[Any], dict[str, Any]], list[Any]]


def _toward_zero(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: Any, b: Any) -> Any:
    return a - b * _toward_zero(a, b)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "addi": operator.add, "subi": operator.sub, "muli": operator.mul, "addf": operator.add, "subf": operator.sub,
    "mulf": operator.mul, "divf": operator.truediv, "divsi": _toward_zero, "divui": operator.floordiv,
    "remsi": _remainder, "remui": operator.mod, "floordivsi": operator.floordiv,
    "ceildivsi": lambda a, b: -(-a // b), "minsi": np.minimum, "maxsi": np.maximum, "minimumf": np.minimum,
    "maximumf": np.maximum, "andi": operator.and_, "ori": operator.or_, "xori": operator.xor,
}  # fmt: skip
_COMPARED = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _compare(op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    predicate = str(op.attributes.get("predicate"))
    return [_COMPARED[predicate if predicate in _COMPARED else predicate[1:]](inputs[0], inputs[1])]


def is_known_predicate(op: HeirOperation) -> bool:
    """Whether a comparison is one that `evaluate` knows."""
    predicate = str(op.attributes.get("predicate"))
    return predicate in _COMPARED or (predicate[:1] in ("s", "u", "o") and predicate[1:] in _COMPARED)


def _same(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    return [inputs[0]]


def _to_integer(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    return [inputs[0].astype(np.int64) if isinstance(inputs[0], np.ndarray) else int(inputs[0])]


def _to_float(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    return [inputs[0].astype(np.float64) if isinstance(inputs[0], np.ndarray) else float(inputs[0])]


def _binary(function: Callable[[Any, Any], Any]) -> Handler:
    return lambda _op, inputs, _environment: [function(inputs[0], inputs[1])]


def fresh(kind: HeirType, extents: Sequence[Any] = ()) -> Any:
    """An array of a type, zero or empty; its unknown extents are given."""
    rest = iter(extents)
    shape = tuple(int(next(rest)) if n < 0 else n for n in kind.shape)
    if prod(shape) > MOST_ELEMENTS:
        raise ValueError(f"an array of shape {shape}; at most {MOST_ELEMENTS} elements are read")
    if not kind.is_number:
        return np.full(shape, None, dtype=object)
    return np.zeros(shape, dtype=np.int64 if kind.is_integer else np.float64)


def _index(inputs: Sequence[Any], extents: tuple[int, ...]) -> tuple[int, ...]:
    index = tuple(int(i) for i in inputs)
    if any(not 0 <= i < n for i, n in zip(index, extents, strict=True)):
        raise IndexError(f"index {index} outside of an array of shape {extents}")
    return index


def _extract(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    found = inputs[0][_index(inputs[1:], inputs[0].shape)]
    return [found.item() if isinstance(found, np.generic) else found]


def _insert(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    made = inputs[1] if inputs[1].flags.writeable else inputs[1].copy()
    made[_index(inputs[2:], made.shape)] = inputs[0]
    return [made]


def _store(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    inputs[1].flags.writeable = True
    inputs[1][_index(inputs[2:], inputs[1].shape)] = inputs[0]
    return []


def _window(op: HeirOperation, environment: dict[str, Any], extents: tuple[int, ...]) -> tuple[slice, ...]:
    given = [
        [int(environment[n] if isinstance(n, str) else n) for n in op.attributes[key]]
        for key in ("offsets", "sizes", "strides")
    ]
    for start, size, step, extent in zip(*given, extents, strict=True):
        if start < 0 or size < 0 or step < 1 or (size and start + (size - 1) * step >= extent):
            raise IndexError(f"{size} elements from {start} by {step} outside of an axis of {extent}")
    return tuple(slice(a, a + (n - 1) * s + 1 if n else a, s) for a, n, s in zip(*given, strict=True))


def _extract_slice(op: HeirOperation, inputs: Sequence[Any], environment: dict[str, Any]) -> list[Any]:
    found = inputs[0][_window(op, environment, inputs[0].shape)]
    kept = op.types[0].shape
    axes = list(found.shape)
    while len(axes) > len(kept):  # axes of one element that the type leaves out
        drop = next((i for i, n in enumerate(axes) if n == 1 and (i >= len(kept) or kept[i] not in (1, -1))), None)
        axes.pop(axes.index(1) if drop is None else drop)
    return [found.reshape(axes).copy()]


def _insert_slice(op: HeirOperation, inputs: Sequence[Any], environment: dict[str, Any]) -> list[Any]:
    made = inputs[1] if inputs[1].flags.writeable else inputs[1].copy()
    window = _window(op, environment, made.shape)
    made[window] = inputs[0].reshape(made[window].shape)
    return [made]


def _splat(op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    made = fresh(op.types[0])
    made[...] = inputs[0]
    return [made]


def _from_elements(op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    made = fresh(op.types[0])
    for at, value in zip(np.ndindex(made.shape), inputs, strict=True):
        made[at] = value
    return [made]


HANDLERS: dict[str, Handler] = {
    "arith.constant": lambda op, _inputs, _environment: [op.attributes["value"]],
    **{f"arith.{name}": _binary(function) for name, function in _BINARY.items()},
    "arith.negf": lambda _op, inputs, _environment: [-inputs[0]],
    "arith.cmpi": _compare,
    "arith.cmpf": _compare,
    "arith.select": lambda _op, inputs, _environment: [inputs[1] if inputs[0] else inputs[2]],
    **{f"arith.{name}": _same for name in (
        "extf", "truncf", "extsi", "extui", "trunci", "index_cast", "index_castui",
    )},
    "arith.sitofp": _to_float,
    "arith.uitofp": _to_float,
    "arith.fptosi": _to_integer,
    "memref.alloc": lambda op, inputs, _environment: [fresh(op.types[0], inputs)],
    "memref.alloca": lambda op, inputs, _environment: [fresh(op.types[0], inputs)],
    "memref.dealloc": lambda _op, _inputs, _environment: [],
    "memref.load": _extract,
    "memref.store": _store,
    "tensor.empty": lambda op, inputs, _environment: [fresh(op.types[0], inputs)],
    "tensor.extract": _extract,
    "tensor.insert": _insert,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
    "tensor.splat": _splat,
    "tensor.from_elements": _from_elements,
    **{f"key_mgmt.{name}": _same for name in ("load_key", "use_key", "assume_loaded")},  # a key is its index here
    **{f"key_mgmt.{name}": lambda _op, _inputs, _environment: [] for name in ("prefetch_key", "clear_key")},
}  # fmt: skip
