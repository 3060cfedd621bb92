"""sums-over-p: rotated ciphertexts of one sum are added up before they are divided by P, and divided once.

In/out: rlwe IR of primitives, same decryption meaning. A rotation ends in a division by the special primes, which takes
more than an addition of a few more limbs. Of a sum of BFV ciphertexts, written as additions that nothing else reads,
the terms that are rotations become products with keys, over QP, and their sum is divided. Under CKKS sums of rotations
are linear maps, which do the same (`expand/linear_transform.py`). Cost: O(ops).
Source: double hoisting (Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, ePrint 2020/1203), here for sums without factors.
"""

from __future__ import annotations

from latticework.ir import Builder, Module, Op, Pass, Value, rebuild
from latticework.ir.dialects.rlwe_dialect import CipherType


def run(module: Module, _cost: object = None) -> Module:
    """The module with one division for each sum of rotations."""
    inner = {op.result for op in module.walk() if _is_sum(op) and _is_read_by_sum(op)}
    sums: dict[Op, list[Value]] = {}  # the rotations of every sum that has several
    for op in module.walk():
        if _is_sum(op) and op.result not in inner:
            rotated = [term for term in _terms(op, inner) if _is_rotated(term)]
            if len(rotated) > 1 and len({str(term.type) for term in rotated}) == 1:
                sums[op] = rotated
    if not sums:
        return module
    absorbed = {value for rotated in sums.values() for value in rotated}
    inside = {value for op in sums for value in _inner_sums(op, inner)}

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op in sums:
            rotated = sums[op]
            others = [mapping[term] for term in _terms(op, inner) if term not in absorbed]
            product = _sum(builder, [mapping[term] for term in rotated])
            kind = rotated[0].type
            assert isinstance(kind, CipherType)
            divided = builder.build("rlwe.mod_down", [product], level=kind.level, scale=kind.scale)
            mapping[op.result] = _sum(builder, [*others, divided])
        elif len(op.results) == 1 and op.result in inside:
            mapping[op.result] = mapping[op.operands[0]]  # the whole sum stands where it ends
        elif len(op.results) == 1 and op.result in absorbed:
            value = mapping[op.operands[0]]
            if op.name == "rlwe.rotate":
                digits = builder.build("rlwe.hoist", [value])
                value = builder.build("rlwe.key_product", [digits, mapping[op.operands[1]]])
            mapping[op.result] = value
        else:
            return False
        return True

    return rebuild(module, visit)


PASS = Pass(
    "sums-over-p", run, reads=("rlwe", "ckks", "bfv", "key", "loop", "procedure"),
    writes=("rlwe.add", "rlwe.hoist", "rlwe.key_product", "rlwe.mod_down"),
)  # fmt: skip


def _is_sum(op: Op) -> bool:
    """Whether an operation adds two BFV ciphertexts, or arrays of as many."""
    return op.name == "rlwe.add" and all(_kind(v).scheme == "bfv" for v in op.operands) and (
        _kind(op.operands[0]).count == _kind(op.operands[1]).count
    )  # fmt: skip


def _is_read_by_sum(op: Op) -> bool:
    """Whether nothing reads a sum but another sum of the same block."""
    readers = [reader for reader, _ in op.result.uses]
    return len(readers) == 1 and _is_sum(readers[0]) and readers[0].block is op.block


def _inner_sums(op: Op, inner: set[Value]) -> list[Value]:
    """The sums that are terms of a sum, and of these."""
    found = []
    for value in op.operands:
        if value in inner:
            assert isinstance(value.owner, Op)
            found += [value, *_inner_sums(value.owner, inner)]
    return found


def _terms(op: Op, inner: set[Value]) -> list[Value]:
    """The terms of a sum that are no sums, in order."""
    found = []
    for value in op.operands:
        if value in inner:
            assert isinstance(value.owner, Op)
            found += _terms(value.owner, inner)
        else:
            found.append(value)
    return found


def _is_rotated(value: Value) -> bool:
    """Whether a value ends in a division by P alone, and nothing else reads it."""
    op = value.owner
    if not isinstance(op, Op) or len(value.uses) != 1:
        return False
    before = op.operands[0].type
    if not isinstance(before, CipherType) or before.level != _kind(value).level or before.degree != 1:
        return False
    if op.name == "rlwe.mod_down":
        return before.basis == "QP"
    return op.name == "rlwe.rotate"


def _sum(builder: Builder, terms: list[Value]) -> Value:
    """The sum of some terms, in order."""
    total = terms[0]
    for term in terms[1:]:
        total = builder.build("rlwe.add", [total, term])
    return total


def _kind(value: Value) -> CipherType:
    assert isinstance(value.type, CipherType), value.type
    return value.type
