"""Operators on whole numbers, conditions and shapes, which are public and are computed while a model is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.models.converters import Converter
from latticework.models.onnx.operators.onnx_sizes import bound_size, broadcast
from latticework.models.onnx.refused_operators import cut_before
from latticework.models.onnx.size_limits import check_size
from latticework.models.onnx.tensors import BFLOAT16, HALF, REAL
from latticework.models.semantics.elementwise_arithmetic import sign
from latticework.models.semantics.operand_checks import is_secret, public, whole, wholes

_STEP = REMEDIES["comparison"].add(cut_before()).for_models
_DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
           10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}  # fmt: skip


def _only_public(name: str, meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A function of public operands, element by element; refused of secrets."""

    @bound_size(broadcast)
    def compute(*operands: Any) -> Any:
        return meaning(*(public(name, "an operand", operand, _STEP) for operand in operands))

    return compute


def _shape(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    return np.array(np.shape(x)[start:end], np.int64)


def _range(start: Any, limit: Any, delta: Any) -> Any:
    first, last, step = (public("Range", what, given).reshape(()) for what, given in
                         (("start", start), ("limit", limit), ("delta", delta)))  # fmt: skip
    if step == 0:
        raise ShapeError("Range: delta is 0")
    count = max(ceil((float(last) - float(first)) / float(step)), 0)
    check_size((count,))
    return (first + step * np.arange(count)).astype(first.dtype)


def _constant_of_shape(shape: Any, *, value: Any = None) -> Any:
    extents = wholes("ConstantOfShape", "shape", shape)
    if min(extents, default=0) < 0 or len(extents) > 32:
        raise ShapeError(f"ConstantOfShape: shape {extents[:8]}")
    check_size(extents)
    return np.full(extents, np.float32(0) if value is None else np.asarray(value).reshape(()))


def cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    """Secrets stay real numbers; public numbers are converted, those of 16 bits to numbers of 32 bits."""
    if is_secret(x):
        if to in REAL:
            return x
        raise UnsupportedError(f"Cast: what is secret is real, and becomes no other type ({to} of ONNX): {_STEP}")
    if to == BFLOAT16 or to not in _DTYPES:
        raise UnsupportedError(f"Cast: to type {to} of ONNX, which is not supported; export the model with float32")
    array = np.asarray(x)
    if array.dtype.kind in "US" or (array.dtype.kind == "f" and to not in REAL and not np.isfinite(array).all()):
        raise UnsupportedError(f"Cast: from {array.dtype}, or from what is not finite, to {_DTYPES[to].__name__}")
    return array.astype(np.float32 if to == HALF else _DTYPES[to])


def _cast_like(x: Any, like: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    if is_secret(x) and (is_secret(like) or np.asarray(like).dtype.kind == "f"):
        return x
    if is_secret(x):
        raise UnsupportedError(f"CastLike: what is secret is real, and becomes no {np.asarray(like).dtype}: {_STEP}")
    return np.asarray(x).astype(np.float64 if is_secret(like) else np.asarray(like).dtype)


def _one_hot(indices: Any, depth: Any, off_on: Any, *, axis: int = -1) -> Any:
    places = public("OneHot", "the index", indices, _STEP)
    off, on = public("OneHot", "the values", off_on).reshape(2)
    count = whole("OneHot", "depth", np.asarray(public("OneHot", "depth", depth)).astype(np.int64), 1)
    rank = places.ndim + 1
    if not -rank <= axis < rank:
        raise ShapeError(f"OneHot: axis={axis} for {rank} axes")
    check_size((*places.shape, count))
    hot = np.where(np.arange(count) == np.where(places < 0, places + count, places)[..., None], on, off)
    return np.moveaxis(hot, -1, axis)


def _eye_like(x: Any, *, dtype: int = 1, k: int = 0) -> Any:
    rows, columns = np.shape(x)
    return np.eye(rows, columns, k, _DTYPES.get(dtype, np.float32))


def _mod(a: Any, b: Any, *, fmod: int = 0) -> Any:
    left, right = (public("Mod", "an operand", operand, _STEP) for operand in (a, b))
    check_size(broadcast(left, right))
    if left.dtype.kind in "iu" and not np.all(right):
        raise ZeroDivisionError("a whole number is divided by 0")
    return np.fmod(left, right) if fmod else np.mod(left, right)


def _bit_shift(a: Any, b: Any, *, direction: str) -> Any:
    left, right = (public("BitShift", "an operand", operand, _STEP) for operand in (a, b))
    check_size(broadcast(left, right))
    return (np.left_shift if direction == "LEFT" else np.right_shift)(left, right)


def _is_nan(x: Any) -> Any:
    """Nowhere of secrets: what is encrypted is a number."""
    return np.zeros(np.shape(x), np.bool_) if is_secret(x) else np.isnan(np.asarray(x))


def _is_inf(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    found = public("IsInf", "an operand", x, _STEP)
    return (np.isposinf(found) & bool(detect_positive)) | (np.isneginf(found) & bool(detect_negative))


def _owners(name: str, meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A function for an operator that belongs after decryption: it refuses secrets, with the place to cut."""

    def compute(x: Any, *others: Any, of: str = "", **options: Any) -> Any:
        if is_secret(x, *others):
            raise UnsupportedError(f"{name}: {REMEDIES['comparison'].add(cut_before(of)).for_models}")
        return meaning(x, *others, **options)

    return compute


def _place(pick: Callable[..., Any]) -> Callable[..., Any]:
    def place(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        found = np.asarray(x)
        if select_last_index:
            last = pick(np.flip(found, axis), axis=axis, keepdims=bool(keepdims))
            return found.shape[axis] - 1 - last
        return pick(found, axis=axis, keepdims=bool(keepdims))

    return place


def _top(x: Any, count: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Any, Any]:
    array, k = np.asarray(x), whole("TopK", "k", count, 0)
    order = np.argsort(-array if largest else array, axis, kind="stable")
    places = np.take(order, np.arange(min(k, array.shape[axis])), axis)
    return np.take_along_axis(array, places, axis), places


_STEPS: Sequence[tuple[str, Callable[..., Any]]] = (
    ("Not", np.logical_not), ("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor),
    ("Equal", np.equal), ("Greater", np.greater), ("Less", np.less), ("GreaterOrEqual", np.greater_equal),
    ("LessOrEqual", np.less_equal), ("Floor", np.floor), ("Ceil", np.ceil), ("Round", np.round),
    ("NonZero", lambda x: np.array(np.nonzero(np.atleast_1d(x)), np.int64)), ("BitwiseAnd", np.bitwise_and),
    ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor), ("BitwiseNot", np.bitwise_not),
)  # fmt: skip
_NOTE = "of public values"
CONVERTERS = (
    Converter("ArgMax", _owners("ArgMax", _place(np.argmax)), note=_NOTE),
    Converter("ArgMin", _owners("ArgMin", _place(np.argmin)), note=_NOTE),
    Converter("TopK", _owners("TopK", _top), since=10, note=_NOTE),
    *(Converter(name, _only_public(name, meaning), note=_NOTE) for name, meaning in _STEPS),
    Converter("Sign", sign, since=9, note=_NOTE),
    Converter("Shape", _shape),
    Converter("Size", lambda x: np.array(int(np.prod(np.shape(x), dtype=object)), np.int64)),
    Converter("Range", _range, since=11, note=_NOTE),
    Converter("ConstantOfShape", _constant_of_shape, since=9, note=_NOTE),
    Converter("Cast", cast, note="secrets to floating point only"),
    Converter("CastLike", _cast_like, since=15, note="secrets to floating point only"),
    Converter("OneHot", _one_hot, since=9, note=_NOTE),
    Converter("EyeLike", _eye_like, since=9),
    Converter("Mod", _mod, since=10, note=_NOTE),
    Converter("BitShift", _bit_shift, since=11, note=_NOTE),
    Converter("IsInf", _is_inf, since=10, note=_NOTE),
    Converter("IsNaN", _is_nan, since=9, note="false of secrets, which are numbers"),
)
