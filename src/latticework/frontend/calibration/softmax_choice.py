"""Softmax as exponentials, sums and reciprocals, by the method that spends the fewest levels on the values it gets.

softmax(x) = e / sum(e) with e = exp(x - c), for any constant c.  The sum spans a
ratio that grows exponentially with the range of x, and a reciprocal on a wide
range takes a high degree.  So x is divided by 2^k first, and the result, which
is softmax(x / 2^k), is squared and normalised again k times: softmax(2x) =
softmax(x)^2 / sum(softmax(x)^2), where the sum is between 1/n and 1.  (The
squarings are those of Cho, Hanrot, Kim, Park and Stehle, "Fast and accurate
homomorphic softmax evaluation", CCS 2024.)

Where scores depend on places more than on data, c may be a public number for
every row, and exp(x) = exp(x - p) exp(p) with a public p for every place: what
is computed encrypted is only how far x is from what calibration expects there.
exp(p) goes into the mask, or is a product more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, isfinite, log, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError
from latticework.errors.rounded_numbers import outside
from latticework.frontend.calibration.calibration_data import Sample, has_large_arrays
from latticework.frontend.calibration.seen_logits import MOST_SQUARINGS, SeenLogits, logits_of
from latticework.functions.approximation.channel_samples import MARGIN
from latticework.functions.approximation.chebyshev import Interval
from latticework.functions.approximation.degree_limits import least_degree
from latticework.functions.approximation.real_functions import FUNCTIONS
from latticework.ir.builder import Builder
from latticework.ir.core import Op, Value, walk_regions
from latticework.ir.interpret import interpret
from latticework.ir.module import Module
from latticework.ir.rewrite import rebuild
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.apply import APPLY
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.constant import CONSTANT
from latticework.tensor.ops.mul import MUL
from latticework.tensor.ops.softmax import SOFTMAX
from latticework.tensor.ops.sub import SUB
from latticework.tensor.ops.sum import SUM
from latticework.values.map_in_order import map_in_order

LEAST_CENTRING = 16  # samples from which places have means of their own
_TOLERANCE = 2.0**-14  # at which methods are compared


@dataclass(frozen=True, slots=True)
class SoftmaxMethod:
    """A method of computing a softmax.

    squarings  k
    shift      what is subtracted from x / 2^k: c, so that sums are at most 1, or a number for every place
    factor     of the exponentials, for every place, where there is one: sums are at most 1 after it
    range      of (x / 2^k) - shift;  sums  of the exponentials' sums
    count      elements along the axis, at most
    levels     that it spends, about
    """

    squarings: int
    shift: float | npt.NDArray[np.float64]
    range: Interval
    sums: Interval
    count: int
    levels: int
    factor: npt.NDArray[np.float64] | None = None


def expand_softmax(
    module: Module, samples: Sequence[Sample], *, assumed: bool = False, margin: float = MARGIN
) -> Module:
    """Take every tensor.softmax apart.

    assumed  samples are stand-ins: ranges are those that users give
    margin   by this part of what calibration saw, ranges reach further on each side; of sums, of its logarithm
    raises   RangeError where a range is not known, or data leave the one that was given
    """
    found = [op for op in module.walk() if op.spec is SOFTMAX.spec]
    if not found:
        return module
    methods = _methods(module, found, samples, assumed, margin)

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.spec is not SOFTMAX.spec:
            return False
        operands = [mapping[value] for value in op.operands]
        mapping[op.result] = _apart(sources, builder, operands, op, methods[op], _mask_of(module, op))
        return True

    sources = Module(sources=module.sources)
    made = rebuild(module, visit)
    made.sources.update(sources.sources)
    return made


def best_method(interval: Interval, sums: Sequence[Interval], count: int, margin: float = MARGIN) -> SoftmaxMethod:
    """The method of the fewest levels.

    interval  of the operand;  sums  logarithms of the sums of exp(x / 2^k) of up to `count` elements, for every k
    """
    return min(
        (_method(interval, sums[k], count, k, margin) for k in range(len(sums))), key=lambda method: method.levels
    )


def _method(interval: Interval, sums: Interval, count: int, k: int, margin: float) -> SoftmaxMethod:
    shift, range_of_sums = _up_to_one(sums, margin)
    exponents = interval[0] / 2**k - shift, interval[1] / 2**k - shift
    return SoftmaxMethod(k, shift, exponents, range_of_sums, count, _levels(exponents, range_of_sums, count, k))


def centred_method(seen: SeenLogits, count: int, is_masked: bool, margin: float = MARGIN) -> SoftmaxMethod | None:
    """The method of the fewest levels around the values expected at each place; None if samples are too few for that.

    is_masked  elements are multiplied by a public mask in any case
    """
    if seen.values is None or seen.count < LEAST_CENTRING:
        return None
    mean, rest = seen.values.mean(seen.count), FUNCTIONS["exp"].widen(*seen.values.rest(seen.count), margin)
    found = []
    for k, sums in enumerate(seen.sums):
        above, range_of_sums = _up_to_one(sums.rest(seen.count), margin)
        top = rest[1] / 2**k  # exponentials are at most 1
        exponents = rest[0] / 2**k - top, 0.0
        levels = _levels(exponents, range_of_sums, count, k) + (not is_masked)
        shift = mean / 2**k + top
        factor = np.exp(shift - sums.mean(seen.count) - above)
        found.append(SoftmaxMethod(k, shift, exponents, range_of_sums, count, levels, factor))
    return min(found, key=lambda method: method.levels)


def _up_to_one(sums: Interval, margin: float) -> tuple[float, Interval]:
    """Return the shift of logarithms that brings sums to at most 1, and the range of sums after it."""
    wide = margin * max(sums[1] - sums[0], 0.1)
    shift = sums[1] + wide
    return shift, (exp(max(sums[0] - wide - shift, -600.0)), 1.0)


def _levels(exponents: Interval, sums: Interval, count: int, k: int) -> int:
    return (
        _depth("exp", exponents, exp(min(exponents[1], 0.0)))
        + _depth("reciprocal", sums, 1.0)
        + 1
        + k * (2 + _depth("reciprocal", (1.0 / count, 1.0), 1.0))
    )


def _depth(name: str, interval: Interval, size: float) -> int:
    degree = least_degree(FUNCTIONS[name].reference, interval, _TOLERANCE * size)
    return ceil(log2(degree + 1)) if isfinite(degree) else 1 << 20


def _methods(
    module: Module, found: Sequence[Op], samples: Sequence[Sample], assumed: bool, margin: float
) -> dict[Op, SoftmaxMethod]:
    operands = {op.operands[0]: op for op in found}
    seen = {op: SeenLogits() for op in found}

    needed = _leading_to(module, found)

    def nothing_else(op: Op) -> list[Any] | None:
        """Nothing in the place of results that no softmax depends on; None for what has to be computed."""
        return None if op.block is not module.body or op in needed else [None] * len(op.results)

    def logits(sample: Sample) -> list[tuple[Op, list[npt.NDArray[np.float64]]]]:
        """The operands and sums of each softmax in a sample's run, each time."""
        shown = []

        def note(value: Value, array: npt.NDArray[np.float64]) -> None:
            if value in operands and np.isfinite(array).all():
                for op in found:
                    if op.operands[0] is value:
                        shown.append((op, logits_of(array, op.attrs["axis"], _mask_of(module, op))))

        interpret(module, sample, on_value=note, known=nothing_else)
        return shown

    if not assumed:
        with np.errstate(over="ignore", invalid="ignore"):
            for shown in map_in_order(logits, samples, is_worth_it=has_large_arrays(module)):
                for op, each in shown:
                    seen[op].add(each)
    return {op: _choose(op, seen[op], assumed, _counts(module, op), margin) for op in found}


