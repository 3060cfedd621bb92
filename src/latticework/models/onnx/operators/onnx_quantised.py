"""Numbers of 8 bits restored to real ones.

What is encrypted stays real: q = x / scale + zero_point, cut off at the ends of the type as the file says, but not
rounded: half a step of the scale at each node that rounds is all that results differ by, times what later nodes make of
it. Where numbers cannot reach the ends by more than a step (`onnx_saturation.py`) nothing is cut off, and it may be a
step. Public values, weights above all, are computed as the file says, rounded.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.errors import RangeError, ShapeError, UnsupportedError
from latticework.ir.lines import standing_at
from latticework.lazy_dataclass import dataclass
from latticework.models.converters import Converter
from latticework.models.model_graph import ModelNode, Ref
from latticework.models.onnx.operators.onnx_sizes import bound_size, product
from latticework.models.onnx.operators.onnx_windows import ConvOptions, convolve
from latticework.models.onnx.size_limits import check_size
from latticework.models.semantics import elementwise_arithmetic
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.operand_checks import is_secret, public

NOTE = (
    "quantised values are restored to numbers: cut off at the ends of their types, and not rounded, within a step each"
)
OPERATORS = frozenset(
    [
        "QuantizeLinear",
        "DequantizeLinear",
        "DynamicQuantizeLinear",
        "MatMulInteger",
        "ConvInteger",
        "QLinearMatMul",
        "QLinearConv",
    ]
)


@dataclass(frozen=True)
class QuantizedTensor:
    """A tensor of whole numbers of few bits, which stand for (value - zero_point) * scale."""

    value: Any
    scale: Any
    zero_point: Any


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """Facts about a node that rounds, which `mark_rounding` and `without_pairs` find.

    real      it rounds what depends on an input;  restored  and back to what it was before
    narrow    to 4 or to 2 bits;  fits  nothing is beyond the ends of the type
    """

    real: bool = False
    restored: bool = False
    narrow: bool = False
    fits: bool = False


@dataclass(frozen=True, kw_only=True)
class QuantizeOptions(Rounding):
    """The attributes of QuantizeLinear, and what is marked at its node."""

    axis: int = 1
    saturate: int = 1
    block_size: int = 0
    output_dtype: int = 0
    precision: int = 0


def _along(given: Any, x: Any, axis: int, block: int = 0) -> Any:
    """A scale or zero point, shaped to stretch over x: one number, one for each part along an axis, or for blocks."""
    array, rank = public("quantisation", "a scale or zero point", given), np.ndim(x)
    if array.size == 1 and not block:
        return array.reshape(())
    if not -rank <= axis < rank:
        raise ShapeError(f"quantisation: axis={axis} does not exist in shape {np.shape(x)}")
    along, n = axis % rank, np.shape(x)[axis]
    if block:
        if array.ndim != rank or block < 0 or -(-n // block) != array.shape[along]:
            raise ShapeError(f"quantisation: blocks of {block} of scales {array.shape} do not fit shape {np.shape(x)}")
        check_size(np.shape(x))
        return np.take(np.repeat(array, min(block, n), along), np.arange(n), along)
    if array.shape != (n,):
        raise ShapeError(f"quantisation: a scale of shape {array.shape} along axis {along} of shape {np.shape(x)}")
    return array.reshape(-1, *(1,) * (rank - along - 1))


def check_scales(operator: str, given: Any) -> None:
    """RangeError unless scales are positive and finite: numbers are divided by them, and ends of types are in order."""
    scales = np.asarray(given, np.float64)
    wrong = ~(np.isfinite(scales) & (scales > 0))
    if wrong.any():
        raise RangeError(
            f"{operator}: {int(wrong.sum())} of {scales.size} scales are not positive and finite, the first is "
            f"{scales[wrong].flat[0]:g}; export the model again with scales above 0"
        )


def _scale(operator: str, given: Any) -> Any:
    """Scales, which are public."""
    found = _real(public(operator, "the scale", given))
    check_scales(operator, found)
    return found


def _real(x: Any) -> Any:
    return x if is_secret(x) else np.asarray(x, np.float64)


def _dequantize(
    x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> Any:
    shift = 0.0 if zero is None else _real(_along(zero, x, axis, block_size))
    shifted = _real(x) if not np.any(shift) else _real(x) - shift
    return shifted * _along(_scale("DequantizeLinear", scale), x, axis, block_size)


@group_parameters
def _quantize(x: Any, scale: Any, zero: Any = None, *, options: QuantizeOptions) -> Any:
    return _round(x, scale, zero, options)


def _round(x: Any, scale: Any, zero: Any, options: QuantizeOptions) -> Any:
    """Round numbers to whole ones of few bits."""
    axis, block_size, fits = options.axis, options.block_size, options.fits
    dtype = {0: None, 2: np.dtype(np.uint8), 3: np.dtype(np.int8), 4: np.dtype(np.uint16), 5: np.dtype(np.int16)}.get(
        options.output_dtype, np.dtype(np.float64)
    )
    given = public("QuantizeLinear", "the zero point", zero) if zero is not None else None
    kind = given.dtype if given is not None else dtype or np.dtype(np.uint8)
    if options.narrow or kind.kind not in "iu":
        raise UnsupportedError(
            "QuantizeLinear: to numbers of 4 bits, or of floating point of 8; cut it out of the model"
        )
    step, shift = _along(_scale("QuantizeLinear", scale), x, axis, block_size), 0.0
    if given is not None:
        shift = _real(_along(given, x, axis, block_size))
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    if not options.real:
        rounded = np.clip(np.round(_real(x) / step) + shift, low, high)
        return (rounded - shift) * step if options.restored else rounded.astype(kind)
    if np.ndim(step) or np.ndim(shift):
        q = x * (1.0 / step)
        q = q if fits else elementwise_arithmetic.clamp(q, *(_one(end - shift) for end in (low, high)))
        return q * step if options.restored else q + shift if np.any(shift) else q
    x = x if fits else elementwise_arithmetic.clamp(x, (low - shift) * step, (high - shift) * step)
    if options.restored:
        return x
    q = x * (1.0 / step)
    return q + shift if np.any(shift) else q


def _one(ends: Any) -> Any:
    """The same number everywhere as that number."""
    array = np.asarray(ends, np.float64)
    return array.flat[0] if (array == array.flat[0]).all() else array


def _dynamic(x: Any, *, real: bool = False) -> tuple[Any, ...]:
    """Scale 1 and zero point 0, of what is encrypted: whatever the numbers are, the scale cancels."""
    if real:
        return x, np.float64(1.0), np.uint8(0)
    array = np.asarray(x, np.float64)
    low, high = min(array.min(initial=0), 0.0), max(array.max(initial=0), 0.0)
    scale = (high - low) / 255 or 1.0
    zero = np.clip(np.round(-low / scale), 0, 255)
    return np.clip(np.round(array / scale) + zero, 0, 255).astype(np.uint8), scale, zero.astype(np.uint8)


def _less(x: Any, zero: Any, columns: bool = False) -> Any:
    """x less its zero point, of which there is one, or one for each row, or column."""
    if zero is None:
        return _real(x)
    shift = _real(public("quantisation", "a zero point", zero))
    if shift.ndim == 1 and shift.size > 1 and not columns:
        shift = shift.reshape(-1, 1)
    return _real(x) - (shift.reshape(()) if shift.size == 1 else shift)


@bound_size(product)
def _matmul_integer(a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return np.matmul(_less(a, a_zero), _less(b, b_zero, columns=True))


@group_parameters
def _conv_integer(x: Any, w: Any, x_zero: Any = None, w_zero: Any = None, *, options: ConvOptions) -> Any:
    weights = _real(w) if w_zero is None else _real(w) - _real(_along(w_zero, w, 0))
    return convolve(_less(x, x_zero), weights, None, options)


@bound_size(lambda a, a_scale, a_zero, b, *_, **_marks: product(a, b))
@group_parameters
def _q_matmul(a: QuantizedTensor, b: QuantizedTensor, scale: Any, zero: Any, *, rounding: Rounding) -> Any:
    left = _less(a.value, a.zero_point) * _row_scale(a.scale)
    right = _less(b.value, b.zero_point, columns=True) * _scale("QLinearMatMul", b.scale)
    return _round(np.matmul(left, right), scale, zero, QuantizeOptions(**vars(rounding)))


def _row_scale(scale: Any) -> Any:
    found = _scale("QLinearMatMul", scale)
    return found.reshape(-1, 1) if found.ndim == 1 and found.size > 1 else found


@group_parameters
def _q_conv(
    x: QuantizedTensor, w: QuantizedTensor, scale: Any, zero: Any, b: Any = None, *, options: ConvOptions,
    rounding: Rounding,
) -> Any:  # fmt: skip
    weights = _dequantize(w.value, w.scale, w.zero_point, axis=0)
    factor = _scale("QLinearConv", x.scale).reshape(())
    bias = None if b is None else _real(b) * factor * _scale("QLinearConv", w.scale).reshape(-1)
    result = convolve(_less(x.value, x.zero_point), weights * factor, bias, options)
    return _round(result, scale, zero, QuantizeOptions(**vars(rounding)))


_SCALES = {"QuantizeLinear": (1,), "DequantizeLinear": (1,), "QLinearMatMul": (1, 4, 6), "QLinearConv": (1, 4, 6)}
_ROUNDING = frozenset({"QuantizeLinear", "DynamicQuantizeLinear", "QLinearMatMul", "QLinearConv"})


def mark_rounding(
    nodes: Sequence[ModelNode], inputs: Iterable[str], narrow: Container[str], constants: Mapping[str, Any]
) -> list[ModelNode]:
    """Nodes of which those that round say whether what they round depends on an input, and is of few bits.

    So an imported model computes the same on arrays as on secrets.
    narrow  names of arrays of numbers of 4 and of 2 bits, and of floating point of 8
    raises  RangeError for scales that are not positive and finite, whoever computes the node
    """
    real, found = set(inputs), []
    for node in nodes:
        for place in _SCALES.get(node.operator, ()):
            arg = node.args[place] if place < len(node.args) else None
            if isinstance(arg, Ref) and arg.name in constants:
                with standing_at(node.loc):
                    check_scales(node.operator, constants[arg.name])
        depends = node.operator not in ("Shape", "Size") and not real.isdisjoint(node.reads())
        if depends:
            real.update(name for name in node.results if name)
        if node.operator in _ROUNDING:
            options = {**node.options, **({"real": True} if depends else {})}
            if any(name in narrow for name in node.reads()) and node.operator != "DynamicQuantizeLinear":
                options["narrow"] = True
            node = replace(node, options=options)
        found.append(node)
    return found


def check_nested(nodes: Sequence[ModelNode]) -> None:
    """UnsupportedError where a graph within a node rounds."""
    for node in nodes:
        if node.operator in _ROUNDING:
            raise UnsupportedError(
                f"{node.operator} within a branch or a loop is not supported; export the model in float32"
            )


def without_pairs(nodes: Sequence[ModelNode], constants: Mapping[str, Any]) -> tuple[ModelNode, ...]:
    """Nodes in which what is quantised and restored at once is only what that leaves of it."""
    makers = {name: node for node in nodes if node.operator == "QuantizeLinear" for name in node.results}
    found = []
    for node in nodes:
        before = makers.get(node.args[0].name) if node.args and isinstance(node.args[0], Ref) else None
        same = before is not None and node.operator == "DequantizeLinear" and _alike(node, before, constants)
        if same and before is not None:
            options = {**before.options, "restored": True}
            node = replace(before, options=options, results=node.results, loc=node.loc)
        found.append(node)
    read = {name for node in found for name in node.reads()}
    made = {name for node in nodes for name in node.reads()}
    return tuple(node for node in found if node.operator != "QuantizeLinear" or node.results[0] in read
                 or node.results[0] not in made)  # fmt: skip


def _alike(node: ModelNode, before: ModelNode, constants: Mapping[str, Any]) -> bool:
    """Whether scales and zero points of two nodes are the same."""
    pairs = [(ref, other) for ref, other in zip((*node.args[1:], None), (*before.args[1:], None), strict=False)]
    if len(node.args) != len(before.args) or node.options.get("axis", 1) != before.options.get("axis", 1):
        return False
    if node.options.get("block_size") or before.options.get("block_size"):
        return False
    for ref, other in pairs:
        if ref != other:
            a, b = (constants.get(each.name) if isinstance(each, Ref) else None for each in (ref, other))
            if a is None or b is None or a.dtype != b.dtype or not np.array_equal(a, b):
                return False
    return True


CONVERTERS = (
    Converter(
        "QuantizeLinear", _quantize, since=10, note="what is encrypted is not rounded; cut off at the ends of the type"
    ),
    Converter("DequantizeLinear", _dequantize, since=10),
    Converter("DynamicQuantizeLinear", _dynamic, since=11, note="what is encrypted stays as it is"),
    Converter("MatMulInteger", _matmul_integer, since=10),
    Converter("ConvInteger", _conv_integer, since=10),
    Converter("QLinearMatMul", _q_matmul, since=10, note="as QuantizeLinear"),
    Converter("QLinearConv", _q_conv, since=10, note="as QuantizeLinear"),
)
