"""Semantics of operations on numbers, and on tensors and memrefs of anything.

Floating point is float64 throughout, whatever width is written: HEIR's f32 is that of its input language, and results
are those of real numbers. Integers have their width, and wrap around; index has 64 bits. Tensors and memrefs are
arrays; of ciphertexts and plaintexts, arrays of objects.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from latticework.frontend.heir.reading_cost import NUMBERS_OF_WORK, hold, room_for, take
from latticework.frontend.heir.syntax import HeirOperation, HeirType, integer_bits, text_of

_WORDS_OF_INTEGER = 10  # that arrays of integers of any size take for each while they are computed with
Handler = Callable[[HeirOperation, Sequence[Any], dict[str, Any]], list[Any]]


def _toward_zero(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: Any, b: Any) -> Any:
    return a - b * _toward_zero(a, b)


_FLOATING: dict[str, Callable[[Any, Any], Any]] = {
    "addf": operator.add, "subf": operator.sub, "mulf": operator.mul, "divf": operator.truediv,
    "minimumf": np.minimum, "maximumf": np.maximum,
}  # fmt: skip
_SIGNED: dict[str, Callable[[Any, Any], Any]] = {
    "addi": operator.add, "subi": operator.sub, "muli": operator.mul, "divsi": _toward_zero, "remsi": _remainder,
    "floordivsi": operator.floordiv, "ceildivsi": lambda a, b: -(-a // b), "minsi": np.minimum, "maxsi": np.maximum,
    "andi": operator.and_, "ori": operator.or_, "xori": operator.xor,
}  # fmt: skip
_UNSIGNED: dict[str, Callable[[Any, Any], Any]] = {"divui": operator.floordiv, "remui": operator.mod}
_COMPARED = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _width(op: HeirOperation) -> int:
    """Bits of the integers that an operation takes."""
    return integer_bits(op.takes[0].element)


def _wrap_integer(number: Any, bits: int) -> Any:
    """An integer modulo 2^bits as it is kept: from -2^(bits - 1), those of one bit as 0 or 1."""
    if bits == 1:
        return number & 1
    half = 1 << (bits - 1)
    if type(number) is int and -half <= number < half:
        return number
    if isinstance(number, np.ndarray):
        return (((number.astype(object) + half) & (2 * half - 1)) - half).astype(np.int64)
    return ((int(number) + half) & (2 * half - 1)) - half


def _as_signed(number: Any, bits: int) -> Any:
    """One bit is 0 or -1."""
    return number * -1 if bits == 1 else number


def _as_unsigned(number: Any, bits: int) -> Any:
    if isinstance(number, np.ndarray):
        number = number.astype(object)
    return number & ((1 << bits) - 1)


def _compare_integers(op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    predicate, bits = text_of(op.attributes, "predicate"), _width(op)
    _room_for_result(inputs, _WORDS_OF_INTEGER)
    read = _as_unsigned if predicate[0] == "u" else _as_signed
    compared = _COMPARED[predicate if predicate in _COMPARED else predicate[1:]]
    return [compared(read(inputs[0], bits), read(inputs[1], bits))]


def _compare_floats(op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    predicate, (a, b) = text_of(op.attributes, "predicate"), inputs
    _room_for_result(inputs, _WORDS_OF_INTEGER)
    found, is_ordered = _COMPARED[predicate[1:]](a, b), (a == a) & (b == b)  # noqa: PLR0124  (NaN is not itself)
    return [found & is_ordered if predicate[0] == "o" else found | (is_ordered == 0)]


def is_known_predicate(op: HeirOperation) -> bool:
    """Whether a comparison is one that `evaluate` knows."""
    predicate = text_of(op.attributes, "predicate")
    if op.name == "arith.cmpf":
        return predicate[:1] in ("o", "u") and predicate[1:] in _COMPARED
    return predicate in ("eq", "ne") or (predicate[:1] in ("s", "u") and predicate[1:] in ("lt", "le", "gt", "ge"))


def _cast(read: Callable[[Any, int], Any]) -> Handler:
    """Return a handler that converts integers to another width, read as signed or unsigned."""

    def convert(op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
        _room_for_result(inputs, _WORDS_OF_INTEGER)
        return [hold(_wrap_integer(read(inputs[0], _width(op)), integer_bits(op.types[0].element)))]

    return convert


def _same(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    return [inputs[0]]


def _to_integer(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    _room_for_result(inputs, _WORDS_OF_INTEGER)
    return [hold(inputs[0].astype(np.int64)) if isinstance(inputs[0], np.ndarray) else int(inputs[0])]


def _from_integer(read: Callable[[Any, int], Any]) -> Handler:
    def convert(op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
        _room_for_result(inputs, _WORDS_OF_INTEGER)
        number = read(inputs[0], _width(op))
        return [number.astype(np.float64) if isinstance(number, np.ndarray) else float(number)]

    return convert


def _whole(function: Callable[[Any, Any], Any], read: Callable[[Any, int], Any]) -> Handler:
    def compute(op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
        bits = _width(op)
        _room_for_result(inputs, _WORDS_OF_INTEGER)
        a, b = (x.astype(object) if isinstance(x, np.ndarray) else x for x in inputs)  # whole numbers of any size
        return [hold(_wrap_integer(function(read(a, bits), read(b, bits)), bits))]

    return compute


def _binary(function: Callable[[Any, Any], Any]) -> Handler:
    def compute(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
        _room_for_result(inputs)
        return [hold(function(inputs[0], inputs[1]))]

    return compute


def fresh(kind: HeirType, extents: Sequence[Any] = ()) -> Any:
    """An array of a type, zero or empty; its unknown extents are given."""
    rest = iter(extents)
    shape = tuple(int(next(rest)) if n < 0 else n for n in kind.shape)
    room_for(prod(shape), shape)
    if not kind.is_number:
        return hold(np.full(shape, None, dtype=object))
    return hold(np.zeros(shape, dtype=np.int64 if kind.is_integer else np.float64))


def _own(array: Any) -> Any:
    """An array that may be written to: a copy where something else may read it."""
    if array.flags.writeable:
        return array
    room_for(array.size, array.shape)
    return hold(array.copy())


def _room_for_result(inputs: Sequence[Any], words: int = 1) -> None:
    """Count what is computed element by element, with so many words of memory for each."""
    shapes = [x.shape for x in inputs if isinstance(x, np.ndarray)]
    if shapes:
        size = prod(np.broadcast_shapes(*shapes))
        room_for(size * words)
        take(size // NUMBERS_OF_WORK, f"an array of {size} elements")


def _index(inputs: Sequence[Any], extents: tuple[int, ...]) -> tuple[int, ...]:
    index = tuple(operator.index(i) for i in inputs)
    if any(not 0 <= i < n for i, n in zip(index, extents, strict=True)):
        raise IndexError(f"index {index} outside of an array of shape {extents}")
    return index


def _extract(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    found = inputs[0][_index(inputs[1:], inputs[0].shape)]
    return [found.item() if isinstance(found, np.generic) else found]


def _insert(_op: HeirOperation, inputs: Sequence[Any], _environment: dict[str, Any]) -> list[Any]:
    made = _own(inputs[1])
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
    room_for(found.size, found.shape)
    return [hold(found.reshape(axes).copy())]


def _insert_slice(op: HeirOperation, inputs: Sequence[Any], environment: dict[str, Any]) -> list[Any]:
    made = _own(inputs[1])
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
    **{f"arith.{name}": _binary(function) for name, function in _FLOATING.items()},
    **{f"arith.{name}": _whole(function, _as_signed) for name, function in _SIGNED.items()},
    **{f"arith.{name}": _whole(function, _as_unsigned) for name, function in _UNSIGNED.items()},
    "arith.negf": lambda _op, inputs, _environment: [-inputs[0]],
    "arith.cmpi": _compare_integers,
    "arith.cmpf": _compare_floats,
    "arith.select": lambda _op, inputs, _environment: [inputs[1] if inputs[0] else inputs[2]],
    **{f"arith.{name}": _same for name in ("extf", "truncf")},
    **{f"arith.{name}": _cast(_as_signed) for name in ("extsi", "trunci", "index_cast")},
    **{f"arith.{name}": _cast(_as_unsigned) for name in ("extui", "index_castui")},
    "arith.sitofp": _from_integer(_as_signed),
    "arith.uitofp": _from_integer(_as_unsigned),
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
