"""All records by opcode, and the check of an instruction's types against its record.

Opcodes, and the kinds and numbers of operands, results and immediates, are the core's (`cpp/exec/opcodes.def`); an
opcode without a record, and a record without an opcode, are errors of this import.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from math import log2
from typing import Any

from latticework.errors import IrError, LevelError, ScaleError, UserError
from latticework.plan.instructions import (
    additions,
    control,
    linear_map_sums,
    load_constants,
    moves,
    products,
    public_matrices,
    raise_modulus,
    switches,
)
from latticework.plan.instructions.instruction_record import Record
from latticework.plan.instructions.register_kinds import (
    SECRETS,
    AddendKind,
    CipherKind,
    DigitsKind,
    IndexKind,
    PlainKind,
    level_text,
)
from latticework.plan.instructions.type_rules import STATE, require_scale
from latticework.plan.instructions.use import Use
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import KeySpec

_FAMILIES = (
    control, load_constants, additions, products, switches, linear_map_sums, moves, raise_modulus, public_matrices,
)  # fmt: skip
_CLASSES: dict[str, tuple[type, ...]] = {
    "c": (CipherKind,), "s": (CipherKind,), "d": (DigitsKind,), "p": (PlainKind, AddendKind),
    "a": (PlainKind, AddendKind), "k": (KeySpec,), "i": (IndexKind,),
}  # fmt: skip
_NAMES = {
    "c": "a cipher", "s": "a cipher", "d": "digits", "p": "a plaintext", "a": "a plaintext", "k": "a key",
    "i": "an index",
}  # fmt: skip


def table_of(records: Sequence[Record], opcodes: Sequence[str]) -> dict[str, Record]:
    """Records by opcode; AssertionError unless there is one for each opcode, and no other."""
    table = {record.name: record for record in records}
    assert len(table) == len(records), "two records of one name"
    missing, unknown = set(opcodes) - set(table), set(table) - set(opcodes)
    assert not missing and not unknown, f"opcodes without a record: {sorted(missing)}; records without: {unknown}"
    return table


RECORDS = table_of(list(chain.from_iterable(family.RECORDS for family in _FAMILIES)), list(_core.opcodes()))


def result_kinds(record: Record, use: Use, name: str | None = None) -> list[Any]:
    """The types of an instruction's results, by its rule; scales as stated, if they are what follows (at
    the borders of blocks they have to be identical).

    name    what errors call the instruction, if not by its opcode
    raises  LevelError, ScaleError, ShapeError or IrError, naming the instruction
    """
    try:
        _check_form(record, use)
        kinds = list(record.rule(use))
        if len(kinds) != len(use.results):
            raise IrError(f"has {len(use.results)} results, not {len(kinds)}")
        if record.traits.control:
            return kinds
        return [_adopt_scale(kind, stated) for kind, stated in zip(kinds, use.results, strict=True)]
    except UserError as error:
        raise type(error)(f"{name or record.name}: {error.message}", at=error.at) from None


def check_types(record: Record, use: Use) -> None:
    """Raise unless an instruction's results are stated as its rule says; as `result_kinds`."""
    try:
        _check_kinds("result", record.signature.results, use.results)
    except UserError as error:
        raise type(error)(f"{record.name}: {error.message}") from None
    for kind, stated in zip(result_kinds(record, use), use.results, strict=True):
        if kind == stated:
            continue
        place, other = ((getattr(k, "track", 0), getattr(k, "level", 0)) for k in (kind, stated))
        if place != other:
            places = f"stated at {level_text(*other)}, it is at {level_text(*place)}"
            raise LevelError(f"{record.name}: the result is {places}")
        raise IrError(f"{record.name}: the result is stated as {stated}, it is {kind}")


def _adopt_scale(kind: Any, stated: Any) -> Any:
    """A type with the scale that is stated, which must be the one that follows, but for rounding."""
    scale = getattr(stated, "scale", None)
    have = getattr(kind, "scale", None)
    if scale is None or have is None or scale == have:
        return kind
    if not scale > 0:
        raise ScaleError(f"a scale must be a positive number, got {scale}")
    require_scale(scale, have, STATE)
    return replace(kind, scale=scale)


def _check_form(record: Record, use: Use) -> None:
    """Check what holds for every instruction: kinds and numbers, secrets, and what only one scheme has."""
    signature, scheme = record.signature, use.chain.scheme
    results, num_immediates = signature.results, signature.num_immediates
    _check_kinds("operand", signature.operands, use.operands)
    if results != "*" and len(use.results) != len(results):
        raise IrError(f"expected {len(results)} results, got {len(use.results)}")
    if num_immediates is not None and len(use.immediate) != num_immediates:
        raise IrError(f"expected {num_immediates} immediates, got {len(use.immediate)}")
    if scheme not in signature.schemes:
        raise IrError(f"{scheme.upper()} has no such operation")
    if record.traits.control:
        return
    is_bfv = scheme == "bfv"
    for kind in use.operands:
        if type(kind) is CipherKind and kind.secret != signature.secret:
            raise IrError(f"takes a ciphertext under the {SECRETS[signature.secret]} secret, got {kind}")
        if isinstance(kind, PlainKind) and isinstance(kind, AddendKind) != (is_bfv and signature.adds):
            raise IrError(f"takes no plaintext of this form: {kind}")
    if is_bfv and any(getattr(kind, "scale", None) not in (None, 1.0) for kind in use.results):
        raise ScaleError(f"the scale of BFV is 1, got 2^{log2(use.stated.scale):.6f}")


def _check_kinds(what: str, wanted: str, kinds: Sequence[Any]) -> None:
    if wanted == "*":
        return
    if len(kinds) != len(wanted):
        raise IrError(f"expected {len(wanted)} {what}s, got {len(kinds)}")
    for letter, kind in zip(wanted, kinds, strict=True):
        if not isinstance(kind, _CLASSES[letter]):
            raise IrError(f"{what} {kind} is not {_NAMES[letter]}")
