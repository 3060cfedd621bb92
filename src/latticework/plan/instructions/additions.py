"""Sums and differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from latticework.plan.instructions.ciphertext_arrays import added_up, each, keep_error
from latticework.plan.instructions.instruction_record import ORDINARY, Error, Meaning, Record, Rule, Traits
from latticework.plan.instructions.protocols import Errors
from latticework.plan.instructions.register_kinds import CipherKind, Kind
from latticework.plan.instructions.shared_rules import count_each, in_place, no_keys, no_scratch, one_part
from latticework.plan.instructions.type_rules import RESCALE, group_sum_kind, match_operands, require_q, require_scale
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.value_shapes import shape_of, vectors_of
from latticework.plan.instructions.work_units import NO_WORK, Part, Shape, pointwise
from latticework.values.packing.slot_arrays import sum_vectors


def _sum(use: Use) -> Sequence[Kind]:
    a, b = use.operands
    count = match_operands(a, b)
    require_scale(a.scale, b.scale, RESCALE)
    degree = max(a.degree, b.degree) if isinstance(b, CipherKind) else a.degree
    return (replace(a, count=count, degree=degree),)


def _sum_with_plain(use: Use) -> Sequence[Kind]:
    """Types of a sum with a plaintext: over Q, since what is over QP is a multiple of P."""
    require_q(use.operands[0], "; divide it by P first (mod_down)")
    return _sum(use)


def _shape_of_sum(use: Use) -> Shape:
    """Return the sizes of an operation on as many polynomials as the sum has."""
    return shape_of(use, polys=use.stated.degree + 1)


_JOINS = Traits(linear=lambda _immediate, _degree: True)


def _of_two(
    name: str, line: str, meaning: Meaning, error: Error, rule: Rule = _sum, traits: Traits = ORDINARY
) -> Record:
    return Record(
        name=name,
        line=line,
        family="add",
        traits=traits,
        rule=rule,
        meaning=meaning,
        error=each(error),
        work={name: pointwise},
        parts=one_part(name, _shape_of_sum),
        counts=count_each(additions=1),
        keys=no_keys,
        scratch=no_scratch,
        reuse=in_place,
    )


def _error(errors: Errors, use: Use, a: Any, b: Any) -> Any:
    return errors.add(use, a, b)


def _error_with_plain(errors: Errors, use: Use, a: Any, b: Any) -> Any:
    return errors.add_plain(use, a, b)


ADD = _of_two("add", "sum of two ciphertexts", lambda _run, _use, a, b: a + b, _error, traits=_JOINS)
SUB = _of_two("sub", "difference of two ciphertexts", lambda _run, _use, a, b: a - b, _error, traits=_JOINS)
ADD_PLAIN = _of_two(
    "add_plain",
    "sum of a ciphertext and a plaintext",
    lambda _run, _use, a, b: a + b,
    _error_with_plain,
    _sum_with_plain,
)
SUB_PLAIN = _of_two(
    "sub_plain", "a ciphertext minus a plaintext", lambda _run, _use, a, b: a - b, _error_with_plain, _sum_with_plain
)
NEG = Record(
    name="neg",
    line="a ciphertext with the other sign",
    family="add",
    traits=_JOINS,
    rule=lambda use: use.operands,
    meaning=lambda _run, _use, a: -a,
    error=keep_error,
    work={"neg": pointwise},
    parts=one_part("neg", shape_of),
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=in_place,
)


def _over_q(use: Use) -> Sequence[Kind]:
    require_q(use.operands[0], "; mod_down first")
    return use.operands


ADD_INT = Record(
    name="add_int",
    line="a ciphertext plus one integer in every slot",
    family="add",
    traits=ORDINARY,
    rule=_over_q,
    meaning=lambda run, use, a: a + run.integer(use.immediate[0], use.stated.scale),
    error=each(lambda errors, use, a: errors.add_integer(use, a)),
    work={"add_int": pointwise},
    parts=one_part("add_int", shape_of),
    counts=count_each(additions=1),
    keys=no_keys,
    scratch=no_scratch,
    reuse=in_place,
)


def _additions(use: Use) -> int:
    return vectors_of(use.operands[0]) - use.immediate[0]


SUM = Record(
    name="sum",
    line="neighbours of an array added up, in groups",
    family="add",
    traits=ORDINARY,
    rule=lambda use: (group_sum_kind(use.operands[0], use.immediate[0]),),
    meaning=lambda _run, use, a: sum_vectors(a, use.immediate[0]),
    error=lambda errors, use, a: added_up(errors, a, use.immediate[0]),
    work=NO_WORK,
    parts=lambda use: (Part("add", _shape_of_sum(use), _additions(use)),),
    counts=lambda use: {"additions": _additions(use)},
    keys=no_keys,
    scratch=no_scratch,
    reuse=lambda use, lent, a: a[:: len(a) // use.immediate[0]] if lent else None,
)

RECORDS = (ADD, SUB, ADD_PLAIN, SUB_PLAIN, NEG, ADD_INT, SUM)