def _leading_to(module: Module, found: Sequence[Op]) -> set[Op]:
    """The operations outside of loops that operands of some operations depend on, and loops that hold one."""
    needed: set[Op] = set()
    read = {value for op in found for value in op.operands}
    holding = set(found)
    for op in reversed(module.body.ops):
        inside = list(walk_regions(op.regions))
        if any(value in read for value in op.results) or not holding.isdisjoint(inside):
            needed.add(op)
            read.update(value for each in (op, *inside) for value in each.operands)
    return needed


def _mask_of(module: Module, op: Op) -> npt.NDArray[np.float64] | None:
    """The mask of a softmax, not 0 where elements count; None where all do."""
    if len(op.operands) == 1:
        return None
    mask = op.operands[1].owner
    assert isinstance(mask, Op) and mask.spec is CONSTANT.spec
    return module.sources[mask.attrs["source"]]


def _counts(module: Module, op: Op) -> tuple[int, int]:
    """Count the elements that a mask keeps along the axis: the least and the most."""
    shape, axis, kept = shape_of(op.operands[0]), op.attrs["axis"], _mask_of(module, op)
    if kept is None:
        return shape[axis], shape[axis]
    counts = np.count_nonzero(np.broadcast_to(kept, shape), axis=axis)
    return int(counts.min()), int(counts.max())


