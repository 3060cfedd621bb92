"""Lazy relinearisation: products of a vec module are relinearised where they are made, or after they were added up.

A product of ciphertexts has degree 2, and so has a sum with one, or its product with public numbers; whatever else
reads it needs degree 1. Every value is looked at in turn: relinearising it there costs one operation a ciphertext, and
saves those of values further down that then have degree 1 by themselves.
Source: lazy relinearisation as in SEAL and EVA; here as a local search, where others take one extreme.
"""

from __future__ import annotations

from latticework.ir import Module, Op, Value
from latticework.ir.dialects.vec_dialect import VecType

_SUMS = {"vec.add", "vec.sub", "vec.neg", "vec.sum", "vec.take"}  # of any degree


def choose_relinearized(module: Module, *, lazy: bool = True) -> set[Value]:
    """The values of degree 2 that are relinearised where they are made; all products if not `lazy`."""
    producers = [op for op in module.body.ops if op.results]
    if not lazy:
        return {op.result for op in producers if _is_product(op)}
    chosen = {op.result for op in producers if any(not keeps_degree(reader, op.result) for reader, _ in op.result.uses)}
    quadratic: set[Value] = set()  # if only those are relinearised that have to be
    for op in producers:
        if _is_product(op) or _reads_quadratic(op, quadratic, chosen):
            quadratic.add(op.result)
    for op in producers:
        if op.result in quadratic and op.result not in chosen:
            lowered = _lowered_with(op.result, quadratic, chosen)
            saved = sum(_count(v) for v in lowered & chosen)
            if saved >= _count(op.result):
                chosen.add(op.result)
                quadratic -= lowered
    return chosen & quadratic


def keeps_degree(op: Op, value: Value) -> bool:
    """Whether an operation takes this operand at degree 2, and gives a result of that degree."""
    if op.name == "vec.mul":
        return not all(v.is_secret for v in op.operands) and value.is_secret
    return op.name in _SUMS


def _is_product(op: Op) -> bool:
    return op.name == "vec.mul" and all(v.is_secret for v in op.operands)


def _reads_quadratic(op: Op, quadratic: set[Value], chosen: set[Value]) -> bool:
    return any(v in quadratic and v not in chosen and keeps_degree(op, v) for v in op.operands)


def _lowered_with(value: Value, quadratic: set[Value], chosen: set[Value]) -> set[Value]:
    """The values of degree 2 that would be of degree 1 by themselves if this one were relinearised."""
    lowered: set[Value] = set()
    waiting = [value]
    known = chosen | {value}
    while waiting:
        for op, _ in waiting.pop().uses:
            if not op.results or op.result in lowered or op.result not in quadratic or _is_product(op):
                continue
            if not _reads_quadratic(op, quadratic - lowered, known):
                lowered.add(op.result)
                if op.result not in chosen:
                    waiting.append(op.result)
    return lowered


def _count(value: Value) -> int:
    assert isinstance(value.type, VecType)
    return value.type.count
