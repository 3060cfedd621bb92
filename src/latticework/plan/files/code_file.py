"""The executable part of a plan as the CBOR that the core's decoder reads, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from latticework.errors import FormatError
from latticework.plan.instructions.executable import Executable, Instruction, PlanBlock, RegisterOperand
from latticework.plan.instructions.register_kinds import (
    AddendKind,
    CipherKind,
    DigitsKind,
    IndexKind,
    KeyKind,
    Kind,
    PlainKind,
)
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import KeySpec

_TAGS: dict[type, str] = {
    CipherKind: "cipher", DigitsKind: "digits", PlainKind: "plain", AddendKind: "addend", KeyKind: "key",
    IndexKind: "index",
}  # fmt: skip
_CLASSES = {tag: kind for kind, tag in _TAGS.items()}


def encode_code(plan: Executable) -> bytes:
    """Types, registers, blocks and keys of a plan, for the core's decoder."""
    return bytes(_core.cbor_encode(code_data(plan)))


def code_data(plan: Executable) -> dict[str, Any]:
    """Return code as plain data."""
    opcodes = _core.opcodes()
    return {
        "types": [_kind_data(k) for k in plan.kinds],
        "registers": list(plan.registers),
        "blocks": [
            {"args": list(b.arguments), "code": [_instruction_data(i, opcodes) for i in b.code]} for b in plan.blocks
        ],
        "keys": [
            {"kind": k.kind, "galois_element": k.galois_element, "track": k.track, "level": k.level} for k in plan.keys
        ],
        "constants": len(plan.constants),
    }


def decode_code(
    data: bytes,
) -> tuple[tuple[Kind, ...], tuple[int, ...], tuple[PlanBlock, ...], tuple[KeySpec, ...]]:
    """(kinds, registers, blocks, keys).

    The structure is checked here so that nothing below can fail on it; the
    rules of levels, scales and dominance are the core's decoder's to check.
    raises  FormatError
    """
    try:
        content = _core.cbor_decode(data)
        names = {number: name for name, number in _core.opcodes().items()}
        kinds = tuple(_CLASSES[tag](*items) for tag, *items in content["types"])
        blocks = tuple(
            PlanBlock(tuple(b["args"]), tuple(_instruction(i, names) for i in b["code"])) for b in content["blocks"]
        )
        keys = tuple(KeySpec(k["kind"], k["galois_element"], k["track"], k["level"]) for k in content["keys"])
        return kinds, tuple(content["registers"]), blocks, keys
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"plan code: {type(error).__name__}: {error}; the file was altered") from None


def _kind_data(kind: Kind) -> list[Any]:
    """Tag and fields; a count is only written if it is not 1, as it was not before arrays had more."""
    names = [f.name for f in fields(kind) if f.name != "count" or getattr(kind, f.name) != 1]
    return [_TAGS[type(kind)], *(getattr(kind, name) for name in names)]


def _instruction_data(i: Instruction, opcodes: dict[str, int]) -> list[Any]:
    operands = [2 * o.register + int(o.last_use) for o in i.operands]
    return [opcodes[i.op], i.location, operands, list(i.results), list(i.immediate)]


def _instruction(data: list[Any], names: dict[int, str]) -> Instruction:
    number, location, operands, results, immediate = data
    read = tuple(RegisterOperand(o >> 1, bool(o & 1)) for o in operands)
    return Instruction(names[number], location, read, tuple(results), tuple(immediate))