def _choose(op: Op, seen: SeenLogits, assumed: bool, counts: tuple[int, int], margin: float) -> SoftmaxMethod:
    given: Interval | None = op.attrs["interval"]
    around = None
    lo, hi = (0.0, 0.0) if seen.values is None else seen.values.range
    if given is None:
        if assumed or seen.values is None:
            raise RangeError(
                "softmax: the range of its argument is not known; pass calibrate=data to compile, or give it here: "
                "lw.softmax(x, range=(-8, 8))",
                at=op.loc,
            )
        given = FUNCTIONS["exp"].widen(lo, hi, margin)
        around = centred_method(seen, counts[1], len(op.operands) > 1, margin)
    elif not assumed and seen.values is not None and (lo < given[0] or hi > given[1]):
        shown = outside(lo, hi, given[0], given[1], shown=4)
        raise RangeError(
            f"softmax: calibration data reach from {shown[0]} to {shown[1]} here, outside the given range=({shown[2]}, "
            f"{shown[3]}); widen it, or leave range= out",
            at=op.loc,
        )
    sums = [each.range for each in seen.sums]
    if assumed:
        least, most = map(log, counts)
        sums = [(given[0] / 2**k + least, given[1] / 2**k + most) for k in range(MOST_SQUARINGS + 1)]
    plain = best_method(given, sums, counts[1], margin)
    return plain if around is None or plain.levels <= around.levels else around


def _apart(
    sources: Module, builder: Builder, values: Sequence[Value], op: Op, method: SoftmaxMethod,
    mask: npt.NDArray[np.float64] | None,
) -> Value:  # fmt: skip
    """The operations of one softmax; elements that do not count become 0 once, and stay so."""
    (x, *kept), axis, degree, is_given = values, op.attrs["axis"], op.attrs["degree"], op.attrs["interval"] is not None

    def public(value: float | npt.NDArray[np.float64]) -> Value:
        array = np.asarray(value, dtype=np.float64)
        return builder.build(CONSTANT.spec, [], source=sources.add_source(array), shape=array.shape)

    def apply_function(name: str, value: Value, interval: Interval) -> Value:
        unknown = {"samples": None, "channels": None, "tails": None if is_given else ()}
        attrs = {"function": FUNCTIONS[name], "degree": degree, "interval": interval, **unknown}
        return builder.build(APPLY.spec, [value], **attrs)

    def normalise(parts: Value, interval: Interval) -> Value:
        total = builder.build(SUM.spec, [parts], axes=(axis,), keepdims=True)
        return builder.build(MUL.spec, [parts, apply_function("reciprocal", total, interval)])

    if method.squarings:
        x = builder.build(MUL.spec, [x, public(2.0**-method.squarings)])
    exponents = builder.build(SUB.spec, [x, public(method.shift)])
    parts = apply_function("exp", exponents, method.range)
    if method.factor is not None:
        parts = builder.build(MUL.spec, [parts, public(method.factor if mask is None else method.factor * (mask != 0))])
    elif kept:
        parts = builder.build(MUL.spec, [parts, *kept])
    result = normalise(parts, method.sums)
    for _ in range(method.squarings):
        result = normalise(builder.build(MUL.spec, [result, result]), (1.0 / method.count, 1.0))
    return result
