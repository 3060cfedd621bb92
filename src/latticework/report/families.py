"""Opcodes by what they spend their time on: the colours of a report."""

from __future__ import annotations

from latticework.plan.instructions.instruction_record import FAMILIES as ALL
from latticework.plan.instructions.table import RECORDS

ENCODE = "encode"  # in the first run only
FAMILIES = tuple(family for family in ALL if family != ENCODE)
LABELS = {
    "switch": "key switching",
    "divide": "rescale, mod down",
    "product": "ciphertext product",
    "plain": "plaintext product",
    "add": "addition",
    "other": "other",
}


def family_of(op: str) -> str:
    """The family of an opcode."""
    return RECORDS[op].family
